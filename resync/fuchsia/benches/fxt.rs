//! How fast traces are read and written, on one core.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use logdef_fuchsia::fxt::{
    Argument, Event, Item, ProviderId, Reader, Records, Strict, Thread, TickRate, Tracker, Writer,
    count,
};

const RECORDS: u64 = 100_000;

const MESSAGES: [&str; 4] = [
    "connection from 10.0.0.7:49152 accepted",
    "request GET /index.html took 1832 us",
    "cache miss for key user/1234, loading from the database",
    "closed",
];

fn new(out: Vec<u8>) -> Writer<Vec<u8>> {
    let mut trace = Writer::new(out).unwrap();
    let rate = TickRate::NANOSECONDS;
    trace.provider(ProviderId(1), "bench", rate).unwrap();
    trace
}

fn logs(out: Vec<u8>) -> Vec<u8> {
    let mut trace = new(out);
    for n in 0..RECORDS {
        let thread = Thread::new(1, 1 + n % 8);
        let message = MESSAGES[n as usize % MESSAGES.len()];
        trace.log(n * 1000, thread, message).unwrap();
    }
    trace.finish().unwrap()
}

fn instants(out: Vec<u8>) -> Vec<u8> {
    let mut trace = new(out);
    for n in 0..RECORDS {
        let thread = Thread::new(1, 1 + n % 8);
        let args = [
            Argument::new("severity", "INFO"),
            Argument::new("file", "src/server/connection.rs"),
            Argument::new("line", 100 + n as u32 % 7),
            Argument::new("arg0", n),
            Argument::new("arg1", 0.5),
        ];
        let message = MESSAGES[n as usize % MESSAGES.len()];
        let event = Event::instant(n * 1000, thread, "server", message);
        trace.write(event.args(&args)).unwrap();
    }
    trace.finish().unwrap()
}

fn write(c: &mut Criterion) {
    let mut group = c.benchmark_group("write");
    group.throughput(Throughput::Elements(RECORDS));
    let mut room = Vec::new();
    group.bench_function("log_records", |b| {
        b.iter(|| {
            let mut out = std::mem::take(&mut room);
            out.clear();
            room = logs(out);
        });
    });
    group.bench_function("instants_with_five_arguments", |b| {
        b.iter(|| {
            let mut out = std::mem::take(&mut room);
            out.clear();
            room = instants(out);
        });
    });
    group.finish();
}

fn read(c: &mut Criterion) {
    for (name, trace) in [
        ("logs", logs(Vec::new())),
        ("instants", instants(Vec::new())),
    ] {
        let mut group = c.benchmark_group(format!("read_{name}"));
        group.throughput(Throughput::Bytes(trace.len() as u64));
        group.bench_function("raw_from_a_slice", |b| {
            b.iter(|| Records::new(black_box(&trace)).count());
        });
        group.bench_function("raw_from_a_stream", |b| {
            b.iter(|| {
                let mut reader = Reader::new(black_box(&trace[..]));
                let mut records = 0;
                while let Some(Item::Record(_)) = reader.next().unwrap() {
                    records += 1;
                }
                records
            });
        });
        group.bench_function("stat", |b| {
            b.iter(|| count(Reader::new(black_box(&trace[..]))).unwrap());
        });
        group.bench_function("resolved", |b| {
            b.iter(|| {
                let mut tracker = Tracker::new();
                for item in Records::new(black_box(&trace)) {
                    if let Item::Record(found) = item {
                        tracker.track(&found);
                        black_box(tracker.resolve(&found.record));
                    }
                }
            });
        });
        group.bench_function("strict", |b| {
            b.iter(|| {
                let mut strict = Strict::default();
                for item in Records::new(black_box(&trace)) {
                    if let Item::Record(found) = item {
                        assert_eq!(strict.check(&found).count(), 0);
                    }
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, write, read);
criterion_main!(benches);
