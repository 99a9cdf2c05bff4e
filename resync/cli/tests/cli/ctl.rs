//! `ctl` on pages that the test makes: what it says of a process, what it asks for, and what
//! it does with pages that are not what they seem.

use crate::fixture::*;
use crate::skip::skip;
use logdef_wire::control::{Block, Request, SIZE, State, Taken, Wanted};
use logdef_wire::{Level, Run};
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

fn put<'a>(page: &mut [u8; SIZE], block: &impl Block<'a>) {
    let mut scratch = [0; SIZE];
    let bytes = block.encode(&mut scratch);
    let at = if bytes.starts_with(b"logdefCS") {
        0
    } else if bytes.starts_with(b"logdefCT") {
        1536
    } else {
        2048
    };
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// When this process started, as the page of a living process says it.
fn started() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().to_owned();
    fields.split_whitespace().nth(19).unwrap().parse().unwrap()
}

fn boot() -> [u8; 36] {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap();
    boot[..36].try_into().unwrap()
}

/// The page of this process, as the logger would write it.
pub fn page() -> [u8; SIZE] {
    let mut page = [0; SIZE];
    put(&mut page, &state());
    put(&mut page, &Taken::default());
    put(&mut page, &Request::default());
    page
}

fn state() -> State<'static> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = now.as_nanos() as u64;
    State {
        run: Some(Run(0xabc)),
        pid: std::process::id(),
        user: std::fs::metadata("/proc/self").unwrap().uid(),
        started: started(),
        boot: boot(),
        written: now,
        logged: now,
        dropped: 3,
        bell: (0, 0),
        bell_descriptor: 0,
        level: Level::INFO,
        is_set: false,
        has_helper: false,
        until: 0,
        filter: b"info,net=debug",
    }
}

