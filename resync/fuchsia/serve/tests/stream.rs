//! The stream source with real sockets, memory files and processes.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use logdef_fuchsia::stream::{Corruption, Koid, Message};
use logdef_fuchsia::structured::{Header, Profile, Record, RecordWriter, Severity, Value};
use logdef_serve::stream::{
    Next, RetrieverError, StreamRetriever, StreamSettings, StreamSource, WriteError,
};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
};
use rustix::process::Signal;

mod common;
use common::Part;

const SOON: Duration = Duration::from_secs(20);

fn slow() -> bool {
    std::env::var_os("LOGDEF_SLOW").is_some()
}

fn record(number: i64, buffer: &mut [u8]) -> &[u8] {
    let mut writer = RecordWriter::new(buffer, number, Severity::INFO).unwrap();
    writer.argument("message", "a number").unwrap();
    writer.argument("number", number).unwrap();
    writer.finish()
}

fn write(source: &StreamSource, number: i64) -> Result<(), WriteError> {
    source.write(record(number, &mut [0; 128]))
}

fn number(bytes: &[u8]) -> i64 {
    Header::parse(bytes).unwrap().timestamp
}

/// The number of the next record; nothing at the end.
#[track_caller]
fn next(retriever: &mut StreamRetriever) -> Option<i64> {
    match retriever.next(SOON).unwrap() {
        Next::Record(bytes) => Some(number(bytes)),
        Next::Ended => None,
        Next::Idle => panic!("nothing in {SOON:?}"),
    }
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < SOON, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What the process says it had written when it was killed.
fn written_by(part: &mut Part) -> i64 {
    use std::io::Read;
    let mut rest = Vec::new();
    part.output.read_to_end(&mut rest).unwrap();
    let rest = String::from_utf8_lossy(&rest);
    // The last line may be cut.
    let lines = rest.rsplit_once('\n').map_or("", |(lines, _)| lines);
    let last = lines
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("written "));
    last.map_or(0, |count| count.parse().unwrap())
}

#[test]
fn what_a_program_logs_is_read_live_and_after_it_was_killed() {
    let directory = Directory::new();
    let path = directory.socket();
    let arguments = [path.as_os_str(), "1000000000".as_ref(), "log".as_ref()];
    let mut part = Part::start("writes", &arguments);
    part.line("serving");
    let mut retriever = StreamRetriever::connect(&path).unwrap();
    let pid = u64::from(part.child.id());
    let mut expected = 0;
    let mut read = |retriever: &mut StreamRetriever| {
        let bytes = match retriever.next(SOON).unwrap() {
            Next::Record(bytes) => bytes,
            Next::Ended => return None,
            Next::Idle => panic!("nothing in {SOON:?}"),
        };
        let (record, _) = Record::parse(bytes, Profile::Strict).unwrap();
        assert_eq!(record.severity(), Severity::INFO);
        let arguments: BTreeMap<_, _> = record.arguments().map(|a| (a.name, a.value)).collect();
        let number = expected;
        expected += 1;
        assert_eq!(arguments["pid"], Value::from(pid));
        assert_eq!(arguments["message"], format!("a number is {number}").into());
        assert_eq!(arguments["0"], Value::from("a number"));
        assert_eq!(arguments["1"], Value::from(number));
        assert!(
            matches!(&arguments["file"], Value::Text(file) if file.ends_with("parts/program.rs"))
        );
        Some(number)
    };
    while read(&mut retriever).unwrap() < 5000 {}
    part.signal(Signal::KILL);
    let written = written_by(&mut part);
    while read(&mut retriever).is_some() {}
    // All may have been read before the signal.
    assert!(expected >= written, "{expected} read of {written} written");
}

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("stream")
    }
}

fn small(capacity: usize) -> StreamSettings {
    StreamSettings {
        capacity,
        ..StreamSettings::default()
    }
}

