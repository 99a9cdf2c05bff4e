//! The log service with real sockets and processes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use logdef_fuchsia::diagnostics::{InspectData, LogError, LogsData, Property};
use logdef_fuchsia::legacy::PacketWriter;
use logdef_fuchsia::structured::{Profile, Record, RecordWriter, Severity, Value};
use logdef_serve::client::{Client, Synced, ask};
use logdef_serve::service::{
    Kind, LogStorage, Mode, OnInvalid, Request, Service, Settings, Stop, Storage, Stored,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

mod common;
#[path = "service/endings.rs"]
mod endings;
#[path = "service/running.rs"]
mod running;

use common::{Counted, Part};
use running::*;

fn record(text: &str) -> Vec<u8> {
    let mut buffer = [0; 512];
    let mut writer = RecordWriter::new(&mut buffer, 5, Severity::INFO).unwrap();
    writer.argument("message", text).unwrap();
    writer.finish().to_vec()
}

#[test]
fn a_record_comes_back_as_json_with_what_the_service_knows_of_its_writer() {
    let service = Running::new();
    let client = service.client();
    let arguments = [
        ("port", 8080_u64.into()),
        ("tag", "net".into()),
        ("tls", true.into()),
    ];
    client.write(Severity::WARN, "listening", &arguments);
    assert_eq!(
        client.sync().unwrap(),
        Synced {
            stored: 1,
            ..Synced::default()
        }
    );
    let [data] = service.snapshot().try_into().unwrap();
    assert_eq!(message(&data), "listening");
    let executable = std::env::current_exe().unwrap();
    let url = format!("file://{}", executable.display());
    assert_eq!(data.metadata.component_url, Some(url));
    assert_eq!(data.metadata.pid, Some(std::process::id().into()));
    assert_eq!(data.metadata.severity, Severity::WARN);
    assert_eq!(data.metadata.tags, ["net"]);
    assert_eq!(data.payload.unwrap().keys.len(), 2);
}

/// 64 writers at once, each with a client that waits so long for the service; what was stored, and
/// reported as dropped, in all.
fn storm(directory: &Path, wait: Duration, each: u64) -> Synced {
    let start = Instant::now();
    let synced = std::thread::scope(|scope| {
        let writer = || {
            let client = Client::connect(directory).unwrap().waiting(wait);
            for number in 0..each {
                client.write(Severity::INFO, "a number", &[("number", number.into())]);
            }
            let synced = client.sync().unwrap();
            assert_eq!(synced.invalid, 0);
            assert_eq!(synced.stored + synced.dropped + client.dropped(), each);
            synced
        };
        let writers: Vec<_> = (0..64).map(|_| scope.spawn(writer)).collect();
        let mut all = Synced::default();
        for writer in writers {
            let synced = writer.join().unwrap();
            all.stored += synced.stored;
            all.dropped += synced.dropped;
        }
        all
    });
    let rate = synced.stored as f64 / start.elapsed().as_secs_f64();
    println!("{synced:?}, {rate:.0} stored/s");
    assert_eq!(count(directory, "totals", "stored"), synced.stored);
    assert_eq!(count(directory, "totals", "dropped"), synced.dropped);
    assert_eq!(count(directory, "totals", "not_stored"), 0);
    let kept = synced.stored - count(directory, "totals", "rolled_out");
    let snapshot = answers(directory, &Request::default());
    assert_eq!(snapshot.count() as u64, kept);
    synced
}

#[test]
fn every_record_of_many_writers_is_stored_or_counted_as_dropped() {
    let service = Running::with(|settings| settings.component_bytes = 256 << 10);
    let each = if slow() { 10_000 } else { 400 };
    let synced = storm(service.path(), Duration::ZERO, each);
    assert_eq!(service.stored.0.load(Ordering::Relaxed), synced.stored);
}

#[test]
fn every_record_of_many_writers_that_wait_is_in_the_log_of_the_service() {
    let directory = tempfile::tempdir().unwrap();
    let mut process = serve(directory.path());
    let each = if slow() { 31_250 } else { 400 };
    let before = [cpu("self"), cpu(&process.child.id().to_string())];
    let synced = storm(directory.path(), SOON, each);
    let after = [cpu("self"), cpu(&process.child.id().to_string())];
    assert_eq!(synced.stored, 64 * each);
    let cost = |index: usize| (after[index] - before[index]) / synced.stored as f64 * 1e6;
    let (writers, service) = (cost(0), cost(1));
    println!("us of CPU for each record: {writers:.2} in the writers, {service:.2} in the service");
    process.signal(Signal::TERM);
    process.line("ended");
    let mut stored = 0;
    let replayed = LogStorage::replay(&directory.path().join("records.log"), |_| stored += 1);
    assert_eq!(stored, 64 * each);
    assert_eq!(replayed.unwrap().damaged_bytes, 0);
}

/// Seconds of CPU that a process has used.
fn cpu(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split(' ').collect();
    let ticks: f64 = fields[12].parse::<f64>().unwrap() + fields[13].parse::<f64>().unwrap();
    ticks / 100.0
}

#[test]
fn a_writer_of_garbage_is_closed_the_error_is_recorded_and_others_continue() {
    let service = Running::new();
    let honest = service.client();
    let mut half = record("half");
    half.truncate(24);
    let mut behind = record("behind");
    behind.extend([0; 8]);
    // The head of a large record that claims 4 GiB, in words of eight bytes.
    let claims = (15_u64 | (1 << 29) << 4).to_le_bytes().repeat(4);
    let garbage: [&[u8]; 6] = [b"garbage", &[0xff; 40_000], b"", &half, &behind, &claims];
    for packet in garbage {
        let socket = raw(&service.path().join("log"), SocketType::SEQPACKET);
        send(&socket, &record("before"), SendFlags::empty()).unwrap();
        send(&socket, packet, SendFlags::empty()).unwrap();
        assert!(is_closed(&socket), "{} bytes", packet.len());
    }
    honest.write(Severity::INFO, "honest", &[]);
    assert_eq!(honest.sync().unwrap().stored, 1);
    let snapshot = service.snapshot();
    let of = |text: &str| {
        snapshot
            .iter()
            .filter(|data| message(data).starts_with(text))
            .count()
    };
    assert_eq!(of("before"), garbage.len());
    assert_eq!(of("invalid record: "), garbage.len());
    assert_eq!(of("honest"), 1);
    assert_eq!(service.count("totals", "invalid"), garbage.len() as u64);
}

#[test]
fn a_writer_of_garbage_is_kept_where_the_setting_says_so() {
    let service = Running::with(|settings| settings.on_invalid = OnInvalid::Drop);
    let socket = raw(&service.path().join("log"), SocketType::SEQPACKET);
    for packet in [b"garbage", &record("after")[..], b"", b"sync\0\0\0\0"] {
        send(&socket, packet, SendFlags::empty()).unwrap();
    }
    let mut answer = [0_u8; 32];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty()).unwrap();
    assert_eq!((length, answer[8], answer[16]), (32, 1, 2));
}

