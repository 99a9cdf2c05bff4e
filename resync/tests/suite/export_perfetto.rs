//! The packets inside an exported trace, decoded by prost: the messages below are
//! those of Perfetto's `protos/perfetto/trace`, as far as this needs them.

use logdef_fuchsia::fxt::{BlobKind, Item, Record as FxtRecord, Records};
use logdef_resync::export::fxt::{Exporter, Forms, Options};
use logdef_resync::{BacktraceEntry, Function, Place, Resolver, StackEntry, Tables};
use logdef_wire::msgpack::Array;
use logdef_wire::record::{Data, Glance, ThreadLogdef};
use logdef_wire::{Avma, Level, Record, Run, Sequence, ThreadNumber};
use prost::Message;
use std::collections::HashMap;

#[derive(Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Message)]
struct TracePacket {
    #[prost(message, optional, tag = "6")]
    clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Message)]
struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    clocks: Vec<Clock>,
}

#[derive(Message)]
struct Clock {
    #[prost(uint32, optional, tag = "1")]
    clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    timestamp: Option<u64>,
}

#[derive(Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
}

#[derive(Message)]
struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    tid: Option<i64>,
    #[prost(string, optional, tag = "5")]
    thread_name: Option<String>,
}

#[derive(Message)]
struct InternedData {
    #[prost(message, repeated, tag = "4")]
    source_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "20")]
    log_message_body: Vec<LogMessageBody>,
}

#[derive(Message)]
struct SourceLocation {
    #[prost(uint64, optional, tag = "1")]
    iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    file_name: Option<String>,
    #[prost(uint32, optional, tag = "4")]
    line_number: Option<u32>,
}

#[derive(Message)]
struct LogMessageBody {
    #[prost(uint64, optional, tag = "1")]
    iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    body: Option<String>,
}

#[derive(Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(message, optional, tag = "21")]
    log_message: Option<LogMessage>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(message, optional, tag = "55")]
    callstack: Option<InlineCallstack>,
}

#[derive(Message)]
struct LogMessage {
    #[prost(uint64, optional, tag = "1")]
    source_location_iid: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    body_iid: Option<u64>,
    #[prost(int32, optional, tag = "3")]
    prio: Option<i32>,
}

#[derive(Message)]
struct DebugAnnotation {
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(int64, optional, tag = "4")]
    int_value: Option<i64>,
    #[prost(double, optional, tag = "5")]
    double_value: Option<f64>,
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Message)]
struct InlineCallstack {
    #[prost(message, repeated, tag = "1")]
    frames: Vec<Frame>,
}

#[derive(Message)]
struct Frame {
    #[prost(string, optional, tag = "1")]
    function_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    source_file: Option<String>,
    #[prost(uint32, optional, tag = "3")]
    line_number: Option<u32>,
}

/// The packets of a trace: all of its blobs of that kind, one after the other.
fn packets(trace: &[u8]) -> Vec<TracePacket> {
    let mut bytes = Vec::new();
    for item in Records::new(trace) {
        let Item::Record(located) = item else {
            panic!("{item:?}");
        };
        // Perfetto takes twelve bits of a size, whatever the record.
        assert!(located.bytes.len() < 1 << 15);
        if let FxtRecord::Blob(blob) = located.record {
            assert_eq!(blob.kind, BlobKind::PERFETTO);
            bytes.extend_from_slice(blob.data);
        }
    }
    Trace::decode(&*bytes).unwrap().packet
}

const PERFETTO: Forms = Forms {
    log: false,
    instant: false,
    perfetto: true,
};

fn data(text: &[u8], line: u64, time: u64) -> Data<'_> {
    Data {
        front: Glance {
            line: Some(line),
            level: Some(Level::ERROR),
            run: Some(Run(9)),
            sequence: Some(Sequence::new(ThreadNumber(2), time)),
            time: Some(time),
            ..Glance::default()
        },
        format_text: Some(text),
        file_text: Some(b"src/net.rs"),
        ..Data::default()
    }
}

/// Rows of the table of logs as Perfetto would make them: priority, place, message.
fn rows(packets: &[TracePacket]) -> Vec<(i32, String, String)> {
    let (mut locations, mut bodies) = (HashMap::new(), HashMap::new());
    let mut rows = Vec::new();
    for packet in packets {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        let flags = packet.sequence_flags.unwrap_or(0);
        if flags & 1 != 0 {
            locations.clear();
            bodies.clear();
        }
        if let Some(data) = &packet.interned_data {
            for location in &data.source_locations {
                let place = format!(
                    "{}:{}",
                    location.file_name.as_deref().unwrap(),
                    location.line_number.unwrap()
                );
                let before = locations.insert(location.iid.unwrap(), place);
                assert_eq!(before, None, "a number twice");
            }
            for body in &data.log_message_body {
                let before = bodies.insert(body.iid.unwrap(), body.body.clone().unwrap());
                assert_eq!(before, None, "a number twice");
            }
        }
        if let Some(log) = packet
            .track_event
            .as_ref()
            .and_then(|e| e.log_message.as_ref())
        {
            assert_ne!(flags & 2, 0, "refers to what was interned");
            rows.push((
                log.prio.unwrap(),
                locations[&log.source_location_iid.unwrap()].clone(),
                bodies[&log.body_iid.unwrap()].clone(),
            ));
        }
    }
    rows
}

