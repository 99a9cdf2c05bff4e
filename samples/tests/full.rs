//! Disks that are full or become so, quotas that are used up, and a disk that turns
//! read-only. Whatever happens, the program gets no signal and waits for nothing; what could not be
//! written is counted, and the count is written down when there is space again.
//! The disks are mounted for this, which takes rights that not every machine
//! gives.

use logdef_samples::copy::copy_program;
use logdef_samples::disk::{Disk, quiet};
use logdef_samples::frames::{self, Value};
use logdef_samples::skip::skip;
use logdef_samples::workshop::Workshop;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A folder that may take up only so much of its disk, far less than all.
enum Quota {
    /// What belongs to the user [`NOBODY`], wherever it lies.
    User(Disk),
    /// What lies there.
    Subvolume(Disk),
}

/// A user without rights.
const NOBODY: u32 = 65_534;

impl Quota {
    /// `None`, and a line that says why, if there can be none.
    fn of_user() -> Option<Quota> {
        let words = ["-O", "quota", "-E", "quotatype=usrquota"];
        let disk = Disk::make("ext4", 64, &words, "loop,usrquota")?;
        let quota = Quota::User(disk);
        fs::create_dir(quota.folder()).unwrap();
        chown(quota.folder(), Some(NOBODY), Some(NOBODY)).unwrap();
        if !quota.limit(2) {
            skip("ext4: no setquota that works");
            return None;
        }
        Some(quota)
    }

    /// A subvolume of btrfs with a limit, under the same condition.
    fn of_subvolume() -> Option<Quota> {
        let quota = Quota::Subvolume(Disk::mount("btrfs", 256)?);
        let btrfs =
            |words: &[&str], path: &Path| quiet(Command::new("btrfs").args(words).arg(path));
        if !(btrfs(&["quota", "enable"], quota.disk().root())
            && btrfs(&["subvolume", "create"], &quota.folder())
            && quota.limit(2))
        {
            skip("btrfs: this one has no quotas");
            return None;
        }
        Some(quota)
    }

    fn disk(&self) -> &Disk {
        match self {
            Quota::User(disk) | Quota::Subvolume(disk) => disk,
        }
    }

    fn folder(&self) -> PathBuf {
        self.disk().path("limited")
    }

    /// Whether so much may be taken from now on.
    fn limit(&self, mib: u64) -> bool {
        match self {
            Quota::User(disk) => {
                let (nobody, kib) = (NOBODY.to_string(), (mib << 10).to_string());
                let mut command = Command::new("setquota");
                command.args(["-u", &nobody, "0", &kib, "0", "0"]);
                quiet(command.arg(disk.root()))
            }
            Quota::Subvolume(_) => {
                let mut command = Command::new("btrfs");
                command.args(["qgroup", "limit", &format!("{mib}M")]);
                quiet(command.arg(self.folder()))
            }
        }
    }

    /// The program that logs there, as a user who has no more than the limit:
    /// root's own quota does not hold. A copy, since not everybody may look into
    /// a target folder.
    fn command(&self) -> Command {
        let program = Workshop::open().built.join("hoarder");
        let Quota::User(disk) = self else {
            return Command::new(program);
        };
        let copy = disk.path("hoarder");
        copy_program(&program, &copy);
        let folder = disk.root().parent().expect("the temporary folder");
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(copy);
        command.uid(NOBODY).gid(NOBODY);
        command
    }
}

/// Whether a command succeeds; its output is discarded.
/// A program that logs on request.
struct Hoarder {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    calls: u64,
}

impl Hoarder {
    /// Starts it; what it says of opening its log.
    fn start(mut command: Command, log: &Path, sink: &str) -> (Hoarder, String) {
        command.arg(log).arg(sink);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut hoarder = Hoarder {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            calls: 0,
        };
        let said = hoarder.reply();
        (hoarder, said)
    }