#[test]
fn datagrams_and_legacy_packets_are_taken() {
    let service = Running::new();
    let mut buffer = [0; 200];
    let mut legacy = |total, text: &str| {
        let mut writer = PacketWriter::new(&mut buffer, 1, 2, 3, Severity::ERROR, total).unwrap();
        writer.tag("old").unwrap();
        writer.finish(text).unwrap().to_vec()
    };
    let packets = [
        (
            "log.dgram",
            SocketType::DGRAM,
            record("structured datagram"),
        ),
        ("legacy", SocketType::SEQPACKET, legacy(4, "legacy packet")),
        (
            "legacy.dgram",
            SocketType::DGRAM,
            legacy(0, "legacy datagram"),
        ),
        ("log.dgram", SocketType::DGRAM, b"garbage".to_vec()),
    ];
    for (name, kind, packet) in packets {
        let socket = raw(&service.path().join(name), kind);
        send(&socket, &packet, SendFlags::empty()).unwrap();
    }
    until("all are there", || service.snapshot().len() == 4);
    let by_message: BTreeMap<_, _> = service
        .snapshot()
        .into_iter()
        .map(|data| (message(&data).to_owned(), data))
        .collect();
    let data = &by_message["legacy packet"];
    assert_eq!(data.metadata.errors, [LogError::DroppedLogs { count: 4 }]);
    assert_eq!(data.metadata.tags, ["old"]);
    // The process it claims to be is kept beside the one it is.
    assert_eq!(data.metadata.pid, Some(std::process::id().into()));
    assert_eq!(
        data.payload.as_ref().unwrap().keys,
        [("pid".to_owned(), Property::SignedInt(1))]
    );
    assert!(by_message.contains_key("structured datagram"));
    assert!(by_message.contains_key("legacy datagram"));
    assert_eq!(service.count("totals", "invalid"), 1);
}

