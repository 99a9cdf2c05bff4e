//! Logs for tests, written with the encoders of `logdef-wire` and nothing else:
//! what stands where is known, so that what a reader says can be checked.

#![allow(dead_code, missing_docs, unreachable_pub)]

use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::{BacktraceLogdef, Data, Glance, Preamble, StringLogdef, ThreadLogdef};
use logdef_wire::{Avma, Level, Magic, Record, Run, Sequence, Svma, ThreadNumber, Value, frame};
use std::ops::Range;

pub const MAGIC: Magic = Magic(0x1234_5678_9abc_def0);
pub const EPOCH: u64 = 1_800_000_000_000_000_000;

/// A generator of numbers: the same ones for the same seed, everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound.max(1)
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// The most memory that this process had, in bytes.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kib: u64 = peak.trim_end_matches("kB").trim().parse().unwrap();
    kib << 10
}

/// Whether long tests are asked for.
pub fn slow() -> bool {
    std::env::var_os("LOGDEF_SLOW").is_some_and(|value| value == "1")
}

/// The bytes of a log, and where its frames stand.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub bytes: Vec<u8>,
    pub frames: Vec<Range<usize>>,
}

impl Log {
    pub fn new() -> Log {
        Log::default()
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Log {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub fn zeros(&mut self, len: usize) -> &mut Log {
        self.raw(&vec![0; len])
    }

    /// Appends another log.
    pub fn append(&mut self, other: &Log) -> &mut Log {
        let start = self.bytes.len();
        self.raw(&other.bytes);
        let moved = |frame: &Range<usize>| frame.start + start..frame.end + start;
        self.frames.extend(other.frames.iter().map(moved));
        self
    }

    pub fn record(&mut self, record: &Record<'_>) -> &mut Log {
        let start = self.bytes.len();
        self.bytes.resize(start + 256 + 4 * size(record), 0);
        let len = frame::encode(&mut self.bytes[start..], |encoder| record.encode(encoder));
        self.bytes.truncate(start + len.unwrap());
        self.frames.push(start..self.bytes.len());
        self
    }

    /// A frame whose body is written as it is, never masked: another writer's.
    pub fn unmasked(&mut self, body: &[u8]) -> &mut Log {
        let (header, len) = frame::header(body);
        let start = self.bytes.len();
        self.raw(&header[..len]).raw(body);
        self.frames.push(start..self.bytes.len());
        self
    }

    pub fn preamble(&mut self, run: Run, chunk: Option<u64>) -> &mut Log {
        self.record(&Record::Preamble(Preamble {
            magic: Some(MAGIC),
            path: Some(b"/usr/bin/example"),
            version: Some(1),
            run: Some(run),
            pid: Some(run.0 & 0xffff),
            realtime: Some(EPOCH),
            chunk,
            ..Preamble::default()
        }))
    }

    pub fn string(&mut self, run: Run, address: Svma, string: &[u8]) -> &mut Log {
        self.record(&Record::StringLogdef(StringLogdef {
            magic: Some(MAGIC),
            address: Some(address),
            string: Some(string),
            run: Some(run),
            ..StringLogdef::default()
        }))
    }

    pub fn thread(&mut self, run: Run, number: u64, name: &[u8]) -> &mut Log {
        self.record(&Record::ThreadLogdef(ThreadLogdef {
            run: Some(run),
            thread: Some(0x7fff_0000 + number),
            tid: Some(1000 + number),
            name: Some(name),
            number: Some(ThreadNumber(number)),
        }))
    }

    pub fn backtrace(&mut self, run: Run, address: Avma) -> &mut Log {
        self.record(&Record::BacktraceLogdef(BacktraceLogdef {
            magic: Some(MAGIC),
            address: Some(address),
            fname: Some(b"/lib/libexample.so"),
            run: Some(run),
            ..BacktraceLogdef::default()
        }))
    }

    pub fn data(&mut self, run: Run, number: u64, count: u64, time: u64, text: &[u8]) -> &mut Log {
        let mut buffer = vec![0; text.len() + 32];
        let mut encoder = Encoder::new(&mut buffer);
        encoder.uint(count).unwrap();
        encoder.raw(text).unwrap();
        let data = Data {
            args: Array::from_objects(2, encoder.written()).ok(),
            ..data(run, number, count, time)
        };
        self.record(&Record::Data(data))
    }

    /// Where the frame of a record stands.
    pub fn find(&self, run: Run, number: u64, count: u64) -> Range<usize> {
        let wanted = Some(Sequence::new(ThreadNumber(number), count));
        let is = |range: &&Range<usize>| {
            matches!(
                self.decode(range),
                Some(Record::Data(data)) if data.run == Some(run) && data.sequence == wanted
            )
        };
        self.frames.iter().find(is).unwrap().clone()
    }

    /// Whether a frame holds a data record, masked or not.
    pub fn is_data(&self, range: &Range<usize>) -> bool {
        let frame = frame::decode(&self.bytes[range.clone()]).unwrap();
        let mut scratch = Vec::new();
        let record = logdef_resync::decode(frame.body, &mut scratch);
        matches!(record, Ok(Record::Data(_)))
    }

    pub fn decode(&self, range: &Range<usize>) -> Option<Record<'_>> {
        let frame = frame::decode(&self.bytes[range.clone()]).ok()?;
        Record::decode(frame.body).ok()
    }
}

fn size(record: &Record<'_>) -> usize {
    match record {
        Record::Data(data) => data.args.map_or(0, |args| args.objects().len()),
        Record::StringLogdef(logdef) => logdef.string.map_or(0, <[u8]>::len),
        _ => 256,
    }
}

/// A data record without arguments.
pub fn data<'a>(run: Run, number: u64, count: u64, time: u64) -> Data<'a> {
    Data {
        front: Glance {
            magic: Some(MAGIC),
            file: Some(Svma(0x2000)),
            line: Some(42),
            level: Some(Level::INFO),
            format: Some(Svma(0x2008)),
            run: Some(run),
            thread: Some(0x7fff_0000 + number),
            sequence: Some(Sequence::new(ThreadNumber(number), count)),
            time: Some(time),
        },
        ..Data::default()
    }
}

/// The identity of a data record.
pub fn identity(record: &Record<'_>) -> Option<(Run, Sequence)> {
    match record {
        Record::Data(data) => data.run.zip(data.sequence),
        _ => None,
    }
}

/// An argument of a data record.
pub fn text_of<'a>(record: &Record<'a>) -> Option<&'a [u8]> {
    match record {
        Record::Data(data) => data.args?.iter().nth(1).and_then(Value::as_raw),
        _ => None,
    }
}

