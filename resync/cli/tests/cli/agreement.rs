//! Every answer is a cut of the same whole: `-n`, `--tail`, `--since`, `--until` and the
//! filters show what stands there in the output of `view` alone, for logs whose clocks
//! step, clean or damaged.

use crate::early::synth::{self, EPOCH, Log, Random};
use crate::fixture::{Files, command, run};
use logdef_wire::record::{ContextLogdef, Data, StringLogdef};
use logdef_wire::{Array, Map, Record, Run, Svma};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A log in chunks of threads whose clock is set, forward and back, in each.
fn stepping(random: &mut Random) -> Log {
    let id = Run(random.next() | 1);
    let mut log = Log::new();
    let threads = 1 + random.below(3);
    let mut counts = vec![0u64; threads];
    let mut time = EPOCH;
    for _ in 0..2 + random.below(8) {
        let start = log.bytes.len();
        let thread = random.below(threads);
        log.preamble(id, Some(CHUNK as u64))
            .string(id, Svma(0x2000), b"main.c")
            .string(id, Svma(0x2008), b"record %d says %s")
            .thread(id, thread as u64, b"worker");
        named_site(&mut log, id);
        for _ in 0..1 + random.below(14) {
            time = match random.below(12) {
                0 => time.saturating_sub(3_600_000_000_000),
                1 => time + 3_600_000_000_000,
                _ => time + 1_000_000_000,
            };
            if random.below(60) == 0 {
                time = [0, u64::MAX, 1 << 63][random.below(3)];
            }
            let (of, count) = (thread as u64, counts[thread]);
            if random.below(3) == 0 {
                let like = synth::data(id, of, count, time);
                named(&mut log, like, random.below(5) as u64);
            } else {
                log.data(id, of, count, time, b"text");
            }
            counts[thread] += 1;
            time = time.clamp(EPOCH - (1 << 50), EPOCH + (1 << 50));
        }
        let len = log.bytes.len() - start;
        assert!(len <= CHUNK, "{len}");
        log.zeros(CHUNK - len);
    }
    log
}

const CHUNK: usize = 4096;

/// A call site with names, module and target, and a context.
fn named_site(log: &mut Log, run: Run) {
    log.record(&Record::StringLogdef(StringLogdef {
        magic: Some(synth::MAGIC),
        address: Some(Svma(0x3000)),
        string: Some(b"named %d"),
        description: Some(b"r:n\tapp::net\tdns"),
        run: Some(run),
        ..StringLogdef::default()
    }));
    log.record(&Record::ContextLogdef(ContextLogdef {
        run: Some(run),
        id: Some(1),
        keys: Map::from_objects(1, b"\xa5shard\x07").ok(),
        ..ContextLogdef::default()
    }));
}

/// A record of that site, in that context if its number is odd.
fn named(log: &mut Log, like: Data<'_>, number: u64) {
    let args = [number as u8];
    let mut data = Data {
        args: Array::from_objects(1, &args).ok(),
        context: (number % 2 == 1).then_some(1),
        ..like
    };
    data.format = Some(Svma(0x3000));
    log.record(&Record::Data(data));
}

/// Filters, and what they leave of the lines of the whole.
type Filter = (&'static [&'static str], fn(&Value) -> bool);
const FILTERS: [Filter; 6] = [
    (&["-w", "n>=2"], |line| {
        line["fields"]["n"].as_u64() >= Some(2)
    }),
    (&["-w", "target=\"dns\""], |line| line["target"] == "dns"),
    (&["-w", "shard=7"], |line| line["fields"]["shard"] == 7),
    (&["-w", "shard=7 or n=2"], |line| {
        line["fields"]["shard"] == 7 || line["fields"]["n"] == 2
    }),
    (&["--not", "n=2"], |line| line["fields"]["n"] != 2),
    (&["--thread", "0"], |line| line["thread_number"] == 0),
];

fn shown(words: &[&str], file: &Path) -> Vec<String> {
    let mut command = command();
    command.args(["view", "--no-logged-paths", "-o", "json"]);
    let ran = run(command.args(words).arg(file), b"");
    assert!(ran.status == 0 || ran.status == 3, "{words:?}: {}", ran.err);
    ran.out.lines().map(str::to_owned).collect()
}

