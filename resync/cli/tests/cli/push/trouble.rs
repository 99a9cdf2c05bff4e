//! What a store and the command go through: each record comes all the same, and none twice but those of one
//! request.

use super::got::{got, keys, otlp};
use super::{Running, keys_of, long, push, pusher};
use crate::fixture::*;
use crate::stores::{Reply, Store, ok};
use prost::Message as _;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

#[test]
fn a_store_that_is_busy_or_breaks_off_is_asked_again() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    let later = |status| Reply::Say(status, "Retry-After: 0\r\n", b"later".into());
    let busy = [
        "503 Service Unavailable",
        "429 Too Many Requests",
        "504 Gateway Timeout",
    ];
    let breaks = [
        later("500 Internal Server Error"),
        Reply::Drop,
        Reply::Break,
    ];
    // The one that breaks off in its answer has taken the records.
    for (words, replies, taken) in [
        ("--otlp URL {}", busy.map(later), 1),
        ("--loki URL {}", breaks, 2),
    ] {
        let store = Store::new();
        store.reply(replies);
        let done = push(&store, words, &file);
        assert_eq!(done.status, 0, "{}", done.err);
        assert_eq!((store.came(), store.taken().len()), (4, taken));
        let all = keys(&got(&store));
        assert_eq!(all.len(), 10 * taken);
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 10);
        let trouble = done.err.lines().next().unwrap();
        assert!(trouble.starts_with(&address(&store, words)), "{trouble}");
        assert!(trouble.ends_with(": later; trying again"), "{trouble}");
        assert_eq!(done.err.matches("trying again").count(), 1, "{}", done.err);
        assert!(done.err.contains("answers again\n"), "{}", done.err);
    }
}

fn address(store: &Store, words: &str) -> String {
    let path = if words.contains("--loki") {
        "/loki/api/v1/push"
    } else {
        "/v1/logs"
    };
    store.url() + path
}

#[test]
fn a_store_that_stays_away_is_given_up_and_the_cursor_stands_before_it() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    let cursor = files.path().join("cursor");
    let words = format!(
        "--otlp URL --retry-for 0 --cursor-file {} {{}}",
        cursor.display()
    );
    let store = Store::new();
    store.reply([Reply::Say("503 Service Unavailable", "", Vec::new())]);
    let done = push(&store, &words, &file);
    assert_eq!(done.status, 1);
    let said = format!(
        "logdef: cannot write {}/v1/logs: 503 Service Unavailable; 10 records not sent\n",
        store.url()
    );
    assert!(done.err.ends_with(&said), "{}", done.err);
    assert!(!cursor.exists());
    let address = store.address();
    drop(store);
    let nowhere = Command::new(env!("CARGO_BIN_EXE_logdef"))
        .args([
            "push",
            "--retry-for",
            "0",
            "--otlp",
            &format!("http://{address}"),
        ])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(nowhere.status.code(), Some(1));
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(said.contains("10 records not sent"), "{said}");
    // Another listens there now.
    let store = Store::at(address);
    assert_eq!(push(&store, &words, &file).status, 0);
    assert_eq!(keys(&got(&store)), keys_of(&file));
    assert_eq!(push(&store, &words, &file).status, 0);
    assert_eq!(store.came(), 1, "nothing is new");
}

#[test]
fn a_request_that_is_too_large_is_parted() {
    let files = Files::new();
    let file = files.put("app.log", &long(500).bytes);
    for words in ["--otlp URL {}", "--loki URL {}"] {
        let store = Store::new();
        store.takes_up_to(5_000);
        let done = push(&store, words, &file);
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(done.err.contains(": 510 records in "), "{}", done.err);
        let all = got(&store);
        assert_eq!(keys(&all).len(), 510);
        assert_eq!(keys(&all).into_iter().collect::<BTreeSet<_>>().len(), 510);
        assert!(store.taken().len() > 10);
    }
}

