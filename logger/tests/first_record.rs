//! One process, one log: what a few calls leave in the file, looked at with
//! the wire format's own decoder.

use logdef::{Level, logdef};
use logdef_wire::{Record, Tag, Value, frame};

/// All frames of a log that has no damage.
fn frames(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let frame = frame::decode(rest).unwrap();
        frames.push(frame.body);
        rest = &rest[frame.len..];
    }
    frames
}

#[test]
fn a_log_explains_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef!(Info, "before the log is open");
    logdef::options()
        .sink(logdef::Sink::Append)
        .backtrace_level(Level::FATAL)
        .open(&path)
        .unwrap();
    for round in 0..2 {
        logdef!(
            Info,
            "accepted %s:%d in %.3f ms",
            "example.org",
            443u16,
            2.5
        );
        logdef!(Warn, "round %d of %lu", round, u64::MAX);
    }
    logdef!(
        Error,
        "%.*s|%s|%p|%c|%c|%m",
        3,
        "abcdef",
        None::<&str>,
        8 as *const u8,
        'x',
        'é'
    );
    logdef::set_level(Level::WARN);
    logdef!(Info, "off %d", {
        panic!("arguments of a call that is off are not evaluated");
        #[allow(unreachable_code)]
        0
    });
    let bytes = std::fs::read(&path).unwrap();
    let records: Vec<_> = frames(&bytes)
        .into_iter()
        .map(|body| Record::decode(body).unwrap())
        .collect();
    let tags: Vec<_> = records.iter().map(Record::tag).collect();
    let (p, t, s, d) = (
        Tag::PREAMBLE,
        Tag::THREAD_LOGDEF,
        Tag::STRING_LOGDEF,
        Tag::DATA,
    );
    // Each definition stands once, just before the first record that needs it; that of
    // the call before the log was open has its own.
    assert_eq!(tags, [p, t, s, s, d, s, s, d, s, d, d, d, s, d]);

    let Record::Preamble(preamble) = records[0] else {
        panic!()
    };
    let exe = std::env::current_exe().unwrap();
    assert_eq!(preamble.path, Some(exe.as_os_str().as_encoded_bytes()));
    assert_eq!(preamble.pid, Some(std::process::id() as u64));

    let data: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Data(data) => Some(data),
            _ => None,
        })
        .collect();
    // The call before the log was open is the first of its thread.
    let (early, data) = data.split_first().unwrap();
    assert_eq!(early.sequence.unwrap().count(), 0);
    assert!(early.time < data[0].time);
    let args = |n: usize| data[n].args.unwrap().iter().collect::<Vec<_>>();
    assert_eq!(
        args(0),
        [
            Value::Raw(b"example.org"),
            Value::Uint(443),
            Value::Float(2.5)
        ]
    );
    assert_eq!(args(3), [Value::Uint(1), Value::Uint(u64::MAX)]);
    let last = args(4);
    assert_eq!(
        last[..6],
        [
            Value::Uint(3),
            Value::Raw(b"abc"),
            Value::Nil,
            Value::Uint(8),
            Value::Uint('x' as u64),
            Value::Raw("é".as_bytes()),
        ]
    );
    assert!(matches!(last[6], Value::Uint(_)));

    assert!(data.iter().all(|data| data.dropped.is_none()));
    let counts: Vec<_> = data.iter().map(|d| d.sequence.unwrap().count()).collect();
    assert_eq!(counts, [1, 2, 3, 4, 5]);
    assert_eq!(data[4].level, Some(Level::ERROR));

    let strings: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::StringLogdef(logdef) => Some((logdef.address, logdef.string.unwrap())),
            _ => None,
        })
        .skip(2)
        .collect();
    assert_eq!(strings[0].1, b"logger/tests/first_record.rs");
    assert_eq!(strings[0].0, data[0].file);
    assert_eq!(strings[1].1, b"accepted %s:%d in %.3f ms");
    assert_eq!(strings[1].0, data[0].format);
    assert_eq!(strings[2].1, b"round %d of %lu");
    assert_eq!(strings[2].0, data[3].format);
}
