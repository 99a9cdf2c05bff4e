//! What the program prints goes straight into the record: without allocation, cut visibly
//! at the limit, and whatever printing it does, logging and panicking included.

#[path = "common/mod.rs"]
mod common;
#[path = "common/counting.rs"]
mod counting;

use logdef::{Loggable, Passed, debug, display, logdef};
use logdef_wire::record::Data;
use logdef_wire::{Description, Record, Typed, Value};
use std::fmt;
use std::net::IpAddr;

struct Repeated(&'static str, usize);

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.1).try_for_each(|_| f.write_str(self.0))
    }
}

struct Logs;

impl fmt::Display for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        logdef!(Info, "inner %d", 1);
        f.write_str("outer")
    }
}

struct Panics;

impl fmt::Display for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("so far")?;
        panic!("on purpose");
    }
}

struct OrderId(u64);

impl Loggable for OrderId {
    fn logged(&self) -> Passed<'_> {
        logdef::value(&self.0)
    }
}

#[derive(Debug)]
struct Deep(Option<std::io::Error>);

impl fmt::Display for Deep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot start")
    }
}

impl std::error::Error for Deep {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.as_ref().map(|error| error as _)
    }
}

/// The values of a record, for people.
fn values(data: &Data<'_>) -> Vec<String> {
    let one = |value: Value<'_>| match value {
        Value::Raw(text) => String::from_utf8(text.to_vec()).unwrap(),
        Value::Array(array) => format!("{:?}", Typed::of(array).unwrap()),
        other => format!("{other:?}"),
    };
    data.args.into_iter().flatten().map(one).collect()
}

#[test]
fn values_are_printed_into_the_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    let address = IpAddr::from([10, 0, 0, 1]);
    let error = Deep(Some(std::io::ErrorKind::NotFound.into()));
    let before = counting::ALLOCATIONS.get();
    logdef!(Info, "{address} {:>12} {:?}", address, Some(1));
    logdef!(
        Info,
        "%s %.3s %s",
        display(&address),
        debug("quoted"),
        format_args!("{}", 1)
    );
    logdef!(Info, "{}", logdef::error(&error));
    logdef!(
        Info,
        "paid",
        order = OrderId(7),
        by = address,
        at = 2.5,
        ok = true,
        none = None::<u8>
    );
    logdef!(Info, "%d ms", ms = 3, of = "all");
    logdef!(Info, "{} {}", 'x', u128::MAX);
    for length in 0..40 {
        logdef!(Info, "{}", Repeated("x", length));
    }
    for length in [600, 1000, 5000, 40_000] {
        logdef!(Info, "{} {}", Repeated("é", length), Repeated("b", 3));
    }
    logdef!(Info, "{}", Logs);
    assert_eq!(counting::ALLOCATIONS.get(), before, "a call allocated");
    logdef!(Info, "{} and {}", Panics, 1);
    assert_eq!(logdef::unwritten(), 0);

    let bytes = std::fs::read(&path).unwrap();
    let mut found = Vec::new();
    common::data(&bytes, |data| found.push(values(data)));
    let mut found = found.into_iter();
    let mut next = || found.next().unwrap();
    let whole = format!("{:?}", Typed::Printed(b"    10.0.0.1"));
    // What is captured stands behind what is passed.
    assert_eq!(next(), [&whole, "Some(1)", "10.0.0.1"]);
    assert_eq!(next(), ["10.0.0.1", "\"qu…[cut]", "1"]);
    assert_eq!(next(), ["cannot start: entity not found"]);
    assert_eq!(
        next(),
        ["Uint(7)", "10.0.0.1", "Float(2.5)", "Bool(true)", "Nil"]
    );
    assert_eq!(next(), ["Uint(3)", "all"]);
    assert_eq!(
        next(),
        ["x".to_string(), format!("{:?}", Typed::Uint128(u128::MAX))]
    );
    for length in 0..40 {
        assert_eq!(next(), ["x".repeat(length)]);
    }
    for length in [600, 1000] {
        assert_eq!(next(), ["é".repeat(length), "bbb".into()]);
    }
    for _ in [5000, 40_000] {
        let [long, short] = next().try_into().unwrap();
        assert!(long.len() < 20_000, "{}", long.len());
        let whole = long.trim_end_matches("…[cut]");
        assert!(whole.chars().all(|c| c == 'é'));
        assert_eq!(short, "bbb");
    }
    assert_eq!(next(), ["Uint(1)"]);
    assert_eq!(next(), ["outer"]);
    assert_eq!(next(), ["so far…[panicked]", "Uint(1)"]);

    let mut names = Vec::new();
    common::records(&bytes, |record| {
        if let Record::StringLogdef(logdef) = record {
            let description = Description::of(logdef.description.unwrap_or_default());
            let list = description.names().flatten();
            names.extend(list.map(|name| String::from_utf8(name.to_vec()).unwrap()));
        }
    });
    assert_eq!(
        names,
        ["address", "order", "by", "at", "ok", "none", "ms", "of"]
    );
}
