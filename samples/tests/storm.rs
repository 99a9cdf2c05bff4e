//! A program that logs while it forks, is interrupted, cancelled, jumped out of,
//! loses its descriptors, and loads and unloads libraries. It must not hang or
//! die, and of the calls that returned each has its record.

use logdef_resync::{Input, Recovery};
use logdef_samples::frames::{self, Frame, Value};
use logdef_samples::workshop::Workshop;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// `few` of something, or `many` in the slow suite.
fn count(few: u64, many: u64) -> u64 {
    match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => many,
        None => few,
    }
}

fn program() -> &'static Path {
    static PROGRAM: OnceLock<(PathBuf, tempfile::TempDir)> = OnceLock::new();
    let (program, _) = PROGRAM.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("storm");
        Workshop::open().compile(&["samples/c/storm.c"], &program, &["-ldl"]);
        (program, folder)
    });
    program
}

/// What is left of a storm.
struct After {
    /// What the program said: numbers by name.
    said: BTreeMap<String, u64>,
    /// Records by the first word of their format.
    logged: BTreeMap<String, u64>,
    formats: Vec<Vec<u8>>,
    torn: u64,
    lost: u64,
    strange: u64,
    clean: bool,
    runs: usize,
    bytes: u64,
    /// What each sync says of its run: thread numbers and counts.
    durable: Vec<(i128, Vec<(i128, i128)>)>,
    /// Of the last record.
    last_sequence: Option<i128>,
    folder: tempfile::TempDir,
}

impl After {
    fn of(mode: &str, count: u64, more: &[&Path]) -> After {
        let folder = tempfile::tempdir().unwrap();
        // What is hung in is not waited for.
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "120"]).arg(program());
        command.arg(folder.path().join("log")).arg(mode);
        command.arg(count.to_string()).args(more);
        let output = command.output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success(),
            "{mode}: {}\n{stdout}{stderr}",
            output.status
        );
        let said = stdout.lines().filter_map(|line| {
            let (name, number) = line.split_once(' ')?;
            let number = match number.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            Some((name.to_string(), number))
        });
        let mut after = After {
            said: said.collect(),
            logged: BTreeMap::new(),
            formats: Vec::new(),
            torn: 0,
            lost: 0,
            strange: 0,
            clean: false,
            runs: 0,
            bytes: 0,
            durable: Vec::new(),
            last_sequence: None,
            folder,
        };
        after.read();
        after
    }

    fn read(&mut self) {
        let mut inputs = Vec::new();
        let mut runs = std::collections::BTreeSet::new();
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let log = fs::read(&path).unwrap();
            self.bytes += log.len() as u64;
            let mut strings = BTreeMap::new();
            for frame in frames::scan(&log) {
                let key = |field| (frame.int(0), frame.int(field));
                match frame.tag {
                    1 => {
                        let _ = strings.insert(key(1), frame.raw(2).unwrap().to_vec());
                    }
                    127 => {
                        let format = strings.get(&key(4)).expect("a format before it");
                        let word = format.split(|byte| *byte == b' ').next().unwrap();
                        let word = String::from_utf8(word.to_vec()).unwrap();
                        *self.logged.entry(word).or_default() += 1;
                        if self.formats.len() < 100 {
                            self.formats.push(format.clone());
                        }
                        runs.insert(run_of(&frame));
                        self.last_sequence = frame.int(7);
                    }
                    5 => {
                        let Some(Value::Map(threads)) = frame.fields.get(&1) else {
                            panic!("a sync failed");
                        };
                        let number = |value: &Value| value.int().expect("a number");
                        let threads = threads
                            .iter()
                            .map(|(thread, count)| (number(thread), number(count)));
                        let run = frame.int(0).expect("a run");
                        self.durable.push((run, threads.collect()));
                    }
                    _ => {}
                }
            }
            inputs.push(Input::from_bytes(path.display().to_string(), log));
        }
        self.runs = runs.len();
        let recovery = Recovery::of(&inputs).unwrap();
        self.lost = recovery.lost();
        self.clean = recovery
            .accounts()
            .iter()
            .all(logdef_resync::Account::is_undamaged);
        let accounts = recovery.accounts().iter();
        self.strange = accounts.map(|a| a.malformed + a.suspect).sum();
        self.torn = recovery.accounts().iter().map(|a| a.torn.count).sum();
    }

    /// The names of what is in the folder.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    /// As many records of each kind as calls, and nothing torn.
    fn is_complete(&self, kinds: &[&str]) {
        for kind in kinds {
            let logged = self.logged.get(*kind).copied().unwrap_or_default();
            assert_eq!(Some(&logged), self.said.get(*kind), "{kind}");
            assert!(logged > 0, "{kind}: none");
        }
        let left = (self.torn, self.lost, self.strange);
        assert_eq!(left, (0, 0, 0), "torn, lost, strange");
    }
}