#[test]
fn live_retrievers_get_every_record_once_while_others_come_go_stop_and_die() {
    let directory = Directory::new();
    let path = directory.socket();
    let settings = StreamSettings {
        buffers: 3,
        capacity: 32 << 10,
        deadline: Some(Duration::from_secs(5)),
        wait: SOON,
        ..StreamSettings::default()
    };
    let source = StreamSource::bind(&path, settings).unwrap();
    let records: i64 = if slow() { 2_000_000 } else { 60_000 };
    let [mut stopped, mut killed] = [(); 2].map(|()| Part::start("reads", &[path.as_os_str()]));
    stopped.line("connected");
    killed.line("connected");
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut stayers = Vec::new();
        for _ in 0..3 {
            let mut retriever = StreamRetriever::connect(&path).unwrap();
            stayers.push(scope.spawn(move || {
                let mut expected = 0;
                while expected < records {
                    assert_eq!(next(&mut retriever), Some(expected));
                    expected += 1;
                }
            }));
        }
        for guest in 0..3 {
            let (path, written) = (&path, &written);
            scope.spawn(move || {
                let mut visits = 0_i64;
                while !written.load(Ordering::Relaxed) {
                    let mut retriever = StreamRetriever::connect(path).unwrap();
                    let mut last = None;
                    for _ in 0..1 + (visits * 7919 + guest * 104_729) % 5000 {
                        match retriever.next(Duration::from_millis(50)).unwrap() {
                            Next::Record(bytes) => {
                                let number = number(bytes);
                                assert!(last.is_none_or(|last| last + 1 == number));
                                last = Some(number);
                            }
                            Next::Idle => break,
                            Next::Ended => panic!("the source has not ended"),
                        }
                    }
                    visits += 1;
                }
                assert!(visits > 1, "a guest comes again");
            });
        }
        until("all are connected", || source.retrievers() >= 5);
        for number in 0..records {
            if number == records / 4 {
                stopped.signal(Signal::STOP);
            }
            if number == records / 2 {
                killed.signal(Signal::KILL);
            }
            write(&source, number).unwrap();
        }
        for stayer in stayers {
            stayer.join().unwrap();
        }
        written.store(true, Ordering::Relaxed);
    });
    let totals = source.totals();
    assert_eq!((totals.records, totals.dropped), (records as u64, 0));
    assert!(totals.stalled >= 1, "the one that was stopped: {totals:?}");
}

#[test]
fn all_that_was_committed_is_read_after_the_source_was_killed() {
    let directory = Directory::new();
    let path = directory.socket();
    let arguments = [path.as_os_str(), "100000000".as_ref()];
    let mut part = Part::start("writes", &arguments);
    part.line("serving");
    let mut retriever = StreamRetriever::connect(&path).unwrap();
    let mut expected = 0;
    while expected < 5000 {
        assert_eq!(next(&mut retriever), Some(expected));
        expected += 1;
    }
    part.signal(Signal::KILL);
    let reported = written_by(&mut part);
    while let Some(number) = next(&mut retriever) {
        assert_eq!(number, expected);
        expected += 1;
    }
    assert!(expected >= reported, "{expected} read, {reported} reported");
}

#[test]
fn ten_thousand_recycles_lose_nothing() {
    let directory = Directory::new();
    let settings = StreamSettings {
        wait: SOON,
        ..small(64)
    };
    let source = StreamSource::bind(directory.socket(), settings).unwrap();
    let mut retriever = StreamRetriever::connect(directory.socket()).unwrap();
    until("connected", || source.retrievers() == 1);
    let recycles = if slow() { 100_000 } else { 10_000 };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..recycles).for_each(|number| write(&source, number).unwrap()));
        for expected in 0..recycles {
            assert_eq!(next(&mut retriever), Some(expected));
        }
    });
}

#[test]
fn one_that_never_retires_is_disconnected_and_learns_that_it_lost_records() {
    let directory = Directory::new();
    let settings = StreamSettings {
        deadline: Some(Duration::from_millis(50)),
        wait: SOON,
        ..small(640)
    };
    let source = StreamSource::bind(directory.socket(), settings).unwrap();
    let mut retriever = StreamRetriever::connect(directory.socket()).unwrap();
    until("connected", || source.retrievers() == 1);
    write(&source, 0).unwrap();
    assert_eq!(next(&mut retriever), Some(0));
    (1..100).for_each(|number| write(&source, number).unwrap());
    assert_eq!(source.retrievers(), 0);
    let totals = source.totals();
    assert_eq!((totals.dropped, totals.stalled), (0, 1));
    let error = loop {
        match retriever.next(SOON) {
            Ok(Next::Record(_)) => {}
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, RetrieverError::Corruption(Corruption::Recycled)),
        "{error:?}"
    );
}

