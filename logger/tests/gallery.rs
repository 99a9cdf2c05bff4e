//! A gallery of what Rust programs log: each type and each form of a call, beside the text that it makes.
//! `samples/tests/gallery_read.rs` looks at the types and the names that a reader has of them.
//!
//! Where the other things are tested that programs do around their calls:
//!
//! | what | by |
//! |---|---|
//! | what is refused, and in which words: a size for `*`, `concat!`, a format or target in a variable, `log`'s and `tracing`'s own forms | `compile_fail` |
//! | integers of every width under `%d` to `%x` | `printf_arguments`, `values` |
//! | names of the caller's that the macros use too, `no_implicit_prelude` | `hygiene` |
//! | edition 2021, `forbid(unsafe_code)`, `deny(warnings)`, all macros | `strict` |
//! | calls before a log is open, and with none | `early`, `without_log` |
//! | threads: 200,000 records at once, threads of one record, few descriptors | `crowd`, `storm`, `few_descriptors` |
//! | tasks: on one thread, on four, cancelled in their span | `span_tasks` |
//! | types with `Fields`, in calls and in spans | `fields_of_types` |
//! | context of a task and of a thread | `contexts_of_rust` |
//! | calls through `log` and `tracing`, forks and kills among them | `facades`, `facade_spans`, `facade_deaths` |
//! | a plugin with its own copies, of other versions | `plugin`, `plugin_versions` |
//! | signals, panics, aborts, deep stacks | `last_words`, `signals` |
//! | two programs of others, moved over | `real_programs` |

use logdef::{Level, Loggable, Passed, debug, display, logdef, logdef_at, testing, value};
use logdef::{logdef_every_n, logdef_first_n};
use std::borrow::Cow;
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CString, OsStr, OsString};
use std::fmt::Display;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU8, NonZeroUsize, Wrapping};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

/// Makes each call, and compares what was logged with the text before it.
macro_rules! each {
    ($logged:ident: $($text:literal => ($($call:tt)*);)*) => {$(
        logdef!(Info, $($call)*);
        assert_eq!($logged.messages().last().unwrap(), $text, "{}", stringify!($($call)*));
    )*};
}

#[derive(Debug)]
#[expect(dead_code, reason = "`Debug` alone reads it")]
enum Kind {
    Plain,
    With { n: u8 },
}

struct Meters(f64);

impl Loggable for Meters {
    fn logged(&self) -> Passed<'_> {
        value(&self.0)
    }
}

/// A type of another crate, which knows nothing of logs.
struct Uuid(u128);

impl Display for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c] = [96, 80, 64].map(|at| (self.0 >> at) as u64);
        let (b, c) = (b & 0xffff, c & 0xffff);
        let (d, e) = ((self.0 >> 48) & 0xffff, self.0 & 0xffff_ffff_ffff);
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

/// Points to bytes, as buffers of network libraries do.
struct Buffer(Vec<u8>);