#[test]
fn what_a_store_refuses_ends_the_command_or_is_left_out() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    let cursor = files.path().join("cursor");
    let words = format!(
        "--loki URL --batch-records 4 --cursor-file {} {{}}",
        cursor.display()
    );
    let refusal = || {
        Reply::Say(
            "400 Bad Request",
            "",
            b"entry too \x1b[2J far behind\n".into(),
        )
    };
    let store = Store::new();
    store.reply([ok(), refusal()]);
    let done = push(&store, &words, &file);
    assert_eq!(done.status, 1);
    let said = "400 Bad Request: entry too \\x1b[2J far behind: --skip-refused leaves them out\n";
    assert!(
        done.err.contains("4 records refused: ") && done.err.contains(said),
        "{}",
        done.err
    );
    store.reply([refusal()]);
    let done = push(&store, &format!("--skip-refused {words}"), &file);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(
        done.err.contains("2 records in 2 requests, 4 refused\n"),
        "{}",
        done.err
    );
    assert_eq!(keys(&got(&store)).len(), 6);
    assert_eq!(push(&store, &words, &file).status, 0);
    assert_eq!(store.came(), 4, "what was refused is not sent again");
    // One that takes nothing from us is no matter of records.
    let store = Store::new();
    store.reply([Reply::Say("401 Unauthorized", "", Vec::new())]);
    let done = push(&store, "--skip-refused --otlp URL {}", &file);
    assert_eq!((done.status, store.came()), (1, 1));
    assert!(done.err.contains("401 Unauthorized\n"), "{}", done.err);
}

/// After one that was refused when it was cut, the next was refused without being cut.
#[test]
fn each_record_that_is_too_large_is_cut() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    let say = |status: &'static str| Reply::Say(status, "", Vec::new());
    let (large, refused) = (|| say("413 Payload Too Large"), || say("400 Bad Request"));
    let store = Store::new();
    // Two at once, then one, that one cut, and the other.
    store.reply([large(), large(), refused(), large()]);
    let done = push(
        &store,
        "--skip-refused --loki URL --batch-records 2 {}",
        &file,
    );
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(keys(&got(&store)).len(), 9, "{}", done.err);
    assert!(done.err.contains(", 1 refused"), "{}", done.err);
    assert!(
        !done.err.contains("too large even when cut"),
        "{}",
        done.err
    );
}

#[test]
fn records_that_a_collector_rejects_are_counted() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    let response = otlp::Response {
        partial_success: Some(otlp::PartialSuccess {
            rejected_log_records: 3,
            error_message: "too\nold".into(),
        }),
    };
    let store = Store::new();
    store.reply([Reply::Say("200 OK", "", response.encode_to_vec())]);
    let done = push(&store, "--otlp URL {}", &file);
    assert_eq!(done.status, 0);
    assert!(
        done.err.contains("3 records rejected: too old\n"),
        "{}",
        done.err
    );
    assert!(done.err.ends_with(", 3 refused\n"), "{}", done.err);
}

/// While the store is slow, no more is read than a few requests, and memory stays as it is.
#[test]
fn a_slow_store_makes_the_command_wait() {
    let files = Files::new();
    let file = files.put("app.log", &long(5_000).bytes);
    let store = Store::new();
    store.reply([Reply::Hold]);
    let mut running = Running::start(pusher(
        &store,
        "--otlp URL --batch-records 100 --timeout 600 {}",
        &file,
    ));
    store.wait(|store| store.came() == 1);
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.0.id())).unwrap();
    let memory = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let memory: u64 = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(memory < 200 << 10, "{memory} KiB");
    assert_eq!(store.came(), 1);
    store.let_go();
    assert_eq!(running.status(), Some(0));
    assert_eq!(keys(&got(&store)).len(), 5_010);
}

