//! Random logs as writers leave them: threads in chunks or interleaved, dropped and pruned
//! records, clocks that are set, notes, strings that were chosen to do harm.

use super::random::Random;
use crate::fixture::{EPOCH, FAILED, Log, MAGIC, RUN, SECOND, Site, TOOK};
use logdef_wire::record::{Data, Glance, Preamble};
use logdef_wire::{Level, Record, Run, Sequence, ThreadNumber};
use std::fmt;
use std::path::Path;

/// A log and how it was made.
pub struct Made {
    pub bytes: Vec<u8>,
    pub story: String,
}

const HARMFUL: [&str; 8] = [
    "\x1b]0;owned\x07",
    "line\nfake",
    "=cmd|' /C calc'!A0",
    "level=FATAL message=\"x\"",
    "\u{202e}txt",
    "<script>alert(1)</script>",
    "a\u{9b}31mb",
    "\"},{\"level\":\"FATAL",
];

/// A thread as its writer sees it.
struct Thread {
    run: Run,
    number: u64,
    count: u64,
    dropped: u64,
}

/// Bytes of a chunk.
const CHUNK: usize = 4096;

pub fn log(random: &mut Random) -> Made {
    match random.below(4) {
        0 => of_corpus(random),
        1 => side_by_side(random),
        _ => in_chunks(random),
    }
}

/// A log of the real writer.
fn of_corpus(random: &mut Random) -> Made {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/corpus");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut logs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|end| end == "log"));
    logs.sort();
    let path = logs.swap_remove(random.below(logs.len() as u64) as usize);
    let name = path.file_name().unwrap().display().to_string();
    Made {
        bytes: std::fs::read(&path).unwrap(),
        story: format!("{name} of the corpus"),
    }
}

/// What happens while a log is written.
struct Course {
    threads: u64,
    records: u64,
    steps: bool,
    drops: bool,
    prunes: bool,
}

impl Course {
    fn of(random: &mut Random) -> Course {
        Course {
            threads: 1 + random.below(4),
            records: random.below(150),
            steps: random.once_in(3),
            drops: random.once_in(3),
            prunes: random.once_in(3),
        }
    }

    fn writers(&self, run: Run, random: &mut Random) -> Vec<Thread> {
        let thread = |number| Thread {
            run,
            number,
            count: if self.prunes { random.below(50) } else { 0 },
            dropped: 0,
        };
        (0..self.threads).map(thread).collect()
    }

    /// The next time, and the thread that logs then.
    fn step(&self, time: &mut u64, writers: &mut [Thread], random: &mut Random) -> usize {
        *time += random.below(SECOND);
        if self.steps && random.once_in(30) {
            *time -= (*time - EPOCH).min(random.below(100 * SECOND));
        }
        let thread = random.below(self.threads) as usize;
        if self.drops && random.once_in(20) {
            writers[thread].dropped += 1 + random.below(5);
        }
        thread
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Course {
            threads,
            records,
            steps,
            drops,
            prunes,
        } = self;
        write!(
            f,
            "{records} records of {threads} threads, clock steps: {steps}, drops: {drops}, \
             pruned: {prunes}"
        )
    }
}

fn begin(run: Run, realtime: u64, chunk: Option<u64>) -> Log {
    let mut log = Log::default();
    log.record(&Record::Preamble(Preamble {
        magic: Some(MAGIC),
        path: Some(b"/nowhere/bin/<example>"),
        version: Some(1),
        run: Some(run),
        pid: Some(77),
        realtime: Some(realtime),
        monotonic: Some(5 * SECOND),
        chunk,
        ..Preamble::default()
    }));
    for site in 0..3 {
        let format = ["accepted %s:%d", "took %.3f ms", "cannot open %s: %m"];
        log.site(run, site, "src/<net>.c", format[site as usize].as_bytes());
    }
    log
}