pub fn put_page(files: &Files, name: &str, page: &[u8]) {
    let path = files.put(name, page);
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

fn ctl(files: &Files, words: &[&str]) -> Done {
    let mut command = command();
    command.current_dir(files.path()).arg("ctl").args(words);
    run(&mut command, b"")
}

fn request(files: &Files, name: &str) -> Vec<u8> {
    std::fs::read(files.path().join(name)).unwrap()
}

#[test]
fn a_living_process_is_listed_with_what_it_logs() {
    let files = Files::new();
    files.put("app.log", &[0; 4096]);
    put_page(&files, ".app.log.ctl", &page());
    let listed = ctl(&files, &["--live", "app.log"]);
    assert_eq!(listed.status, 0, "{}", listed.err);
    let pid = std::process::id();
    let start = format!(
        "app.log: pid {pid} alive, level info, filter info,net=debug, 3 calls dropped, 1 file, "
    );
    assert!(listed.out.starts_with(&start), "{}", listed.out);
    let json = ctl(&files, &["list", "--live", "-o", "json"]).objects();
    assert_eq!(json.len(), 1);
    let one = &json[0];
    assert_eq!(one["pid"], pid);
    assert_eq!(one["run"], "0000000000000abc");
    assert_eq!((&one["alive"], &one["set"]), (&true.into(), &false.into()));
    assert_eq!(one["dropped"], 3);
    assert_eq!(one["pending"], serde_json::json!([]));
}

#[test]
fn what_is_asked_for_stands_in_the_page_and_is_pending() {
    let files = Files::new();
    put_page(&files, ".app.log.ctl", &page());
    let asked = ctl(&files, &["level", "app.log", "debug", "--for", "5m"]);
    assert_eq!(asked.status, 0, "{}", asked.err);
    assert!(asked.out.starts_with("app.log: pending: "), "{}", asked.out);
    let bytes = request(&files, ".app.log.ctl");
    let first = Request::decode(&bytes).unwrap();
    assert_eq!(first.wanted, Wanted::Level(Level::DEBUG));
    assert_eq!((first.set, first.lasts), (1, 300_000_000_000));
    assert!(first.pid > 0);
    // One kind after the other: none takes another's place.
    for words in [
        &["note", "app.log", "deploy begins"][..],
        &["rotate", "app.log"],
        &["sync", "app.log"],
    ] {
        assert_eq!(ctl(&files, words).status, 0);
    }
    let bytes = request(&files, ".app.log.ctl");
    let all = Request::decode(&bytes).unwrap();
    assert_eq!((all.set, all.note, all.rotate, all.sync), (1, 2, 3, 4));
    assert_eq!(
        (all.wanted, all.text),
        (first.wanted, &b"deploy begins"[..])
    );
    let listed = ctl(&files, &["--live"]);
    assert!(
        listed.out.ends_with(", pending: level sync rotate note\n"),
        "{}",
        listed.out
    );
    let waited = ctl(&files, &["reset", "app.log", "--wait", "10ms"]);
    assert_eq!(waited.status, 1, "{}", waited.out);
}

#[test]
fn what_the_process_takes_is_said() {
    let files = Files::new();
    let mut taken = page();
    // The number is higher than all that were asked for or taken.
    put(
        &mut taken,
        &Taken {
            note: 7,
            ..Taken::default()
        },
    );
    put_page(&files, ".app.log.ctl", &taken);
    assert_eq!(
        ctl(&files, &["reset", "app.log", "--wait", "1ms"]).status,
        1
    );
    let bytes = request(&files, ".app.log.ctl");
    assert_eq!(Request::decode(&bytes).unwrap().set, 8);
    put(
        &mut taken,
        &Taken {
            set: 100,
            set_refused: true,
            pid: 5,
            ..Taken::default()
        },
    );
    put_page(&files, ".app.log.ctl", &taken);
    // As if it had taken the request that comes next.
    put(
        &mut taken,
        &Taken {
            set: u64::MAX,
            pid: 5,
            ..Taken::default()
        },
    );
    put_page(&files, ".app.log.ctl", &taken);
    let asked = ctl(&files, &["level", "app.log", "warn", "--wait", "5s"]);
    assert_eq!(
        asked.out, "app.log: accepted by process 5\n",
        "{}",
        asked.err
    );
}

#[test]
fn filters_and_levels_that_are_none_are_refused_before_anything_is_asked() {
    let files = Files::new();
    put_page(&files, ".app.log.ctl", &page());
    let long = "x".repeat(2000);
    for (words, said) in [
        (["filter", "app.log", "net=loud"], "`net=loud` is neither"),
        (
            ["filter", "app.log", &long],
            "a filter may have at most 1024 bytes",
        ),
        (["level", "app.log", "loud"], "try trace, debug, info"),
        (["level", "app.log", "net=info"], "try trace, debug, info"),
        (
            ["note", "app.log", &long],
            "a note may have at most 512 bytes",
        ),
    ] {
        let refused = ctl(&files, &words);
        assert_eq!(refused.status, 2, "{}", refused.err);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    let bytes = request(&files, ".app.log.ctl");
    assert_eq!(Request::decode(&bytes), Some(Request::default()));
}

#[test]
fn a_process_that_has_ended_is_not_asked() {
    let files = Files::new();
    let others = [
        // Its number is another's now; it was of another boot.
        State {
            started: started() + 1,
            ..state()
        },
        State {
            boot: [b'0'; 36],
            ..state()
        },
        State {
            pid: 4_194_305,
            ..state()
        },
        // It became another program by exec: the memory that its calls looked at is mapped no more.
        State {
            bell: (1, 1),
            bell_descriptor: 1,
            ..state()
        },
        // A bell that no process has open.
        State {
            pid: 4_194_305,
            bell: (1, 1),
            bell_descriptor: 1,
            ..state()
        },
    ];
    for state in others {
        let mut dead = page();
        put(&mut dead, &state);
        put_page(&files, ".app.log.ctl", &dead);
        let asked = ctl(&files, &["level", "app.log", "debug"]);
        assert_eq!(asked.status, 4, "{}", asked.out);
        assert_eq!(
            asked.err,
            format!(
                "logdef: app.log: process {} has ended, or runs another program now\n",
                state.pid
            )
        );
        assert!(request(&files, ".app.log.ctl") == dead);
    }
}

/// Root makes the log and its page; another user asks, and asks root's process nothing.
#[test]
fn a_page_of_another_user_is_not_for_everybody() {
    let files = Files::new();
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skip("only root can be another user");
    }
    std::fs::set_permissions(files.path(), Permissions::from_mode(0o755)).unwrap();
    put_page(&files, ".app.log.ctl", &page());
    let before = request(&files, ".app.log.ctl");
    for words in [&["list", "app.log"][..], &["level", "app.log", "debug"]] {
        let mut command = command();
        command.current_dir(files.path()).arg("ctl").args(words);
        std::os::unix::process::CommandExt::uid(&mut command, 65534);
        let Ok(mut started) = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn() else {
            return skip("the program lies where others may not read it");
        };
        let mut said = String::new();
        started
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(started.wait().unwrap().code(), Some(4), "{said}");
        assert!(
            said.contains("belongs to user 0: only that user and root"),
            "{said}"
        );
    }
    assert!(request(&files, ".app.log.ctl") == before);
}

/// A folder that is shared with a container, which has other numbers for processes: the page is obeyed where
/// the process looks at it, and what is asked for is pending until then.
#[test]
fn a_process_of_another_container_is_asked_through_the_page() {
    let files = Files::new();
    put_page(&files, ".app.log.ctl", &page());
    let held = std::fs::File::options()
        .write(true)
        .open(files.path().join(".app.log.ctl"))
        .unwrap();
    let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::fcntl_lock(&held, lock).unwrap();
    let inside = |words: &str| {
        let mut unshare = std::process::Command::new("unshare");
        unshare.args([
            "-m",
            "-p",
            "-f",
            "--mount-proc",
            env!("CARGO_BIN_EXE_logdef"),
            "ctl",
        ]);
        unshare.args(words.split(' ')).current_dir(files.path());
        run(&mut unshare, b"")
    };
    let can = std::process::Command::new("unshare")
        .args(["-m", "-p", "-f", "--mount-proc", "true"])
        .stderr(Stdio::null())
        .status();
    if !can.is_ok_and(|status| status.success()) {
        return skip("no namespaces of the test's own");
    }
    let listed = inside("list app.log");
    let pid = std::process::id();
    let expected = format!("pid {pid} alive (in another container; this is its pid there)");
    assert!(
        listed.out.contains(&expected),
        "{} {}",
        listed.out,
        listed.err
    );
    let asked = inside("level app.log debug --wait 1ms");
    assert_eq!(asked.status, 1, "{}", asked.err);
    assert!(
        asked.out.contains("not accessible from here"),
        "{}",
        asked.out
    );
    let bytes = request(&files, ".app.log.ctl");
    assert_eq!(
        Request::decode(&bytes).unwrap().wanted,
        Wanted::Level(Level::DEBUG)
    );
}

#[test]
fn what_is_no_page_is_not_written_to() {
    let refused = |files: &Files, said: &str| {
        for words in [&["level", "app.log", "debug"][..], &["list", "app.log"]] {
            let done = ctl(files, words);
            assert_eq!(done.status, 4, "{said}: {}", done.out);
            assert!(done.err.contains(said), "{said}: {}", done.err);
        }
    };
    let files = Files::new();
    let at = files.path().join(".app.log.ctl");
    for len in [0, 1, 1536, 4095] {
        put_page(&files, ".app.log.ctl", &page()[..len]);
        refused(&files, &format!("it has {len} bytes"));
    }
    let mut torn = page();
    torn[700] ^= 1;
    put_page(&files, ".app.log.ctl", &torn);
    refused(&files, "damaged");
    put_page(&files, ".app.log.ctl", &page());
    std::fs::set_permissions(&at, Permissions::from_mode(0o666)).unwrap();
    refused(&files, "its mode is 666");
    put_page(&files, ".app.log.ctl", &page());
    std::fs::hard_link(&at, files.path().join("other")).unwrap();
    refused(&files, "it has 2 names");
    std::fs::remove_file(&at).unwrap();
    // A link to a page is not taken for one.
    std::os::unix::fs::symlink("other", &at).unwrap();
    refused(&files, "not a control page");
    std::fs::remove_file(&at).unwrap();
    std::fs::create_dir(&at).unwrap();
    refused(&files, "not a control page");
    std::fs::remove_dir(&at).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &at, 0o600.into()).unwrap();
    refused(&files, "not a control page");
    std::fs::remove_file(&at).unwrap();
}