fn run_of(frame: &Frame) -> i128 {
    frame.int(5).expect("a run")
}

#[test]
fn forked_children_of_busy_threads_log_into_their_parents_file() {
    // Ten thousand, a few hundred at a time.
    for _ in 0..count(1, 50) {
        let forks = 200;
        let after = After::of("forks", forks, &[]);
        after.is_complete(&["work", "handler", "child"]);
        assert_eq!(after.said["child"], 3 * forks);
        assert_eq!(after.runs as u64, 1 + forks);
        assert_eq!(after.files(), ["log"]);
    }
}

#[test]
fn a_handler_may_fork_in_the_middle_of_a_call() {
    let forks = count(100, 2_000);
    let after = After::of("fork-in-handler", forks, &[]);
    after.is_complete(&["child"]);
    assert_eq!(after.said["child"], 3 * forks);
}

#[test]
fn a_child_of_vfork_logs_as_its_parent() {
    let after = After::of("spawns", count(50, 1_000), &[]);
    after.is_complete(&["work", "lone"]);
    assert_eq!(after.runs, 1);
}

#[test]
fn a_daemon_that_closes_everything_still_logs() {
    let after = After::of("daemons", 50_000, &[]);
    after.is_complete(&["work", "lone", "child"]);
    assert_eq!(after.runs, 2);
}

#[test]
fn cancelled_threads_take_nothing_with_them_but_the_record_in_flight() {
    let cancels = count(100, 5_000);
    let after = After::of("cancels", cancels, &[]);
    assert_eq!(after.logged["work"], cancels);
    assert!(after.torn <= cancels);
    assert_eq!((after.lost, after.strange), (0, 0));
}

#[test]
fn threads_cancelled_at_any_instruction_take_no_more_with_them() {
    if cfg!(debug_assertions) {
        println!("left out: only the C library as it is installed can be unwound anywhere");
        return;
    }
    // Each leaves a chunk behind, and the log is read as a whole.
    let cancels = count(100, 1_000);
    let after = After::of("asynchronous-cancels", cancels, &[]);
    assert_eq!(after.logged["work"], cancels);
    assert!(after.torn <= cancels);
    assert_eq!((after.lost, after.strange), (0, 0));
}

#[test]
fn jumping_out_of_a_handler_costs_the_record_in_flight() {
    // Three milliseconds of calls each: many more would fill disk and memory.
    let jumps = count(200, 400);
    let after = After::of("jumps", jumps, &[]);
    assert_eq!(after.logged["work"], 1_000);
    // The sync at the end knows that no call is in progress.
    let (_, durable) = after.durable.last().expect("a durable record");
    let (_, calls) = durable[0];
    assert_eq!(
        Some(calls),
        after.last_sequence.map(|last| last & 0xff_ffff_ffff)
    );
    // The windows of the last calls that were left stay for a while.
    let grown = after.said["grown"];
    assert!(grown <= 9 * 4096, "{grown} KiB");
    let (torn, lost) = (after.torn, after.lost);
    assert!(torn.max(lost) <= jumps, "{torn} torn, {lost} lost");
    assert_eq!(after.strange, 0);
}

#[test]
fn a_handler_logs_on_a_small_stack_of_its_own() {
    // The kernel's frame of registers, up to 4 KiB, stands there too.
    let size = if cfg!(debug_assertions) { 64 } else { 16 } << 10;
    let after = After::of("alternate", size, &[]);
    after.is_complete(&["work", "handler"]);
    assert!(after.clean, "damage, and nothing is missing");
}

#[test]
fn a_thousand_threads_make_no_large_file() {
    let threads = 1_000;
    let after = After::of("threads", threads, &[]);
    after.is_complete(&["work"]);
    assert_eq!(after.said["work"], 2 * threads);
    assert!(after.bytes < 24 << 20, "{} bytes", after.bytes);
}

#[test]
fn a_library_in_the_place_of_another_has_its_own_strings() {
    let folder = tempfile::tempdir().unwrap();
    let libraries = ["one", "two"].map(|name| {
        let library = folder.path().join(format!("{name}.so"));
        let name = format!("-DNAME=\"{name}\"");
        let flags = [&name, "-shared", "-fPIC"];
        Workshop::open().compile(&["samples/c/plug.c"], &library, &flags);
        library
    });
    let after = After::of("plugins", 6, &[&libraries[0], &libraries[1]]);
    let formats: Vec<_> = after
        .formats
        .iter()
        .map(|f| String::from_utf8_lossy(f))
        .collect();
    assert_eq!(
        formats,
        ["one", "two"]
            .repeat(3)
            .iter()
            .map(|name| format!("plug {name} %d"))
            .collect::<Vec<_>>()
    );
}