/// A log as the appending writer leaves it: threads interleaved, logdefs where
/// they are first needed.
pub fn appended(run: Run, threads: u64, records: u64, seed: u64) -> Log {
    let mut random = Random::new(seed);
    let mut log = Log::new();
    log.preamble(run, None);
    log.string(run, Svma(0x2000), b"main.c");
    log.string(run, Svma(0x2008), b"record %d says %s");
    let mut counts = vec![0; threads as usize];
    for step in 0..records {
        let thread = random.below(threads as usize);
        if counts[thread] == 0 {
            log.thread(run, thread as u64, format!("worker{thread}").as_bytes());
        }
        // Threads are overtaken between taking the time and writing.
        let time = EPOCH + step * 1000 - random.below(3000) as u64;
        let text = text(&mut random);
        log.data(run, thread as u64, counts[thread], time, &text);
        counts[thread] += 1;
    }
    log
}

/// A log as the mapped writer leaves it: a chunk for each thread at a time, each
/// complete in itself, zeros at its end.
pub fn chunked(run: Run, threads: u64, records: u64, chunk: usize, seed: u64) -> Log {
    let mut random = Random::new(seed);
    let mut log = Log::new();
    let mut open: Vec<Option<Log>> = vec![None; threads as usize];
    let mut counts = vec![0; threads as usize];
    // Chunks stand in the order they were taken.
    let mut order: Vec<usize> = Vec::new();
    let mut done: Vec<(usize, Log)> = Vec::new();
    let begin = |thread: usize| {
        let mut part = Log::new();
        part.preamble(run, Some(chunk as u64));
        part.string(run, Svma(0x2000), b"main.c");
        part.string(run, Svma(0x2008), b"record %d says %s");
        part.thread(run, thread as u64, format!("worker{thread}").as_bytes());
        part
    };
    let mut places: Vec<usize> = vec![0; threads as usize];
    for step in 0..records {
        let thread = random.below(threads as usize);
        let mut one = Log::new();
        let text = text(&mut random);
        one.data(
            run,
            thread as u64,
            counts[thread],
            EPOCH + step * 1000,
            &text,
        );
        counts[thread] += 1;
        let full = open[thread]
            .as_ref()
            .is_none_or(|part| part.bytes.len() + one.bytes.len() > chunk);
        if full {
            if let Some(part) = open[thread].take() {
                done.push((places[thread], part));
            }
            places[thread] = order.len();
            order.push(thread);
            open[thread] = Some(begin(thread));
        }
        open[thread].as_mut().unwrap().append(&one);
    }
    for (thread, part) in open.into_iter().enumerate() {
        if let Some(part) = part {
            done.push((places[thread], part));
        }
    }
    done.sort_by_key(|(place, _)| *place);
    for (_, part) in done {
        log.append(&part);
        log.zeros(chunk - part.bytes.len());
    }
    log
}

/// Texts of many lengths, some of which look like frames.
fn text(random: &mut Random) -> Vec<u8> {
    let len = [0, 3, 10, 31, 32, 60, 300][random.below(7)];
    match random.below(8) {
        0 => {
            // A whole frame of a run that no preamble names.
            let mut inner = Log::new();
            inner.data(Run(0xbad), 0, random.next() & 0xff, EPOCH, b"never logged");
            inner.bytes
        }
        1 => random.bytes(len),
        2 => [0xc1, 0xce].repeat(len / 2),
        _ => b"abcdefghijklmnopqrstuvwxyz"
            .iter()
            .cycle()
            .take(len)
            .copied()
            .collect(),
    }
}