#[test]
fn a_memory_file_that_is_not_what_the_page_says_is_not_written_to() {
    let files = Files::new();
    let victim = files.put("victim", &[0x40; 4096]);
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&victim)
        .unwrap();
    let metadata = file.metadata().unwrap();
    let mut page = page();
    let state = State {
        bell: (metadata.dev(), metadata.ino()),
        bell_descriptor: std::os::fd::AsRawFd::as_raw_fd(&file).cast_unsigned(),
        ..state()
    };
    put(&mut page, &state);
    put_page(&files, ".app.log.ctl", &page);
    // As a living process has it.
    let held = std::fs::File::options()
        .write(true)
        .open(files.path().join(".app.log.ctl"))
        .unwrap();
    let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::fcntl_lock(&held, lock).unwrap();
    let asked = ctl(&files, &["level", "app.log", "debug", "--wait", "1ms"]);
    assert_eq!(asked.status, 1, "{}", asked.err);
    assert!(
        asked.out.contains("not accessible from here"),
        "{}",
        asked.out
    );
    assert!(std::fs::read(&victim).unwrap() == [0x40; 4096]);
}

#[test]
fn of_several_processes_one_must_be_named() {
    let files = Files::new();
    for name in [".app.log.ctl", ".app.log.2.ctl", ".other.log.ctl"] {
        put_page(&files, name, &page());
    }
    let asked = ctl(&files, &["reset", "app.log"]);
    assert_eq!(asked.status, 2);
    assert!(asked.err.contains("2 processes log there"), "{}", asked.err);
    let asked = ctl(&files, &["reset", "app.log", "--all", "--wait", "1ms"]);
    assert_eq!(asked.out.lines().count(), 2, "{}", asked.err);
    let none = ctl(&files, &["reset", "app.log", "--pid", "1"]);
    assert_eq!(none.status, 4);
    assert!(
        none.err.contains("no process 1 can be controlled"),
        "{}",
        none.err
    );
    let read = |name: &str| Request::decode(&request(&files, name)).unwrap().set;
    assert_eq!((read(".app.log.ctl"), read(".app.log.2.ctl")), (1, 1));
    assert_eq!(read(".other.log.ctl"), 0);
}