/// As the append sink writes it: the records of several runs as they come.
fn side_by_side(random: &mut Random) -> Made {
    let course = Course::of(random);
    let runs = 1 + random.below(3);
    let mut bytes = Vec::new();
    for run in 0..runs {
        let mut time = EPOCH + run * 1000 * SECOND;
        let run = Run(RUN.0 + run);
        let mut log = begin(run, time, None);
        let mut writers = course.writers(run, random);
        for writer in &writers {
            log.thread(run, writer.number, HARMFUL[random.below(8) as usize]);
        }
        for _ in 0..course.records {
            let thread = course.step(&mut time, &mut writers, random);
            if random.once_in(40) {
                log.note(run, time, HARMFUL[random.below(8) as usize].as_bytes());
            }
            write(&mut log, &mut writers[thread], time, random);
        }
        bytes.extend_from_slice(&log.bytes);
    }
    Made {
        bytes,
        story: format!("{runs} runs side by side, {course}"),
    }
}

/// As the mapped sink writes it: chunks of threads, each of which can be read alone.
fn in_chunks(random: &mut Random) -> Made {
    let course = Course::of(random);
    let mut time = EPOCH;
    let mut writers = course.writers(RUN, random);
    let mut bytes: Vec<u8> = Vec::new();
    // Of each thread: its chunk, and where that stands.
    let mut chunks: Vec<Option<(usize, Log)>> = (0..course.threads).map(|_| None).collect();
    let store = |bytes: &mut Vec<u8>, (at, log): &(usize, Log)| {
        bytes[*at..at + log.bytes.len()].copy_from_slice(&log.bytes);
    };
    for _ in 0..course.records {
        let thread = course.step(&mut time, &mut writers, random);
        if let Some(full) = chunks[thread].take_if(|(_, log)| log.bytes.len() > CHUNK - 300) {
            store(&mut bytes, &full);
        }
        let (_, log) = chunks[thread].get_or_insert_with(|| {
            let mut log = begin(RUN, time, Some(CHUNK as u64));
            log.thread(RUN, thread as u64, HARMFUL[thread]);
            bytes.resize(bytes.len() + CHUNK, 0);
            (bytes.len() - CHUNK, log)
        });
        write(log, &mut writers[thread], time, random);
    }
    chunks
        .iter()
        .flatten()
        .for_each(|chunk| store(&mut bytes, chunk));
    if bytes.is_empty() {
        bytes = begin(RUN, time, None).bytes;
    }
    Made {
        bytes,
        story: format!("chunks, {course}"),
    }
}

fn write(log: &mut Log, writer: &mut Thread, time: u64, random: &mut Random) {
    let count = writer.count + writer.dropped;
    let dropped = std::mem::take(&mut writer.dropped);
    writer.count = count + 1;
    while log.counts.len() <= writer.number as usize {
        log.counts.push(0);
    }
    if dropped > 0 {
        let text = HARMFUL[random.below(8) as usize];
        log.record(&Record::Data(Data {
            front: Glance {
                run: Some(writer.run),
                level: Some(Level::WARN),
                sequence: Some(Sequence::new(ThreadNumber(writer.number), count)),
                time: Some(time),
                ..Glance::default()
            },
            format_text: Some(text.as_bytes()),
            dropped: Some(dropped),
            ..Data::default()
        }));
        log.counts[writer.number as usize] = count + 1;
        return;
    }
    log.counts[writer.number as usize] = count;
    let accepted = Site {
        number: 0,
        line: 10,
        level: Level::INFO,
    };
    match random.below(3) {
        0 => log.data(writer.run, writer.number, time, &TOOK, |args| {
            args.float(time as f64).unwrap();
            1
        }),
        1 => log.data(writer.run, writer.number, time, &FAILED, |args| {
            args.raw(HARMFUL[time as usize % 8].as_bytes()).unwrap();
            args.int(2).unwrap();
            2
        }),
        _ => log.data(writer.run, writer.number, time, &accepted, |args| {
            args.raw(HARMFUL[time as usize % 8].as_bytes()).unwrap();
            args.uint(time).unwrap();
            2
        }),
    };
}

/// A time as the command line takes it.
pub fn rfc3339(time: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(time.into()).unwrap();
    format!("{time:.9}")
}
