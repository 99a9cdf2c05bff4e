//! Programs that die and leave a core dump: `logdef core` says what of, shows the stacks that a debugger
//! shows, and has the last records from the disk, or from the core where the log is gone.

use logdef_samples::skip::skip;
use logdef_samples::workshop::{Running, Workshop};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// Anonymous memory, headers of images, and what of files is shared: the log too.
const WITH_FILES: &str = "0x3b";
/// What the kernel dumps by default.
const USUAL: &str = "0x33";

/// The program, compiled once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let out = Workshop::open().built.join("ends");
        Workshop::open().compile(&["samples/c/ends.c"], &out, &[]);
        out
    })
}

/// A folder with a core dump of the program in it, and what it acknowledged.
struct Died {
    folder: tempfile::TempDir,
    core: PathBuf,
    acknowledged: usize,
}

impl Died {
    /// Runs the program until it dies; `None` where this machine writes no core dumps into the folder.
    fn of(way: &str, filter: &str) -> Option<Died> {
        let folder = tempfile::tempdir().unwrap();
        let script = "ulimit -c unlimited && echo $0 > /proc/self/coredump_filter && exec \"$@\"";
        let mut command = Command::new("sh");
        command.current_dir(&folder).args(["-c", script, filter]);
        command.arg(program()).args(["app.log", way]);
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        let found = fs::read_dir(&folder).unwrap().flatten().map(|it| it.path());
        let core = found.into_iter().find(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("core")
        });
        let Some(core) = core else {
            skip("core dumps go elsewhere: see /proc/sys/kernel/core_pattern");
            return None;
        };
        let acknowledged = output.stdout.split(|byte| *byte == b'\n').count() - 1;
        Some(Died {
            folder,
            core,
            acknowledged,
        })
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("app.log")
    }

    fn core(&self, words: &[&str]) -> String {
        let mut command = Workshop::open().command("logdef");
        text(
            command
                .arg("core")
                .arg(&self.core)
                .args(words)
                .output()
                .unwrap(),
        )
    }
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The functions of the stack that is shown first; records may have some of their own.
fn functions(shown: &str) -> Vec<&str> {
    shown
        .lines()
        .skip_while(|line| !line.starts_with("thread "))
        .take_while(|line| !line.starts_with("20"))
        .filter_map(|line| line.trim_start().strip_prefix('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(_, rest)| rest.trim_start().split(" at ").next().unwrap())
        .collect()
}

#[test]
fn the_signal_the_stack_and_the_last_records_are_shown() {
    let Some(died) = Died::of("null", USUAL) else {
        return;
    };
    let shown = died.core(&[]);
    let mut lines = shown.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("ends (pid "), "{shown}");
    assert!(
        first.ends_with("was killed by SIGSEGV at 0x0: nothing is mapped there"),
        "{shown}"
    );
    assert!(shown.contains("bit 3 of coredump_filter"), "{shown}");
    assert_eq!(functions(&shown), ["write_through", "main"], "{shown}");
    // Twenty, where no number is asked for.
    assert_eq!(shown.matches("request ").count(), 20, "{shown}");
    assert!(shown.ends_with("request 99 of null\n"), "{shown}");
    // In JSON, an object on each line.
    let lines = died.core(&["-o", "json", "--stacks", "all", "-n", "1"]);
    let objects: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects[0]["core"]["signal_name"], "SIGSEGV");
    assert_eq!(objects[0]["core"]["threads"], 2);
    assert_eq!(objects[1]["stack"]["died"], true);
    assert_eq!(objects[2]["stack"]["died"], false);
    assert_eq!(objects.len(), 4);
}

#[test]
fn other_ends_have_other_words() {
    let Some(died) = Died::of("nowhere", USUAL) else {
        return;
    };
    let shown = died.core(&[]);
    assert_eq!(
        functions(&shown),
        ["0x0", "call_nowhere", "main"],
        "{shown}"
    );
    let died = Died::of("abort", USUAL).unwrap();
    let shown = died.core(&[]);
    assert!(
        shown.contains("was killed by SIGABRT, sent by process "),
        "{shown}"
    );
    assert!(functions(&shown).ends_with(&["give_up", "main"]), "{shown}");
    assert!(shown.contains(": giving up\n"), "{shown}");
    // From the stack of the handler to that of the function that it interrupted.
    let died = Died::of("handler", USUAL).unwrap();
    let shown = died.core(&[]);
    let rest = ["on_fault", "<signal handler called>", "write_through"];
    let rest: Vec<_> = rest
        .into_iter()
        .chain(["fault_under_handler", "main"])
        .collect();
    assert!(functions(&shown).ends_with(&rest), "{shown}");
}