#[test]
fn a_record_is_a_row_of_the_log_table_with_its_call_stack() {
    let mut tables = Tables::new(1 << 20);
    let place = Place {
        input: 0,
        offset: 0,
    };
    let thread = ThreadLogdef {
        run: Some(Run(9)),
        tid: Some(77),
        name: Some(b"worker"),
        number: Some(ThreadNumber(2)),
        ..ThreadLogdef::default()
    };
    tables.add(&Record::ThreadLogdef(thread), place);
    let mut resolver = Resolver::without_images(&tables);
    let function = |name: &str, line| Function {
        function: Some(name.into()),
        file: Some("src/net.rs".into()),
        line: Some(line),
        ..Function::default()
    };
    let stack = [
        StackEntry {
            address: Avma(0x1139),
            functions: [function("inlined", 99), function("serve", 120)].into(),
            ..StackEntry::default()
        },
        StackEntry {
            address: Avma(0x2000),
            logged: Some(BacktraceEntry {
                sname: Some(b"main".as_slice().into()),
                ..BacktraceEntry::default()
            }),
            ..StackEntry::default()
        },
        StackEntry {
            address: Avma(0x3000),
            ..StackEntry::default()
        },
    ];
    let args = [0x05, 0xfd, 0xcb, 0x3f, 0xe0, 0, 0, 0, 0, 0, 0, 0xa1, b'x'];
    let record = Data {
        args: Array::from_objects(4, &args).ok(),
        ..data(b"%d %d %f %s", 99, 1_000)
    };
    let mut options = Options::default();
    options.forms = PERFETTO;
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    exporter
        .record(&resolver.resolve(&record, place), &stack)
        .unwrap();
    let packets = packets(&exporter.finish().unwrap());

    let clocks: Vec<_> = packets[0]
        .clock_snapshot
        .as_ref()
        .unwrap()
        .clocks
        .iter()
        .map(|clock| (clock.clock_id.unwrap(), clock.timestamp.unwrap()))
        .collect();
    assert_eq!(clocks, [(1, 1_000), (3, 1_000), (6, 1_000)]);
    let track = packets[1].track_descriptor.as_ref().unwrap();
    let descriptor = track.thread.as_ref().unwrap();
    assert_eq!(
        (descriptor.pid, descriptor.tid),
        (Some((1 << 30) + 1), Some(77))
    );
    assert_eq!(descriptor.thread_name.as_deref(), Some("worker"));
    assert_eq!(packets.len(), 3);
    assert_eq!(packets[2].timestamp, Some(1_000));
    let message = "5 -3 0.500000 x".to_owned();
    assert_eq!(
        rows(&packets),
        [(6, "src/net.rs:99".to_owned(), message.clone())]
    );
    let event = packets[2].track_event.as_ref().unwrap();
    assert_eq!((event.r#type, event.track_uuid), (Some(3), track.uuid));
    assert_eq!(event.name, Some(message));
    assert_eq!(event.categories, ["unknown"]);
    let frames: Vec<_> = event
        .callstack
        .as_ref()
        .unwrap()
        .frames
        .iter()
        .map(|frame| {
            (
                frame.function_name.as_deref().unwrap(),
                frame.source_file.as_deref(),
                frame.line_number,
            )
        })
        .collect();
    let file = Some("src/net.rs");
    let expected = [
        ("0x3000", None, None),
        ("main", None, None),
        ("serve", file, Some(120)),
        ("inlined", file, Some(99)),
    ];
    assert_eq!(frames, expected);
    let values: Vec<_> = event
        .debug_annotations
        .iter()
        .filter(|value| value.name.as_deref().unwrap().len() == 1)
        .collect();
    assert_eq!(values[0].uint_value, Some(5));
    assert_eq!(values[1].int_value, Some(-3));
    assert_eq!(values[2].double_value, Some(0.5));
    assert_eq!(values[3].string_value.as_deref(), Some("x"));
}

#[test]
fn many_records_and_long_ones_all_arrive() {
    let tables = Tables::new(1 << 20);
    let mut resolver = Resolver::without_images(&tables);
    let mut options = Options::default();
    options.forms = PERFETTO;
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    let long = "long ".repeat(20_000);
    let mut expected = Vec::new();
    for number in 0..20_000u64 {
        let text = match number {
            7_000 => long.clone(),
            _ => format!("message {number}"),
        };
        let place = Place {
            input: 0,
            offset: number,
        };
        let line = number % 50;
        let record = data(text.as_bytes(), line, number);
        exporter
            .record(&resolver.resolve(&record, place), &[])
            .unwrap();
        expected.push((6, format!("src/net.rs:{line}"), text.clone()));
    }
    let packets = packets(&exporter.finish().unwrap());
    let tracks = packets
        .iter()
        .filter(|packet| packet.track_descriptor.is_some());
    assert_eq!(tracks.count(), 1);
    assert_eq!(rows(&packets), expected);
}