#[test]
fn a_command_that_is_killed_repeats_one_request_at_most() {
    let files = Files::new();
    let file = files.put("app.log", &long(1_500).bytes);
    let cursor = files.path().join("cursor");
    for follow in ["", "--follow"] {
        let _ = std::fs::remove_file(&cursor);
        let words = format!(
            "--otlp URL {follow} --batch-records 100 --cursor-file {} {{}}",
            cursor.display()
        );
        let store = Store::new();
        let mut killed = 0;
        // After the store took a request, and before the command knows.
        for round in 1..=3 {
            store.reply((0..3).map(|_| ok()).chain([Reply::Hold]));
            let running = Running::start(pusher(&store, &words, &file));
            store.wait(|store| store.came() >= 4 * round);
            drop(running);
            store.let_go();
            killed += 1;
        }
        let running = Running::start(pusher(&store, &words, &file));
        let expected = keys_of(&file);
        let all = expected.iter().cloned().collect::<BTreeSet<_>>();
        store.wait(|store| {
            let have = keys(&got(store)).into_iter().collect::<BTreeSet<_>>();
            have == all
        });
        drop(running);
        let have = keys(&got(&store));
        let repeated = have.len() - expected.len();
        assert!(
            repeated <= killed * 100 && repeated > 0,
            "{repeated} repeated"
        );
    }
}

/// Appends the log to the file, some frames at a time, as a program would.
fn grow(file: &Path, log: &Log, from: usize, to: usize) {
    let mut out = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .unwrap();
    for frame in &log.frames[from..to] {
        out.write_all(&log.bytes[frame.clone()]).unwrap();
    }
}

#[test]
fn a_log_is_followed_while_stores_come_and_go() {
    let (files, log) = (Files::new(), long(300));
    let file = files.path().join("app.log");
    let cursor = files.path().join("cursor");
    let frames = log.frames.len();
    let store = Store::new();
    let words = format!(
        "--loki URL --follow --cursor-file {} {{}}",
        cursor.display()
    );
    let mut running = Running::start(pusher(&store, &words, &file));
    grow(&file, &log, 0, frames / 3);
    let count = |store: &Store| keys(&got(store)).into_iter().collect::<BTreeSet<_>>().len();
    let first = keys_of(&file).len();
    store.wait(|store| count(store) == first);
    let mut all = keys(&got(&store)).into_iter().collect::<BTreeSet<_>>();
    let address = store.address();
    drop(store);
    grow(&file, &log, frames / 3, frames / 2);
    let store = Store::at(address);
    let half = keys_of(&file).len();
    store.wait(|store| count(store) == half - first);
    // Asked to end, it sends what is written.
    grow(&file, &log, frames / 2, frames);
    running.signal("TERM");
    assert_eq!(running.status(), Some(0));
    all.extend(keys(&got(&store)));
    assert_eq!(all, keys_of(&file).into_iter().collect());
    // Nothing is left for another.
    let came = store.came();
    let done = push(
        &store,
        &format!("--loki URL --cursor-file {} {{}}", cursor.display()),
        &file,
    );
    assert_eq!((done.status, store.came()), (0, came), "{}", done.err);
}

#[test]
fn an_end_that_is_asked_for_comes_also_where_no_store_answers() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    // What is in flight is waited for, but by one that is asked twice.
    for is_asked_again in [false, true] {
        let store = Store::new();
        store.reply([Reply::Hold]);
        let words = "--otlp URL --follow --timeout 600 {}";
        let mut running = Running::start(pusher(&store, words, &file));
        store.wait(|store| store.came() == 1);
        running.signal("TERM");
        if is_asked_again {
            assert_eq!(running.status_asked_again("TERM"), Some(143));
        } else {
            store.let_go();
            assert_eq!(running.status(), Some(0));
        }
    }
    let store = Store::new();
    store.reply((0..99).map(|_| {
        Reply::Say(
            "503 Service Unavailable",
            "Retry-After: 500\r\n",
            Vec::new(),
        )
    }));
    let mut running = Running::start(pusher(&store, "--otlp URL --follow {}", &file));
    store.wait(|store| store.came() == 1);
    running.signal("INT");
    assert_eq!(running.status(), Some(1));
    assert_eq!(store.came(), 2);
}