/// A log that was removed, or whose disk is gone, is in the core if it was asked for.
#[test]
fn a_log_that_is_gone_comes_out_of_the_core() {
    let Some(died) = Died::of("abort", WITH_FILES) else {
        return;
    };
    let on_disk = died.core(&["--tail", "1000"]);
    fs::remove_file(died.log()).unwrap();
    let shown = died.core(&["--tail", "1000"]);
    let records = |shown: &str| {
        let lines = shown.lines().filter(|line| line.starts_with("20"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(records(&shown), records(&on_disk));
    // Those that were acknowledged, and that of the thread that idles.
    assert_eq!(records(&shown).len(), died.acknowledged + 1, "{shown}");
    assert!(shown.contains("missing on disk; "), "{shown}");
    // The same through a pipe, and compressed.
    let packed = Command::new("gzip").arg("-1c").arg(&died.core).output();
    let file = died.folder.path().join("packed");
    fs::write(&file, packed.unwrap().stdout).unwrap();
    let mut command = Workshop::open().command("logdef");
    command.args(["core", "--tail", "1000"]);
    command.stdin(fs::File::open(&file).unwrap());
    assert_eq!(text(command.output().unwrap()), shown);
}

/// Not asked for, it is not there, and that is said.
#[test]
fn a_log_that_is_nowhere_is_missed() {
    let Some(died) = Died::of("null", USUAL) else {
        return;
    };
    let elsewhere = died.folder.path().join("moved");
    fs::rename(died.log(), &elsewhere).unwrap();
    let mut command = Workshop::open().command("logdef");
    let output = command.arg("core").arg(&died.core).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("name the log after the core"), "{said}");
    let shown = died.core(&[elsewhere.to_str().unwrap()]);
    assert!(shown.ends_with("request 99 of null\n"), "{shown}");
}

/// Addresses are those of gdb. It makes up frames for functions that ended with a call to another, so it may
/// have more.
#[test]
fn stacks_are_those_of_a_debugger() {
    if Command::new("gdb").arg("--version").output().is_err() {
        return skip("gdb is not here");
    }
    for way in ["null", "nowhere", "abort", "handler"] {
        let Some(died) = Died::of(way, USUAL) else {
            return;
        };
        let mut gdb = Command::new("gdb");
        gdb.args([
            "-batch",
            "-nx",
            "-ex",
            "set print frame-info location-and-address",
        ]);
        gdb.args(["-ex", "thread apply all -ascending bt"]);
        gdb.env_remove("DEBUGINFOD_URLS");
        let gdb = gdb.arg(program()).arg(&died.core).output().unwrap();
        let gdb = String::from_utf8_lossy(&gdb.stdout);
        let its: Vec<u64> = gdb
            .lines()
            .skip_while(|line| !line.starts_with("Thread 1"))
            .filter_map(|line| line.strip_prefix('#'))
            .filter_map(|line| line.split_once("0x"))
            .filter_map(|(_, rest)| u64::from_str_radix(rest.split(' ').next()?, 16).ok())
            .collect();
        let shown = died.core(&["--stacks", "all", "-o", "json", "-n", "1"]);
        let mut ours = Vec::new();
        for line in shown.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let Some(stack) = line["stack"]["backtrace"].as_array() else {
                continue;
            };
            let named = |entry: &&serde_json::Value| {
                let function = entry["functions"][0]["function"].as_str();
                // What comes before main, gdb leaves out.
                !function.is_some_and(|it| {
                    it.contains("libc_start") || it == "_start" || it.starts_with('<')
                })
            };
            ours.extend(
                stack
                    .iter()
                    .filter(named)
                    .map(|entry| entry["address"].as_u64().unwrap()),
            );
        }
        assert!(ours.len() > 4, "{way}: {shown}");
        let mut rest = its.iter();
        for address in &ours {
            assert!(
                rest.any(|it| it == address),
                "{way}: {address:#x} of {ours:x?} is not in {its:x?}\n{gdb}"
            );
        }
    }
}

/// A process that runs has its log open, whatever became of the name.
#[test]
fn a_process_that_runs_shows_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(program())
        .current_dir(&folder)
        .args(["app.log", "wait"])
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Running(child.unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "99"));
    let pid = child.0.id().to_string();
    let show = || {
        text(
            Workshop::open()
                .command("logdef")
                .args(["core", &pid])
                .output()
                .unwrap(),
        )
    };
    let shown = show();
    assert!(
        shown.starts_with(&format!("ends (pid {pid}) runs\nlog ")),
        "{shown}"
    );
    assert!(shown.ends_with("request 99 of wait\n"), "{shown}");
    fs::remove_file(folder.path().join("app.log")).unwrap();
    let shown = show();
    assert!(
        shown.contains("(deleted): read through the process\n"),
        "{shown}"
    );
    assert!(shown.ends_with("request 99 of wait\n"), "{shown}");
}

/// Cut anywhere, and with any byte of its headers and notes another, a core is read or refused: in one line.
#[test]
fn a_damaged_core_is_read_or_refused() {
    let Some(died) = Died::of("null", WITH_FILES) else {
        return;
    };
    let whole = fs::read(&died.core).unwrap();
    let damaged = died.folder.path().join("damaged");
    let try_it = |bytes: &[u8], with_images: bool, what: &str| {
        fs::write(&damaged, bytes).unwrap();
        let mut command = Workshop::open().command("logdef");
        command.arg("core").arg(&damaged);
        command.args(["--stacks", "all", "-n", "1"]);
        if !with_images {
            command.arg("--no-logged-paths");
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 4)), "{what}: {output:?}");
        assert!(!said.contains("panicked"), "{what}: {said}");
    };
    // Headers and notes come first.
    let notes = whole.len().min(20_000);
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for _ in 0..20 {
        for len in [random(notes), random(whole.len())] {
            try_it(&whole[..len], false, &format!("cut at {len}"));
        }
    }
    for number in 0..60 {
        let mut bytes = whole.clone();
        let changes: Vec<_> = (0..4).map(|_| (random(notes), random(256) as u8)).collect();
        for (at, byte) in &changes {
            bytes[*at] = *byte;
        }
        try_it(&bytes, number % 10 == 0, &format!("{changes:?}"));
    }
}
