//! `--redact`: what goes to other people has nothing of what was to be left out, in whatever part of
//! a record it stood, and says of losses what the log says.

use crate::fixture::*;
use logdef_wire::msgpack::Encoder;
use logdef_wire::record::{BacktraceLogdef, ContextLogdef, Data, Glance, Module, Note, NoteKind};
use logdef_wire::record::{Preamble, TextLogdef};
use logdef_wire::{Array, Avma, Map, Record, Sequence, Svma, ThreadNumber, Typed, frame};
use std::fs;
use std::path::{Path, PathBuf};

const LOGIN: Site = Site {
    number: 0,
    line: 10,
    level: logdef_wire::Level::INFO,
};
const IN_PROGRAM: Site = Site {
    number: 1,
    line: 20,
    level: logdef_wire::Level::WARN,
};

fn objects(write: impl Fn(&mut Encoder<'_>)) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder);
    encoder.written().to_vec()
}

/// The logdefs of a run whose names and paths have `alice` in them, and whose context and notes have
/// `hunter2`.
fn logdefs() -> Log {
    let mut log = Log::default();
    log.record(&Record::Preamble(Preamble {
        magic: Some(MAGIC),
        path: Some(b"/home/alice/bin/example"),
        host: Some(b"alices-laptop"),
        run: Some(RUN),
        pid: Some(7),
        realtime: Some(EPOCH),
        monotonic: Some(5 * SECOND),
        ..Preamble::default()
    }));
    log.site(RUN, 0, "src/net.c", b"user=%s card %d in %5.1f ms, %s");
    log.site(RUN, 1, "src/alice.c", b"alice wrote this, and %s");
    log.thread(RUN, 0, "worker-alice");
    let pairs = objects(|pairs| {
        pairs.raw(b"password").unwrap();
        pairs.raw(b"hunter2").unwrap();
        pairs.raw(b"span").unwrap();
        pairs.uint(77).unwrap();
    });
    log.record(&Record::ContextLogdef(ContextLogdef {
        run: Some(RUN),
        id: Some(1),
        keys: Map::from_objects(2, &pairs).ok(),
        ..ContextLogdef::default()
    }));
    log.record(&Record::Module(Module {
        run: Some(RUN),
        path: Some(b"/home/alice/lib.so"),
        start: Some(Avma(0x7000)),
        ..Module::default()
    }));
    log.record(&Record::BacktraceLogdef(BacktraceLogdef {
        run: Some(RUN),
        address: Some(Avma(0x7001)),
        fname: Some(b"/home/alice/lib.so"),
        sname: Some(b"alice_login"),
        ..BacktraceLogdef::default()
    }));
    log.record(&Record::TextLogdef(TextLogdef {
        run: Some(RUN),
        number: Some(Svma::text(9)),
        string: Some(b"login of alice"),
        target: Some(b"alice::auth"),
        ..TextLogdef::default()
    }));
    for kind in [NoteKind::PANIC, NoteKind::CONTROL, NoteKind(99)] {
        log.record(&Record::Note(Note {
            run: Some(RUN),
            kind: Some(kind),
            time: Some(EPOCH),
            text: Some(b"no entry for hunter2"),
            ..Note::default()
        }));
    }
    log
}

/// Adds records with `hunter2`, and the number 4111, wherever a value may stand.
fn log() -> Log {
    let mut log = logdefs();
    log.data(RUN, 0, EPOCH + 1, &LOGIN, |args| {
        args.raw(b"hunter2").unwrap();
        args.uint(4111).unwrap();
        args.float(1.5).unwrap();
        Typed::Printed(b"<hunter2>").encode(args).unwrap();
        4
    });
    log.data(RUN, 0, EPOCH + 2, &LOGIN, |args| {
        args.raw(b"bob").unwrap();
        args.uint(1).unwrap();
        Typed::Bytes(b"\0hunter2").encode(args).unwrap();
        // An array of a kind that a later version may have.
        args.array(2).unwrap();
        args.uint(120).unwrap();
        args.raw(b"hunter2").unwrap();
        4
    });
    log.data(RUN, 0, EPOCH + 3, &IN_PROGRAM, |args| {
        args.raw(b"no secret").unwrap();
        1
    });
    let key = objects(|pairs| {
        pairs.raw(b"token").unwrap();
        pairs.raw(b"hunter2").unwrap();
        // Of a message, no number of a span.
        for name in ["parent", "follows"] {
            pairs.raw(name.as_bytes()).unwrap();
            pairs.uint(4_111_411_141_114_111).unwrap();
        }
    });
    let spelled = objects(|args| args.raw(b"hunter2").unwrap());
    log.record(&Record::Data(Data {
        front: Glance {
            magic: Some(MAGIC),
            run: Some(RUN),
            thread: Some(0x7fff_0000),
            sequence: Some(Sequence::new(ThreadNumber(0), 3)),
            time: Some(EPOCH + 4),
            ..Glance::default()
        },
        args: Array::from_objects(1, &spelled).ok(),
        format_text: Some(b"hunter2 was spelled out: %s"),
        file_text: Some(b"/home/alice/spelled.c"),
        keys: Map::from_objects(3, &key).ok(),
        context: Some(1),
        ..Data::default()
    }));
    // A record of a later version.
    let start = log.bytes.len();
    log.bytes.resize(start + 64, 0);
    let body = b"\x55\x81\x00\xa7hunter2";
    let len = frame::encode(&mut log.bytes[start..], |encoder| encoder.bytes(body)).unwrap();
    log.bytes.truncate(start + len);
    log
}

/// The bytes of a file, or of all files of a folder.
fn bytes(path: &Path) -> Vec<u8> {
    match fs::read_dir(path) {
        Ok(entries) => entries
            .flat_map(|entry| bytes(&entry.unwrap().path()))
            .collect(),
        Err(_) => fs::read(path).unwrap(),
    }
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|it| it == word.as_bytes())
}