impl std::ops::Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[test]
fn values_of_the_language() {
    let logged = testing::capture();
    let (n, width) = (7_usize, 5_usize);
    let wide = -170_141_183_460_469_231_731_687_303_715_884_105_728_i128;
    each! { logged:
        "-1 255 -3000000000" => ("{} {} {}", -1_i8, u8::MAX, -3_000_000_000_i64);
        "3000000000 18446744073709551615" => ("%d %ld", 3_000_000_000_usize, u64::MAX);
        "ffffffff ff 255" => ("{:x} {:x} {1}", -1_i32, 255_u8);
        "340282366920938463463374607431768211455" => ("{}", u128::MAX);
        "-170141183460469231731687303715884105728" => ("{wide}");
        "0.1 0.30000000000000004 1e100 NaN inf" => ("{} {} {:e} {} {}", 0.1_f32, 0.1 + 0.2, 1e100, f64::NAN, f64::INFINITY);
        "true x ü" => ("{} {} {}", true, 'x', 'ü');
        "1 ü" => ("%d %c", true, 'ü');
        "    7|7    |00007|  +7" => ("{n:width$}|{n:<5}|{n:05}|{:+4}", 7);
        "3 200" => ("{} {}", NonZeroU8::new(3).unwrap(), NonZeroUsize::new(200).unwrap());
        "9 8" => ("{} {:?}", Wrapping(9), AtomicU64::new(8));
        "50% {} done" => ("{}% {{}} done", 50);
        "50% of { x }" => ("%d%% of { x }", 50);
        "no arguments" => ("no arguments");
        "{7} 0x7 00000111 1.5e3" => ("{{{n}}} {n:#x} {n:08b} {:e}", 1500.0);
        "1 a 1" => ("{0} {1} {0}", 1, "a");
        "3 Some(3)" => ("{} {:?}", Some(3_u32), NonZeroU8::new(3));
        "raw \"7\" %" => (r#"raw "{n}" %"#);
        "x" => ("x", r#type = 3);
        "1" => ("{}", 1,);
        "() (1, \"a\") [1, 2]" => ("{:?} {:?} {:?}", (), (1, "a"), [1, 2]);
    }
}

#[test]
fn text_of_every_owner() {
    let logged = testing::capture();
    let owned = String::from("owned");
    let (boxed, shared): (Box<str>, Arc<str>) = ("boxed".into(), "shared".into());
    let (counted, cow) = (Rc::new(owned.clone()), Cow::Borrowed("cow"));
    let (path, os) = (PathBuf::from("/a/b"), OsString::from("os"));
    let (c, bytes) = (CString::new("c").unwrap(), Vec::from(*b"bytes"));
    let (guarded, cell) = (Mutex::new(owned.clone()), RefCell::new(owned.clone()));
    let buffer = Buffer(b"buffer".to_vec());
    each! { logged:
        "a owned owned" => ("{} {} {owned}", "a", owned);
        "boxed shared owned cow" => ("{boxed} {shared} {counted} {cow}");
        "boxed shared owned cow" => ("%s %s %s %s", boxed, shared, counted, cow);
        "/a/b /a os os" => ("{} {} {os} {}", path, Path::new("/a"), OsStr::new("os"));
        "/a/b c bytes arr" => ("%s %s %s %s", path, c, bytes, *b"arr");
        "owned owned" => ("{} {}", guarded.lock().unwrap(), cell.borrow());
        "owned buffer" => ("%s %s", guarded.lock().unwrap().as_str(), &buffer[..]);
        "Some(\"a\") None" => ("{:?} {:?}", Some("a"), None::<String>);
        "ow| ü|\"q\"" => ("{owned:.2}|{:>2}|{:?}", "ü", "q");
        "x true" => ("%s %s", display(&'x'), display(&true));
        "ü\u{fffd} üüü" => ("%.3s %s", "üüü", display(&"üüü"));
        "1-2" => ("%s", format_args!("{}-{}", 1, 2));
        "made 3" => ("{}", format!("made {}", 3));
    }
}

#[test]
fn types_of_the_library_and_of_the_program() {
    let logged = testing::capture();
    let (ip, socket): (IpAddr, SocketAddr) = ([127, 0, 0, 1].into(), ([1, 2, 3, 4], 80).into());
    let io = std::io::Error::other("broken");
    let dynamic: Box<dyn Error> = "dynamic".into();
    let height = Meters(8.5);
    let id = Uuid(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
    let path = Path::new("/x");
    each! { logged:
        "127.0.0.1 from 1.2.3.4:80" => ("{ip} from {socket}");
        "1.5s" => ("{:?}", Duration::from_millis(1500));
        "broken dynamic /x" => ("{io} {dynamic} {}", path.display());
        "broken" => ("%s", logdef::error(&io));
        "Plain With { n: 1 }" => ("{:?} {:?}", Kind::Plain, Kind::With { n: 1 });
        "With { n: 2 }" => ("%s", debug(&Kind::With { n: 2 }));
        "With {\n    n: 3,\n}" => ("{:#?}", Kind::With { n: 3 });
        "67e55044-10b1-426f-9247-bb680e5fe0c8" => ("{id}");
        "67e55044-10b1-426f-9247-bb680e5fe0c8" => ("%s", display(&id));
        "8.5 of 8.5" => ("{height} of {}", &height);
        "Some(7) Some(1.5s)" => ("{:?} {:?}", Some(7), Some(Duration::from_millis(1500)));
    }
}

/// A value that is there when it is asked for.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits for nothing"),
    }
}

fn generic<T: AsRef<str>, N: Into<u64> + Copy>(text: T, n: N, shown: &dyn Display) {
    logdef!(Info, "{} {} {shown}", text.as_ref(), n.into());
}

fn parsed(text: &str) -> Result<(), Box<dyn Error>> {
    logdef!(Info, "parsed {}", text.parse::<i32>()?);
    Ok(())
}

fn present(value: Option<u8>) {
    logdef!(
        Info,
        "there is {}",
        match value {
            Some(value) => value,
            None => return,
        }
    );
}

macro_rules! wrapped {
    ($($call:tt)*) => { logdef!(Warn, $($call)*) };
}

struct Holder<'a> {
    name: &'a str,
    list: Vec<u32>,
}

