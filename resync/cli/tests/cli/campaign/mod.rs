//! Whole command lines on random logs with random accidents. What one verb says must agree
//! with what every other says, whatever happened to the log: as many records in each form
//! and in each count, cuts that are cuts of the whole, no word of clean where anything is
//! missing, and nothing that a terminal obeys. No command may panic, hang, or take more
//! memory than it is given. Verbs and options that are too many for each log are chosen by the
//! seed from a [`pool`].
//!
//! A seed gives the same log and the same accident always. An ordinary run does some fixed
//! seeds; `LOGDEF_CAMPAIGN=150` tries the next 150 too, and `LOGDEF_CAMPAIGN=1000..2000` those
//! instead. What fails names its seed.

mod accident;
mod made;
mod pool;
mod random;

use random::Random;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Address space that a command gets, in KiB.
const MEMORY: u32 = 2 << 20;
/// No command takes nearly as long on logs as small as these.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a command did.
struct Ran {
    what: String,
    status: i32,
    out: String,
    err: String,
}

/// One log, its accident after it, and the command on it.
struct Trial {
    folder: tempfile::TempDir,
    log: PathBuf,
    story: String,
}

impl Trial {
    fn of(seed: u64) -> Trial {
        let mut random = Random::new(seed);
        let made = made::log(&mut random);
        let (bytes, accident) = accident::happen(made.bytes, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("app.log");
        std::fs::write(&log, bytes).unwrap();
        Trial {
            folder,
            log,
            story: format!("seed {seed}: {}, then {accident}", made.story),
        }
    }

    fn run(&self, words: &str) -> Ran {
        self.run_on(words, &self.log)
    }

    fn run_on(&self, words: &str, log: &Path) -> Ran {
        let what = format!("{}: logdef {words}", self.story);
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_logdef"))
            .args(words.split_whitespace())
            .arg(log)
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = collect(child.stdout.take().unwrap());
        let err = collect(child.stderr.take().unwrap());
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    let _ = child.kill();
                    panic!("{what}: does not end");
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).unwrap_or_else(|_| panic!("{what}: not UTF-8"))
        };
        let (out, err) = (text(out.join().unwrap()), text(err.join().unwrap()));
        let status = status.code().unwrap_or_else(|| panic!("{what}: {status}"));
        assert!(!err.contains("panicked"), "{what}: {err}");
        let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r');
        assert!(!out.contains(is_control), "{what}: a control character");
        assert!(!err.contains(is_control), "{what}: {err:?}");
        Ran {
            what,
            status,
            out,
            err,
        }
    }
}

/// Reads a pipe to its end beside the others.
fn collect(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

impl Ran {
    #[track_caller]
    fn is(self, status: i32) -> Ran {
        assert_eq!(self.status, status, "{}: {}", self.what, self.err);
        self
    }

    fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{}: {error}", self.what))
    }
}

/// Everything that must hold for one seed.
fn try_seed(seed: u64) {
    let trial = Trial::of(seed);
    let check = trial.run("check -o json");
    if check.status == 4 {
        // Not one frame is left.
        trial.run("view").is(4);
        trial.run("recover -o -").is(4);
        return;
    }
    let found = check.json();
    let is_clean = found["clean"] == true;
    let strict = if is_clean { 0 } else { 3 };
    let check = check.is(strict);
    words_agree(&check, &found);
    let view = trial.run("view -o json").is(0);
    let records = view.lines();
    counts_agree(&trial, &found, &records, strict);
    for (thread, counts) in threads(&view.out) {
        assert!(counts.is_sorted(), "{}: {thread}: {counts:?}", trial.story);
    }
    cuts_are_cuts(&trial, &records, &mut Random::new(!seed));
    filters_are_filters(&trial, &records);
    copies_agree(&trial, &found, &view.out);
    for form in ["fxt", "folded", "fuchsia", "diagnostics-json", "otlp-json"] {
        let file = trial.folder.path().join(form);
        let words = format!("export --to {form} -o {}", file.display());
        trial.run(&words).is(0);
    }
    let known = pool::Known {
        trial: &trial,
        found: &found,
        view: &view.out,
        strict,
    };
    pool::try_some(&known, &mut Random::new(seed.rotate_left(32)));
}

