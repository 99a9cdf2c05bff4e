//! How fast is the command, end to end: from a file in the page cache to the
//! null device?
//!
//! `cargo bench -p logdef-cli --bench view -- [RECORDS] [WORD]`
//!
//! With a word, as `export`, only what has it in its command is run.
//!
//! Each line gives the time that the processes ran, on all cores together, and the
//! time that passed; the means of five. To see one core, run it under `taskset -c 0`.

use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::Data;
use logdef_wire::{Record, Run, Svma};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

#[path = "../../tests/synth/mod.rs"]
mod synth;
use synth::{EPOCH, Log};

const CHUNK: usize = 4 << 20;
const THREADS: u64 = 4;
const RUN: Run = Run(0x1234_5678_1234_5678);

/// What is run.
const WORK: [(&str, &[&str]); 20] = [
    ("check", &["check"]),
    ("view", &["view"]),
    ("view -o json", &["view", "-o", "json"]),
    ("view -o logfmt", &["view", "-o", "logfmt"]),
    ("view -o csv", &["view", "-o", "csv"]),
    ("view --level error", &["view", "--level", "error"]),
    ("view --site", &["view", "--site", "wal.c"]),
    ("view --site FILE:LINE", &["view", "--site", "net.c:7"]),
    ("view --where", &["view", "--where", "0>5000"]),
    ("view --grep", &["view", "--grep", "example.net"]),
    ("view --grep, no format", &["view", "--grep", "refused"]),
    ("view --head 1", &["view", "--head", "1"]),
    ("export fxt", &["export", "--to", "fxt", "-o", "-"]),
    (
        "  --as log",
        &["export", "--to", "fxt", "--as", "log", "-o", "-"],
    ),
    (
        "  --as perfetto",
        &["export", "--to", "fxt", "--as", "perfetto", "-o", "-"],
    ),
    ("export fuchsia", &["export", "--to", "fuchsia", "-o", "-"]),
    (
        "export diagnostics",
        &["export", "--to", "diagnostics-json", "-o", "-"],
    ),
    (
        "export otlp-json",
        &["export", "--to", "otlp-json", "-o", "-"],
    ),
    (
        "export journald",
        &["export", "--to", "journald", "-o", "-"],
    ),
    ("export folded", &["export", "--to", "folded", "-o", "-"]),
];

fn main() {
    let wanted = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
    let records: u64 = wanted.unwrap_or(2_000_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.log");
    let bytes = write(&path, records);
    println!("{records} records, {bytes} bytes");
    let word = std::env::args()
        .skip(1)
        .find(|arg| arg.chars().all(char::is_alphabetic));
    let word = word.unwrap_or_default();
    for (name, args) in WORK {
        if !args.contains(&&*word) && !word.is_empty() {
            continue;
        }
        let (cpu, wall) = run(args, &path);
        println!(
            "{name:20} {:8.2} ms CPU, {:8.2} ms; {:6.2} M records/s of CPU, {:6.2} passed, {:5.2} GB/s",
            cpu * 1e3,
            wall * 1e3,
            records as f64 / cpu / 1e6,
            records as f64 / wall / 1e6,
            bytes as f64 / wall / 1e9,
        );
    }
}

/// Runs the command five times: seconds on cores, seconds passed.
fn run(args: &[&str], path: &std::path::Path) -> (f64, f64) {
    const TIMES: u32 = 5;
    let before = children();
    let start = Instant::now();
    for _ in 0..TIMES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_logdef"));
        command.args(args).arg(path);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().unwrap();
        assert!(status.success(), "{args:?}: {status}");
    }
    let mean = |seconds: f64| seconds / f64::from(TIMES);
    (
        mean(children() - before),
        mean(start.elapsed().as_secs_f64()),
    )
}

/// Seconds that the processes ran which were waited for: the kernel counts them in
/// hundredths.
fn children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
    (ticks(13) + ticks(14)) / 100.0
}

/// A log as threads leave it that take turns: chunks, frames of about 90 bytes,
/// an integer, a short string and a double.
fn write(path: &std::path::Path, records: u64) -> u64 {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let mut open: Vec<Log> = (0..THREADS).map(begin).collect();
    let mut time = EPOCH;
    let mut bytes = 0;
    for record in 0..records {
        let number = record % THREADS;
        let chunk = &mut open[number as usize];
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        encoder.uint(record & 0xfff).unwrap();
        encoder.raw(b"example.org").unwrap();
        encoder.float(record as f64 / 1000.0).unwrap();
        time += 1000;
        let data = Data {
            args: Array::from_objects(3, encoder.written()).ok(),
            ..synth::data(RUN, number, record / THREADS, time)
        };
        chunk.record(&Record::Data(data));
        if chunk.bytes.len() + 256 > CHUNK {
            bytes += close(chunk, &mut out);
            *chunk = begin(number);
        }
    }
    for mut chunk in open {
        bytes += close(&mut chunk, &mut out);
    }
    out.flush().unwrap();
    bytes
}

fn begin(number: u64) -> Log {
    let mut chunk = Log::new();
    chunk.preamble(RUN, Some(CHUNK as u64));
    chunk.string(RUN, Svma(0x2000), b"net.c");
    chunk.string(RUN, Svma(0x2008), b"accepted %d from %s in %.3f ms");
    chunk.thread(RUN, number, format!("worker{number}").as_bytes());
    chunk
}

fn close(chunk: &mut Log, out: &mut impl Write) -> u64 {
    chunk.bytes.resize(CHUNK, 0);
    out.write_all(&chunk.bytes).unwrap();
    CHUNK as u64
}
