//! Victims are killed at random moments: what they were told is written must
//! be in the file, byte for byte, once, and nothing else. The reader here is
//! the samples' own, which shares no code with the writer.

use logdef_resync::{Input, Recovery};
use logdef_samples::frames::{self, Frame, Value};
use logdef_samples::smash::Random;
use logdef_samples::story;
use logdef_samples::workshop::Workshop;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const THREADS: u64 = 4;

#[test]
fn a_killed_c_program_has_lost_nothing_that_it_was_told_is_written() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    workshop.compile(&["samples/c/victim.c"], &victim, &[]);
    campaign(&victim, 1);
}

#[test]
fn a_killed_rust_program_has_lost_nothing_that_it_was_told_is_written() {
    campaign(&Workshop::open().built.join("victim"), 2);
}

/// Two hundred kills of each program, six hundred if there is time, or as many
/// as `LOGDEF_KILLS` says.
fn kills() -> u64 {
    match (
        std::env::var("LOGDEF_KILLS"),
        std::env::var_os("LOGDEF_SLOW"),
    ) {
        (Ok(kills), _) => kills.parse().expect("a number of kills"),
        (Err(_), Some(_)) => 600,
        (Err(_), None) => 200,
    }
}

fn campaign(victim: &Path, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let mut at_work = 0;
    let mut records = 0;
    for seed in 0..kills() {
        let log = folder.path().join(format!("{seed}.log"));
        let counts = kill(victim, &log, seed, &mut random);
        let returned: u64 = counts.iter().sum();
        at_work += u64::from(returned > 0);
        records += returned;
        if let Ok(bytes) = fs::read(&log) {
            check(&bytes, seed, &counts);
            fs::remove_file(&log).unwrap();
        } else {
            assert_eq!(returned, 0, "the log is gone");
        }
    }
    println!(
        "{} kills, {at_work} of them at work, {records} records acknowledged",
        kills()
    );
    assert!(at_work * 2 > kills(), "most were killed before they logged");
}

/// Runs the victim for a random while, kills it, and returns how many calls of
/// each thread had returned.
fn kill(victim: &Path, log: &Path, seed: u64, random: &mut Random) -> Vec<u64> {
    let counts = log.with_extension("counts");
    fs::write(&counts, [0; 8 * THREADS as usize]).unwrap();
    let mut command = Command::new(victim);
    command
        .arg(log)
        .arg(&counts)
        .arg(THREADS.to_string())
        .arg(seed.to_string());
    let mut child = command.spawn().unwrap();
    if random.below(8) > 0 {
        // One in eight is killed while it starts, the others at work.
        let patience = Instant::now() + Duration::from_secs(60);
        while read_counts(&counts).iter().all(|count| *count == 0) {
            assert!(
                child.try_wait().unwrap().is_none(),
                "the victim died by itself"
            );
            assert!(Instant::now() < patience, "the victim does not log");
        }
    }
    // Between a microsecond and a sixteenth of a second, each order of magnitude
    // alike: the start holds as many surprises as the rest.
    let scale = random.below(17);
    thread::sleep(Duration::from_micros(random.below(1 << scale)));
    child.kill().unwrap();
    child.wait().unwrap();
    let returned = read_counts(&counts);
    fs::remove_file(&counts).unwrap();
    returned
}

fn read_counts(path: &Path) -> Vec<u64> {
    let bytes = fs::read(path).unwrap();
    let words = bytes.chunks_exact(8);
    words
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

fn check(log: &[u8], seed: u64, counts: &[u64]) {
    let frames = frames::scan(log);
    let mut runs = BTreeSet::new();
    let mut strings = BTreeMap::new();
    let mut seen: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for frame in &frames {
        match frame.tag {
            0 => drop(runs.insert((frame.int(0), frame.int(5)))),
            1 => drop(strings.insert((frame.int(0), frame.int(1)), frame.raw(2).unwrap())),
            127 => {
                let what = format!("seed {seed}, frame at {}", frame.range.start);
                assert!(
                    runs.contains(&(frame.int(0), frame.int(5))),
                    "{what}: no preamble before it"
                );
                let format = strings.get(&(frame.int(0), frame.int(4)));
                assert_eq!(
                    format,
                    Some(&story::FORMAT.as_bytes()),
                    "{what}: no format before it"
                );
                let file = strings.get(&(frame.int(0), frame.int(1)));
                assert!(file.is_some_and(|file| file.starts_with(b"samples/")));
                let (thread, count) = told(frame, seed, &what);
                let sequence = frame.int(7).unwrap();
                assert_eq!(sequence & 0xff_ffff_ffff, count.into(), "{what}: count");
                let number = *numbers.entry(thread).or_insert(sequence >> 40);
                assert_eq!(sequence >> 40, number, "{what}: thread number");
                assert!(
                    seen.entry(thread).or_default().insert(count),
                    "{what}: twice"
                );
            }
            _ => {}
        }
    }
    for (thread, returned) in (0..).zip(counts) {
        let seen = seen.remove(&thread).unwrap_or_default();
        let len = seen.len() as u64;
        let missing = (0..len).find(|count| !seen.contains(count));
        assert_eq!(
            missing, None,
            "seed {seed}, thread {thread}: of {returned} returned, a record is missing"
        );
        assert!(
            (*returned..=returned + 1).contains(&len),
            "seed {seed}, thread {thread}: {returned} calls returned, {len} records are there"
        );
    }
    assert!(
        seen.is_empty(),
        "seed {seed}: records of threads that were not: {seen:?}"
    );
    let records = frames.iter().filter(|frame| frame.is_data()).count();
    check_verdict(log, seed, records);
}

/// What the other reader says: as many records, and no damage. What a kill
/// leaves unfinished is torn.
fn check_verdict(log: &[u8], seed: u64, records: usize) {
    let inputs = [Input::from_bytes("log", log.to_vec())];
    let recovery = Recovery::of(&inputs).unwrap();
    let account = &recovery.accounts()[0];
    assert_eq!(account.data(), records as u64, "seed {seed}");
    assert!(recovery.is_clean(), "seed {seed}: {account:#?}");
    assert!(
        account.torn.count <= THREADS,
        "seed {seed}: {:?}",
        account.torn
    );
}

/// Thread and count of a record, after its arguments, level and backtrace were
/// found to be what the story says.
fn told(frame: &Frame, seed: u64, what: &str) -> (u64, u64) {
    let args = frame.fields.get(&9).and_then(Value::array).expect(what);
    let number = |at: usize| u64::try_from(args[at].int().expect(what)).expect(what);
    let (count, thread) = (number(0), number(1));
    let expected = [
        Value::Int(count.into()),
        Value::Int(thread.into()),
        Value::Raw(story::text(seed, thread, count)),
        Value::Float(count as f64 * 0.5),
        Value::Int(-i128::from(count)),
    ];
    assert_eq!(args, expected, "{what}");
    let is_error = story::is_error(count);
    assert_eq!(
        frame.int(3),
        Some(if is_error { 0x50 } else { 0x30 }),
        "{what}: level"
    );
    let backtrace = frame.fields.get(&10).and_then(Value::array);
    assert_eq!(
        backtrace.is_some_and(|stack| !stack.is_empty()),
        is_error,
        "{what}: backtrace"
    );
    (thread, count)
}