#[test]
fn readers_get_what_they_ask_for() {
    let service = Running::new();
    let client = service.client();
    let log =
        |severity, text: &str, tag: &str| client.write(severity, text, &[("tag", tag.into())]);
    log(Severity::DEBUG, "one", "a");
    log(Severity::ERROR, "two", "b");
    client.sync().unwrap();
    let ask_for = |mode, severity: &str, tags: &[&str]| {
        let request = Request {
            mode,
            severity: Some(severity.to_owned()),
            tags: tags.iter().map(ToString::to_string).collect(),
            ..Request::default()
        };
        answers(service.path(), &request)
    };
    let texts = |answers: &mut dyn Iterator<Item = LogsData>| {
        answers
            .map(|data| message(&data).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts(&mut ask_for(Mode::Snapshot, "trace", &[])),
        ["one", "two"]
    );
    assert_eq!(texts(&mut ask_for(Mode::Snapshot, "warn", &[])), ["two"]);
    assert_eq!(
        texts(&mut ask_for(Mode::Snapshot, "trace", &["a"])),
        ["one"]
    );
    assert_eq!(
        texts(&mut ask_for(Mode::Snapshot, "trace", &["a", "b"])),
        [""; 0]
    );

    let mut both = ask_for(Mode::SnapshotThenSubscribe, "error", &[]);
    let mut only_new = ask_for(Mode::Subscribe, "trace", &[]);
    assert_eq!(message(&both.next().unwrap()), "two");
    // A subscription starts when the service has taken it, which nothing says: so send until it comes.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                log(Severity::ERROR, "three", "b");
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        assert_eq!(message(&only_new.next().unwrap()), "three");
        assert_eq!(message(&both.next().unwrap()), "three");
        stop.store(true, Ordering::Relaxed);
    });
    let nobody = Request {
        moniker: Some("nobody".to_owned()),
        ..Request::default()
    };
    assert_eq!(answers(service.path(), &nobody).count(), 0);
}

