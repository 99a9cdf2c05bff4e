//! No name of the caller's is captured by a macro, and none breaks the build:
//! constants, statics, functions, types and modules called as what the macros declare
//! or refer to.

#![no_implicit_prelude]
#![allow(non_upper_case_globals, dead_code, unused_macros)]

extern crate logdef;
extern crate logdef_wire;
extern crate std;
extern crate tempfile;

use logdef::*;
use logdef_wire::{Record, Value};
use std::string::{String, ToString};
use std::vec::Vec;
use std::{assert_eq, format, vec};

const FORMAT: &str = "FORMAT";
const TEXT: &str = "TEXT";
const PLAN: u64 = 1;
const STATE: u64 = 2;
const SITE: u64 = 3;
const LIMIT: u64 = 4;
const BEGUN: u64 = 5;
const site: u64 = 6;
const state: u64 = 7;
const passed: u64 = 8;
const skipped: u64 = 9;
const limit: u64 = 10;
const id: u64 = 11;
const began: u64 = 12;
const Info: u64 = 13;

struct Level;
struct Site;
struct Some;
struct None;
struct Option;
mod core {}
mod logdef_sites {}

macro_rules! concat {
    ($($any:tt)*) => {
        compile_error!("the caller's own")
    };
}
macro_rules! stringify {
    ($($any:tt)*) => {
        compile_error!("the caller's own")
    };
}

fn everything() {
    logdef!(Info, "%s %s", FORMAT, TEXT);
    logdef!(Info, "%s", &FORMAT[1..]);
    logdef!(Info, "%u %u %u %u %u", PLAN, STATE, SITE, LIMIT, BEGUN);
    logdef!(Info, "%u %u %u %u", site, state, passed, skipped);
    logdef!(Info, "%u %u %u %u", limit, id, began, Info);
    logdef_attach!(Info, "%s", "%s %u", FORMAT, TEXT, SITE);
    logdef_backtrace!(Info, "%s %u", TEXT, PLAN);
    logdef_once!(Info, "%u %u", LIMIT, skipped);
    logdef_first_n!(LIMIT, Info, "%u %u", LIMIT, limit);
    logdef_every_n!(LIMIT + skipped, Info, "%u %u", LIMIT, STATE);
    logdef_at_most_every!(
        std::time::Duration::from_secs(LIMIT),
        Info,
        "%s %u",
        FORMAT,
        LIMIT
    );
    logdef_begin!(Info, "%s %u", FORMAT, SITE);
    logdef_end!(Info, "%s %u", TEXT, STATE);
    logdef_async_begin!(id, Info, "%s %u", FORMAT, id);
    logdef_async_end!(id, Info, "%s %u", TEXT, site);
    let _span = logdef_span!(Info, "%u %u %s", began, id, FORMAT);
    logdef_counter!(Info, "c %u", PLAN);
    logdef!(
        Info,
        "{FORMAT} {site:>3} {}",
        TEXT,
        value = STATE,
        to = LIMIT
    );
    logdef_at!(logdef::Level::INFO, "{passed} {id}");
    std::assert!(enabled!(Trace));
}

/// What the caller's names stand for, read back.
#[test]
fn the_caller_keeps_its_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = std::path::Path::join(directory.path(), "log");
    open(&path).unwrap();
    everything();
    let mut found: Vec<String> = Vec::new();
    let bytes = std::fs::read(&path).unwrap();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == 0 {
            at += 1;
            continue;
        }
        let frame = logdef_wire::frame::decode(&bytes[at..]).unwrap();
        at += frame.len;
        if let Record::Data(data) = Record::decode(frame.body).unwrap() {
            let mut line = Vec::new();
            for value in std::iter::Iterator::flatten(std::iter::IntoIterator::into_iter(data.args))
            {
                line.push(match value {
                    Value::Raw(text) => String::from_utf8_lossy(text).to_string(),
                    Value::Uint(number) => format!("{number}"),
                    other => std::panic!("{other:?}"),
                });
            }
            found.push(line.join(" "));
        }
    }
    let expected = vec![
        "FORMAT TEXT",
        "ORMAT",
        "1 2 3 4 5",
        "6 7 8 9",
        "10 11 12 13",
        "FORMAT TEXT 3",
        "TEXT 1",
        "4 9",
        "4 10",
        "4 2",
        "FORMAT 4",
        "FORMAT 3",
        "TEXT 2",
        "FORMAT 11",
        "TEXT 6",
        "12 11 FORMAT",
        "1",
        "TEXT 2 4 FORMAT 6",
        "8 11",
        "",
    ];
    assert_eq!(found, expected);
}
