//! What Rust programs pass to log calls, as a reader has it: the text, and each value with its type
//! and its name; and as JSON has it.

use logdef::{Level, Loggable, Passed, debug, display, logdef, logdef_at, value};
use logdef_resync::Log;
use logdef_resync::records::Value;
use logdef_samples::workshop::{Workshop, run};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CString, OsStr, OsString};
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroI64, NonZeroU32};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is expected of a record: its text, and the names and values.
type Expected = (&'static str, Vec<String>);

/// Makes each call, and keeps what is expected of it.
macro_rules! each {
    ($all:ident: $($text:literal [$($value:literal),*] => ($($call:tt)*);)*) => {$(
        logdef!(Info, $($call)*);
        $all.push(($text, vec![$($value.to_string()),*]));
    )*};
}

/// Number 7, as it is shown by none of its parts.
struct OrderId(u64);

impl Loggable for OrderId {
    fn logged(&self) -> Passed<'_> {
        value(&self.0)
    }
}

#[derive(Debug)]
struct Point {
    _x: u8,
}

#[derive(Debug)]
#[expect(dead_code, reason = "`Debug` alone reads it")]
enum State {
    Idle,
    Busy(usize),
}

trait Named {
    fn name(&self) -> &str;
}

impl Named for Point {
    fn name(&self) -> &str {
        "point"
    }
}

fn numbers(all: &mut Vec<Expected>) {
    let (n, counter) = (7u8, AtomicU64::new(5));
    each! { all:
        "-1 of 255" ["int -1", "int 255"] => ("{} of {}", -1i8, u8::MAX);
        "18446744073709551615" ["int 18446744073709551615"] => ("%d", u64::MAX);
        "-9223372036854775808" ["int -9223372036854775808"] => ("%i", isize::MIN);
        "3000000000 bytes" ["int 3000000000"] => ("%d bytes", 3_000_000_000usize);
        "ffffffffffffffff" ["int 18446744073709551615"] => ("%x", -1i64);
        "340282366920938463463374607431768211455" ["int 340282366920938463463374607431768211455"] => ("{}", u128::MAX);
        "0.1 is 0.1" ["float 0.1", "text 0.1"] => ("{} is {}", 0.1, 0.1f32);
        "2.50" ["float 2.5"] => ("{:.2}", 2.5);
        "2.500 1.5e3" ["float 2.5", "float 1500"] => ("%.3f %.1e", 2.5, 1500.0) ;
        "true 1" ["bool true", "int 1"] => ("{} {}", true, 1);
        "1" ["int 1"] => ("%d", true);
        "7" ["n=int 7"] => ("{n}");
        "7 and 8" ["m=int 8", "n=int 7"] => ("{n} and {m}", m = 8);
        "3 -4" ["int 3", "int -4"] => ("{} {}", NonZeroU32::MIN.saturating_add(2), NonZeroI64::new(-4).unwrap());
        "5 5" ["int 5", "text 5"] => ("{} {:?}", counter.load(Ordering::Relaxed), counter);
        "order 7" ["int 7"] => ("order {}", OrderId(7));
        "Some(3) None" ["text Some(3)", "text None"] => ("{:?} {:?}", Some(3u32), None::<u32>);
    }
    all[8].0 = "2.500 1.5e+03";
}

fn text(all: &mut Vec<Expected>) {
    let owned = String::from("owned");
    let (boxed, counted, shared) = (
        Box::new(owned.clone()),
        Rc::<str>::from("rc"),
        Arc::new(owned.clone()),
    );
    let (cow, guarded) = (Cow::<str>::Owned(owned.clone()), Mutex::new(owned.clone()));
    let (c, bytes) = (CString::new("c").unwrap(), [0xffu8, b'a']);
    let (some, none) = (Some(owned.clone()), None::<&String>);
    let made = || format!("made {}", 1);
    each! { all:
        "a owned" ["text a", "owned=text owned"] => ("{} {owned}", "a");
        "owned rc owned" ["boxed=text owned", "counted=text rc", "shared=text owned"] => ("{boxed} {counted} {shared}");
        "owned rc owned" ["text owned", "text rc", "text owned"] => ("%s %s %s", boxed, counted, shared);
        "owned owned" ["text owned", "cow=text owned"] => ("{cow} {}", guarded.lock().unwrap());
        "c c x" ["text c", "text c", "text x"] => ("%s %s %s", c, c"c", OsStr::new("x"));
        "/a /b" ["text /a", "text /b"] => ("{} {}", Path::new("/a"), Path::new("/b").display());
        "owned (null)" ["text owned", "none"] => ("%s %s", some, none);
        "owned" ["text owned"] => ("%s", some.as_ref());
        "shared" ["text shared"] => ("%s", Some(Arc::<str>::from("shared")));
        "boxed" ["text boxed"] => ("%s", Some(Box::<str>::from("boxed")));
        "made 1" ["text made 1"] => ("{}", made());
        "1-2" ["text 1-2"] => ("%s", format_args!("{}-{}", 1, 2));
        "ü true" ["text ü", "text true"] => ("%s %s", display(&'ü'), display(&true));
        "ü" ["text ü"] => ("%c", 'ü');
        "ow|owned  |  owned" ["text owned", "text owned", "text owned"] => ("{:.2}|{:<7}|{:>7}", "owned", "owned", "owned");
        "\u{fffd}a" ["bytes ff61"] => ("%s", bytes);
        "100% { braces }" [] => ("100%% { braces }");
    }
}

