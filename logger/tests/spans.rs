//! Spans and counters, read back: their kinds, and what connects them.

use logdef::{
    logdef_async_begin, logdef_async_end, logdef_begin, logdef_counter, logdef_end, logdef_span,
};
use logdef_wire::record::{Data, Kind};
use logdef_wire::{Record, Value};
use std::collections::HashMap;

mod common;

/// Kind, arguments, and the number of the span.
fn of(data: &Data<'_>) -> (Kind, Vec<u64>, Option<u64>) {
    let uint = |value| match value {
        Value::Uint(uint) => uint,
        other => panic!("{other:?}"),
    };
    let span = data.keys.map(|keys| {
        let pairs: Vec<_> = keys.iter().collect();
        assert_eq!(pairs.len(), 1);
        assert_eq!(pairs[0].0, Value::Raw(b"span"));
        uint(pairs[0].1)
    });
    let args = data.args.into_iter().flatten().map(uint).collect();
    (data.kind.unwrap(), args, span)
}

#[test]
fn spans_and_counters_are_marked_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let options = logdef::options().sink(logdef::Sink::Mapped);
    options.open(&path).unwrap();

    logdef_begin!(Info, "load %d", 1);
    logdef_counter!(Debug, "depth %d", 2);
    logdef_end!(Info, "%d rows", 3);
    logdef_end!(Info);
    {
        let _outer = logdef_span!(Info, "outer %d", 4);
        let _inner = logdef_span!(Warn, "inner");
        logdef_counter!(Info, "two: a %d, b %d", 5, 6);
    }
    logdef_async_begin!(u64::MAX, Info, "request %d", 7);
    std::thread::spawn(|| logdef_async_end!(u64::MAX, Info))
        .join()
        .unwrap();
    logdef_async_begin!(0, Info, "the smallest number");
    logdef::set_filter("warn").unwrap();
    {
        // Held back, and so is its end, though that would be logged.
        let _span = logdef_span!(Info, "never");
        logdef::set_filter("trace").unwrap();
    }

    let mut found = Vec::new();
    let mut strings = HashMap::new();
    let bytes = std::fs::read(&path).unwrap();
    common::records(&bytes, |record| match record {
        Record::StringLogdef(logdef) => {
            strings.insert(logdef.address.unwrap(), logdef.string.unwrap().to_vec());
        }
        Record::Data(data) => {
            let format = String::from_utf8(strings[&data.format.unwrap()].clone()).unwrap();
            found.push((format, of(&data)));
        }
        _ => {}
    });
    let (begin, end, counter) = (Kind::BEGIN, Kind::END, Kind::COUNTER);
    // Guards have numbers of their own; the inner one ends first.
    let (outer, inner) = (found[4].1.2, found[5].1.2);
    assert!(outer.is_some() && inner.is_some() && outer != inner);
    let expected = [
        ("load %d", (begin, vec![1], None)),
        ("depth %d", (counter, vec![2], None)),
        ("%d rows", (end, vec![3], None)),
        ("", (end, vec![], None)),
        ("outer %d", (begin, vec![4], outer)),
        ("inner", (begin, vec![], inner)),
        ("two: a %d, b %d", (counter, vec![5, 6], None)),
        ("", (end, vec![], inner)),
        ("", (end, vec![], outer)),
        ("request %d", (begin, vec![7], Some(u64::MAX))),
        ("the smallest number", (begin, vec![], Some(0))),
        // Of another thread, so in another chunk.
        ("", (end, vec![], Some(u64::MAX))),
    ];
    let expected = expected.map(|(format, of)| (format.to_owned(), of));
    assert_eq!(found, expected);
}