/// What each verb that takes `--redact` makes of a log.
fn copies(files: &Files, log: &Path, redact: &str) -> Vec<(String, PathBuf)> {
    let targets = [
        "fxt",
        "folded",
        "fuchsia",
        "diagnostics-json",
        "journald",
        "otlp-json",
    ];
    let exports = targets.map(|target| format!("export --to {target}"));
    let verbs = ["merge", "recover", "archive"].map(str::to_owned);
    let verbs = verbs.into_iter().chain(exports).enumerate();
    let copies = verbs.map(|(number, verb)| {
        let out = files.path().join(format!("out{number}"));
        let words = verb.split(' ').chain([redact, "-o"]);
        let done = run(command().args(words).arg(&out).arg(log), b"");
        assert_eq!(done.status, 0, "{verb}: {}", done.err);
        (verb, out)
    });
    copies.collect()
}

/// The records of a log as text, without its notes.
fn records(log: &Path) -> Vec<String> {
    let shown = logdef("view {}", log);
    let lines = shown
        .lines()
        .into_iter()
        .filter(|line| !line.contains(" -- "));
    lines.map(str::to_owned).collect()
}

#[test]
fn no_value_is_left_in_any_copy() {
    let files = Files::new();
    let log = files.put("app.log", &log().bytes);
    for (verb, out) in copies(&files, &log, "--redact") {
        let bytes = bytes(&out);
        for value in ["hunter2", "4111", "bob", "no secret"] {
            assert!(!holds(&bytes, value), "{verb}: {value}");
        }
        if verb.starts_with("export") && !verb.ends_with("json") && !verb.ends_with("journald") {
            continue;
        }
        if verb.starts_with("export") {
            let said = String::from_utf8(bytes).unwrap();
            assert!(
                said.contains("user=[redacted] card [redacted] in [redacted] ms"),
                "{said}"
            );
            continue;
        }
        let shown = records(&out);
        assert_eq!(shown.len(), 4, "{verb}: {shown:?}");
        let messages = [
            "[worker-alice/0] src/net.c:10: user=[redacted] card [redacted] in [redacted] ms, [redacted]",
            "[worker-alice/0] src/net.c:10: user=[redacted] card [redacted] in [redacted] ms, [redacted]",
            "[worker-alice/0] src/alice.c:20: alice wrote this, and [redacted]",
            "/home/alice/spelled.c: [redacted]",
        ];
        for (line, message) in shown.iter().zip(messages) {
            assert!(line.contains(message), "{verb}: {line}");
        }
    }
}

