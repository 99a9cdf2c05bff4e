//! Questions about some times of a long log: the answer is that of the whole log, and chunks of other times are
//! not read. Where the heads of chunks do not say enough, or something is missing, all of the log is.

use super::ask;
use logdef_wire::record::{Data, Glance, Preamble, StringLogdef, ThreadLogdef};
use logdef_wire::{Array, Level, Magic, Record, Run, Sequence, Svma, ThreadNumber, frame};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use tempfile::TempDir;

const CHUNK: usize = 4096;
const THREADS: usize = 3;
/// 2026-11-21 08:00:00 UTC.
const START: u64 = 1_795_248_000_000_000_000;
/// Nanoseconds between two records.
const STEP: u64 = 500_000_000;
const RECORDS: u64 = 6000;
const MAGIC: Magic = Magic(0xabc);
const RUN: Run = Run(0x5eed);

/// A log of three threads that take turns, in chunks.
#[derive(Default)]
struct Long {
    file: Vec<u8>,
    /// The chunk that each thread fills, and where it will stand.
    chunks: [(usize, Vec<u8>); THREADS],
    /// Where chunks stand, and the number of the first record in each.
    places: Vec<(usize, u64)>,
}

impl Long {
    /// `time` says when a record was logged, in steps; `forgets` of which its chunk has no format.
    fn of(time: impl Fn(u64) -> u64, forgets: impl Fn(u64) -> bool) -> Long {
        let mut long = Long::default();
        for number in 0..RECORDS {
            let thread = (number % 7 % THREADS as u64) as usize;
            long.log(thread, number, START + time(number) * STEP, forgets(number));
        }
        (0..THREADS).for_each(|thread| long.end_chunk(thread));
        long
    }

    fn log(&mut self, thread: usize, number: u64, time: u64, is_forgotten: bool) {
        let place = ThreadNumber(thread as u64);
        let count = (0..number).filter(|it| (it % 7 % THREADS as u64) as usize == thread);
        if self.chunks[thread].1.len() + 512 > CHUNK {
            self.end_chunk(thread);
        }
        if self.chunks[thread].1.is_empty() {
            self.places.push((self.file.len(), number));
            self.begin_chunk(thread, is_forgotten);
        }
        let object = [0xcd, (number >> 8) as u8, number as u8];
        push(
            &mut self.chunks[thread].1,
            &Record::Data(Data {
                front: Glance {
                    magic: Some(MAGIC),
                    file: Some(Svma(0x2000)),
                    line: Some(7),
                    level: Some(if number.is_multiple_of(10) {
                        Level::ERROR
                    } else {
                        Level::INFO
                    }),
                    format: Some(Svma(0x3000)),
                    run: Some(RUN),
                    sequence: Some(Sequence::new(place, count.count() as u64)),
                    time: Some(time),
                    ..Glance::default()
                },
                args: Array::from_objects(1, &object).ok(),
                ..Data::default()
            }),
        );
    }

    fn begin_chunk(&mut self, thread: usize, is_forgotten: bool) {
        let chunk = &mut self.chunks[thread];
        chunk.0 = self.file.len();
        self.file.resize(chunk.0 + CHUNK, 0);
        let chunk = &mut chunk.1;
        let preamble = Preamble {
            magic: Some(MAGIC),
            version: Some(1),
            run: Some(RUN),
            realtime: Some(START),
            chunk: Some(CHUNK as u64),
            ..Preamble::default()
        };
        push(chunk, &Record::Preamble(preamble));
        let logdef = ThreadLogdef {
            run: Some(RUN),
            tid: Some(4100 + thread as u64),
            number: Some(ThreadNumber(thread as u64)),
            ..ThreadLogdef::default()
        };
        push(chunk, &Record::ThreadLogdef(logdef));
        for (address, string) in [(0x2000, "long.c"), (0x3000, "request %d")] {
            if is_forgotten && address == 0x3000 {
                continue;
            }
            let logdef = StringLogdef {
                magic: Some(MAGIC),
                address: Some(Svma(address)),
                string: Some(string.as_bytes()),
                run: Some(RUN),
                ..StringLogdef::default()
            };
            push(chunk, &Record::StringLogdef(logdef));
        }
    }

    fn end_chunk(&mut self, thread: usize) {
        let (place, chunk) = &mut self.chunks[thread];
        self.file[*place..][..chunk.len()].copy_from_slice(chunk);
        chunk.clear();
    }

    /// Destroys bytes in the middle of chunks whose first record is among some.
    fn damage(&mut self, first: Range<u64>) -> usize {
        let hit: Vec<_> = self
            .places
            .iter()
            .filter(|(_, number)| first.contains(number))
            .collect();
        for (place, _) in &hit {
            self.file[place + CHUNK / 2..][..40]
                .iter_mut()
                .for_each(|byte| *byte ^= 0x5a);
        }
        hit.len()
    }

    fn write(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.log");
        fs::write(&path, &self.file).unwrap();
        (folder, path)
    }
}

