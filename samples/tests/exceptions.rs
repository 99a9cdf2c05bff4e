//! Exceptions in C++ that fly past log calls, out of their arguments and through
//! spans. What was logged is what was reached, each record in its place and nothing
//! else; a call whose arguments throw writes no record.

use logdef_samples::frames::{self, Frame, Value};
use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const THREADS: usize = 4;

/// How often each thread throws out of each of four places: ten thousand exceptions
/// in all, many more in the slow suite.
fn rounds() -> i128 {
    match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => 10_000,
        None => 10_000 / (4 * THREADS as i128),
    }
}

/// A record: kind, first words of the format, the arguments that are numbers.
type Line = (i128, String, Vec<i128>);

const MESSAGE: i128 = 0;
const BEGIN: i128 = 1;
const END: i128 = 2;

/// What one thread is to log.
fn expected() -> Vec<Line> {
    let mut lines = Vec::new();
    let mut say = |kind, words: &str, args: &[i128]| {
        lines.push((kind, words.to_owned(), args.to_vec()));
    };
    for round in 0..rounds() {
        say(MESSAGE, "before", &[round]);
        say(MESSAGE, "caught", &[round, 0]);

        if round % 6 > 0 {
            say(MESSAGE, "argument", &[round]);
        }
        say(MESSAGE, "caught", &[round, 1]);

        say(BEGIN, "outer", &[round]);
        say(BEGIN, "short", &[round]);
        say(END, "", &[]);
        say(BEGIN, "inner", &[round]);
        for turn in 0..3 {
            say(BEGIN, "turn", &[turn]);
            say(END, "", &[]);
        }
        say(END, "", &[]);
        say(END, "", &[]);
        say(MESSAGE, "caught", &[round, 2]);

        for depth in (0..8).rev() {
            say(MESSAGE, "down", &[round, depth]);
        }
        for depth in 0..8 {
            if [1, 4, 7].contains(&depth) {
                say(MESSAGE, "passed on", &[round, depth]);
            }
            say(MESSAGE, "unwound", &[round, depth]);
            say(MESSAGE, "witnessed", &[round, depth]);
        }
        say(MESSAGE, "caught", &[round, 3]);
    }
    lines
}

/// What each thread logged, by its number. Panics if a sequence has a hole or the
/// writer dropped a call.
fn logged(log: &Path) -> BTreeMap<i128, Vec<Line>> {
    let mut strings = BTreeMap::new();
    let mut threads = BTreeMap::<i128, BTreeMap<i128, Line>>::new();
    for frame in frames::scan(&fs::read(log).unwrap()) {
        if frame.tag == 1 {
            strings.insert(frame.int(1), frame.raw(2).unwrap().to_vec());
        } else if frame.is_data() {
            assert_eq!(frame.int(13), None, "dropped");
            let sequence = frame.int(7).unwrap();
            let calls = threads.entry(sequence >> 40).or_default();
            let twice = calls.insert(sequence & ((1 << 40) - 1), line(&frame, &strings));
            assert_eq!(twice, None);
        }
    }
    let in_order = |(thread, calls): (i128, BTreeMap<i128, Line>)| {
        let last = *calls.last_key_value().unwrap().0;
        assert_eq!(calls.len() as i128, last + 1, "thread {thread} has a hole");
        (thread, calls.into_values().collect())
    };
    threads.into_iter().map(in_order).collect()
}

fn line(frame: &Frame, strings: &BTreeMap<Option<i128>, Vec<u8>>) -> Line {
    let format = strings.get(&frame.int(4)).expect("a format before it");
    let format = String::from_utf8(format.clone()).unwrap();
    let words = format.split(" %").next().unwrap();
    // Backtraces of errors, and of calls that ask for one.
    let wants_backtrace = frame.int(3) >= Some(80);
    assert_eq!(frame.fields.contains_key(&10), wants_backtrace, "{format}");
    let args = frame.fields.get(&9).and_then(Value::array);
    let numbers = args.unwrap_or_default().iter().filter_map(Value::int);
    let kind = frame.int(14).unwrap_or(MESSAGE);
    (kind, words.to_owned(), numbers.collect())
}

#[test]
fn exceptions_cost_no_record_and_leave_none_of_calls_that_they_prevented() {
    if !has_cpp() {
        return;
    }
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let (program, log) = (folder.path().join("thrower"), folder.path().join("log"));
    let expected = expected();
    // As libraries are built whose functions others may replace, and as programs are.
    for flags in [["-fPIC", "-O0"], ["-fno-plt", "-O2"]] {
        workshop.compile(&["samples/cpp/thrower.cpp"], &program, &flags);
        let mut command = Command::new(&program);
        run(command
            .arg(&log)
            .args([THREADS.to_string(), rounds().to_string()]));

        let threads = logged(&log);
        assert_eq!(threads.len(), THREADS);
        for (thread, lines) in &threads {
            let differs = (lines.iter().zip(&expected)).position(|(is, should)| is != should);
            if let Some(at) = differs {
                let (is, should) = (&lines[at], &expected[at]);
                panic!("{flags:?}: thread {thread}, call {at}: {is:?}, not {should:?}");
            }
            assert_eq!(lines.len(), expected.len(), "{flags:?}: thread {thread}");
        }
        let check = run(workshop.command("logdef").arg("check").arg(&log)).stdout;
        let check = String::from_utf8(check).unwrap();
        assert!(check.ends_with("clean: no record missing\n"), "{check}");
        fs::remove_file(&log).unwrap();
    }
}