#[test]
fn what_is_dropped_is_counted_in_the_next_record() {
    let directory = Directory::new();
    let settings = StreamSettings {
        deadline: None,
        ..small(640)
    };
    let source = StreamSource::bind(directory.socket(), settings).unwrap();
    let mut retriever = StreamRetriever::connect(directory.socket()).unwrap();
    until("connected", || source.retrievers() == 1);
    let written = (0..100)
        .take_while(|number| write(&source, *number).is_ok())
        .count();
    assert_eq!(write(&source, 100), Err(WriteError::Dropped));
    assert_eq!(source.totals().dropped, 2);
    for expected in 0..written as i64 {
        assert_eq!(next(&mut retriever), Some(expected));
    }
    // It retires the first buffer only when it looks for more.
    assert_eq!(
        retriever.next(Duration::from_millis(20)).unwrap(),
        Next::Idle
    );
    until("a buffer is free", || write(&source, 101).is_ok());
    let lost = source.totals().dropped;
    let Next::Record(bytes) = retriever.next(SOON).unwrap() else {
        panic!("no record");
    };
    let (record, _) = Record::parse(bytes, Profile::Strict).unwrap();
    let counts: Vec<_> = record
        .arguments()
        .filter(|a| a.name == "num_dropped")
        .collect();
    assert_eq!(counts[0].value, Value::UnsignedInt(lost));
    write(&source, 102).unwrap();
    assert_eq!(next(&mut retriever), Some(102));
}

#[test]
fn a_late_retriever_gets_what_the_buffers_still_hold() {
    let directory = Directory::new();
    let source = StreamSource::bind(directory.socket(), small(640)).unwrap();
    (0..100).for_each(|number| write(&source, number).unwrap());
    let mut retriever = StreamRetriever::connect(directory.socket()).unwrap();
    let first = next(&mut retriever).unwrap();
    assert!((80..99).contains(&first), "{first}");
    for expected in first + 1..100 {
        assert_eq!(next(&mut retriever), Some(expected));
    }
    drop(source);
    assert_eq!(next(&mut retriever), None);
}

/// A connection on which a test can send what no retriever would.
fn raw(path: &Path) -> OwnedFd {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

#[test]
fn a_client_that_breaks_the_protocol_is_disconnected_alone() {
    let directory = Directory::new();
    let path = directory.socket();
    let source = StreamSource::bind(&path, StreamSettings::default()).unwrap();
    let mut honest = StreamRetriever::connect(&path).unwrap();
    write(&source, 0).unwrap();
    let koid = Koid(u64::from(std::process::id()) << 32);
    let retire = Message::RetireBuffer(koid).to_bytes();
    let offences: [&[&[u8]]; 5] = [
        &[b"garbage"],
        &[&[0; 4096]],
        &[&Message::OnBufferDone(koid).to_bytes()],
        &[&Message::RetireBuffer(Koid(1)).to_bytes()],
        &[&retire, &retire],
    ];
    for packets in offences {
        let socket = raw(&path);
        until("connected", || source.retrievers() == 2);
        for packet in packets {
            send(&socket, packet, SendFlags::NOSIGNAL).unwrap();
        }
        until("disconnected", || source.retrievers() == 1);
    }
    write(&source, 1).unwrap();
    assert_eq!([next(&mut honest), next(&mut honest)], [Some(0), Some(1)]);
}

#[test]
fn a_retriever_survives_a_source_that_sends_nonsense() {
    let directory = Directory::new();
    let path = directory.socket();
    let listener = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&listener, 8).unwrap();
    let nonsense: [&[u8]; 4] = [
        b"garbage",
        &Message::OnBufferInit.to_bytes(), // without its descriptor
        &Message::OnBufferDone(Koid(7)).to_bytes(),
        &Message::RetireBuffer(Koid(7)).to_bytes(),
    ];
    for packet in nonsense {
        let mut retriever = StreamRetriever::connect(&path).unwrap();
        let connection = rustix::net::accept(&listener).unwrap();
        send(&connection, packet, SendFlags::NOSIGNAL).unwrap();
        assert!(retriever.next(SOON).is_err(), "{packet:?}");
        assert_eq!(retriever.next(SOON).unwrap(), Next::Ended);
    }
}

#[test]
fn a_second_source_cannot_take_the_place_but_a_dead_ones_place_is_free() {
    let directory = Directory::new();
    let path = directory.socket();
    let mut part = Part::start("writes", &[path.as_os_str(), "0".as_ref()]);
    part.line("serving");
    let taken = StreamSource::bind(&path, small(640)).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    part.signal(Signal::KILL);
    part.child.wait().unwrap();
    assert!(path.exists());
    let source = StreamSource::bind(&path, small(640)).unwrap();
    use std::os::unix::fs::PermissionsExt;
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(source);
    assert!(!path.exists());
}