impl Holder<'_> {
    fn log(&self) {
        logdef!(Info, "{} has {}", self.name, self.list.len());
        self.list.iter().for_each(|n| logdef!(Debug, "one of {n}"));
    }
}

#[test]
fn forms_of_calls() {
    let logged = testing::capture();
    generic("text", 7_u32, &1.5);
    generic(String::new(), 7_u8, &'c');
    assert!(parsed("12").is_ok() && parsed("x").is_err());
    [Some(9), None].into_iter().for_each(present);
    wrapped!("wrapped {} and {n}", 1, n = 2);
    let holder = Holder {
        name: "ann",
        list: vec![1, 2],
    };
    holder.log();
    ready(async {
        logdef!(Info, "awaited {}", std::future::ready(3).await);
    });
    let level = if holder.list.len() > 1 {
        Level::ERROR
    } else {
        Level::INFO
    };
    logdef_at!(level, "level {}", level);
    match holder.list.first() {
        Some(n) => logdef!(Info, "first {n}"),
        None => logdef!(Info, "empty"),
    }
    let in_closure = |x: i32| logdef!(Info, "closure {x}");
    in_closure(5);
    logdef!(target: "db", Info, "keys", rows = 3, table = "t", took = debug(&Duration::from_secs(1)),
        left = Duration::from_millis(1500));
    let messages = logged.messages();
    let expected = [
        "text 7 1.5",
        " 7 c",
        "parsed 12",
        "there is 9",
        "wrapped 1 and 2",
        "ann has 2",
        "one of 1",
        "one of 2",
        "awaited 3",
        "level ERROR",
        "first 1",
        "closure 5",
        "keys",
    ];
    assert_eq!(messages[..13], expected);
    let keys = &logged.records()[12];
    assert_eq!((keys.target(), keys.line() > 0), ("db", true));
    assert_eq!(keys["rows"], 3);
    assert_eq!(keys["table"], "t");
    assert_eq!(keys["took"], "1s");
    assert_eq!(keys["left"], "1.5s");
}

#[test]
fn a_limit_of_no_calls_does_not_divide_by_it() {
    let logged = testing::capture();
    for n in 0..3 {
        logdef_every_n!(0, Info, "every {n}");
        logdef_first_n!(0, Info, "first {n}");
    }
    assert_eq!(logged.messages(), ["every 0", "every 1", "every 2"]);
}

#[test]
fn the_tests_that_the_table_above_names_are_there() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = [tests.clone(), tests.join("../../samples/tests")];
    let source = include_str!("gallery.rs");
    let rows = source.lines().filter(|line| line.starts_with("//! | "));
    let cells = rows.skip(1).flat_map(|row| row.rsplit(" | ").next());
    let names: Vec<&str> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let is_there = |folder: &PathBuf| {
            folder.join(format!("{name}.rs")).is_file() || folder.join(name).is_dir()
        };
        assert!(folders.iter().any(is_there), "{name}");
    }
}