#[test]
fn no_match_is_left_in_any_copy_and_the_rest_is() {
    let files = Files::new();
    let log = files.put("app.log", &log().bytes);
    let pattern = "--redact=hunter2|alice|4111|user=bo[a-z]+";
    for (verb, out) in copies(&files, &log, pattern) {
        let bytes = bytes(&out);
        for value in ["hunter2", "4111", "alice", "bob"] {
            assert!(!holds(&bytes, value), "{verb}: {value}");
        }
        if verb.starts_with("export") {
            continue;
        }
        let shown = records(&out);
        let messages = [
            "[worker-[redacted]/0] src/net.c:10: user=[redacted] card [redacted] in   1.5 ms, <[redacted]>",
            // The match began in the format: no value is left.
            "src/net.c:10: user=[redacted] card [redacted] in [redacted] ms, [redacted]",
            "src/[redacted].c:20: [redacted] wrote this, and ",
            "/home/[redacted]/spelled.c: [redacted] was spelled out: [redacted]",
        ];
        assert_eq!(shown.len(), 4, "{verb}: {shown:?}");
        for (line, message) in shown.iter().zip(messages) {
            assert!(line.contains(message), "{verb}: {line}");
        }
    }
}

#[test]
fn spans_pair_and_contexts_name_their_span_without_values() {
    let files = Files::new();
    let log = files.put("app.log", &log().bytes);
    let out = files.path().join("out.log");
    let done = run(
        command()
            .args(["merge", "--redact", "-o"])
            .arg(&out)
            .arg(&log),
        b"",
    );
    assert_eq!(done.status, 0, "{}", done.err);
    let last = logdef("view -o json {}", &out).objects().remove(3);
    let last = last.to_string();
    assert!(
        last.contains("77") && last.contains("\"password\":\"[redacted]\""),
        "{last}"
    );
}

/// Found while this was built: a log that was made of an archive, and an archive of one, were clean,
/// whatever the archive had lost.
#[test]
fn no_copy_is_cleaner_than_its_log() {
    let of_this_machine = |log: &PathBuf| !log.iter().any(|part| part == "aarch64");
    for log in corpus().into_iter().filter(of_this_machine) {
        let files = Files::new();
        let make = |words: &str, name: &str, from: &Path| {
            let out = files.path().join(name);
            let words = words.split(' ');
            let done = run(command().args(words).arg("-o").arg(&out).arg(from), b"");
            assert_eq!(done.status, 0, "{}", done.err);
            out
        };
        let kept = make("archive", "kept", &log);
        let copies = [
            make("merge", "merged", &kept),
            make("archive", "again", &kept),
            make("merge --redact", "redacted", &log),
            make("archive --redact", "kept-redacted", &log),
            make("merge --redact", "redacted-archive", &kept),
            kept,
        ];
        let verdict = |path: &Path| {
            let done = logdef("check {}", path);
            (
                done.status,
                done.lines().last().map(|line| line.to_string()),
            )
        };
        let records = |path: &Path| logdef("view -o csv {}", path).lines().len();
        for copy in copies {
            let (name, copy_name) = (log.display(), copy.display());
            assert_eq!(verdict(&copy), verdict(&log), "{name} as {copy_name}");
            assert_eq!(records(&copy), records(&log), "{name} as {copy_name}");
        }
    }
}
