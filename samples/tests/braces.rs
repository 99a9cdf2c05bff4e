//! `logdef!` with `{}` prints what `format!` prints: every placeholder over every type,
//! read back by the reader and passed to an observer.

use logdef::{Level, Observed, Observer, logdef};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Duration;

mod shown;

struct Told(Mutex<Vec<String>>);

static TOLD: Told = Told(Mutex::new(Vec::new()));

impl Observer for Told {
    fn observe(&self, record: &Observed<'_>) {
        let message = String::from_utf8_lossy(record.message()).into_owned();
        self.0.lock().unwrap().push(message);
    }
}

thread_local! {
    static EXPECTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Logs, and notes what `format!` makes of it.
macro_rules! check {
    ($format:literal $($args:tt)*) => {{
        logdef!(Info, $format $($args)*);
        let expected = format!($format $($args)*);
        EXPECTED.with_borrow_mut(|all| all.push(expected));
    }};
}

/// A value by each placeholder.
macro_rules! each {
    ([$($value:expr),* $(,)?] $specs:tt) => {$(
        each!(@ $value, $specs);
    )*};
    (@ $value:expr, [$($format:literal)*]) => {$(
        check!($format, $value);
    )*};
}

fn integers() {
    macro_rules! of {
        ($($type:ty)*) => {$(
            each! { [<$type>::MIN, <$type>::MAX, 0 as $type, 1 as $type, <$type>::MAX / 3] [
                "{}" "{:?}" "[{:5}]" "[{:<5}]" "[{:^7}]" "[{:>30}]" "[{:*^30}]" "[{:é<12}]" "{:+}"
                "{:012}" "{:+045}" "[{:-^+9}]" "{:x}" "{:X}" "{:o}" "{:b}" "{:#x}" "{:#X}" "{:#o}"
                "{:#b}" "[{:20x}]" "[{:<20x}]" "{:020x}" "{:#020x}" "{:#?}" "{:x?}" "{:#X?}"
            ]}
        )*};
    }
    of!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize);
    each! { [7u8, -7i64, u64::MAX, i16::MIN] ["{:e}" "{:E}" "{:.2e}" "[{:+012e}]"] }
    each! { [u128::MAX, 1u128 << 64, 5u128] ["{}" "{:?}" "[{:>50}]" "{:x}" "{:#x}" "{:#050b}"] }
    each! { [i128::MIN, i128::MAX, -1i128, 7] ["{}" "{:?}" "[{:>50}]" "{:+}" "{:050}"] }
    each! { [NonZeroU32::MIN, NonZeroU32::MAX] ["{}" "{:?}" "[{:^12}]" "{:+}"] }
}

fn floats() {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        2.675,
        1e21,
        1e-7,
        123456.789,
        5e-324,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    for value in floats {
        each! { [value, value as f32] [
            "{}" "{:?}" "[{:5}]" "[{:<25}]" "[{:^27}]" "[{:*^29}]" "{:+}" "{:012}" "{:+030}"
            "{:.0}" "{:.3}" "{:12.3}" "[{:-<+20.2}]" "{:08.1}" "{:.3?}" "{:08.2?}" "{:#?}"
        ]}
        each! { [value] ["{:e}" "{:E}" "[{:+012e}]" "{:.3e}" "[{:20.1E}]"] }
    }
}

fn messages() {
    for value in [
        "",
        "a",
        "größe",
        "with \"quotes\" and \\",
        "long enough to be cut",
    ] {
        let owned = value.to_string();
        let (boxed, counted): (Box<str>, Rc<str>) = (value.into(), value.into());
        each! { [value, owned, &owned, boxed, counted, Cow::from(value)] [
            "{}" "{:?}" "[{:5}]" "[{:<7}]" "[{:^8}]" "[{:>9}]" "[{:é^9}]" "{:.3}" "[{:8.3}]"
            "[{:*>8.0}]" "[{:>30?}]"
        ]}
    }
    each! { [true, false] ["{}" "{:?}" "[{:8}]" "[{:>8}]" "[{:^9.3}]"] }
    each! { ['x', 'é', '\'', '\n'] ["{:?}"] }
    each! { ['x', 'é', '∞'] ["{}" "[{:4}]" "[{:>4}]" "[{:^5}]"] }
}

struct Own(f64);

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
struct Nested {
    name: &'static str,
    map: BTreeMap<u8, Option<Vec<i32>>>,
}

fn what_the_program_prints() {
    let address = std::net::SocketAddr::from(([192, 168, 0, 1], 443));
    each! { [address, &address, address.ip(), Own(2.5), &Own(-1.0), format_args!("{}", 7)] [
        "{}" "[{:>20}]" "[{:<20}]" "{:.1}" "[{:^12.2}]"
    ]}
    let nested = Nested {
        name: "n",
        map: [(1, None), (2, Some(vec![1, -2]))].into(),
    };
    each! { [nested, &nested, Some(5), None::<u8>, Some("x"), (1, 'a'), [1u8, 2], &[0u16][..]] [
        "{:?}" "{:5?}" "{:x?}" "{:02X?}"
    ]}
    each! { [Duration::from_micros(1_234_567), Duration::ZERO] ["{:?}" "{:.2?}" "[{:>12.1?}]"] }
    let error: Box<dyn std::error::Error> = "went wrong".into();
    check!("{error}: {}", error);
}

fn forms() {
    let (host, port, ms, width) = ("example.org", 443u16, 2.5, 12usize);
    check!("accepted {host}:{port} in {ms:.3} ms");
    check!("{host:>width$}|{:.*}|{ms:2$.0$}|", 2, ms, 9usize);
    check!("{0} {1} {0}", host, port);
    check!("{host} {} {port:#x} {}", 1, "two");
    check!("{{{host}}} 100% done, {ms}% of it, {{}} {port}%");
    check!("{n} of {all:>5}", n = 1, all = port + 1);
    check!("{port} {port:x} {port:>8}");
    check!("{host} {host:>20}");
    check!(r#"{{"host": {host:?}}}"#);
    check!("\u{7b}\u{7b}{host}\x7d}\n");
    check!(
        "{host} \
            and {}",
        {
            let host = 1;
            host + 1
        }
    );
    check!("{}", Vec::<u8>::with_capacity(3).capacity() > 2);
    check!("{}", <Vec<(u8, u8)>>::new().len());
}

#[test]
fn placeholders_print_what_format_prints() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    logdef::set_observer(Some((Level::INFO, &TOLD)));
    integers();
    floats();
    messages();
    what_the_program_prints();
    forms();
    logdef::set_observer(None);
    assert_eq!(logdef::unwritten(), 0);
    let expected = EXPECTED.take();
    let read = shown::messages(&path);
    assert_eq!(read.len(), expected.len());
    // A newline at the end is the record's.
    let of_message = |text: &String| text.strip_suffix('\n').unwrap_or(text).to_owned();
    let expected: Vec<_> = expected.iter().map(of_message).collect();
    assert_eq!(read, expected);
    let told = TOLD.0.lock().unwrap();
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(*told, expected.replace('\n', "\\n"));
    }
    assert_eq!(told.len(), expected.len());
}
