//! Calls that come before the log is open: written when it opens, with their own times
//! and threads, by the level and the filter that it is opened with. What does not fit is
//! counted.

use logdef::{Filter, Level, logdef};
use logdef_wire::{Record, Value};
use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

mod common;

const MANY: u64 = 2000;

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_nanos() as u64
}

#[inline(never)]
fn early_error(text: &str) {
    logdef!(Error, "error %u %s", 3, text);
}

#[test]
fn calls_before_the_log_is_open_are_written_when_it_opens() {
    let begun = now();
    logdef!(Info, "usage %u %s", 1, "can't run as root");
    let of_other = std::thread::Builder::new()
        .name("early bird".into())
        .spawn(|| {
            logdef!(Warn, "of a thread %u %d", 2, 3_000_000_000u64);
            // SAFETY: takes no pointer.
            unsafe { libc::gettid() as u64 }
        })
        .unwrap()
        .join()
        .unwrap();
    early_error("with a backtrace");
    logdef!(Debug, "below the level %u", 4);
    logdef!(Info, "not in the filter: %u", 5);
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("none/log");
    assert!(logdef::open(nowhere).is_err(), "they are kept all the same");
    for number in 0..MANY {
        logdef!(Info, "many %u", number + 1000);
    }
    let ended = now();
    let path = directory.path().join("log");
    let filter = format!("info,{}:{}=off", file!(), 40);
    logdef::options()
        .level(Level::INFO)
        .filter(Filter::parse(&filter).unwrap())
        .open(&path)
        .unwrap();
    logdef!(Info, "after %u", 6);
    logdef::close();
    logdef!(Info, "lost %u", 7);

    let bytes = std::fs::read(&path).unwrap();
    let mut strings = HashMap::new();
    let mut threads = HashMap::new();
    let mut found = BTreeMap::new();
    let (mut counts, mut dropped, mut last) = (HashMap::new(), 0, 0);
    common::records(&bytes, |record| match record {
        Record::StringLogdef(logdef) => {
            let string = logdef.string.unwrap();
            let text = String::from_utf8(string.to_vec()).unwrap();
            let is_of_values = logdef.description.is_some();
            strings.insert(logdef.address.unwrap(), (text, is_of_values));
        }
        Record::ThreadLogdef(logdef) => {
            let name = String::from_utf8(logdef.name.unwrap().to_vec()).unwrap();
            threads.insert(logdef.number.unwrap(), (logdef.tid.unwrap(), name));
        }
        Record::Data(data) => {
            let sequence = data.sequence.unwrap();
            let count = counts.entry(sequence.number()).or_insert(0);
            assert_eq!(sequence.count(), *count, "a record is missing");
            *count += 1;
            let (format, is_of_values) = &strings[&data.format.unwrap()];
            assert!(is_of_values, "{format}");
            assert!(strings[&data.file.unwrap()].0.ends_with("early.rs"));
            let number = data.args.unwrap().iter().next().and_then(Value::as_uint);
            let time = data.time.unwrap();
            assert!(time >= begun && time >= last, "{format}");
            last = time;
            dropped += data.dropped.unwrap_or(0);
            if format != "after %u" {
                assert!(time <= ended, "{format}");
            }
            let has_backtrace = data.backtrace.is_some_and(|backtrace| backtrace.len() > 2);
            let thread = threads[&sequence.number()].clone();
            found.insert(number.unwrap(), (format.clone(), thread, has_backtrace));
        }
        _ => {}
    });
    let kept = found.keys().filter(|number| **number >= 1000).count() as u64;
    assert!((100..MANY).contains(&kept), "{kept}");
    assert_eq!(kept + dropped, MANY);
    let few: Vec<u64> = found.keys().copied().take_while(|n| *n < 1000).collect();
    assert_eq!(few, [1, 2, 3, 6]);
    assert_eq!(found[&2].1, (of_other, "early bird".to_owned()));
    assert_eq!(found[&1].1, found[&6].1, "one thread, one number");
    assert!(found[&3].2 && !found[&1].2);
}
