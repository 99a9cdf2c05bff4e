//! What the filters choose is what one finds who looks through the whole output: of random logs, clean
//! or damaged, read in one pass or two, whose call sites have formats of all kinds and whose arguments are
//! not always those that a format takes.

use crate::early::synth::{self, EPOCH, Log, Random};
use crate::fixture::{Files, command, run};
use logdef_wire::msgpack::Encoder;
use logdef_wire::record::{ContextLogdef, Data, Kind, StringLogdef};
use logdef_wire::{Array, Level, Map, Record, Run, Svma};
use regex::Regex;
use serde_json::Value;
use std::path::Path;

/// Formats, each with its description.
const FORMATS: [(&str, &str); 16] = [
    ("accepted %s:%d", ""),
    ("took ms=%.3f of %d", ""),
    ("cannot open %s: %m", ""),
    ("|%-12s|%5d|%x|", ""),
    ("refused, and nothing to say of it", ""),
    ("{host} said {text:?} {}", "b:host,text"),
    ("{:>9} beside {n}", "b:,n"),
    ("%s%s", ""),
    ("%d%% of %*d", ""),
    ("%c at %p", ""),
    ("%.3s and %ls", ""),
    ("%d%d%s", "r:a,b\tapp::net\tdns"),
    ("refu%ssed %s", ""),
    ("{0} {1}", "f"),
    ("%5000d %s", ""),
    ("host=%s ms=%d", "c:host,ms"),
];
const FILES: [&str; 3] = ["src/net.c", "db/wal.c", "net.c"];
const TEXTS: [&str; 12] = [
    "example.org",
    "example.net",
    "",
    "refused",
    "ref",
    "10.0.0.1",
    "sed",
    "a b",
    "é",
    "%d",
    "12",
    "wal.c",
];

/// A value that a format may not take.
fn value(random: &mut Random, args: &mut Encoder<'_>) {
    let text = TEXTS[random.below(TEXTS.len())].as_bytes();
    let done = match random.below(12) {
        0..5 => args.raw(text),
        5..8 => args.uint(random.below(40) as u64),
        8 => args.int(-3),
        9 => args.float([0.5, 12.25, -1e300, f64::NAN][random.below(4)]),
        10 => args.bool(true),
        _ => args.nil(),
    };
    done.unwrap();
}

/// What each chunk of a run begins with.
fn logdefs(log: &mut Log, random: &mut Random, run: Run) {
    for (number, (format, description)) in FORMATS.iter().enumerate() {
        // A string is missing now and then, or another one.
        let format = match random.below(300) {
            0 => continue,
            1 => "refused",
            _ => format,
        };
        log.record(&Record::StringLogdef(StringLogdef {
            magic: Some(synth::MAGIC),
            address: Some(Svma(0x3000 + 16 * number as u64)),
            string: Some(format.as_bytes()),
            description: (!description.is_empty()).then_some(description.as_bytes()),
            run: Some(run),
            ..StringLogdef::default()
        }));
    }
    for (number, file) in FILES.iter().enumerate() {
        log.string(run, Svma(0x2000 + 16 * number as u64), file.as_bytes());
    }
    log.record(&Record::ContextLogdef(ContextLogdef {
        run: Some(run),
        id: Some(1),
        keys: Map::from_objects(1, b"\xa5shard\x07").ok(),
        ..ContextLogdef::default()
    }));
}

/// A record of one of a few call sites.
fn record(log: &mut Log, random: &mut Random, like: Data<'_>) {
    let site = random.below(2 * FORMATS.len());
    let mut buffer = [0; 400];
    let mut args = Encoder::new(&mut buffer);
    let len = if random.below(20) == 0 {
        random.below(4)
    } else {
        3
    };
    (0..len).for_each(|_| value(random, &mut args));
    let keys = [b'\x81', 0xa1, b'k', 7];
    let mut data = Data {
        args: Array::from_objects(len as u32, args.written()).ok(),
        keys: Map::from_objects(1, &keys[1..])
            .ok()
            .filter(|_| random.below(9) == 0),
        context: (random.below(9) == 0).then_some(1),
        kind: (random.below(20) == 0).then_some(Kind(random.below(3) as u64)),
        backtrace: Array::from_objects(1, &[9])
            .ok()
            .filter(|_| random.below(9) == 0),
        ..like
    };
    data.format = Some(Svma(0x3000 + 16 * (site % FORMATS.len()) as u64));
    data.file = Some(Svma(0x2000 + 16 * (site % FILES.len()) as u64));
    data.line = Some(site as u64);
    data.level = Some([Level::DEBUG, Level::INFO, Level::INFO, Level::ERROR][site % 4]);
    match random.below(60) {
        0 => data.level = None,
        1 => data.line = None,
        2 => data.format_text = Some(b"refused, by a text of its own"),
        3 => (data.file, data.file_text) = (None, Some(&b"lib/wal.c"[..])),
        4 => data.format = None,
        _ => {}
    }
    log.record(&Record::Data(data));
}