/// The words and the status of `check` mean what the table says.
fn words_agree(check: &Ran, found: &Value) {
    let what = &check.what;
    let number = |key: &str| found[key].as_u64().unwrap();
    let is_lost = number("missing") + number("dropped") > 0 || found["damaged"]["bytes"] != 0;
    assert!(!(is_lost && found["clean"] == true), "{what}: {found}");
    let sum = |key: &str| {
        let threads = found["threads"].as_array().unwrap();
        threads
            .iter()
            .map(|thread| thread[key].as_u64().unwrap())
            .sum::<u64>()
    };
    // A note may say of a run what no thread of it says.
    assert!(number("missing") <= sum("missing"), "{what}");
    assert!(number("dropped") >= sum("dropped"), "{what}");
    assert_eq!(number("pruned"), sum("pruned"), "{what}");
    let states = ["frames", "padding", "torn", "damaged"];
    for file in found["files"].as_array().unwrap() {
        let bytes = states
            .iter()
            .map(|state| file[state]["bytes"].as_u64().unwrap());
        assert_eq!(Some(bytes.sum()), file["bytes"].as_u64(), "{what}");
    }
}

/// Every verb and every form counts the same records.
fn counts_agree(trial: &Trial, found: &Value, records: &[&str], strict: i32) {
    let file = &found["files"][0];
    let data = file["records"]["data"].as_u64().unwrap_or(0);
    let shown = data - file["repeated"].as_u64().unwrap();
    let what = &trial.story;
    assert_eq!(records.len() as u64, shown, "{what}: view and check");
    let stats = trial.run("stats -o json --strict").is(strict).json();
    assert_eq!(stats["records"], shown, "{what}: stats and check");
    for key in [
        "missing", "dropped", "pruned", "damaged", "torn", "at_least",
    ] {
        assert_eq!(stats[key], found[key], "{what}: {key} of stats and check");
    }
    let logfmt = trial.run("view -o logfmt --strict").is(strict);
    assert_eq!(logfmt.lines().len(), records.len(), "{}", logfmt.what);
    let csv = trial.run("view -o csv").is(0);
    assert_eq!(csv.lines().len(), records.len() + 1, "{}", csv.what);
    let text = trial.run("view --backtrace none").is(0);
    let notes = file["records"]["note"].as_u64().unwrap_or(0) as usize;
    let lines = text.lines().len();
    assert!(
        (records.len()..=records.len() + notes).contains(&lines),
        "{}",
        text.what
    );
    trial.run("dump --strict").is(strict);
}

/// What is asked for by number, time or level is that cut of the whole.
fn cuts_are_cuts(trial: &Trial, records: &[&str], random: &mut Random) {
    let most = records.len().min(40);
    let count = random.below(most as u64 + 2) as usize;
    let head = trial.run(&format!("view -o json -n {count}")).is(0);
    assert_eq!(
        head.lines(),
        records[..count.min(records.len())],
        "{}",
        head.what
    );
    let tail = trial.run(&format!("view -o json --tail {count}")).is(0);
    let from = records.len().saturating_sub(count);
    assert_eq!(tail.lines(), records[from..], "{}", tail.what);
    let parsed: Vec<Value> = records
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let warnings = parsed
        .iter()
        .zip(records)
        .filter(|(record, _)| matches!(record["level"].as_str(), Some("WARN" | "ERROR" | "FATAL")));
    let warnings: Vec<_> = warnings.map(|(_, line)| *line).collect();
    assert_eq!(
        trial.run("view -o json -l warn").is(0).lines(),
        warnings,
        "{}",
        trial.story
    );
    // Records without a time are in no span of time, and not every number is a date.
    let times: Vec<_> = parsed.iter().map(|it| it["time_ns"].as_u64()).collect();
    let dates: Vec<u64> = times.iter().flatten().copied().collect();
    if dates.is_empty() || dates.iter().any(|time| *time > i64::MAX as u64) {
        return;
    }
    let mut pick = || dates[random.below(dates.len() as u64) as usize];
    let (a, b) = (pick(), pick());
    let (since, until) = (a.min(b), a.max(b));
    let within = times.iter().zip(records);
    let within =
        within.filter(|(time, _)| time.is_some_and(|time| (since..=until).contains(&time)));
    let within: Vec<_> = within.map(|(_, line)| *line).collect();
    let span = format!(
        "--since {} --until {}",
        made::rfc3339(since),
        made::rfc3339(until)
    );
    let cut = trial.run(&format!("view -o json {span}")).is(0);
    assert_eq!(cut.lines(), within, "{}", cut.what);
    let tail = trial
        .run(&format!("view -o json {span} --tail {count}"))
        .is(0);
    assert_eq!(
        tail.lines(),
        within[within.len().saturating_sub(count)..],
        "{}",
        tail.what
    );
}

