//! Every type that `logdef!` takes, and the bytes it becomes: what a caller in C
//! would have logged. Strings longer than the bound are cut, and it shows.

use logdef::logdef;
use logdef_wire::{Record, Value, frame};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

const BOUND: usize = 100;

/// The arguments of each data record of a log.
fn arguments(log: &[u8]) -> Vec<Vec<Value<'_>>> {
    let mut rest = log;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let frame = frame::decode(rest).unwrap();
        if let Ok(Record::Data(data)) = Record::decode(frame.body) {
            all.push(data.args.unwrap().iter().collect());
        }
        rest = &rest[frame.len..];
    }
    all
}

#[test]
fn every_type_becomes_what_it_is_in_c() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let options = logdef::options().sink(logdef::Sink::Append);
    options.max_string(BOUND).open(&path).unwrap();

    let mut expected: Vec<Vec<Value>> = Vec::new();
    macro_rules! log {
        ($format:literal, $($arg:expr => $value:expr),*) => {
            logdef!(Info, $format $(, $arg)*);
            expected.push(vec![$($value),*]);
        };
    }
    let (int, uint) = (Value::Int, Value::Uint);
    let raw = |bytes: &'static [u8]| Value::Raw(bytes);

    // Integers keep their true sign where one is printed; where none is, they are
    // what is printed, in the width of their type.
    log!("%hhd %hd %d %ld %zd",
        i8::MIN => int(-128), i16::MIN => int(-32_768), i32::MIN => int(-(1 << 31)),
        i64::MIN => int(i64::MIN), isize::MIN => int(i64::MIN));
    log!("%hhd %hd %d %ld %zd",
        i8::MAX => uint(127), i16::MAX => uint(32_767), i32::MAX => uint((1 << 31) - 1),
        i64::MAX => uint(u64::MAX / 2), isize::MAX => uint(u64::MAX / 2));
    log!("%hhu %hx %o %lX %zb",
        u8::MAX => uint(255), u16::MAX => uint(65_535), u32::MAX => uint(u32::MAX.into()),
        u64::MAX => uint(u64::MAX), usize::MAX => uint(u64::MAX));
    log!("%lu %x %i", -1i64 => uint(u64::MAX), -1i8 => uint(255), u64::MAX => uint(u64::MAX));
    log!("%d %d %d %x", true => uint(1), false => uint(0), 'A' => uint(65),
        '\u{10ffff}' => uint(0x10_ffff));
    log!("%c %c %c %lc", 'A' => uint(65), b'B' => uint(66), -1i32 => int(-1), 'C' => uint(67));
    log!("%c %lc %C", 'ä' => raw("ä".as_bytes()), '\u{20ac}' => raw("\u{20ac}".as_bytes()),
        '\u{10ffff}' => raw("\u{10ffff}".as_bytes()));
    log!("%*d %.*f %-*.*e",
        -5i8 => int(-5), 1 => uint(1), 300u16 => uint(300), 0.5 => Value::Float(0.5),
        7i16 => uint(7), 2u8 => uint(2), 1.5f32 => Value::Float(1.5));
    // 0.1f32 is not 0.1.
    log!("%f %e %g %a %Lf", 0.1f32 => Value::Float(f64::from(0.1f32)),
        f64::MAX => Value::Float(f64::MAX), f64::INFINITY => Value::Float(f64::INFINITY),
        5e-324 => Value::Float(5e-324), 2.5 => Value::Float(2.5));
    let mut place = 7u32;
    let null = std::ptr::null::<u8>();
    log!("%p %p %p %n", null => uint(0), 0x1000 as *mut String => uint(0x1000),
        usize::MAX => uint(u64::MAX), &raw mut place => Value::Nil);
    assert_eq!(place, 7);

    // Strings.
    let text = "t\u{20ac}xt";
    let same = || raw("t\u{20ac}xt".as_bytes());
    log!("%s %s %s %s %s", text => same(), text.to_owned() => same(), &text => same(),
        &mut text.to_owned() => same(), Box::<str>::from(text) => same());
    log!("%s %s %s %s", Rc::<str>::from(text) => same(), Arc::new(text.to_owned()) => same(),
        Cow::Borrowed(text) => same(), Cow::<str>::Owned(text.to_owned()) => same());
    log!("%s %s %s %s", Path::new(text) => same(), PathBuf::from(text) => same(),
        OsStr::new(text) => same(), OsString::from(text) => same());
    log!("%s %s %s %s", text.as_bytes() => same(), text.as_bytes().to_vec() => same(),
        CString::new(text).unwrap() => same(), CString::new(text).unwrap().as_c_str() => same());
    log!("%s %s %s %s", None::<&str> => Value::Nil, Some(text) => same(),
        Some(text.to_owned()) => same(), None::<&CStr> => Value::Nil);
    log!("%s %s %s", Some(Path::new(text)) => same(), &Some(text.as_bytes()) => same(),
        None::<PathBuf> => Value::Nil);
    log!("%s %s %s", [1u8, 0, 0xff] => raw(b"\x01\0\xff"), &b"\xff\xfe"[..] => raw(b"\xff\xfe"),
        "" => raw(b""));
    log!("%ls %S", text => same(), text => same());
    // A precision counts bytes; of a wide string, bytes of whole characters.
    log!("%.2s %.*s %.*s %.9s", text => raw(b"t\xe2"), 4 => uint(4), text => raw(b"t\xe2\x82\xac"),
        -1 => int(-1), text => same(), text => same());
    log!("%.2ls %.*S", text => raw(b"t"), 4 => uint(4), text => raw("t\u{20ac}".as_bytes()));
    log!("%2$s %1$d %2$s", 1 => uint(1), text => same());

    // The bound: what is as long stands whole, what is longer is cut and marked.
    let long = "0123456789".repeat(30);
    let whole: &str = &long[..BOUND];
    let cut = format!("{whole}…[cut]");
    logdef!(Info, "%s|%s|%.150s|%.100s", whole, long, long, long);
    logdef!(Info, "%s", long.as_bytes());

    let log = std::fs::read(&path).unwrap();
    let mut logged = arguments(&log);
    let (whole, cut) = (Value::Raw(whole.as_bytes()), Value::Raw(cut.as_bytes()));
    assert_eq!(logged.pop().unwrap(), [cut]);
    assert_eq!(logged.pop().unwrap(), [whole, cut, cut, whole]);
    assert_eq!(logged.len(), expected.len());
    for (index, (logged, expected)) in logged.iter().zip(&expected).enumerate() {
        assert_eq!(logged, expected, "call {index}");
    }
}