fn push(chunk: &mut Vec<u8>, record: &Record<'_>) {
    let mut frame = [0; 1024];
    let len = frame::encode(&mut frame, |encoder| record.encode(encoder)).unwrap();
    chunk.extend_from_slice(&frame[..len]);
}

fn steps(number: u64) -> u64 {
    number
}

/// A time, as SQL has it.
fn time(steps: u64) -> String {
    format!("to_timestamp_nanos({})", START + steps * STEP)
}

/// What is asked of some times.
fn question(condition: &str) -> String {
    format!(
        "select time, level_name(level) as l, thread, seq, message from records where {condition} order by time, thread, seq; \
         with e as (select thread, seq from records where {condition} and level >= level('error')) \
         select r.time, r.message, stack(r.backtrace, r.run, r.time) as at from records r join e using (thread, seq) where r.{condition} order by 1, 2"
    )
}

const SOME: [&str; 3] = ["--excerpt-from", "0", "--split=5000"];
const ALL: [&str; 2] = ["--excerpt-from", "1000000000"];

#[test]
fn the_answer_is_that_of_the_whole_log() {
    let (_folder, log) = Long::of(steps, |_| false).write();
    let between = |from, to| format!("time between {} and {}", time(from), time(to));
    for (condition, records) in [
        (between(1000, 1060), 61),
        (between(0, 20), 21),
        (between(5900, 7000), 100),
        (between(3000, 2999), 0),
        (format!("time >= {}", time(5500)), 500),
        (format!("time < {}", time(40)), 40),
        (format!("time = {}", time(4001)), 1),
    ] {
        let question = question(&condition);
        let (whole, said) = ask(&[&log], &question, &ALL);
        assert_eq!(said, "complete\ncomplete\n");
        let rows = whole
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with("time,"));
        assert_eq!(rows.count(), records, "{whole}");
        let (part, said) = ask(&[&log], &question, &SOME);
        assert_eq!(part, whole, "{condition}");
        assert!(
            said.starts_with("complete for times "),
            "{condition}: {said}"
        );
    }
}

#[test]
fn chunks_of_other_times_are_not_read() {
    let mut long = Long::of(steps, |_| false);
    assert!(long.damage(1500..5000) > 50);
    let (_folder, log) = long.write();
    let before = question(&format!("time between {} and {}", time(900), time(1000)));
    let (part, said) = ask(&[&log], &before, &SOME);
    assert!(
        said.starts_with("complete for times 2026-11-21T08:07:30Z to 2026-11-21T08:08:20Z"),
        "{said}"
    );
    let (whole, said) = ask(&[&log], &before, &ALL);
    assert!(said.starts_with("not complete: "), "{said}");
    assert_eq!(part, whole);
}

#[test]
fn all_is_read_where_a_part_does_not_say_enough() {
    let mut damaged = Long::of(steps, |_| false);
    assert!(damaged.damage(2000..2200) > 1);
    // A clock that is set back between chunks, by hours.
    let set_back = Long::of(
        |number| {
            if number > 3000 {
                number - 2500
            } else {
                number + 500
            }
        },
        |_| false,
    );
    let forgotten = Long::of(steps, |number| number > 1800);
    let mut cut = Long::of(steps, |_| false);
    cut.file.drain(CHUNK * 20..CHUNK * 21 + 5);
    for long in [damaged, set_back, forgotten, cut] {
        let (_folder, log) = long.write();
        let condition = format!("time between {} and {}", time(2050), time(2100));
        let question = question(&condition);
        let whole = ask(&[&log], &question, &ALL);
        assert!(whole.0.lines().count() > 40, "{}", whole.0);
        assert_eq!(ask(&[&log], &question, &SOME), whole);
    }
    // Not limited, or not everywhere, or of something that only the whole log says.
    let (_folder, log) = Long::of(steps, |_| false).write();
    for question in [
        "select count(*) from records where level > 3".to_owned(),
        format!(
            "select count(*) from records where time > {} or thread = 1",
            time(2000)
        ),
        format!(
            "select (select count(*) from records) as n, count(*) as m from records where time > {}",
            time(5990)
        ),
        format!(
            "select count(*) from records join sites using (site) where time > {}",
            time(5990)
        ),
        format!(
            "select count(*) from \"long.c:7\" where time > {}",
            time(5990)
        ),
    ] {
        let whole = ask(&[&log], &question, &ALL);
        assert_eq!(ask(&[&log], &question, &SOME), whole, "{question}");
        assert_eq!(whole.1, "complete\n");
    }
}

#[test]
fn a_log_and_its_copy_give_each_record_once() {
    let (_one, first) = Long::of(steps, |_| false).write();
    let copy = first.with_file_name("copy.log");
    fs::copy(&first, &copy).unwrap();
    let question = question(&format!("time between {} and {}", time(1000), time(1100)));
    let (whole, _) = ask(&[&first], &question, &ALL);
    let (part, said) = ask(&[&first, &copy], &question, &SOME);
    assert_eq!(part, whole, "{said}");
}
