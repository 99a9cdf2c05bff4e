//! Key-values of contexts, in every form that shows them.

use crate::fixture::{EPOCH, Files, Log, MAGIC, RUN, logdef};
use logdef_wire::record::{ContextLogdef, Data, Glance};
use logdef_wire::{Level, Map, Record, Sequence, ThreadNumber};
use serde_json::json;
use std::path::PathBuf;

/// A record of a context: its own key hides the context's, which hides its parent's. The
/// last one's context is lost.
fn log(files: &Files) -> PathBuf {
    let mut log = Log::of(RUN, 7, EPOCH);
    log.thread(RUN, 0, "main");
    let contexts: [(u64, Option<u64>, u32, &[u8]); 2] = [
        (1, None, 2, b"\xa4user\xa3ann\xa5shard\x07"),
        (2, Some(1), 2, b"\xa4user\xa3bob\xa4peer\xa4\x1b[2J"),
    ];
    for (id, parent, count, objects) in contexts {
        log.record(&Record::ContextLogdef(ContextLogdef {
            run: Some(RUN),
            id: Some(id),
            parent,
            keys: Map::from_objects(count, objects).ok(),
            span: None,
        }));
    }
    let own = Map::from_objects(1, b"\xa5shard\x09").unwrap();
    for (n, (context, keys)) in [
        (None, None),
        (Some(1), None),
        (Some(2), Some(own)),
        (Some(3), None),
    ]
    .into_iter()
    .enumerate()
    {
        log.record(&Record::Data(Data {
            front: Glance {
                magic: Some(MAGIC),
                level: Some(Level::INFO),
                line: Some(3),
                run: Some(RUN),
                thread: Some(1),
                sequence: Some(Sequence::new(ThreadNumber(0), n as u64)),
                time: Some(EPOCH + n as u64),
                ..Glance::default()
            },
            format_text: Some(b"call"),
            file_text: Some(b"a.c"),
            keys,
            context,
            ..Data::default()
        }));
    }
    files.put("contexts.log", &log.bytes)
}

#[test]
fn contexts_stand_in_json_and_conditions_and_in_text_on_demand() {
    let files = Files::new();
    let path = log(&files);
    let view = |words: &str| logdef(&format!("view -o json {words} {{}}"), &path).objects();
    let all = view("");
    assert_eq!((all.len(), all[0].get("fields")), (4, None));
    assert_eq!(all[1]["fields"], json!({"user": "ann", "shard": 7}));
    assert_eq!(all[1]["context"], json!(1));
    assert_eq!(
        all[2]["fields"],
        json!({"user": "bob", "peer": "\u{1b}[2J"})
    );
    assert_eq!(all[2]["keys"], json!({"shard": 9}));
    assert_eq!(all[3]["context"], json!(3));
    for (words, expected) in [("-w user=bob", 1), ("-w shard>=7", 2), ("-w shard=7", 1)] {
        assert_eq!(view(words).len(), expected, "{words}");
    }

    let lines = |words: &str| -> Vec<String> {
        let done = logdef(&format!("view {words} {{}}"), &path);
        done.lines().into_iter().map(str::to_owned).collect()
    };
    assert!(lines("").iter().all(|line| !line.contains("user")));
    let shown = lines("--with-context");
    for (line, end) in shown.iter().zip([
        "call",
        "call {user=ann shard=7}",
        "call shard=9 {user=bob peer=\\x1b[2J}",
        "call {context 3 lost}",
    ]) {
        assert!(line.ends_with(end), "{line}");
    }
    let full = lines("-o full").join("\n");
    assert!(full.contains("context   user=ann shard=7"), "{full}");
}

#[test]
fn contexts_stand_in_exports() {
    let files = Files::new();
    let path = log(&files);
    for form in ["otlp-json", "diagnostics-json", "fxt"] {
        let out = files.path().join(form);
        logdef(
            &format!("export --to {form} -o {} {{}}", out.display()),
            &path,
        );
        let bytes = std::fs::read(out).unwrap();
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(
            has(b"user") && has(b"ann") && has(b"bob") && has(b"peer"),
            "{form}"
        );
    }
}