/// The number after a key of a line.
fn number(line: &str, key: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

fn time(line: &str) -> u64 {
    number(line, "time_ns").unwrap_or(0)
}

fn each_thread_is_in_order(lines: &[String]) {
    let mut last = std::collections::HashMap::new();
    for line in lines {
        let thread = number(line, "thread_number");
        let count = number(line, "sequence");
        let before = last.insert(thread, count);
        assert!(before.is_none_or(|before| before < count), "{line}");
    }
}

/// The bytes of such a log, up to two of them damaged.
fn damaged(random: &mut Random) -> Vec<u8> {
    let mut bytes = stepping(random).bytes;
    for _ in 0..random.below(3) {
        damage(&mut bytes, random);
    }
    bytes
}

fn damage(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    bytes[at] ^= 0x10;
}

/// The second in which one of the records was made, or one near it that `--since` takes.
fn second_of_one(lines: &[String], random: &mut Random) -> u64 {
    let second = time(&lines[random.below(lines.len())]) / 1_000_000_000;
    second.clamp(1, EPOCH / 1_000_000_000 + (1 << 20))
}

fn head(lines: &[String], some: usize) -> &[String] {
    &lines[..some.min(lines.len())]
}

fn tail(lines: &[String], some: usize) -> &[String] {
    &lines[lines.len() - some.min(lines.len())..]
}

#[test]
fn every_answer_is_a_cut_of_the_whole() {
    let files = Files::new();
    let mut random = Random::new(31);
    for log in 0..60 {
        let path = files.put("app.log", &damaged(&mut random));
        let whole = shown(&[], &path);
        each_thread_is_in_order(&whole);
        let some = random.below(whole.len() + 2);
        let number = some.to_string();
        assert_eq!(
            shown(&["-n", &number], &path),
            head(&whole, some),
            "-n, log {log}"
        );
        assert_eq!(
            shown(&["--tail", &number], &path),
            tail(&whole, some),
            "--tail, log {log}"
        );
        // A time of a record, or near one.
        let middle = whole
            .get(random.below(whole.len()))
            .map_or(EPOCH, |line| time(line));
        let seconds = middle.clamp(EPOCH - (1 << 50), EPOCH + (1 << 50)) / 1_000_000_000;
        let middle = seconds * 1_000_000_000;
        let at = format!("@{seconds}");
        for limit in ["--since", "--until"] {
            let is_in = |line: &&String| match limit {
                "--since" => time(line) >= middle,
                _ => time(line) <= middle,
            };
            let cut: Vec<_> = whole.iter().filter(is_in).cloned().collect();
            let limited = [limit, &at];
            assert_eq!(shown(&limited, &path), cut, "{limited:?}, log {log}");
            let words = [limit, &at, "-n", &number];
            assert_eq!(
                shown(&words, &path),
                head(&cut, some),
                "{words:?}, log {log}"
            );
            let words = [limit, &at, "--tail", &number];
            assert_eq!(
                shown(&words, &path),
                tail(&cut, some),
                "{words:?}, log {log}"
            );
        }
    }
}

/// Longer logs are shown while they are read, and chunks left out by the times in their heads.
#[test]
fn what_is_shown_early_is_a_cut_of_the_whole_too() {
    let files = Files::new();
    let mut random = Random::new(37);
    for log in 0..60 {
        let path = files.put("app.log", &damaged(&mut random));
        let whole = shown(&[], &path);
        let some = 1 + random.below(whole.len());
        let number = some.to_string();
        let seconds = second_of_one(&whole, &mut random);
        let at = format!("@{seconds}");
        let early = |words: &[&str]| shown(&[&["--early-from", "0"], words].concat(), &path);
        assert_eq!(early(&["-n", &number]), whole[..some], "-n, log {log}");
        for limit in ["--since", "--until"] {
            let is_in = |line: &&String| match limit {
                "--since" => time(line) >= seconds * 1_000_000_000,
                _ => time(line) <= seconds * 1_000_000_000,
            };
            let cut: Vec<_> = whole.iter().filter(is_in).cloned().collect();
            let words = [limit, &at, "-n", &number];
            assert_eq!(early(&words), head(&cut, some), "{words:?}, log {log}");
            // What is found late stands below, and is said to.
            let sorted = |mut lines: Vec<String>| {
                lines.sort();
                lines
            };
            assert_eq!(
                sorted(early(&[limit, &at])),
                sorted(cut),
                "{limit} {at}, log {log}"
            );
        }
    }
}

/// The filters too, alone and with the cuts, on clean and damaged logs.
#[test]
fn what_filters_leave_is_a_cut_of_the_whole() {
    let files = Files::new();
    let mut random = Random::new(41);
    for log in 0..24 {
        let path = files.put("app.log", &damaged(&mut random));
        let whole = shown(&[], &path);
        let seconds = second_of_one(&whole, &mut random);
        let at = format!("@{seconds}");
        let since = |line: &&String| time(line) >= seconds * 1_000_000_000;
        let some = random.below(8);
        let number = some.to_string();
        let (words, keeps) = FILTERS[log % FILTERS.len()];
        let kept = |line: &&String| keeps(&serde_json::from_str(line).unwrap());
        let cut: Vec<_> = whole.iter().filter(kept).cloned().collect();
        let with = |more: &[&str]| shown(&[words, more].concat(), &path);
        assert_eq!(with(&[]), cut, "{words:?}, log {log}");
        assert_eq!(
            with(&["-n", &number]),
            head(&cut, some),
            "{words:?} -n, log {log}"
        );
        assert_eq!(
            with(&["--tail", &number]),
            tail(&cut, some),
            "{words:?} --tail, log {log}"
        );
        let later: Vec<_> = cut.iter().filter(since).cloned().collect();
        let found = with(&["--since", &at, "--zone", "Asia/Tokyo"]);
        let times = |lines: &[String]| lines.iter().map(|line| time(line)).collect::<Vec<_>>();
        assert_eq!(times(&found), times(&later), "{words:?} --since, log {log}");
        // The lines around those that match stand in the whole too.
        let around = with(&["-C", "1"]);
        let index = |line: &String| whole.iter().position(|other| other == line);
        let places: Vec<_> = around.iter().map(|line| index(line).expect(line)).collect();
        assert!(
            places.windows(2).all(|pair| pair[0] < pair[1]),
            "{words:?} -C, log {log}"
        );
        assert!(
            cut.iter().all(|line| around.contains(line)),
            "{words:?} -C, log {log}"
        );
    }
}

/// Views with a cursor, one after another, show the whole together.
#[test]
fn views_with_a_cursor_are_cuts_of_the_whole() {
    let files = Files::new();
    let mut random = Random::new(43);
    for log in 0..12 {
        let mut bytes = stepping(&mut random).bytes;
        if log % 2 == 1 {
            damage(&mut bytes, &mut random);
        }
        let path = files.put("app.log", &bytes);
        let cursor = files
            .path()
            .join(format!("cursor-{log}"))
            .display()
            .to_string();
        let number = (whole_len(&path) / 3 + 1).to_string();
        let mut parts = Vec::new();
        for _ in 0..4 {
            parts.extend(shown(&["--cursor-file", &cursor, "-n", &number], &path));
        }
        assert_eq!(parts, shown(&[], &path), "log {log}");
    }
}

fn whole_len(path: &Path) -> usize {
    shown(&[], path).len()
}

/// A follower gives the same records, each thread in its order. It may have shown one before it
/// saw the damage that makes it doubtful.
#[test]
fn what_is_followed_is_the_whole() {
    let files = Files::new();
    let mut random = Random::new(47);
    let follow = |log: usize| {
        let path = files.put(&format!("{log}.log"), &damaged(&mut random));
        let whole = shown(&[], &path);
        let all = whole.len().to_string();
        let mut command = command();
        command.args([
            "view",
            "--no-logged-paths",
            "-o",
            "json",
            "--follow",
            "-n",
            &all,
        ]);
        let out = files.path().join(format!("{log}.json"));
        let file = File::create(&out).unwrap();
        command.arg(&path).stdin(Stdio::null()).stdout(file);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        (log, whole, child, out)
    };
    let following: Vec<_> = (0..24).map(follow).collect();
    let deadline = Instant::now() + Duration::from_secs(120);
    for (log, whole, mut child, out) in following {
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let out = std::fs::read_to_string(out).unwrap();
        let followed: Vec<String> = out.lines().map(str::to_owned).collect();
        each_thread_is_in_order(&followed);
        let sorted = |lines: &[String]| {
            let lines = lines.iter();
            let lines = lines.map(|line| line.replace(",\"standing\":\"recovered\"", ""));
            let mut lines: Vec<_> = lines.collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&followed), sorted(&whole), "log {log}");
    }
}
