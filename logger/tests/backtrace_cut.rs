//! A backtrace that leaves callers out says so, and one may be 256 stack frames deep.

use logdef::{Level, logdef};
use logdef_wire::record::Data;
use logdef_wire::{Record, frame};

/// A stack frame for each step, also in an optimized program, which would make a loop of a
/// sum.
#[inline(never)]
fn descend(depth: u32) -> u32 {
    if depth == 0 {
        logdef!(Error, "at the bottom");
        return 0;
    }
    std::hint::black_box(descend(depth - 1)) + 1
}

/// How many addresses each record's backtrace has, and whether it is cut.
fn backtraces(bytes: &[u8]) -> Vec<(usize, bool)> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let frame = frame::decode(rest).unwrap();
        rest = &rest[frame.len..];
        if let Record::Data(data) = Record::decode(frame.body).unwrap() {
            found.push((addresses(&data), data.is_backtrace_cut()));
        }
    }
    found
}

fn addresses(data: &Data<'_>) -> usize {
    let backtrace = data.backtrace.unwrap();
    backtrace.iter().filter_map(|it| it.as_uint()).count()
}

#[test]
fn a_backtrace_that_was_cut_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::options()
        .sink(logdef::Sink::Append)
        .backtrace_level(Level::ERROR)
        .open(&path)
        .unwrap();
    // The usual depth, the deepest that needs no further room, and the deepest of all.
    for depth in [32, 64, 65, 256, 1000] {
        logdef::set_backtrace_depth(depth);
        descend(300);
    }
    // Deeper than the usual, and whole.
    logdef::set_backtrace_depth(256);
    descend(100);
    // As deep as the stack: nothing is left out.
    let whole = backtraces(&std::fs::read(&path).unwrap())[5].0;
    for depth in [whole, whole - 1] {
        logdef::set_backtrace_depth(depth);
        descend(100);
    }
    let found = backtraces(&std::fs::read(&path).unwrap());
    let cut = [32, 64, 65, 256, 256].map(|depth| (depth, true));
    assert_eq!(found[..5], cut);
    assert!(whole > 100 && whole < 200, "{whole}");
    assert_eq!(
        found[5..],
        [(whole, false), (whole, false), (whole - 1, true)]
    );
}