/// A log in chunks of one thread each, or of all threads.
pub fn log(random: &mut Random) -> Vec<u8> {
    const CHUNK: usize = 16 << 10;
    let id = Run(random.next() | 1);
    let is_mixed = random.below(2) == 0;
    let mut log = Log::new();
    let mut counts = [0; 3];
    let mut time = EPOCH;
    for _ in 0..1 + random.below(4) {
        let start = log.bytes.len();
        let thread = random.below(3);
        log.preamble(id, (!is_mixed).then_some(CHUNK as u64));
        logdefs(&mut log, random, id);
        (0..3).for_each(|thread| _ = log.thread(id, thread, b"worker"));
        for _ in 0..random.below(140) {
            let thread = if is_mixed { random.below(3) } else { thread };
            time += random.below(3000) as u64;
            let like = synth::data(
                id,
                thread as u64,
                counts[thread],
                time - random.below(2) as u64,
            );
            record(&mut log, random, like);
            counts[thread] += 1;
            if log.bytes.len() - start > CHUNK - 1000 {
                break;
            }
        }
        if !is_mixed {
            log.zeros((CHUNK + start).saturating_sub(log.bytes.len()));
        }
    }
    let mut bytes = log.bytes;
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        bytes[at] ^= 0x10;
    }
    bytes
}

pub type Choice = Box<dyn Fn(&Value) -> bool>;

fn level(line: &Value) -> u64 {
    let number = match line["level"].as_str() {
        Some("DEBUG") => 0x20,
        Some("INFO") => 0x30,
        Some("ERROR") => 0x50,
        _ => 0,
    };
    line["level"].as_u64().unwrap_or(number)
}

fn is_of(line: &Value, part: &str) -> bool {
    let file = line["file"].as_str().unwrap_or("");
    file == part || file.ends_with(&format!("/{part}"))
}

/// A filter, and what it leaves of the lines of the whole.
pub fn filter(random: &mut Random) -> (Vec<String>, Choice) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let greps = [
        "refused",
        "example.net",
        "example\\.net",
        "sed",
        "(?i)REF",
        "^acc.*9$",
        "10.0.0.1",
        "12",
        "raw=",
        "missing",
        "a b|wal",
        "\\d\\d%",
        "é",
        "se.*d",
        "",
        "No such file",
        "   ",
        "[0-9]+ beside",
        "ms$",
    ];
    let number = |line: &Value, arg: usize| line["args"][arg].as_f64();
    match random.below(10) {
        0 => (
            words(&["--level", "error"]),
            Box::new(|line| level(line) >= 0x50),
        ),
        1 => (
            words(&["--level", "debug..info"]),
            Box::new(|line| (0x20..=0x30).contains(&level(line))),
        ),
        2 => (
            words(&["--site", "wal.c"]),
            Box::new(|line| is_of(line, "wal.c")),
        ),
        3 => {
            let number = random.below(32) as u64;
            let choice = move |line: &Value| is_of(line, "net.c") && line["line"] == number;
            (
                words(&["--site", &format!("net.c:{number}")]),
                Box::new(choice),
            )
        }
        4 => (
            words(&["-w", "1>20"]),
            // A truth value compares as text.
            Box::new(move |line| number(line, 1) > Some(20.0) || line["args"][1].is_boolean()),
        ),
        5 => (
            words(&["--not", "0=12"]),
            Box::new(move |line| number(line, 0) != Some(12.0) && line["args"][0] != "12"),
        ),
        // Of which nearly all call sites have none.
        6 => (
            words(&["-w", "n>10"]),
            Box::new(|line| {
                let named = &line["fields"]["n"];
                named.as_f64() > Some(10.0) || named.is_boolean()
            }),
        ),
        7 => (
            words(&["-w", "template~refused"]),
            Box::new(|line| {
                line["format"]
                    .as_str()
                    .is_some_and(|format| format.contains("refused"))
            }),
        ),
        _ => {
            let grep = greps[random.below(greps.len())];
            let regex = Regex::new(grep).unwrap();
            let choice = move |line: &Value| regex.is_match(line["message"].as_str().unwrap());
            (words(&["--grep", grep]), Box::new(choice))
        }
    }
}

