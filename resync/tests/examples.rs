//! The library as its front page has it, and the programs in `examples/`, on a log with names, targets,
//! a context, text that would drive a terminal, and damage.

use logdef_resync::records::Value;
use logdef_resync::{Input, Log, Standing};
use logdef_wire::record::{Data, Glance, Preamble, StringLogdef};
use logdef_wire::{Array, Level, Magic, Record, Run, Sequence, Svma, ThreadNumber, frame};
use std::time::{Duration, SystemTime};

#[path = "../examples/losses.rs"]
mod losses;
#[path = "../examples/sites.rs"]
mod sites;
#[path = "../examples/tail.rs"]
mod tail;

const MAGIC: Option<Magic> = Some(Magic(7));
const RUN: Option<Run> = Some(Run(9));

fn push(log: &mut Vec<u8>, record: &Record<'_>) {
    let mut buffer = [0; 512];
    let len = frame::encode(&mut buffer, |body| record.encode(body)).unwrap();
    log.extend_from_slice(&buffer[..len]);
}

/// A call of one of two sites: the first with two named arguments.
fn call(log: &mut Vec<u8>, count: u64, level: Level, format: u64, args: &[u8]) {
    let front = Glance {
        magic: MAGIC,
        file: Some(Svma(1)),
        line: Some(format),
        level: Some(level),
        format: Some(Svma(format)),
        run: RUN,
        sequence: Some(Sequence::new(ThreadNumber(0), count)),
        time: Some(1_000 + count),
        ..Glance::default()
    };
    let args = Array::from_objects(2, args).ok();
    push(
        log,
        &Record::Data(Data {
            front,
            args,
            ..Data::default()
        }),
    );
}

fn log() -> Vec<u8> {
    let mut log = Vec::new();
    let preamble = Preamble {
        magic: MAGIC,
        run: RUN,
        version: Some(1),
        pid: Some(4711),
        ..Preamble::default()
    };
    push(&mut log, &Record::Preamble(preamble));
    let mut string = |address, string, template, description| {
        let logdef = StringLogdef {
            magic: MAGIC,
            address: Some(Svma(address)),
            string,
            template,
            description,
            run: RUN,
        };
        push(&mut log, &Record::StringLogdef(logdef));
    };
    string(1, Some(b"net.rs"), None, None);
    let description = Some(&b"b:user,ms,\tapp::net\tlogin"[..]);
    string(2, None, Some(b"{user} in {ms} ms"), description);
    string(3, Some(b"%s: %d"), None, Some(b"r\tapp::disk"));
    call(&mut log, 0, Level::INFO, 2, b"\xa3ann\x05");
    call(
        &mut log,
        1,
        Level::WARN,
        2,
        b"\xa3bob\xcb\x40\x1e\0\0\0\0\0\0",
    );
    call(&mut log, 2, Level::ERROR, 3, b"\xa4\x1b[2J\xfd");
    let damaged = log.len();
    call(&mut log, 3, Level::ERROR, 3, b"\xa2it\x01");
    log[damaged + 20] ^= 1;
    call(&mut log, 4, Level::WARN, 3, b"\xa3end\x07");
    log
}

#[test]
fn records_have_all_that_is_known_of_them() {
    let log = Log::of(vec![Input::from_bytes("test", log())]).unwrap();
    let records: Vec<_> = log.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(records.len(), 4);
    let bob = &records[1];
    assert_eq!(bob.message(), "bob in 7.5 ms");
    assert_eq!(bob.get("user").and_then(Value::as_str), Some("bob"));
    assert_eq!(bob.get("ms"), Some(&Value::Float(7.5)));
    assert_eq!(bob.get("no"), None);
    assert_eq!(
        (bob.level(), bob.pid(), bob.thread()),
        (Some(Level::WARN), Some(4711), Some(0))
    );
    assert_eq!((bob.file(), bob.line()), (Some("net.rs"), Some(2)));
    assert_eq!(
        (bob.module(), bob.target()),
        (Some("app::net"), Some("login"))
    );
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_001);
    assert_eq!((bob.time(), bob.run()), (Some(time), RUN));
    let hostile = &records[2];
    assert_eq!(hostile.target(), Some("app::disk"));
    assert_eq!(hostile.message(), "\u{1b}[2J: -3");
    assert_eq!(hostile.to_string(), "ERROR net.rs:3: \\u{1b}[2J: -3");
    assert_eq!(hostile.values()[1], (None, Value::Int(-3)));
    assert_eq!(records[0].standing(), Standing::Sound);
    assert_eq!(log.losses().missing, 1);
}

#[test]
fn the_examples_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.log");
    std::fs::write(&path, log()).unwrap();
    assert_eq!(
        sites::sites(&path).unwrap(),
        ["2 net.rs:2 \"{user} in {ms} ms\"", "2 net.rs:3 \"%s: %d\""]
    );
    let login = tail::tail(&path, Some("login"), 10).unwrap();
    assert_eq!(
        login,
        ["WARN net.rs:2: bob in 7.5 ms user=\"bob\" ms=\"7.5\""]
    );
    let last = tail::tail(&path, None, 2).unwrap();
    assert_eq!(
        last,
        ["ERROR net.rs:3: \\u{1b}[2J: -3", "WARN net.rs:3: end: 7"]
    );
    let (is_clean, lines) = losses::losses(&path).unwrap();
    assert!(!is_clean);
    assert_eq!(lines[0], "1 records are missing", "{lines:?}");
    assert!(lines[1].ends_with("bytes are damaged"), "{lines:?}");
    assert_eq!(lines[2], "thread 0 lost 1");
    assert!(sites::sites(&folder.path().join("none")).is_err());
}

#[test]
fn a_record_without_level_time_and_place_says_none() {
    let mut bytes = vec![0; 256];
    let data = Data {
        format_text: Some(b"bare"),
        ..Data::default()
    };
    let len = frame::encode(&mut bytes, |encoder| Record::Data(data).encode(encoder)).unwrap();
    bytes.truncate(len);
    let log = Log::of(vec![Input::from_bytes("test", bytes)]).unwrap();
    let bare = log.records().next().unwrap().unwrap();
    assert_eq!((bare.level(), bare.time(), bare.line()), (None, None, None));
    assert_eq!(bare.to_string(), "bare");
}
