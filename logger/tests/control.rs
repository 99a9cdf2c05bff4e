//! The control page from the side of the process: the test is `logdef ctl`, which writes
//! into the page and rings the bell.

use common::skip;
use logdef::Level;
use logdef_wire::control::{Block, Request, SIZE, State, Wanted};
use logdef_wire::{Record, frame};
use program::{Program, VICTIM, victim};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

mod common;
#[path = "control/program.rs"]
mod program;

fn is_root() -> bool {
    // SAFETY: has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        skip::skip("only root may make files of another user, and become one");
    }
    is_root
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}

fn level(set: u64, level: Level) -> Request<'static> {
    Request {
        set,
        asked: now(),
        wanted: Wanted::Level(level),
        user: 17,
        pid: 4,
        ..Request::default()
    }
}

fn filter(set: u64, text: &str) -> Request<'_> {
    Request {
        wanted: Wanted::Filter(text.as_bytes()),
        ..level(set, Level::INFO)
    }
}

#[test]
#[ignore = "child of the other tests"]
fn the_program() {
    let path = std::env::var_os(VICTIM).expect("another test starts it");
    println!();
    victim(Path::new(&path));
}

#[test]
fn the_next_call_meets_the_change_where_all_calls_are_off() {
    let mut program = Program::start("off");
    for _ in 0..3 {
        program.does("log");
    }
    assert_eq!(program.counts(), (0, 0));
    program.asks(&level(1, Level::DEBUG));
    program.does("log");
    assert_eq!(program.counts(), (1, 1));
    assert_eq!(program.taken().set, 1);
    assert_eq!(
        program.notes(),
        ["level debug, asked for by process 4 of user 17"]
    );
    program.asks(&filter(2, "control/program.rs=info"));
    program.does("log");
    assert_eq!(program.counts(), (2, 1));
    let page = program.bytes();
    let state = State::decode(&page).unwrap();
    assert_eq!(
        (state.filter, state.is_set),
        (&b"control/program.rs=info"[..], true)
    );
    program.asks(&Request {
        wanted: Wanted::Program,
        ..level(3, Level::INFO)
    });
    program.does("log");
    assert_eq!(program.counts(), (2, 1));
    assert_eq!(program.notes().len(), 3);
}

#[test]
fn a_change_for_a_time_ends_at_a_call_after_it() {
    const MINUTE: u64 = 60_000_000_000;
    // Of which a little is left.
    let nearly_over = |request: Request<'static>| Request {
        asked: now() - MINUTE + 200_000_000,
        lasts: MINUTE,
        ..request
    };
    let mut program = Program::start("info");
    program.asks(&Request {
        lasts: MINUTE,
        ..level(1, Level::DEBUG)
    });
    program.does("log");
    assert_eq!(program.counts(), (1, 1));
    program.asks(&nearly_over(level(2, Level::DEBUG)));
    let over = |program: &Program| {
        let notes = program.notes();
        notes.len() == 3 && notes[2].ends_with("the time is over")
    };
    program.does_until("log", "it never ends", over);
    let before = program.counts();
    program.does("log");
    assert_eq!(program.counts(), (before.0 + 1, before.1));
    // Silence for a time: no record is made by which time could pass.
    program.asks(&Request {
        lasts: MINUTE,
        ..filter(3, "off")
    });
    program.does("log");
    assert_eq!(program.counts(), (before.0 + 1, before.1));
    program.asks(&nearly_over(filter(4, "off")));
    let again = |program: &Program| program.counts().0 > before.0 + 1;
    program.does_until("log", "it stays silent", again);
    assert!(
        program
            .notes()
            .last()
            .unwrap()
            .ends_with("the time is over")
    );
}

#[test]
fn what_was_asked_for_too_long_ago_is_over() {
    let mut program = Program::start("info");
    let late = Request {
        asked: now() - 10_000_000_000,
        lasts: 9_000_000_000,
        ..level(1, Level::DEBUG)
    };
    program.asks(&late);
    program.does("log");
    assert_eq!((program.counts(), program.taken().set), ((1, 0), 1));
}

#[test]
fn a_process_whose_memory_is_not_in_reach_looks_while_it_logs() {
    let mut program = Program::start("info");
    program.ask(&level(1, Level::DEBUG));
    program.does_until("log", "it never looks", |program| program.taken().set == 1);
    program.does("log");
    assert!(program.counts().1 > 0);
    // The program closes what it did not open.
    program.does("close all");
    program.ask(&level(2, Level::WARN));
    program.does_until("log", "it never looks", |program| program.taken().set == 2);
}

