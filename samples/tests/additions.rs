//! What newer writers put into a log: each new record reads the same to a decoder
//! that shares no code with the wire format's own, and a reader that does not know the
//! grammar of a template shows the values apart instead of printing them wrong.

use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
use logdef_samples::frames::{self, Value};
use logdef_wire::msgpack::{Decoder, Encoder, OutOfRoom};
use logdef_wire::record::{
    ContextLogdef, Data, Glance, Note, NoteKind, Preamble, StringLogdef, TextLogdef,
};
use logdef_wire::{Array, Magic, Map, Record, Run, Sequence, Svma, ThreadNumber, Typed, frame};
use std::collections::BTreeMap;

/// Objects as an array or a map holds them.
fn encoded(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), OutOfRoom>) -> Vec<u8> {
    let mut buffer = [0; 256];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).unwrap();
    encoder.written().to_vec()
}

fn map(bytes: &[u8]) -> Option<Map<'_>> {
    Decoder::new(bytes).value().unwrap().as_map()
}

fn log(records: &[Record<'_>]) -> Vec<u8> {
    let mut log = Vec::new();
    for record in records {
        let mut buffer = [0; 512];
        let len = frame::encode(&mut buffer, |body| record.encode(body)).unwrap();
        log.extend_from_slice(&buffer[..len]);
    }
    log
}

fn raw(text: &str) -> Value {
    Value::Raw(text.as_bytes().to_vec())
}

#[test]
fn each_new_record_reads_the_same_to_an_independent_decoder() {
    let threads = encoded(|e| {
        e.map(1)?;
        e.uint(2)?;
        e.uint(300)
    });
    let keys = encoded(|e| {
        e.map(2)?;
        e.raw(b"user")?;
        e.bool(true)?;
        e.raw(b"n")?;
        Typed::Int128(i128::MIN).encode(e)
    });
    let args = encoded(|e| {
        Typed::Uint128(1 << 64).encode(e)?;
        Typed::Bytes(&[0, 0xff]).encode(e)?;
        Typed::Printed(b" 7s").encode(e)
    });
    let (run, start) = (Some(Run(11)), Some(-4096));
    let log = log(&[
        Record::Preamble(Preamble {
            run,
            family: Some(Run(9)),
            parent: Some(Run(10)),
            part: Some(3),
            ..Preamble::default()
        }),
        Record::StringLogdef(StringLogdef {
            address: Some(Svma(0x2000)),
            description: Some(b"b:host"),
            template: Some(b"{host}"),
            ..StringLogdef::default()
        }),
        Record::TextLogdef(TextLogdef {
            run,
            number: Some(Svma::text(5)),
            string: Some(b"%d"),
            module: Some(b"m"),
            target: Some(b"t"),
            function: Some(b"f"),
            ..TextLogdef::default()
        }),
        Record::ContextLogdef(ContextLogdef {
            run,
            id: Some(17),
            parent: Some(3),
            keys: map(&keys),
            span: Some(9),
        }),
        Record::Note(Note {
            run,
            kind: Some(NoteKind::PRUNED),
            start,
            size: Some(8192),
            threads: map(&threads),
            ..Note::default()
        }),
        Record::Note(Note {
            kind: Some(NoteKind::DROPS),
            dropped: Some(4),
            since: Some(5),
            errno: Some(28),
            ..Note::default()
        }),
        Record::Note(Note {
            kind: Some(NoteKind::END),
            calls: Some(1500),
            dropped: Some(4),
            ..Note::default()
        }),
        Record::Data(Data {
            args: Array::from_objects(3, &args).ok(),
            context: Some(17),
            ..Data::default()
        }),
    ]);
    let int = Value::Int;
    let context = Value::Map(vec![
        (raw("user"), Value::Bool(true)),
        (
            raw("n"),
            Value::Array(vec![int(11), int(i64::MIN.into()), int(0)]),
        ),
    ]);
    let values = Value::Array(vec![
        Value::Array(vec![int(12), int(1), int(0)]),
        Value::Array(vec![int(13), Value::Raw(vec![0, 0xff])]),
        Value::Array(vec![int(14), raw(" 7s")]),
    ]);
    let number = int((1 << 63) + 5);
    let expected = [
        (
            0,
            vec![(5, int(11)), (16, int(9)), (17, int(10)), (18, int(3))],
        ),
        (
            1,
            vec![(1, int(0x2000)), (4, raw("b:host")), (5, raw("{host}"))],
        ),
        (
            7,
            vec![
                (0, int(11)),
                (1, number),
                (2, raw("%d")),
                (3, raw("m")),
                (6, raw("t")),
                (7, raw("f")),
            ],
        ),
        (
            8,
            vec![
                (0, int(11)),
                (1, int(17)),
                (2, int(3)),
                (3, context),
                (4, int(9)),
            ],
        ),
        (
            6,
            vec![
                (0, int(11)),
                (1, int(7)),
                (10, int(-4096)),
                (11, int(8192)),
                (12, Value::Map(vec![(int(2), int(300))])),
            ],
        ),
        (
            6,
            vec![(1, int(8)), (14, int(4)), (15, int(5)), (16, int(28))],
        ),
        (6, vec![(1, int(9)), (13, int(1500)), (14, int(4))]),
        (127, vec![(9, values), (16, int(17))]),
    ];
    let scanned = frames::scan(&log);
    let found: Vec<_> = scanned
        .into_iter()
        .map(|frame| (frame.tag, frame.fields))
        .collect();
    let expected = expected.map(|(tag, fields)| (tag, BTreeMap::from_iter(fields)));
    assert_eq!(found, expected);
}

#[test]
fn a_template_of_a_grammar_that_is_not_known_is_shown_beside_its_values() {
    let (magic, run) = (Some(Magic(7)), Some(Run(11)));
    let args = encoded(|e| {
        e.raw(b"host")?;
        e.uint(443)
    });
    let described = |address, description, string, template| {
        Record::StringLogdef(StringLogdef {
            magic,
            address: Some(Svma(address)),
            string,
            run,
            description: Some(description),
            template,
        })
    };
    let call = |count, format| {
        Record::Data(Data {
            front: Glance {
                magic,
                format: Some(Svma(format)),
                run,
                sequence: Some(Sequence::new(ThreadNumber(0), count)),
                time: Some(count),
                ..Glance::default()
            },
            args: Array::from_objects(2, &args).ok(),
            ..Data::default()
        })
    };
    let log = log(&[
        described(0x2000, b"z:host,port", None, Some(b"at %d <host>")),
        described(0x3000, b"r:host,port", Some(b"%s:%hhd"), None),
        described(0x4000, b"c:host,port", Some(b"%s:%hhd"), None),
        described(
            0x5000,
            b"b:host,port",
            None,
            Some(b"at {host:?}:{port:#06x}, 100% {{"),
        ),
        call(0, 0x2000),
        call(1, 0x3000),
        call(2, 0x4000),
        call(3, Svma::text(1).0),
        call(4, 0x5000),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    std::fs::write(&path, log).unwrap();
    let inputs = [Input::open(&path).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    assert!(recovery.is_clean(), "{:?}", recovery.accounts());
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut found = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            let resolved = resolver.resolve(&data, frame.place);
            let mut text = Vec::new();
            resolved.message(&mut text);
            let names: Vec<_> = resolved.description.names().flatten().collect();
            found.push((String::from_utf8(text).unwrap(), names.join(&b' ')));
        }
    }
    let named = |text: &str| (text.to_owned(), b"host port".to_vec());
    let expected = [
        named("?\"at %d <host>\" \"host\", 443"),
        named("host:443"),
        named("host:-69"),
        ("?0x8000000000000001 \"host\", 443".to_owned(), Vec::new()),
        named("at host:0x01bb, 100% {"),
    ];
    assert_eq!(found, expected);
}
