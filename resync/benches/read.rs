//! How fast is a log read? Clean, damaged, garbage; and all the way to text.
//!
//! `cargo bench -p logdef-resync --bench read`
//!
//! What is measured is the time that the thread ran, so that the figures stand on
//! a machine that does other work too.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use logdef_resync::{Event, Input, Item, Items, Merge, MergeOptions, Recovery, Resolver};
use logdef_wire::{Record, Run};
use std::hint::black_box;

#[path = "../tests/synth/mod.rs"]
mod synth;
use synth::{EPOCH, Log, MAGIC, Random};

/// Nanoseconds that this thread ran, as the kernel counts them.
struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        stat.split(' ').next().unwrap().parse().unwrap()
    }

    fn end(&self, start: u64) -> u64 {
        self.start() - start
    }

    fn add(&self, a: &u64, b: &u64) -> u64 {
        a + b
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

const RECORDS: u64 = 500_000;
const CHUNK: usize = 1 << 20;

/// A log of one thread in chunks, frames of about 90 bytes: an integer, a short
/// string and a double.
fn clean() -> Vec<u8> {
    use logdef_wire::msgpack::{Array, Encoder};
    use logdef_wire::record::Data;
    let run = Run(0x1234_5678_1234_5678);
    let mut bytes: Vec<u8> = Vec::new();
    let mut chunk = Log::new();
    for count in 0..RECORDS {
        if chunk.bytes.is_empty() {
            chunk.preamble(run, Some(CHUNK as u64));
            chunk.string(run, logdef_wire::Svma(0x2000), b"net.c");
            chunk.string(
                run,
                logdef_wire::Svma(0x2008),
                b"accepted %d from %s in %.3f ms",
            );
            chunk.thread(run, 0, b"main");
        }
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        encoder.uint(count & 0xfff).unwrap();
        encoder.raw(b"example.org").unwrap();
        encoder.float(count as f64 / 1000.0).unwrap();
        let data = Data {
            args: Array::from_objects(3, encoder.written()).ok(),
            ..synth::data(run, 0, count, EPOCH + count * 1000)
        };
        chunk.record(&Record::Data(data));
        if chunk.bytes.len() + 256 > CHUNK {
            bytes.append(&mut chunk.bytes);
            bytes.resize(bytes.len().next_multiple_of(CHUNK), 0);
            chunk = Log::new();
        }
    }
    bytes.append(&mut chunk.bytes);
    let _ = MAGIC;
    bytes
}

fn walk(bytes: &[u8]) -> u64 {
    let mut items = Items::of_bytes(bytes);
    let mut frames = 0;
    while let Some(item) = items.next().unwrap() {
        frames += u64::from(matches!(item, Item::Frame(_)));
    }
    frames
}

fn view(inputs: &[Input], text: &mut Vec<u8>) -> u64 {
    let recovery = Recovery::of(inputs).unwrap();
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(inputs, &recovery, MergeOptions::default());
    let mut records = 0;
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            text.clear();
            resolver.resolve(&data, frame.place).message(text);
            records += text.len() as u64 & 1;
        }
    }
    records
}

fn read(criterion: &mut Criterion<ThreadTime>) {
    let clean = clean();
    let bytes = clean.len() as u64;
    let mut group = criterion.benchmark_group("read");
    group.sample_size(10);

    group.throughput(Throughput::Elements(RECORDS));
    group.bench_function("walk_clean_records", |b| b.iter(|| walk(black_box(&clean))));

    group.throughput(Throughput::Bytes(bytes));
    group.bench_function("walk_clean_bytes", |b| b.iter(|| walk(black_box(&clean))));

    let garbage = Random::new(1).bytes(bytes as usize);
    group.bench_function("scan_garbage", |b| b.iter(|| walk(black_box(&garbage))));

    let mut damaged = clean.clone();
    let mut random = Random::new(2);
    let mut at = 0;
    while at < damaged.len() {
        // Half of all frames, on average.
        damaged[at] ^= 1 << random.below(8);
        at += 60 + random.below(240);
    }
    group.bench_function("scan_half_damaged", |b| {
        b.iter(|| walk(black_box(&damaged)))
    });

    let inputs = [Input::from_bytes("clean", clean)];
    group.bench_function("check_clean", |b| {
        b.iter(|| Recovery::of(black_box(&inputs)).unwrap().lost());
    });

    group.throughput(Throughput::Elements(RECORDS));
    group.bench_function("view_to_text", |b| {
        let mut text = Vec::new();
        b.iter(|| view(&inputs, &mut text));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(ThreadTime);
    targets = read
}
criterion_main!(benches);