#[test]
fn no_page_harms_the_process() {
    let mut program = Program::start("info");
    let whole = program.bytes();
    let garbage: Vec<u8> = (0..SIZE).map(|at| (at * 7 % 251) as u8).collect();
    let with = |at: usize, bytes: &[u8]| {
        let mut page = whole.clone();
        page[at..at + bytes.len()].copy_from_slice(bytes);
        page
    };
    for page in [
        garbage,
        vec![0xff; SIZE],
        with(2100, b"torn"),
        vec![0; SIZE],
    ] {
        std::fs::write(program.page(), page).unwrap();
        program.does("log");
    }
    // What looks like a request is one only if it can be obeyed.
    std::fs::write(program.page(), &whole).unwrap();
    for (number, wrong) in ["net=loud", "=", "a.c:x=info"].into_iter().enumerate() {
        let set = number as u64 + 1;
        program.asks(&filter(set, wrong));
        program.does("log");
        let taken = program.taken();
        assert_eq!((taken.set, taken.set_refused), (set, true), "{wrong}");
    }
    assert_eq!(program.counts().1, 0);
    // Cut short, made longer, of another mode, with a second name, and gone.
    let file = || File::options().write(true).open(program.page()).unwrap();
    for len in [0, 1, 100, 1 << 20, SIZE as u64] {
        file().set_len(len).unwrap();
        if len == SIZE as u64 {
            file().write_all_at(&whole, 0).unwrap();
        }
    }
    let pid = program.child.id();
    let refuse = |program: &mut Program, set: u64| {
        program.ask(&level(set, Level::DEBUG));
        program.ring(pid);
        program.does("log");
        assert_eq!(program.counts().1, 0);
        assert!(program.taken().set < set);
    };
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(program.page(), mode(0o620)).unwrap();
    refuse(&mut program, 10);
    std::fs::set_permissions(program.page(), mode(0o600)).unwrap();
    std::fs::hard_link(program.page(), program.path("other")).unwrap();
    refuse(&mut program, 11);
    std::fs::remove_file(program.path("other")).unwrap();
    program.asks(&level(12, Level::DEBUG));
    program.does("log");
    assert_eq!(program.taken().set, 12);
    // Another page in its place is not its own.
    std::fs::remove_file(program.page()).unwrap();
    std::fs::write(program.page(), &whole).unwrap();
    std::fs::set_permissions(program.page(), mode(0o600)).unwrap();
    program.asks(&level(13, Level::WARN));
    let before = program.counts();
    program.does("log");
    assert_eq!(program.counts(), (before.0 + 1, before.1 + 1));
    program.does("close");
    assert!(program.page().exists(), "it is another's");
    assert!(program.is_alive());
}

#[test]
fn a_page_that_is_cut_while_the_process_runs_raises_no_signal() {
    let mut program = Program::start("off");
    program.does("log");
    let pid = program.child.id();
    program.ring(pid);
    File::options()
        .write(true)
        .open(program.page())
        .unwrap()
        .set_len(0)
        .unwrap();
    for _ in 0..3 {
        program.does("log");
    }
    assert!(program.is_alive());
    assert_eq!(program.counts(), (0, 0));
}

#[test]
fn a_family_shares_a_page_and_a_child_that_stays_takes_it() {
    let mut program = Program::start("info");
    program.does("child");
    program.asks(&level(1, Level::DEBUG));
    program.does("child");
    assert_eq!(program.counts(), (2, 1));
    program.does("log");
    assert_eq!(program.counts(), (3, 2));
    let printed = program.does("daemon");
    let pid: u32 = printed
        .trim()
        .strip_prefix("pid ")
        .unwrap()
        .parse()
        .unwrap();
    program.child.wait().unwrap();
    program.ask(&filter(2, "warn"));
    program.ring(pid);
    program.does("log");
    assert_eq!(program.counts(), (3, 2));
    let is_its = |program: &Program| State::decode(&program.bytes()).unwrap().pid == pid;
    program.asks_of(pid, &level(3, Level::DEBUG));
    program.does_until("log", "the page is still the parent's", is_its);
    program.does("close");
    assert!(!program.page().exists());
}

