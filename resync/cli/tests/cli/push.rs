//! `push`, to a store of the tests' own: each record comes, with its key and with what `view -o json` says of it.

mod got;
mod trouble;

use crate::fixture::*;
use crate::stores::Store;
use got::{got, keys};
use logdef_wire::record::{Data, Glance, Note, NoteKind};
use logdef_wire::{Level, Record, Run, Sequence, Svma, ThreadNumber};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Keys of the records of a log, as `view` has them.
pub fn keys_of(file: &Path) -> Vec<String> {
    let records = logdef("view -o json {}", file).objects();
    let key = |it: &Value| {
        let run = it["run"].as_str().unwrap();
        format!("{run}/{}/{}", it["thread_number"], it["sequence"])
    };
    records.iter().map(key).collect()
}

/// The command, with no proxy between it and the store.
pub fn pusher(store: &Store, words: &str, file: &Path) -> Command {
    let mut command = command();
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    let words = words.split_whitespace().map(|word| match word {
        "URL" => store.url(),
        word => word.replace("{}", file.to_str().unwrap()),
    });
    command.arg("push").args(words);
    command
}

pub fn push(store: &Store, words: &str, file: &Path) -> Done {
    run(&mut pusher(store, words, file), b"")
}

/// A command that runs on, and is ended with the test.
pub struct Running(pub Child);