    fn open(log: &Path, sink: &str) -> Hoarder {
        let command = Workshop::open().command("hoarder");
        let (hoarder, said) = Hoarder::start(command, log, sink);
        assert_eq!(said, "open");
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
        let (calls, longest) = said.split_once(' ').unwrap();
        self.calls = calls.parse().unwrap();
        // No time of its own to wait for: a busy machine's, at most.
        let longest: u64 = longest.parse().unwrap();
        assert!(longest < 5_000, "a call took {longest} ms");
    }

    /// Logs until a call has no record; more than the chunk that the thread
    /// still has, if need be.
    fn log_until_full(&mut self, log: &Path) {
        for _ in 0..100 {
            self.log(2_000);
            if (read(log).0.len() as u64) < self.calls {
                return;
            }
        }
        panic!("the disk was not full");
    }

    /// Logs until there is a file again.
    fn log_until_there(&mut self, log: &Path) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !log.exists() {
            assert!(Instant::now() < deadline, "no file is made again");
            std::thread::sleep(Duration::from_millis(20));
            self.log(1);
        }
    }

    /// Logs until a call has a record again, and some more. All calls are to have
    /// theirs or to be counted, with the reason that there was.
    fn log_to_the_end(mut self, log: &Path, why: &str) {
        // It tries again after a second.
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(300));
            self.log(1);
            if read(log).0.contains(&(self.calls - 1)) {
                break;
            }
        }
        self.log(1_000);
        let made = self.end();
        let (calls, dropped) = read(log);
        assert!(calls.contains(&(made - 1)), "no space came back");
        assert!(dropped > 0);
        assert_eq!(calls.len() as u64 + dropped, made);
        let notes = notes(log);
        let [note] = &notes[..] else {
            panic!("not one note: {notes:?}");
        };
        assert!(note.starts_with(why), "{note}");
    }

    /// Lets it end, which it must do by itself.
    fn end(mut self) -> u64 {
        drop(self.to.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        self.calls
    }
}

/// Which calls have a record, and how many are noted as dropped.
fn read(log: &Path) -> (BTreeSet<u64>, u64) {
    let (mut calls, mut dropped) = (BTreeSet::new(), 0);
    for frame in frames::scan(&fs::read(log).unwrap()) {
        if frame.is_data() {
            let args = frame.fields.get(&9).and_then(Value::array).unwrap();
            assert!(calls.insert(args[0].int().unwrap() as u64), "twice");
            dropped += frame.int(13).unwrap_or_default() as u64;
        }
    }
    (calls, dropped)
}

/// What the log says of space that returned.
fn notes(log: &Path) -> Vec<String> {
    let scanned = frames::scan(&fs::read(log).unwrap());
    let notes = (scanned.iter()).filter(|frame| frame.tag == 6 && frame.int(1) == Some(6));
    notes
        .map(|note| String::from_utf8_lossy(note.raw(3).unwrap()).into_owned())
        .collect()
}

/// On two kinds of disk, three in the slow suite, with the sink that it gets
/// by itself and the other.
fn on_disks(test: impl Fn(&str, &Disk, &str)) {
    let kinds = [("tmpfs", 24), ("ext4", 24), ("xfs", 320)];
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    for (kind, mib) in kinds.into_iter().take(if slow { 3 } else { 2 }) {
        for sink in ["auto", "append"] {
            if let Some(disk) = Disk::mount(kind, mib) {
                println!("{kind}, {sink}");
                test(kind, &disk, sink);
            }
        }
    }
}

#[test]
fn a_disk_that_fills_up_costs_the_calls_that_find_no_room_and_they_are_counted() {
    on_disks(|_, disk, sink| {
        let log = disk.path("log");
        let mut hoarder = Hoarder::open(&log, sink);
        hoarder.log(1_000);
        let ballast = disk.fill();
        hoarder.log_until_full(&log);
        fs::remove_file(ballast).unwrap();
        hoarder.log_to_the_end(&log, "no space left on device ");
    });
}