/// What a program wraps, passes on, or finds out when it runs.
fn forms(all: &mut Vec<Expected>) -> Result<(), Box<dyn Error>> {
    const STATIC: &str = "static";
    const FORMAT: &str = "png";
    macro_rules! own {
        ($($call:tt)*) => { logdef!(Info, $($call)*) };
    }
    fn generic<T: AsRef<str>, N: Into<u64> + Copy>(text: T, n: N) {
        logdef!(Info, "{} {}", text.as_ref(), n.into());
    }
    let counts = [1u8, 2, 3];
    let (cell, width) = (RefCell::new(String::from("cell")), 5usize);
    let state = if std::env::args().count() == 0 {
        State::Idle
    } else {
        State::Busy(counts.len())
    };
    let (path, os) = (PathBuf::from("/p"), OsString::from("os"));
    let (boxed, shared) = (Box::<str>::from("box"), Arc::<str>::from("arc"));
    let level = if counts.len() > 2 {
        Level::WARN
    } else {
        Level::INFO
    };
    let deep = Rc::new(Box::new(Cow::Borrowed("deep")));
    own!("own {}", 1);
    all.push(("own 1", vec!["int 1".to_owned()]));
    generic(String::from("generic"), 7u32);
    all.push((
        "generic 7",
        vec!["text generic".to_owned(), "int 7".to_owned()],
    ));
    logdef_at!(level, "level {}", level);
    all.push(("level WARN", vec!["text WARN".to_owned()]));
    each! { all:
        "static png" ["text png", "STATIC=text static"] => ("{STATIC} {}", FORMAT);
        "Busy(3)" ["text Busy(3)"] => ("{:?}", state);
        "Idle" ["text Idle"] => ("%s", debug(&State::Idle));
        "cell 4" ["text cell", "int 4"] => ("{} {}", cell.borrow(), cell.borrow().len());
        "|    7|7    |" ["int 7", "int 7", "width=int 5"] => ("|{:width$}|{:<5}|", 7, 7);
        "/p os" ["text /p", "text os"] => ("%s %s", path, os);
        "box arc deep" ["boxed=text box", "shared=text arc", "deep=text deep"] => ("{boxed} {shared} {deep}");
        "1 2 3" ["text 1 2 3"] => ("{}", counts.map(|count| count.to_string()).join(" "));
        "[1, 2, 3]" ["counts=text [1, 2, 3]"] => ("{counts:?}", counts = counts);
        "first 1" ["int 1"] => ("first {}", counts.first().ok_or("empty")?);
        "up" ["rows=int 3", "part=float 0.5", "is_new=bool true", "name=text ada"] => ("up", rows = 3, part = 0.5, is_new = true, name = "ada");
    }
    logdef!(target: "db", Info, "query {}", 9);
    all.push(("query 9", vec!["int 9".to_owned()]));
    Ok(())
}

