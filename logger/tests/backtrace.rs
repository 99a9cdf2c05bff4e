//! Backtraces start at the caller of the macro, and each address is defined
//! before the record that holds it.

use logdef::{Level, logdef};
use logdef_wire::{Record, Value, frame};
use std::collections::HashSet;

#[inline(never)]
fn inner(depth: u32) -> u32 {
    logdef!(Error, "at depth %u", depth);
    std::hint::black_box(depth)
}

#[inline(never)]
fn outer(depth: u32) -> u32 {
    if depth == 0 {
        inner(depth) + 1
    } else {
        outer(depth - 1) + 1
    }
}

#[test]
fn a_backtrace_starts_at_the_caller() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::options()
        .sink(logdef::Sink::Append)
        .backtrace_level(Level::ERROR)
        .backtrace_depth(64)
        .open(&path)
        .unwrap();
    outer(2);
    outer(2);
    logdef!(Warn, "without");
    let bytes = std::fs::read(&path).unwrap();
    let mut rest = &bytes[..];
    let mut defined = HashSet::new();
    let mut depths = Vec::new();
    while !rest.is_empty() {
        let frame = frame::decode(rest).unwrap();
        rest = &rest[frame.len..];
        match Record::decode(frame.body).unwrap() {
            Record::BacktraceLogdef(logdef) => {
                let address = logdef.address.unwrap().0;
                assert!(defined.insert(address), "{address:x} is defined twice");
                assert!(logdef.fname.is_some());
            }
            Record::Data(data) => {
                let backtrace = data.backtrace.map_or(vec![], |b| b.iter().collect());
                for address in &backtrace {
                    let Value::Uint(address) = address else {
                        panic!()
                    };
                    assert!(defined.contains(address), "{address:x} is not defined");
                }
                if let Some(Value::Uint(first)) = backtrace.first() {
                    let at = inner as *const () as u64;
                    assert!((at..at + 4096).contains(first), "{first:x} is not in inner");
                    let Value::Uint(second) = backtrace[1] else {
                        panic!()
                    };
                    let at = outer as *const () as u64;
                    assert!(
                        (at..at + 512).contains(&second),
                        "{second:x} is not in outer"
                    );
                }
                depths.push(backtrace.len());
            }
            _ => {}
        }
    }
    // `inner`, three times `outer`, the test, and what is below it.
    assert!(depths[0] >= 6 && depths[0] <= 64, "{depths:?}");
    assert_eq!(depths, [depths[0], depths[0], 0]);
}