/// What filters choose is what they say of each record of the whole.
fn filters_are_filters(trial: &Trial, records: &[&str]) {
    let parsed: Vec<Value> = records
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let holds = |value: &Value, part: &str| value.as_str().is_some_and(|text| text.contains(part));
    let is_of_site = |it: &Value| holds(&it["file"], "<net>.c") && it["line"] == 10;
    type Rule<'r> = &'r dyn Fn(&Value) -> bool;
    let filters: [(&str, Rule<'_>); 6] = [
        ("-w 1=2", &|it| it["args"][1] == 2),
        ("-w 0~fake", &|it| holds(&it["args"][0], "fake")),
        ("--grep fake", &|it| holds(&it["message"], "fake")),
        ("--site <net>.c:10", &is_of_site),
        ("--thread 1", &|it| {
            it["thread_number"] == 1 || it["tid"] == 1
        }),
        ("-l error --grep fake", &|it| {
            it["level"] == "ERROR" && holds(&it["message"], "fake")
        }),
    ];
    for (words, rule) in filters {
        let chosen = parsed.iter().zip(records);
        let chosen = chosen.filter(|(record, _)| rule(record));
        let chosen: Vec<_> = chosen.map(|(_, line)| *line).collect();
        let ran = trial.run(&format!("view -o json {words}")).is(0);
        assert_eq!(ran.lines(), chosen, "{}", ran.what);
    }
}

/// Copies show the same, and none is clean if the log was not.
fn copies_agree(trial: &Trial, found: &Value, view: &str) {
    for verb in ["recover", "merge"] {
        let copy = trial.folder.path().join(format!("{verb}.log"));
        trial.run(&format!("{verb} -o {}", copy.display())).is(0);
        let shown = trial.run_on("view -o json", &copy).is(0);
        show_the_same(&format!("{}: {verb}", trial.story), &shown.out, view);
        let check = trial.run_on("check -o json", &copy);
        let of_copy = check.json();
        let what = format!("{}: {verb}: {of_copy}\nwas {found}", trial.story);
        assert_eq!(of_copy["clean"], found["clean"], "{what}");
        for key in ["missing", "dropped", "pruned"] {
            assert_eq!(of_copy[key], found[key], "{what}");
        }
        if found["at_least"] == true {
            assert_eq!(of_copy["at_least"], true, "{what}");
        }
    }
}

/// The same records, and each thread in the same order. Where clocks were set, records of
/// several threads have more than one order. In a copy, no damage is near a record.
fn show_the_same(what: &str, copy: &str, view: &str) {
    let sorted = |text: &str| {
        let unmarked = |line: &str| line.replace(",\"standing\":\"recovered\"", "");
        let mut lines: Vec<_> = text.lines().map(unmarked).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(copy), sorted(view), "{what}");
    assert_eq!(threads(copy), threads(view), "{what}");
}

/// The sequence of each thread.
fn threads(view: &str) -> BTreeMap<String, Vec<u64>> {
    let mut threads = BTreeMap::<_, Vec<_>>::new();
    for line in view.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if let Some(sequence) = record["sequence"].as_u64() {
            let thread = format!("{}/{}", record["run"], record["thread_number"]);
            threads.entry(thread).or_default().push(sequence);
        }
    }
    threads
}

/// Seeds that once failed.
const KEPT: [u64; 3] = [1795321421391104438, 2029, 3075];

/// The seeds to try.
fn seeds() -> Vec<u64> {
    let number = |text: &str| text.parse::<u64>().expect("a number of seeds");
    match std::env::var("LOGDEF_CAMPAIGN") {
        Ok(seeds) => match seeds.split_once("..") {
            Some((start, end)) => (number(start)..number(end)).collect(),
            None => (0..16 + number(&seeds)).chain(KEPT).collect(),
        },
        Err(_) => (0..16).chain(KEPT).collect(),
    }
}

#[test]
fn verbs_agree_on_whatever_became_of_a_log() {
    let tried = |seed: &u64| std::panic::catch_unwind(|| try_seed(*seed)).is_ok();
    let failed: Vec<_> = seeds().into_iter().filter(|seed| !tried(seed)).collect();
    assert!(failed.is_empty(), "seeds {failed:?}");
}
