//! Asking before the work whether a call would be logged, and levels that are variables.

#[path = "common/mod.rs"]
mod common;

use logdef::{Level, enabled, logdef_at};

#[test]
fn levels_may_be_asked_for_and_be_variables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    let is_on = || enabled!(Debug);
    assert!(is_on() && enabled!(Trace));
    logdef::set_level(Level::INFO);
    assert!(!is_on() && enabled!(Info));
    logdef::set_filter("info,levels=debug").unwrap();
    assert!(is_on() && !enabled!(Trace));
    logdef::set_filter("trace").unwrap();

    let mut evaluated = 0;
    let levels = [
        Level::TRACE,
        Level::DEBUG,
        Level::INFO,
        Level::WARN,
        Level::ERROR,
        Level::FATAL,
        // Between two names, and beyond them.
        Level(Level::INFO.0 + 1),
        Level(1),
        Level(255),
    ];
    for level in levels {
        logdef_at!(level, "at {} of {level:?}", {
            evaluated += 1;
            evaluated
        });
    }
    assert_eq!(evaluated, levels.len());
    let mut found = Vec::new();
    let bytes = std::fs::read(&path).unwrap();
    common::data(&bytes, |data| found.push(data.level.unwrap()));
    let mut expected = levels;
    expected[6..].copy_from_slice(&[Level::INFO, Level::TRACE, Level::FATAL]);
    assert_eq!(found, expected);
}