impl Running {
    pub fn start(mut command: Command) -> Running {
        Running(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    pub fn signal(&self, name: &str) {
        let line = format!("kill -s {name} {}", self.0.id());
        assert!(
            Command::new("sh")
                .args(["-c", &line])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Its status, after signals until it ended: the kernel keeps one signal of a kind until a process
    /// takes it, and drops the others.
    pub fn status_asked_again(&mut self, name: &str) -> Option<i32> {
        while self.0.try_wait().unwrap().is_none() {
            self.signal(name);
        }
        self.status()
    }

    pub fn status(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A log of many records, each with a text of some length.
pub fn long(records: u64) -> Log {
    let mut log = example();
    for count in 0..records {
        accepted(
            &mut log,
            RUN,
            3,
            EPOCH + count * 1_000,
            &format!("host-{count}"),
            count,
        );
    }
    log
}

#[test]
fn a_store_has_what_view_shows() {
    let (files, log) = (Files::new(), example());
    let file = files.put("app.log", &log.bytes);
    let shown = logdef("view -o json {}", &file).objects();
    for words in [
        "--otlp URL {}",
        "--loki URL {}",
        "--otlp URL --gzip {}",
        "--loki URL --gzip {}",
    ] {
        let store = Store::new();
        let done = push(&store, words, &file);
        assert_eq!((done.status, &*done.out), (0, ""), "{}", done.err);
        assert!(
            done.err.ends_with(": 10 records in 1 request\n"),
            "{}",
            done.err
        );
        let mut records = got(&store);
        records.sort_by_key(|record| record.time);
        assert_eq!(records.len(), shown.len());
        for (record, shown) in records.iter().zip(&shown) {
            assert_eq!(record.text, shown["message"].as_str().unwrap());
            assert_eq!(
                record.level,
                shown["level"].as_str().unwrap().to_lowercase()
            );
            assert_eq!(record.time, shown["time_ns"].as_u64().unwrap());
            assert_eq!(record.service, "example");
            let pid = record
                .attributes
                .iter()
                .find(|(name, _)| name.starts_with("process"));
            assert_eq!(pid.unwrap().1, "77");
        }
        let expected = keys_of(&file).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(
            keys(&records).into_iter().collect::<BTreeSet<_>>(),
            expected
        );
    }
}

#[test]
fn a_record_that_no_store_takes_whole_is_cut_and_says_so() {
    let files = Files::new();
    let mut log = example();
    log.string(RUN, 0x9000, b"%s");
    let message = format!("{}ä\u{1b}[2J", "x".repeat(3 << 20));
    let mut args = vec![0; message.len() + 64];
    let mut encoder = logdef_wire::msgpack::Encoder::new(&mut args);
    encoder.raw(message.as_bytes()).unwrap();
    let data = Data {
        front: Glance {
            magic: Some(MAGIC),
            format: Some(Svma(0x9000)),
            level: Some(Level::INFO),
            run: Some(RUN),
            sequence: Some(Sequence::new(ThreadNumber(7), 0)),
            time: Some(EPOCH),
            ..Glance::default()
        },
        args: logdef_wire::msgpack::Array::from_objects(1, encoder.written()).ok(),
        ..Data::default()
    };
    let mut frame = vec![0; message.len() + (1 << 16)];
    let record = Record::Data(data);
    let len = logdef_wire::frame::encode(&mut frame, |encoder| record.encode(encoder)).unwrap();
    log.bytes.extend_from_slice(&frame[..len]);
    let file = files.put("app.log", &log.bytes);
    let expected = keys_of(&file).into_iter().collect::<BTreeSet<_>>();
    let store = Store::new();
    store.takes_up_to(1 << 20);
    let done = push(&store, "--otlp URL {}", &file);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains(", 1 cut\n"), "{}", done.err);
    let all = got(&store);
    assert_eq!(keys(&all).into_iter().collect::<BTreeSet<_>>(), expected);
    let cut = all
        .iter()
        .find(|it| it.attributes.contains_key("logdef.cut_bytes"))
        .unwrap();
    assert!(cut.text.starts_with("xxx") && cut.text.ends_with('…'));
    // Loki has bounds of its own, which are kept before it says so.
    let store = Store::new();
    store.takes_up_to(1 << 20);
    assert_eq!(push(&store, "--loki URL {}", &file).status, 0);
    let all = got(&store);
    assert_eq!(keys(&all).into_iter().collect::<BTreeSet<_>>(), expected);
    assert!(all.iter().all(|it| it.text.len() <= 250_000));
}

#[test]
fn what_a_log_lost_is_sent_once_with_words_and_a_key() {
    let files = Files::new();
    let mut log = example();
    log.record(&Record::Note(Note {
        run: Some(RUN),
        kind: Some(NoteKind::FATAL_SIGNAL),
        time: Some(EPOCH + 10 * SECOND),
        signal: Some(11),
        text: Some(b"\x1b[2J"),
        ..Note::default()
    }));
    let at = log.frames[11].start + 12;
    log.bytes[at] ^= 1;
    let file = files.put("app.log", &log.bytes);
    let cursor = files.path().join("cursor");
    for follow in ["", "--follow"] {
        let _ = std::fs::remove_file(&cursor);
        let store = Store::new();
        let words = format!(
            "--otlp URL {follow} --cursor-file {} {{}}",
            cursor.display()
        );
        let mut running = Running::start(pusher(&store, &words, &file));
        let lost = |store: &Store| {
            let all = got(store).into_iter();
            all.filter(|it| it.attributes.contains_key("logdef.loss"))
                .collect::<Vec<_>>()
        };
        store.wait(|store| keys(&got(store)).len() == 9 && lost(store).len() >= 2);
        running.signal("TERM");
        assert_eq!(running.status(), Some(0));
        let all = got(&store);
        for loss in lost(&store) {
            assert_eq!(
                (&*loss.level, &*loss.service),
                ("warn", "example"),
                "{loss:?}"
            );
        }
        assert!(
            lost(&store)
                .iter()
                .any(|it| it.text.contains("app.log: bytes 0x")),
            "{all:?}"
        );
        let note = all
            .iter()
            .find(|it| it.attributes.contains_key("logdef.note"))
            .unwrap();
        assert_eq!((&*note.level, &*note.service), ("fatal", "example"));
        assert_eq!(note.text, "fatal signal 11: \u{1b}[2J");
        if follow.is_empty() {
            let came = store.came();
            assert_eq!(push(&store, &words, &file).status, 0);
            assert_eq!(store.came(), came, "it was sent again");
            let strict = push(&store, &format!("--strict {words}"), &file);
            assert_eq!(strict.status, 3);
        }
    }
}

#[test]
fn filters_choose_and_losses_come_all_the_same() {
    let files = Files::new();
    let mut log = example();
    let at = log.frames[11].start + 12;
    log.bytes[at] ^= 1;
    let file = files.put("app.log", &log.bytes);
    let store = Store::new();
    assert_eq!(push(&store, "--otlp URL -l error {}", &file).status, 0);
    let all = got(&store);
    let errors: Vec<_> = all
        .iter()
        .filter(|it| it.is_record())
        .map(|it| &*it.level)
        .collect();
    assert_eq!(errors, ["error"]);
    assert!(all.len() > 1);
}

#[test]
fn secrets_come_from_the_environment_and_files_and_are_never_said() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    let token = files.put("token", b"from-file\nmore\n");
    let store = Store::new();
    let words = format!(
        "--loki URL --header X-Scope-OrgID=a=b --header-env Authorization=TOKEN --header-file X-Key={} --service web --label cluster=test {{}}",
        token.display()
    );
    let done = run(
        pusher(&store, &words, &file).env("TOKEN", "Bearer s3cret"),
        b"",
    );
    assert_eq!(done.status, 0, "{}", done.err);
    let request = &store.taken()[0];
    assert_eq!(request.header("x-scope-orgid"), Some("a=b"));
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(request.header("x-key"), Some("from-file"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["streams"][0]["stream"]["cluster"], "test");
    assert_eq!(body["streams"][0]["stream"]["service_name"], "web");
    let bad = run(
        pusher(&store, &words, &file).env("TOKEN", "s3cret\u{1}"),
        b"",
    );
    assert_eq!(bad.status, 2);
    assert!(!bad.err.contains("s3cret"), "{}", bad.err);
}

#[test]
fn what_makes_no_sense_is_said_before_anything_is_sent() {
    let files = Files::new();
    let file = files.put("app.log", &example().bytes);
    let empty = files.put("empty.log", b"");
    let store = Store::new();
    for (words, said) in [
        ("{}", "--otlp <URL>|--loki <URL>"),
        ("--otlp URL --loki URL {}", "cannot be used with"),
        ("--otlp ftp://x {}", "try http://HOST:PORT"),
        (
            "--otlp http://u:p@x {}",
            "other users can see the arguments of a command",
        ),
        ("--loki URL --label level=x {}", "a label has letters"),
        ("--otlp URL --label a=x {}", "cannot be used with"),
        (
            "--otlp URL --header-env A=NOT_SET_ANYWHERE {}",
            "--header-env A=NOT_SET_ANYWHERE: ",
        ),
        (
            "--otlp URL --header-file A=/nowhere/t {}",
            "cannot read /nowhere/t",
        ),
        ("--otlp URL --follow -", "--follow needs files"),
        ("--otlp URL --batch-records 0 {}", "0 is not in 1.."),
        ("--otlp URL /nowhere/app.log", "no such file"),
    ] {
        let done = push(&store, words, &file);
        assert!(matches!(done.status, 2 | 4), "{words}: {}", done.status);
        assert!(done.err.contains(said), "{words}: {}", done.err);
    }
    let done = push(&store, "--otlp URL {}", &empty);
    assert_eq!((done.status, store.came()), (0, 0), "{}", done.err);
    let done = run(&mut pusher(&store, "--otlp URL", &file), &example().bytes);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(keys(&got(&store)).len(), 10);
}

#[test]
fn records_of_many_processes_are_of_their_services_and_hostile_names_stay_text() {
    let files = Files::new();
    let hostile = "a\"}],\u{1b}[2J\u{202e}";
    for number in 0..20_u64 {
        let mut log = Log::default();
        log.record(&Record::Preamble(logdef_wire::record::Preamble {
            magic: Some(logdef_wire::Magic(number)),
            path: Some(format!("/bin/{hostile}{number}").as_bytes()),
            run: Some(Run(number)),
            pid: Some(number),
            host: Some(hostile.as_bytes()),
            ..logdef_wire::record::Preamble::default()
        }));
        log.record(&Record::Data(Data {
            front: Glance {
                magic: Some(logdef_wire::Magic(number)),
                level: Some(Level::INFO),
                run: Some(Run(number)),
                sequence: Some(Sequence::new(ThreadNumber(0), 0)),
                time: Some(EPOCH + number),
                ..Glance::default()
            },
            format_text: Some(hostile.as_bytes()),
            ..Data::default()
        }));
        files.put(&format!("logs/{number}.log"), &log.bytes);
    }
    for words in ["--otlp URL {}", "--loki URL {}"] {
        let store = Store::new();
        let done = push(&store, words, &files.path().join("logs"));
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(!done.err.contains('\u{1b}'));
        let all = got(&store);
        let services: BTreeSet<_> = all.iter().map(|it| it.service.clone()).collect();
        assert_eq!(
            services,
            (0..20).map(|number| format!("{hostile}{number}")).collect()
        );
        assert!(all.iter().all(|it| it.text == hostile));
        let hosts: BTreeSet<_> = all
            .iter()
            .filter_map(|it| {
                it.attributes
                    .get("host.name")
                    .or(it.attributes.get("host_name"))
            })
            .collect();
        assert_eq!(hosts.into_iter().collect::<Vec<_>>(), [hostile]);
    }
}