#[test]
fn a_request_that_was_left_half_written_is_written_again() {
    let files = Files::new();
    let mut torn = page();
    put(
        &mut torn,
        &Taken {
            set: 41,
            ..Taken::default()
        },
    );
    torn[3000] ^= 0xff;
    put_page(&files, ".app.log.ctl", &torn);
    assert_eq!(ctl(&files, &["reset", "app.log"]).status, 0);
    let bytes = request(&files, ".app.log.ctl");
    assert_eq!(Request::decode(&bytes).unwrap().set, 42);
}

#[test]
fn a_log_is_found_by_a_link_to_it_and_by_its_files() {
    let files = Files::new();
    files.put("logs/app.log.000002", b"");
    put_page(&files, "logs/.app.log.ctl", &page());
    std::os::unix::fs::symlink("app.log.000002", files.path().join("logs/app.log")).unwrap();
    std::os::unix::fs::symlink("logs/app.log", files.path().join("here.log")).unwrap();
    for path in [
        "logs/app.log",
        "here.log",
        "logs/app.log.000002",
        "logs",
        "logs/.app.log.ctl",
    ] {
        let listed = ctl(&files, &["list", "--live", path]);
        assert_eq!(listed.out.lines().count(), 1, "{path}: {}", listed.err);
    }
}

#[test]
fn runs_without_a_page_are_listed_as_their_log_shows_them() {
    let files = Files::new();
    files.put("app.log", &example().bytes);
    let listed = ctl(&files, &["-o", "json"]);
    let runs = listed.objects();
    assert!(!runs.is_empty(), "{}", listed.err);
    for run in runs {
        assert_eq!(
            (&run["alive"], &run["control"]),
            (&false.into(), &false.into())
        );
    }
    let none = Files::new();
    let nothing = ctl(&none, &[]);
    assert_eq!((nothing.status, &*nothing.out), (0, ""));
    assert!(nothing.err.contains("LOGDEF_CTL=1"), "{}", nothing.err);
}

#[test]
fn names_and_filters_reach_no_terminal_unescaped() {
    let files = Files::new();
    let mut hostile = page();
    put(
        &mut hostile,
        &State {
            filter: b"\x1b[2Jx=info\n",
            ..state()
        },
    );
    put_page(&files, ".\x1b[2J.log.ctl", &hostile);
    let listed = ctl(&files, &["--live"]);
    assert_eq!(listed.out.lines().count(), 1);
    assert!(!listed.out.contains('\x1b') && !listed.err.contains('\x1b'));
}
