//! Rate-limited calls, read back: which are written, and how many skipped calls they
//! report.

use logdef::{logdef_at_most_every, logdef_every_n, logdef_first_n, logdef_once};
use logdef_wire::Value;
use logdef_wire::record::Data;
use std::cell::Cell;
use std::time::Duration;

mod common;

/// The first argument and what the field `skipped` says.
fn of(data: &Data<'_>) -> (u64, Option<u64>) {
    let uint = |value| match value {
        Some(Value::Uint(uint)) => Some(uint),
        _ => None,
    };
    let skipped = data.keys.and_then(|keys| {
        let mut of_skipped = keys.iter().filter(|(key, _)| match key {
            Value::Raw(key) => *key == b"skipped",
            _ => false,
        });
        uint(of_skipped.next().map(|(_, value)| value))
    });
    (uint(data.args.unwrap().iter().next()).unwrap(), skipped)
}

#[test]
fn limits_let_through_what_they_say_and_count_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    let evaluated = Cell::new(0);
    let number = |i: u32| {
        evaluated.set(evaluated.get() + 1);
        i
    };
    for i in 0..10u32 {
        logdef_once!(Info, "once %u", number(i));
        logdef_first_n!(3, Info, "first %u", number(100 + i));
        logdef_every_n!(4, Info, "every %u %s %f", number(200 + i), "text", 0.5);
        logdef_at_most_every!(
            Duration::from_secs(3600),
            Info,
            "rarely %u",
            number(300 + i)
        );
    }
    logdef::set_filter("off").unwrap();
    for i in 0..10u32 {
        logdef_every_n!(2, Info, "never %u", number(400 + i));
    }
    logdef::set_filter("on").unwrap();
    // Time passes until three were let through.
    let before = evaluated.get();
    for i in 0.. {
        logdef_at_most_every!(Duration::from_millis(5), Info, "soon %u", number(500 + i));
        if evaluated.get() == before + 3 {
            break;
        }
    }

    let mut found = Vec::new();
    common::data(&std::fs::read(&path).unwrap(), |data| found.push(of(data)));
    let is_soon = |found: &&(u64, Option<u64>)| found.0 >= 500;
    let soon: Vec<_> = found.iter().filter(is_soon).copied().collect();
    found.retain(|found| !is_soon(&found));
    found.sort();
    let expected = [
        (0, None),
        (100, None),
        (101, None),
        (102, None),
        (200, None),
        (204, Some(3)),
        (208, Some(3)),
        (300, None),
    ];
    assert_eq!(found, expected);
    // However the threads were scheduled: a record counts all calls since the one before
    // it.
    assert_eq!(soon.len(), 3, "{soon:?}");
    for pair in soon.windows(2) {
        let skipped = pair[1].0 - pair[0].0 - 1;
        assert_eq!(pair[1].1.unwrap_or(0), skipped, "{soon:?}");
    }
    assert_eq!(
        evaluated.get(),
        found.len() + soon.len(),
        "arguments of skipped calls"
    );
}