#[test]
fn a_note_another_file_and_a_sync_are_had_once() {
    let mut program = Program::start("rotating");
    program.does("log");
    let all = Request {
        note: 1,
        rotate: 2,
        sync: 3,
        text: b"deploy begins",
        ..Request::default()
    };
    program.asks(&all);
    program.does("child");
    program.does("log");
    let taken = program.taken();
    assert_eq!(
        (taken.note, taken.rotate, taken.sync, taken.sync_errno),
        (1, 2, 3, 0)
    );
    let files = std::fs::read_dir(program.directory.path()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let files: Vec<_> = names.filter(|name| name.starts_with("log.0")).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let bytes: Vec<u8> = files
        .iter()
        .flat_map(|name| std::fs::read(program.path(name)).unwrap())
        .collect();
    let (mut notes, mut syncs) = (0, 0);
    let mut at = 0;
    while at < bytes.len() {
        let Ok(found) = frame::decode(&bytes[at..]) else {
            at += 1;
            continue;
        };
        at += found.len;
        match common::record(found.body, &mut vec![0; found.body.len()]) {
            Record::Note(note)
                if note
                    .text
                    .is_some_and(|text| text.starts_with(b"deploy begins, asked")) =>
            {
                notes += 1
            }
            Record::Durable(_) => syncs += 1,
            _ => {}
        }
    }
    assert_eq!((notes, syncs), (1, 1));
}

/// Threads meet a request at the same moment, and nothing is logged by which time would pass: a
/// thread that was to take it found another one looking at the page, and neither took it.
#[test]
fn what_is_asked_for_is_taken_whichever_threads_meet_it() {
    let mut program = Program::start("off");
    program.does("threads");
    for number in 1..=150 {
        program.asks(&Request {
            note: number,
            text: b"deploy begins",
            ..Request::default()
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        while program.taken().note < number {
            assert!(Instant::now() < deadline, "note {number} is not taken");
            std::thread::yield_now();
        }
    }
    assert_eq!(program.notes().len(), 150);
}

#[test]
fn a_helper_takes_what_is_asked_while_the_program_is_idle() {
    let mut program = Program::start("helped");
    program.does("log");
    program.ask(&Request {
        note: 2,
        text: b"hello",
        ..level(1, Level::DEBUG)
    });
    common::until("the helper does not look", || {
        program.taken().note == 2 && program.taken().set == 1
    });
    program.does("log");
    assert_eq!(program.counts(), (2, 1));
}

#[test]
fn after_4096_changes_a_level_is_refused_and_a_note_says_what_to_do() {
    let mut program = Program::start("info");
    for set in 1..=4097 {
        program.asks(&level(set, Level::DEBUG));
        program.does("log");
        let taken = program.taken();
        assert_eq!((taken.set, taken.set_refused), (set, set > 4096));
    }
    let notes = program.notes();
    assert_eq!(notes.len(), 4097);
    let last = &notes[4096];
    assert!(last.contains("4,096, restart the program"), "{last}");
}

#[test]
fn there_is_a_page_only_where_it_is_wanted() {
    let by = |first: &str, value: Option<&str>| {
        let program = Program::with(first, |command| {
            if let Some(value) = value {
                command.env("LOGDEF_CTL", value);
            }
        });
        program.page().exists()
    };
    assert!(!by("info", None) && !by("info", Some("0")) && by("info", Some("1")));
    assert!(!by("refused", Some("1")) && by("asked", None) && by("asked", Some("0")));
    let mut program = Program::start("info");
    let page = std::fs::metadata(program.page()).unwrap();
    assert_eq!((page.mode() & 0o7777, page.len()), (0o600, SIZE as u64));
    program.does("close");
    assert!(!program.page().exists());
    program.does("off");
    assert!(program.page().exists());
}

#[test]
fn a_page_that_a_dead_process_left_is_used_again_and_that_of_a_living_one_is_not() {
    let first = Program::start("info");
    let directory = first.directory.path().to_owned();
    let second = |first: &str| {
        let copy = tempfile::tempdir().unwrap();
        let path = directory.join("log");
        Program::at(copy, first, |command| {
            command.env("LOGDEF_CTL", "1").env(VICTIM, &path);
        })
    };
    let other = second("info");
    assert!(directory.join(".log.2.ctl").exists());
    let mut first = first;
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let third = second("info");
    let page = std::fs::read(first.page()).unwrap();
    assert_eq!(State::decode(&page).unwrap().pid, third.child.id());
    assert!(!directory.join(".log.3.ctl").exists());
    drop((other, third));
}

#[test]
fn a_page_of_another_user_and_a_link_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join(".log.ctl");
    std::fs::write(directory.path().join("victim"), b"precious").unwrap();
    std::os::unix::fs::symlink("victim", &page).unwrap();
    let program = Program::at(directory, "info", |command| {
        command.env("LOGDEF_CTL", "1");
    });
    assert_eq!(std::fs::read(program.path("victim")).unwrap(), b"precious");
    assert!(program.path(".log.2.ctl").exists());
    drop(program);
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join(".log.ctl");
    std::fs::write(&page, b"").unwrap();
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(&page, Some(65534), None).unwrap();
    let program = Program::at(directory, "info", |command| {
        command.env("LOGDEF_CTL", "1");
    });
    assert_eq!(std::fs::metadata(program.page()).unwrap().len(), 0);
    assert!(program.path(".log.2.ctl").exists());
}

#[test]
fn a_process_that_gives_up_its_rights_still_obeys() {
    if !is_root() {
        return;
    }
    let mut program = Program::start("info");
    program.does("log");
    program.does("nobody");
    program.asks(&level(1, Level::DEBUG));
    program.does("log");
    assert_eq!((program.counts(), program.taken().set), ((2, 1), 1));
}