fn types_of_the_library(all: &mut Vec<Expected>) -> Result<(), Box<dyn Error>> {
    let (ip, socket): (IpAddr, SocketAddr) = ([127, 0, 0, 1].into(), ([10, 0, 0, 1], 80).into());
    let broken = std::io::Error::other("broken");
    let dynamic: Box<dyn Error + Send + Sync> = "dynamic".into();
    let point = Point { _x: 1 };
    let named: &dyn Named = &point;
    each! { all:
        "127.0.0.1 10.0.0.1:80" ["ip=text 127.0.0.1", "socket=text 10.0.0.1:80"] => ("{ip} {socket}");
        "1.5s" ["text 1.5s"] => ("{:?}", Duration::from_millis(1500));
        "broken dynamic" ["broken=text broken", "dynamic=text dynamic"] => ("{broken} {dynamic}");
        "Point { _x: 1 }" ["text Point { _x: 1 }"] => ("%s", debug(&point));
        "point" ["text point"] => ("{}", named.name());
        "12" ["int 12"] => ("{}", "12".parse::<u8>()?);
        "up" ["user=text ada", "ms=float 2.5", "error=text broken"] => ("up", user = "ada", ms = 2.5, error = logdef::error(&broken));
        "" ["n=int 1"] => ("", n = 1);
        "{\"port\": 80}" ["int 80"] => ("{\"port\": %d}", 80);
    }
    Ok(())
}

fn shown(name: &Option<String>, value: &Value) -> String {
    let value = match value {
        Value::None => "none".to_owned(),
        Value::Bool(truth) => format!("bool {truth}"),
        Value::Float(number) => format!("float {number}"),
        Value::Text(text) => format!("text {text}"),
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("bytes {hex}")
        }
        number => format!("int {number}"),
    };
    match name {
        Some(name) => format!("{name}={value}"),
        None => value,
    }
}

/// Whether JSON has a value as it is expected, but for its name.
fn agrees(expected: &str, json: &Json) -> bool {
    let (kind, value) = expected.split_once(' ').unwrap_or((expected, ""));
    match kind {
        "none" => json.is_null(),
        "bool" => json.as_bool() == Some(value == "true"),
        "float" => json.is_f64() && json.as_f64() == value.parse().ok(),
        "text" => json.as_str() == Some(value),
        // Text of another encoding, with a mark for each byte that is no character.
        "bytes" => {
            let digits = value.as_bytes().chunks(2);
            let bytes = digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16));
            let bytes: Vec<u8> = bytes.map(Result::unwrap).collect();
            json.as_str() == Some(&String::from_utf8_lossy(&bytes))
        }
        // What 64 bits do not hold is no integer to this reader of JSON.
        _ if value.len() > 20 => json.as_f64() == value.parse().ok(),
        _ => json.as_number().map(ToString::to_string).as_deref() == Some(value),
    }
}

/// Compares a line of JSON with what is expected of its record.
fn compare(line: &str, (text, values): &Expected) {
    let json: Json = serde_json::from_str(line).unwrap();
    assert_eq!(json["message"], *text, "{line}");
    let args = json["args"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(args.len(), values.len(), "{line}");
    let mut names = 0;
    for (expected, arg) in values.iter().zip(args) {
        let kind = expected.split(' ').next().unwrap();
        let (name, value) = match kind.split_once('=') {
            Some((name, _)) => (Some(name), &expected[name.len() + 1..]),
            None => (None, &expected[..]),
        };
        assert!(agrees(value, arg), "{expected}: {line}");
        if let Some(name) = name {
            names += 1;
            assert!(agrees(value, &json["fields"][name]), "{expected}: {line}");
        }
    }
    let fields = json["fields"].as_object().map_or(0, |fields| fields.len());
    assert_eq!(fields, names, "{line}");
}

#[test]
fn each_value_is_read_with_its_text_its_type_and_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    logdef::open(&path).unwrap();
    let mut all = Vec::new();
    numbers(&mut all);
    text(&mut all);
    types_of_the_library(&mut all).unwrap();
    forms(&mut all).unwrap();
    logdef::close();
    let log = Log::open(&path).unwrap();
    let records: Vec<_> = log.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), all.len());
    let read = records.iter().map(|record| {
        let values = record.values().iter();
        let values: Vec<String> = values.map(|(name, value)| shown(name, value)).collect();
        (record.message(), values)
    });
    let differ = read.zip(&all).filter(|(read, expected)| read != *expected);
    assert_eq!(differ.collect::<Vec<_>>(), []);
    let mut view = Workshop::open().command("logdef");
    let json = run(view.args(["view", "-o", "json"]).arg(&path)).stdout;
    let json = String::from_utf8(json).unwrap();
    let lines = json.lines().filter(|line| line.contains("\"message\""));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), all.len());
    for (line, expected) in lines.into_iter().zip(&all) {
        compare(line, expected);
    }
}