pub fn shown(words: &[String], files: &[&Path]) -> Vec<String> {
    let mut command = command();
    command.args(["--no-logged-paths", "--early-from", "0", "-o", "json"]);
    let mut view = crate::fixture::command();
    view.arg("view")
        .args(command.get_args())
        .args(words)
        .args(files);
    let ran = run(&mut view, b"");
    assert!(ran.status == 0 || ran.status == 3, "{words:?}: {}", ran.err);
    ran.out.lines().map(str::to_owned).collect()
}

/// Fails with the first line in which the two differ.
pub fn is_same(shown: &[String], expected: &[String], what: &str) {
    for index in 0..shown.len().max(expected.len()) {
        assert_eq!(
            shown.get(index),
            expected.get(index),
            "line {index} of {what}"
        );
    }
}

fn counted(words: &[String], files: &[&Path]) -> usize {
    let mut command = command();
    let ran = run(
        command
            .arg("stats")
            .args(["--no-logged-paths"])
            .args(words)
            .args(files),
        b"",
    );
    assert!(ran.status == 0 || ran.status == 3, "{words:?}: {}", ran.err);
    let (number, _) = ran.out.split_once(" record").unwrap();
    number.replace(',', "").parse().unwrap()
}

#[test]
fn filters_choose_what_stands_in_the_whole_output() {
    let files = Files::new();
    let empty = files.put("empty.log", b"");
    let logs = if synth::slow() { 400 } else { 6 };
    let mut chosen = 0;
    for seed in 0..logs {
        let mut random = Random::new(seed);
        let path = files.put("app.log", &log(&mut random));
        let suspects: &[String] = &["--suspects".to_owned()][..random.below(2)];
        let whole = shown(suspects, &[&path, &empty]);
        for _ in 0..6 {
            let (mut words, choice) = filter(&mut random);
            let (more, and) = filter(&mut random);
            let is_both = random.below(3) == 0 && more[0] != words[0];
            if is_both {
                words.extend(more);
            }
            let is_one = |line: &String| {
                let line = serde_json::from_str(line).unwrap();
                choice(&line) && (!is_both || and(&line))
            };
            let expected: Vec<_> = whole.iter().filter(|line| is_one(line)).cloned().collect();
            words.extend_from_slice(suspects);
            let inputs = [&*path, &empty];
            let inputs = &inputs[..1 + random.below(2)];
            is_same(
                &shown(&words, inputs),
                &expected,
                &format!("log {seed}, {words:?}, {} files", inputs.len()),
            );
            match random.below(4) {
                0 => assert_eq!(
                    counted(&words, inputs),
                    expected.len(),
                    "log {seed}, {words:?}"
                ),
                1 => {
                    let last = [&words[..], &["--tail".into(), "7".into()]].concat();
                    let from = expected.len().saturating_sub(7);
                    is_same(
                        &shown(&last, inputs),
                        &expected[from..],
                        &format!("log {seed}, {last:?}"),
                    );
                }
                2 => {
                    let first = [&words[..], &["-n".into(), "3".into()]].concat();
                    let to = expected.len().min(3);
                    is_same(
                        &shown(&first, inputs),
                        &expected[..to],
                        &format!("log {seed}, {first:?}"),
                    );
                }
                _ => {
                    let near = [&words[..], &["-A".into(), "1".into()]].concat();
                    let wants = |at: usize| is_one(&whole[at]) || at > 0 && is_one(&whole[at - 1]);
                    let near_ones = (0..whole.len())
                        .filter(|at| wants(*at))
                        .map(|at| whole[at].clone());
                    is_same(
                        &shown(&near, inputs),
                        &near_ones.collect::<Vec<_>>(),
                        &format!("log {seed}, {near:?}"),
                    );
                }
            }
            chosen += expected.len();
        }
    }
    assert!(chosen > 15 * logs as usize, "{chosen}");
}