#[test]
fn an_invalid_request_gets_an_error_and_a_flood_is_cut_off() {
    let service = Running::new();
    for request in [
        "nonsense\n",
        r#"{"severity":"loud"}"#,
        r#"{"other":1}"#,
        &"x".repeat(10_000),
    ] {
        let mut stream = UnixStream::connect(service.path().join("stream")).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(
            answer.is_empty() || answer.starts_with(r#"{"error":"#),
            "{answer}"
        );
    }
    assert_eq!(service.snapshot().len(), 0);
}

#[test]
fn what_is_rolled_out_while_a_reader_is_behind_is_counted_in_its_next_record() {
    let service = Running::with(|settings| settings.component_bytes = 64 << 10);
    let client = service.client();
    let text = "x".repeat(2000);
    client.write(Severity::INFO, &text, &[]);
    client.sync().unwrap();
    let request = Request {
        mode: Mode::SnapshotThenSubscribe,
        ..Request::default()
    };
    let mut reader = answers(service.path(), &request);
    reader.next().unwrap();
    let mut written = 1;
    while service.count("totals", "rolled_out") < 2000 {
        for _ in 0..200 {
            client.write(Severity::INFO, &text, &[]);
            written += 1;
            if client.dropped() > 0 {
                client.sync().unwrap();
            }
        }
    }
    client.write(Severity::INFO, "last", &[]);
    let synced = client.sync().unwrap();
    assert_eq!(
        synced.stored + synced.dropped + client.dropped(),
        written + 1
    );
    // Read, and said to be rolled out, is all that was stored.
    let (mut read, mut rolled_out) = (1, 0);
    for data in reader {
        read += 1;
        for error in &data.metadata.errors {
            if let LogError::RolledOutLogs { count } = error {
                rolled_out += count;
            }
        }
        if message(&data) == "last" {
            break;
        }
    }
    assert!(rolled_out > 0, "the reader was behind");
    assert_eq!(read + rolled_out, synced.stored);
}

#[test]
fn a_snapshot_counts_what_was_rolled_out_before_it() {
    let service = Running::with(|settings| settings.component_bytes = 8 << 10);
    let client = service.client().waiting(SOON);
    for _ in 0..200 {
        client.write(Severity::INFO, "x", &[]);
    }
    assert_eq!(client.sync().unwrap().stored, 200);
    let shown = service.snapshot();
    let rolled_out = LogError::RolledOutLogs {
        count: 200 - shown.len() as u64,
    };
    assert_eq!(shown[0].metadata.errors, [rolled_out]);
    assert!(
        shown[1..]
            .iter()
            .all(|data| data.metadata.errors.is_empty())
    );
    // A subscriber did not ask for what was before.
    let request = Request {
        mode: Mode::Subscribe,
        ..Request::default()
    };
    let mut later = answers(service.path(), &request);
    // Another answer shows that the first request was taken.
    service.snapshot();
    client.write(Severity::INFO, "later", &[]);
    assert_eq!(later.next().unwrap().metadata.errors, []);
}

#[test]
fn what_no_record_can_hold_is_cut_and_counted() {
    let service = Running::with(|settings| settings.profile = Profile::Strict);
    let client = service.client();
    let long = "x".repeat(33_000);
    client.write(Severity::INFO, &long, &[]);
    let names: Vec<_> = (0..30).map(|number| number.to_string()).collect();
    let keys: Vec<_> = names.iter().map(|name| (&**name, 5_u64.into())).collect();
    client.write(Severity::INFO, "many", &keys);
    client.write(Severity::INFO, "few", &keys[..12]);
    assert_eq!(client.sync().unwrap().stored, 3);
    assert_eq!(client.cut(), 2);
    let shown = service.snapshot();
    let text = message(&shown[0]);
    assert!(
        text.len() > 32_600 && text.ends_with("x…"),
        "{}",
        text.len()
    );
    let keys = &shown[1].payload.as_ref().unwrap().keys;
    let left_out = ("left_out".to_owned(), Property::SignedInt(19));
    assert!(keys.len() == 12 && keys.contains(&left_out), "{keys:?}");
    assert_eq!(shown[2].payload.as_ref().unwrap().keys.len(), 12);
}

#[test]
fn those_who_connect_and_say_nothing_take_no_place_from_those_who_write() {
    let service = Running::with(|settings| settings.writers = 16);
    let honest = service.client();
    honest.write(Severity::INFO, "first", &[]);
    honest.sync().unwrap();
    let silent: Vec<_> = (0..64)
        .map(|_| raw(&service.path().join("log"), SocketType::SEQPACKET))
        .collect();
    assert!(is_closed(&silent[0]));
    let late = service.client();
    late.write(Severity::INFO, "late", &[]);
    assert_eq!(late.sync().unwrap().stored, 1);
    honest.write(Severity::INFO, "second", &[]);
    assert_eq!(honest.sync().unwrap().stored, 2);
}

#[test]
fn readers_that_do_not_ask_or_do_not_read_do_no_harm() {
    let service = Running::with(|settings| settings.readers = 4);
    let client = service.client();
    let text = "\u{1}".repeat(30_000);
    for _ in 0..20 {
        client.write(Severity::INFO, &text, &[]);
        client.sync().unwrap();
    }
    let silent: Vec<_> = (0..16)
        .map(|_| UnixStream::connect(service.path().join("stream")).unwrap())
        .collect();
    let all = Request::default();
    let unread = [(); 3].map(|()| ask(service.path(), &all).unwrap());
    assert_eq!(service.snapshot().len(), 20);
    client.write(Severity::INFO, "after", &[]);
    assert_eq!(client.sync().unwrap().stored, 21);
    // What was there when they asked is still theirs.
    for answer in unread {
        let arrays = serde_json::Deserializer::from_reader(answer).into_iter::<Vec<LogsData>>();
        assert_eq!(arrays.flat_map(Result::unwrap).count(), 20);
    }
    drop(silent);
}

#[test]
fn any_number_of_connects_does_no_harm() {
    let service = Running::new();
    let honest = service.client();
    let connects = if slow() { 100_000 } else { 2_000 };
    for number in 0..connects {
        drop(raw(&service.path().join("log"), SocketType::SEQPACKET));
        if number % 500 == 0 {
            honest.write(Severity::INFO, "still here", &[]);
        }
    }
    assert_eq!(honest.sync().unwrap().stored, connects / 500);
    until("all are closed", || {
        service.count("connections", "opened") == 1 + service.count("connections", "closed")
    });
}

/// The service in a process of its own, which writes `records.log`.
fn serve(directory: &Path) -> Part {
    let mut process = Part::start("serves", &[directory.as_os_str()]);
    process.line("serving");
    process
}

/// Where the service may open no more, it closes a connection that is silent. One that has sent what was not read
/// yet is not.
#[test]
fn a_writer_is_read_before_it_is_closed_for_want_of_descriptors() {
    const WRITERS: u64 = 60;
    let directory = tempfile::tempdir().unwrap();
    let process = serve(directory.path());
    let pid = Pid::from_child(&process.child);
    let limit = Rlimit {
        current: Some(40),
        maximum: Some(40),
    };
    prlimit(Some(pid), Resource::Nofile, limit).unwrap();
    process.signal(Signal::STOP);
    let writers = (0..WRITERS).map(|number| {
        let socket = raw(&directory.path().join("log"), SocketType::SEQPACKET);
        send(&socket, &record(&number.to_string()), SendFlags::empty()).unwrap();
        socket
    });
    let writers: Vec<_> = writers.collect();
    process.signal(Signal::CONT);
    let descriptors = format!("/proc/{}/fd", process.child.id());
    until("it has as many as it may have", || {
        std::fs::read_dir(&descriptors).unwrap().count() >= 40
    });
    drop(writers);
    until("all are stored", || {
        count(directory.path(), "totals", "stored") == WRITERS
    });
}

#[test]
fn a_second_service_cannot_take_the_directory() {
    let service = Running::new();
    let settings = Settings::new(service.path());
    let second = Service::bind(settings, |_| Ok(Counted::default()));
    assert_eq!(second.err().unwrap().kind(), std::io::ErrorKind::AddrInUse);
    assert_eq!(service.snapshot().len(), 0);
}

#[test]
fn a_writer_that_leaves_without_its_answer_loses_nothing() {
    let service = Running::new();
    for _ in 0..20 {
        let socket = raw(&service.path().join("log"), SocketType::SEQPACKET);
        for packet in [&b"sync\0\0\0\0"[..], &record("after"), &record("after")] {
            send(&socket, packet, SendFlags::empty()).unwrap();
            // Time for the answer to arrive, now and then.
            std::thread::yield_now();
        }
    }
    until("all are stored", || service.count("totals", "stored") == 40);
}

/// Storage that waits while it appends a record that asks for it, and again in the commit after that record's own.
struct Held {
    waits: Sender<()>,
    goes: Receiver<()>,
    commits_left: u32,
}

impl Held {
    fn wait(&self) {
        self.waits.send(()).unwrap();
        self.goes.recv_timeout(SOON).unwrap();
    }
}

impl Storage for Held {
    fn append(&mut self, stored: &Stored<'_>) -> std::io::Result<()> {
        if stored.record.windows(4).any(|text| text == b"hold") {
            self.wait();
            self.commits_left = 2;
        }
        Ok(())
    }

    fn commit(&mut self) -> std::io::Result<()> {
        if self.commits_left == 1 {
            self.wait();
        }
        self.commits_left = self.commits_left.saturating_sub(1);
        Ok(())
    }
}

/// The service closed the connection of a writer that had left when it was to be answered, before it had read what
/// that writer sent meanwhile.
#[test]
fn what_a_writer_sends_while_its_answer_is_made_is_stored_though_it_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let (waits, waiting) = channel();
    let (go, goes) = channel();
    let held = Held {
        waits,
        goes,
        commits_left: 0,
    };
    let service = Service::bind(Settings::new(directory.path()), |_| Ok(held)).unwrap();
    let stop = service.stop_handle();
    let thread = std::thread::spawn(move || service.run());

    let socket = raw(&directory.path().join("log"), SocketType::SEQPACKET);
    let send = |packet: &[u8]| send(&socket, packet, SendFlags::empty()).unwrap();
    send(&record("hold"));
    waiting.recv_timeout(SOON).unwrap();
    send(b"sync\0\0\0\0");
    go.send(()).unwrap();
    // All that the service has read is stored, and it is about to answer.
    waiting.recv_timeout(SOON).unwrap();
    send(&record("meanwhile"));
    send(&record("meanwhile"));
    drop(socket);
    go.send(()).unwrap();

    until("all are stored", || {
        count(directory.path(), "totals", "stored") == 3
    });
    stop.stop();
    thread.join().unwrap().unwrap();
}