#[test]
fn a_disk_that_is_full_is_an_error_or_drops_everything() {
    on_disks(|kind, disk, sink| {
        disk.fill();
        let command = Workshop::open().command("hoarder");
        let (mut hoarder, said) = Hoarder::start(command, &disk.path("log"), sink);
        if said == "open" {
            hoarder.log_until_full(&disk.path("log"));
            hoarder.end();
        } else {
            assert!(said.contains("No space"), "{kind}: {said}");
        }
    });
}

fn check_quota(quota: &Quota, sink: &str) {
    let log = quota.folder().join("log");
    let (mut hoarder, said) = Hoarder::start(quota.command(), &log, sink);
    assert_eq!(said, "open");
    hoarder.log_until_full(&log);
    assert!(quota.limit(40));
    hoarder.log_to_the_end(&log, "disk quota exceeded ");
}

#[test]
fn a_quota_that_is_used_up_costs_the_calls_beyond_it_and_they_are_counted() {
    for sink in ["auto", "append"] {
        let quotas = [Quota::of_user(), Quota::of_subvolume()];
        for quota in quotas.iter().flatten() {
            check_quota(quota, sink);
        }
    }
}

#[test]
fn a_disk_that_turns_read_only_costs_the_calls_after_it_and_a_sync_says_so() {
    for sink in ["auto", "append"] {
        let Some(disk) = Disk::make("ext4", 24, &[], "loop,errors=remount-ro") else {
            return;
        };
        let log = disk.path("log");
        let mut hoarder = Hoarder::open(&log, sink);
        hoarder.log(1_000);
        assert_eq!(hoarder.ask("sync"), "synced");
        if !disk.turn_read_only() {
            skip("this ext4 does not turn read-only when it is told to");
            return;
        }
        let is_error = |said: String| {
            assert!(said.starts_with("Read-only file system"), "{sink}: {said}");
        };
        // More than fits into pages that were ready.
        hoarder.log(20_000);
        is_error(hoarder.ask("sync"));
        hoarder.log(20_000);
        is_error(hoarder.ask("sync"));

        // Those pages still were written to, in memory.
        let written = read(&log);
        let first = written.0.len() as u64;
        match sink {
            "auto" => assert!((2_000..21_000).contains(&first), "{first}"),
            _ => assert_eq!(first, 1_000),
        }
        assert_eq!(written, ((0..first).collect(), 0));
        let unwritten = hoarder.calls - first;
        assert_eq!(hoarder.ask("unwritten"), unwritten.to_string());

        // A log in files continues where its folder is now.
        if sink == "auto" {
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "tmpfs"]).arg(disk.root());
            assert!(quiet(&mut mount));
            hoarder.log_until_there(&log);
            hoarder.log(10);
            assert_eq!(hoarder.ask("sync"), "synced");
            let (calls, lost) = read(&log);
            assert!(lost >= unwritten, "{lost} of {unwritten}");
            assert_eq!(calls, (first + lost..hoarder.calls).collect());
            let notes = notes(&log);
            let [note] = &notes[..] else {
                panic!("not one note: {notes:?}");
            };
            assert!(note.starts_with("read-only file system "), "{note}");
            quiet(Command::new("umount").arg("--lazy").arg(disk.root()));
        }
        hoarder.end();
    }
}

#[test]
fn a_copy_that_shares_its_blocks_does_no_harm() {
    let Some(disk) = Disk::mount("xfs", 320) else {
        return;
    };
    let log = disk.path("log");
    let mut hoarder = Hoarder::open(&log, "auto");
    hoarder.log(1_000);
    let mut copy = Command::new("cp");
    copy.arg("--reflink=always").arg(&log);
    if !quiet(copy.arg(disk.path("copy"))) {
        skip("this xfs copies all bytes");
        return;
    }
    hoarder.log(50_000);
    let made = hoarder.end();
    let (calls, dropped) = read(&log);
    assert_eq!(calls.len() as u64 + dropped, made);
    assert_eq!(read(&disk.path("copy")).0.len(), 1_000);
}
