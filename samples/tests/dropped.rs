//! What `logdef check` says of a log that a living program has dropped calls of: that it is not clean, and how many
//! they were, at any time, also before the program can write again or ends.

use logdef_samples::disk::Disk;
use logdef_samples::workshop::Workshop;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The status of a log that is not clean.
const NOT_CLEAN: i32 = 3;

/// A program that logs on request.
struct Hoarder {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    calls: u64,
}

impl Hoarder {
    fn open(mut command: Command, log: &Path, sink: &str) -> Hoarder {
        command.arg(log).arg(sink);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut hoarder = Hoarder {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            calls: 0,
        };
        assert_eq!(hoarder.reply(), "open");
        hoarder
    }

    fn reply(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        if line.is_empty() {
            panic!("it died: {}", self.child.wait().unwrap());
        }
        line.trim().to_string()
    }

    fn ask(&mut self, what: &str) -> String {
        writeln!(self.to.as_mut().unwrap(), "{what}").unwrap();
        self.reply()
    }

    fn log(&mut self, calls: u64) {
        let said = self.ask(&calls.to_string());
        self.calls = said.split(' ').next().unwrap().parse().unwrap();
    }

    fn unwritten(&mut self) -> u64 {
        self.ask("unwritten").parse().unwrap()
    }

    /// Logs until calls are dropped, and some more. It cannot log for a second then.
    fn log_until_dropped(&mut self) {
        for _ in 0..100 {
            self.log(2_000);
            if self.unwritten() > 0 {
                return self.log(500);
            }
        }
        panic!("no call was dropped");
    }

    /// Logs until a call is not dropped.
    fn log_until_written(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.unwritten() > 0 {
            assert!(Instant::now() < deadline, "nothing is written again");
            std::thread::sleep(Duration::from_millis(50));
            self.log(1);
        }
    }

    /// Lets it end, which it must do by itself; returns how many calls it made.
    fn end(mut self) -> u64 {
        drop(self.to.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        self.calls
    }
}

/// What `logdef check` says of a log.
#[derive(Debug)]
struct Verdict {
    status: i32,
    /// The line that people read.
    line: String,
    json: Value,
}

impl Verdict {
    fn of(log: &Path) -> Verdict {
        let check = |words: &[&str]| {
            let mut command = Workshop::open().command("logdef");
            command.arg("check").args(words).arg(log);
            let output = command.output().unwrap();
            (
                output.status.code(),
                String::from_utf8(output.stdout).unwrap(),
            )
        };
        let (status, text) = check(&[]);
        let (status_of_json, json) = check(&["-o", "json"]);
        assert_eq!(status, status_of_json);
        Verdict {
            status: status.expect("a status"),
            line: text.lines().last().unwrap_or_default().to_owned(),
            json: serde_json::from_str(&json).unwrap(),
        }
    }

    fn number(&self, key: &str) -> u64 {
        self.json[key].as_u64().unwrap()
    }

    fn records(&self) -> u64 {
        let threads = self.json["threads"].as_array().unwrap();
        let records = threads.iter().map(|thread| thread["records"].as_u64());
        records.map(Option::unwrap).sum()
    }

    /// Nothing but dropped calls is amiss; returns how many they are said to be.
    fn dropped(&self) -> u64 {
        let dropped = self.number("dropped");
        assert_eq!(self.status, NOT_CLEAN, "{self:?}");
        assert_eq!(self.json["clean"], false, "{self:?}");
        let clean = "nothing is damaged or missing";
        assert_eq!(self.number("missing"), 0, "{clean}: {self:?}");
        assert_eq!(self.json["damaged"]["bytes"], 0, "{clean}: {self:?}");
        let said = format!("not clean: {dropped} records dropped");
        assert!(self.line.starts_with(&said), "{said}: {}", self.line);
        dropped
    }

    /// That, and these are all calls that have no record.
    fn counts_all_of(&self, calls: u64) {
        assert_eq!(self.records() + self.dropped(), calls, "{self:?}");
    }
}

/// Looks at the log of a program that has just had no room for some calls, and may have none for the next.
fn check_without_room(hoarder: &mut Hoarder, log: &Path) {
    // The log says so at the first call, and when they are 16, 256 and so on.
    let verdict = Verdict::of(log);
    let (dropped, lost) = (verdict.dropped(), hoarder.calls - verdict.records());
    assert!(
        dropped <= lost && dropped >= lost / 16,
        "{dropped} of {lost}"
    );
    hoarder.ask("sync");
    Verdict::of(log).counts_all_of(hoarder.calls);
}

fn check_before(hoarder: &mut Hoarder, log: &Path) {
    hoarder.log(10);
    let verdict = Verdict::of(log);
    assert_eq!((verdict.status, verdict.records()), (0, 10), "{verdict:?}");
    assert_eq!(verdict.json["clean"], true, "{verdict:?}");
}

/// A file that may have no more bytes.
#[test]
fn a_log_that_may_not_grow_is_not_clean_while_its_program_lives() {
    const BYTES: u64 = 256 << 10;
    for sink in ["mapped", "append"] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = Workshop::open().command("hoarder");
        let limit = libc::rlimit {
            rlim_cur: BYTES,
            rlim_max: BYTES,
        };
        // SAFETY: between fork and exec a system call is made, with a struct of its own.
        unsafe {
            command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let mut hoarder = Hoarder::open(command, &log, sink);
        check_before(&mut hoarder, &log);
        hoarder.log_until_dropped();
        check_without_room(&mut hoarder, &log);
        hoarder.log(1_000);
        let calls = hoarder.end();
        Verdict::of(&log).counts_all_of(calls);
    }
}

#[test]
fn a_log_on_a_disk_that_was_full_is_not_clean_while_its_program_lives() {
    for sink in ["mapped", "append"] {
        let Some(disk) = Disk::mount("tmpfs", 8) else {
            return;
        };
        let log = disk.path("log");
        let mut hoarder = Hoarder::open(Workshop::open().command("hoarder"), &log, sink);
        check_before(&mut hoarder, &log);
        let ballast = disk.fill();
        hoarder.log_until_dropped();
        check_without_room(&mut hoarder, &log);
        std::fs::remove_file(ballast).unwrap();
        hoarder.log_until_written();
        hoarder.log(100);
        Verdict::of(&log).counts_all_of(hoarder.calls);
        let calls = hoarder.end();
        Verdict::of(&log).counts_all_of(calls);
    }
}
