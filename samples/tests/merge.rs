//! Logs of several programs and runs are merged, damaged, recovered, and merged again
//! with what they were made of: each record once, in its thread's order, as it shows
//! in its own log.

use logdef_samples::frames;
use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUNS: usize = 3;

/// The tag of a preamble.
const PREAMBLE: u8 = 0;

/// The records of logs as `view` shows them, an object a line.
fn lines(workshop: &Workshop, logs: &[&Path]) -> Vec<String> {
    let output = run(workshop
        .command("logdef")
        .args(["view", "-o", "json"])
        .args(logs));
    let text = String::from_utf8(output.stdout).unwrap();
    // How far damage leaves a record in doubt is a matter of the file that it stands in.
    let standing = r#","standing":"recovered""#;
    text.lines()
        .map(|line| line.replace(standing, ""))
        .collect()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

fn number(line: &str, key: &str) -> u64 {
    let key = format!("\"{key}\":");
    let (_, rest) = line.split_once(&key).unwrap_or_else(|| panic!("{line}"));
    let rest = rest.trim_start_matches('"');
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
    rest[..end].parse().unwrap()
}

fn run_of(line: &str) -> &str {
    let (_, rest) = line.split_once("\"run\":\"").unwrap();
    &rest[..16]
}

/// Run, thread and sequence.
fn identity(line: &str) -> (&str, u64, u64) {
    let of = |key| number(line, key);
    (run_of(line), of("thread_number"), of("sequence"))
}

/// Writes what a verb makes of some logs.
fn rewritten(workshop: &Workshop, verb: &str, logs: &[&Path], out: &Path) {
    run(workshop
        .command("logdef")
        .args([verb, "-o"])
        .arg(out)
        .args(logs));
}

/// Runs of a program in C with its library, one in C++ and one in Rust, side by side.
fn logs(workshop: &Workshop, folder: &Path) -> Vec<PathBuf> {
    let server = workshop.compile_server(folder);
    let inventory = folder.join("inventory");
    workshop.compile(&["samples/cpp/inventory.cpp"], &inventory, &[]);
    let mut running = Vec::new();
    for index in 0..RUNS {
        let start = |name: &str, mut command: Command, words: &[&str]| {
            let log = folder.join(format!("{name}-{index}.log"));
            let child = command.arg(&log).args(words).spawn().unwrap();
            (log, child)
        };
        running.push(start("server", Command::new(&server), &["0", "60"]));
        running.push(start("inventory", Command::new(&inventory), &[]));
        running.push(start("orders", workshop.command("orders"), &["0", "60"]));
    }
    let ended = running.into_iter().map(|(log, mut child)| {
        assert!(child.wait().unwrap().success());
        log
    });
    ended.collect()
}

#[test]
fn logs_of_several_programs_and_runs_merge_into_one_and_are_still_themselves() {
    if !has_cpp() {
        return;
    }
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let logs = logs(workshop, folder.path());
    let logs: Vec<&Path> = logs.iter().map(|log| &**log).collect();
    let separate = logs.iter().flat_map(|log| lines(workshop, &[log]));
    let separate = sorted(separate.collect());

    let whole = folder.path().join("whole.log");
    rewritten(workshop, "merge", &logs, &whole);
    let merged = lines(workshop, &[&whole]);
    let mut last: HashMap<(&str, u64), u64> = HashMap::new();
    let mut time = 0;
    for line in &merged {
        let (run, thread, count) = identity(line);
        let thread = (run, thread);
        let before = last.insert(thread, count);
        assert!(before.is_none_or(|before| before < count), "{line}");
        assert!(time <= number(line, "time_ns"), "{line}");
        time = number(line, "time_ns");
    }
    let runs: BTreeSet<_> = merged.iter().map(|line| run_of(line)).collect();
    assert_eq!(runs.len(), 3 * RUNS);
    assert!(last.len() > 5 * RUNS, "{} threads", last.len());
    assert_eq!(sorted(merged.clone()), separate);

    // Sixteen bytes here and there: no more than the records that they touch, and no
    // run is taken for a stranger's. Preambles stay whole: they alone name the runs, and a program
    // that is slow to start has its own in the middle of the others' records.
    let mut bytes = fs::read(&whole).unwrap();
    let mut preambles = frames::scan(&bytes);
    preambles.retain(|frame| frame.tag == PREAMBLE);
    let places = 12;
    for place in 1..places {
        let mut at = bytes.len() / places * place;
        for frame in &preambles {
            if at < frame.range.end && at + 16 > frame.range.start {
                at = frame.range.end;
            }
        }
        bytes[at..at + 16].fill(0xee);
    }
    let damaged = folder.path().join("damaged.log");
    fs::write(&damaged, &bytes).unwrap();
    let survivors = folder.path().join("survivors.log");
    rewritten(workshop, "recover", &[&damaged], &survivors);
    let survived = lines(workshop, &[&survivors]);
    assert_eq!(survived, lines(workshop, &[&damaged]));
    // A name may be among what was touched; which record it is no line lacks.
    let known: BTreeSet<_> = separate.iter().map(|line| identity(line)).collect();
    assert!(survived.iter().all(|line| known.contains(&identity(line))));
    assert!(survived.len() < separate.len());
    let lost = separate.len() - survived.len();
    assert!(lost < 2 * places, "{lost} of {}", separate.len());

    // What was lost comes back from where it is still, and nothing comes twice.
    let again = folder.path().join("again.log");
    let all: Vec<&Path> = [&*survivors, &whole].into_iter().chain(logs).collect();
    rewritten(workshop, "merge", &all, &again);
    assert_eq!(sorted(lines(workshop, &[&again])), separate);
    let same = folder.path().join("same.log");
    rewritten(workshop, "merge", &[&whole, &whole], &same);
    // Definitions may stand elsewhere before the records that need them.
    assert_eq!(
        fs::read(&same).unwrap().len(),
        fs::read(&whole).unwrap().len()
    );
    assert_eq!(lines(workshop, &[&same]), merged);
}