/// Storage that cannot commit.
struct Unstable;

impl Storage for Unstable {
    fn append(&mut self, _: &Stored<'_>) -> std::io::Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn what_was_not_committed_is_not_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::bind(Settings::new(directory.path()), |_| Ok(Unstable)).unwrap();
    std::thread::spawn(move || service.run());
    let socket = raw(&directory.path().join("log"), SocketType::SEQPACKET);
    for packet in [&record("lost")[..], b"sync\0\0\0\0"] {
        send(&socket, packet, SendFlags::empty()).unwrap();
    }
    assert!(is_closed(&socket), "it was answered");
}

/// Storage that refuses records that ask for it.
struct Picky;

impl Storage for Picky {
    fn append(&mut self, stored: &Stored<'_>) -> std::io::Result<()> {
        if stored.record.windows(6).any(|text| text == b"refuse") {
            Err(std::io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn commit(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_was_not_stored_is_counted_and_not_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::bind(Settings::new(directory.path()), |_| Ok(Picky)).unwrap();
    let stop = service.stop_handle();
    let thread = std::thread::spawn(move || service.run());
    let client = Client::connect(directory.path()).unwrap();
    client.write(Severity::INFO, "fine", &[]);
    client.write(Severity::INFO, "refuse", &[]);
    assert_eq!(client.sync().unwrap().stored, 1);
    assert_eq!(count(directory.path(), "totals", "not_stored"), 1);
    stop.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn restarts_do_not_crowd_out_what_was_stored() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..12_u64 {
        let process = serve(directory.path());
        let client = Client::connect(directory.path()).unwrap();
        client.write(Severity::WARN, "round", &[("round", round.into())]);
        assert_eq!(client.sync().unwrap().stored, 1);
        let snapshot = answers(directory.path(), &Request::default());
        assert_eq!(snapshot.count() as u64, round + 1);
        process.signal(Signal::KILL);
    }
}
