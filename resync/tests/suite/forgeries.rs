//! Logs whose strings were made by an attacker who has read FORMAT.md, after accidents that
//! happen to files. Nothing that the logger did not write may be shown as if it had, and
//! nothing that it wrote may be left out. Always the same ones: `LOGDEF_FORGERIES` says
//! how many, and `LOGDEF_FORGERIES=70000..80000` which.

mod copied;
mod followed;

use crate::seeds;
use crate::synth::{self, EPOCH, Log, Random};
use logdef_resync::{
    Event, Follow, Input, Item, Items, Merge, MergeOptions, News, NoImages, Options, Place,
    Recovery, Standing, rewrite,
};
use logdef_wire::record::{Data, Glance, Preamble};
use logdef_wire::{Level, Record, Run, Sequence, Tag, ThreadNumber, frame};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Damaged logs of one original.
const SERIES: u64 = 64;

/// What the author of a string knows of the log that it comes to stand in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Knowledge {
    /// The format.
    Format,
    /// The run too, its threads and their counts: the author has read the log so far.
    Run,
}

/// A log with forgeries in its strings.
struct Original {
    run: Run,
    bytes: Vec<u8>,
    /// The frames that the logger wrote.
    written: HashSet<Vec<u8>>,
    /// Another log, of another run: what accidents mix in.
    other: Vec<u8>,
    knowledge: Knowledge,
}

fn framed(body: impl Fn(&mut logdef_wire::msgpack::Encoder<'_>) -> bool) -> Vec<u8> {
    let mut buffer = [0; 512];
    let len = frame::encode(&mut buffer, |encoder| {
        assert!(body(encoder));
        Ok(())
    });
    buffer[..len.unwrap()].to_vec()
}

/// A frame with a fixraw head, as short as can be.
fn short(body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0xc1, 0xce];
    frame.extend(frame::checksum(body).to_be_bytes());
    frame.extend([0xc1, 0xa0 + body.len() as u8]);
    frame.extend(body);
    frame
}

/// A record that was never logged.
fn forged(random: &mut Random, run: Run, knowledge: Knowledge, count: u64) -> Vec<u8> {
    let named = match (knowledge, random.below(3)) {
        (Knowledge::Run, _) => Some(run),
        (_, 0) => None,
        _ => Some(Run(0xbad + random.below(3) as u64)),
    };
    if named.is_none() && random.below(2) == 0 {
        // The shortest that is seen: a level and a text.
        let mut body = vec![0x7f, 0x82, 3, 0x60, 11, 0xa7];
        body.extend(b"PWNED!");
        body.push(b'a' + random.below(26) as u8);
        return short(&body);
    }
    let near = count + random.below(6) as u64;
    // To the second, at best.
    let time = EPOCH + random.below(1_000_000_000) as u64;
    let text = format!("PWNED {}", random.below(1000));
    framed(|encoder| {
        let record = if named != Some(run) && near.is_multiple_of(3) {
            Record::Preamble(Preamble {
                run: named,
                version: Some(1),
                chunk: near.is_multiple_of(2).then_some(4096),
                ..Preamble::default()
            })
        } else {
            Record::Data(Data {
                front: Glance {
                    level: Some(Level::FATAL),
                    run: named,
                    sequence: named.map(|_| Sequence::new(ThreadNumber(near % 2), near)),
                    time: Some(time),
                    ..Glance::default()
                },
                format_text: Some(text.as_bytes()),
                ..Data::default()
            })
        };
        record.encode(encoder).is_ok()
    })
}

/// One that has a newline, so that it may be written with a carriage return before it, and
/// no pattern shows.
fn hidden(random: &mut Random, run: Run, knowledge: Knowledge, count: u64) -> Vec<u8> {
    loop {
        let frame = forged(random, run, knowledge, count);
        if frame[..8].contains(&b'\n') || random.below(2000) == 0 {
            return replaced(&frame, b"\n", b"\r\n");
        }
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend(to);
            rest = after;
        } else {
            out.push(rest[0]);
            rest = &rest[1..];
        }
    }
    out
}

impl Original {
    fn new(series: u64) -> Original {
        let mut random = Random::new(series);
        let run = Run(random.next() | 1);
        let knowledge = if series.is_multiple_of(2) {
            Knowledge::Format
        } else {
            Knowledge::Run
        };
        let mut log = Log::new();
        let is_chunked = random.below(2) == 0;
        let mut counts = [0; 2];
        let mut time = EPOCH;
        let records = 6 + random.below(14);
        log.preamble(run, is_chunked.then_some(4096));
        for record in 0..records {
            let thread = random.below(2);
            let count = counts[thread];
            counts[thread] += 1;
            time += 1_000 + random.below(1_000_000) as u64;
            let text = match random.below(3) {
                0 => attack(&mut random, run, knowledge, count, &log),
                _ => format!("record {record}").into_bytes(),
            };
            log.data(run, thread as u64, count, time, &text);
            if is_chunked && record % 7 == 6 {
                let end = log.bytes.len().next_multiple_of(4096);
                log.zeros(end - log.bytes.len());
                log.preamble(run, Some(4096));
            }
        }
        let written = log.frames.iter().map(|range| &log.bytes[range.clone()]);
        let other = synth::appended(Run(7), 2, 6, series);
        let others = other.frames.iter().map(|range| &other.bytes[range.clone()]);
        Original {
            run,
            written: written.chain(others).map(<[u8]>::to_vec).collect(),
            bytes: log.bytes,
            other: other.bytes,
            knowledge,
        }
    }

    /// The log after one to three accidents.
    fn mutant(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for _ in 0..=random.below(3) {
            if bytes.len() > 64 {
                accident(&mut bytes, &self.other, random);
            }
        }
        bytes
    }

    fn check(&self, seed: u64, bytes: Vec<u8>, tally: &Tally) {
        let inputs = [Input::from_bytes("mutant", bytes)];
        let mut options = Options::default();
        options.cores = 1;
        let recovery = Recovery::with(&inputs, &options, |_| {}).unwrap();
        let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
        let mut shown = HashSet::new();
        let mut is_vouched_for = false;
        let mut is_beheaded = false;
        while let Some(event) = merge.next().unwrap() {
            let Event::Frame(frame) = event else { continue };
            let is_written = self.written.contains(frame.bytes);
            assert_ne!(frame.standing, Standing::Suspect);
            if !is_written && frame.standing == Standing::Sound {
                if self.knowledge == Knowledge::Run {
                    tally.unmarked.fetch_add(1, Ordering::Relaxed);
                } else if self.opens_with_quotations(&inputs[0], frame.place.offset) {
                    is_beheaded = true;
                } else {
                    let story = self.story(&inputs[0]);
                    println!("seed {seed}: {:?}\n{story}", frame.place);
                    tally.seamless.fetch_add(1, Ordering::Relaxed);
                }
                continue;
            }
            if !is_written {
                tally.forged.fetch_add(1, Ordering::Relaxed);
            }
            // The other log's frames vouch for its own run.
            is_vouched_for |= is_written
                && frame.standing == Standing::Sound
                && run_of(frame.body) == Some(self.run);
            shown.insert(frame.bytes.to_vec());
        }
        if is_beheaded {
            println!(
                "seed {seed} opens with quotations\n{}",
                self.story(&inputs[0])
            );
            tally.beheaded.fetch_add(1, Ordering::Relaxed);
        }
        tally
            .withheld
            .fetch_add(recovery.accounts()[0].suspect, Ordering::Relaxed);
        if !is_vouched_for {
            return;
        }
        let mut items = Items::new(&inputs[0]);
        while let Some(item) = items.next().unwrap() {
            let Item::Frame(frame) = item else { continue };
            let mut scratch = Vec::new();
            let Ok(Record::Data(data)) = logdef_resync::decode(frame.body, &mut scratch) else {
                continue;
            };
            if data.run == Some(self.run) && self.written.contains(frame.bytes) {
                assert!(
                    shown.contains(frame.bytes),
                    "a whole record was left out at {}",
                    frame.offset
                );
            }
        }
    }
}

/// The run that a data record or a preamble names.
fn run_of(body: &[u8]) -> Option<Run> {
    let mut scratch = Vec::new();
    match logdef_resync::decode(body, &mut scratch) {
        Ok(Record::Data(data)) => data.run,
        Ok(Record::Preamble(preamble)) => preamble.run,
        _ => None,
    }
}

impl Original {
    /// Whether nothing but whole quotations stands up to the end of the frame at a place: the log was
    /// cut off where the first of them begins, and no byte of the file says so.
    fn opens_with_quotations(&self, input: &Input, place: u64) -> bool {
        let mut items = Items::new(input);
        while let Some(Item::Frame(frame)) = items.next().unwrap() {
            if self.written.contains(frame.bytes) {
                return false;
            }
            if frame.offset == place {
                return true;
            }
        }
        false
    }

    /// What stands where, to find the cause of a failure.
    fn story(&self, input: &Input) -> String {
        let mut story = String::new();
        let mut items = Items::new(input);
        while let Some(item) = items.next().unwrap() {
            let line = match item {
                Item::Gap(gap) => format!("{} {} {}\n", gap.offset, gap.len, gap.kind),
                Item::Frame(frame) => {
                    let forged = !self.written.contains(frame.bytes);
                    let run = run_of(frame.body);
                    let own = if run == Some(self.run) { "own" } else { "" };
                    let (offset, len, tag) = (frame.offset, frame.bytes.len(), frame.tag().0);
                    let forged = if forged { "FORGED" } else { "" };
                    format!("{offset} {len} {tag} {run:?} {own} {forged}\n")
                }
                other => format!("{other:?}\n"),
            };
            story.push_str(&line);
        }
        story
    }
}

/// What a hostile author sends.
fn attack(random: &mut Random, run: Run, knowledge: Knowledge, count: u64, log: &Log) -> Vec<u8> {
    let times = 1 + random.below(30);
    let text = b"x".repeat(random.below(3) * 5);
    match random.below(4) {
        0 | 1 => {
            // Frames that become whole when carriage returns are taken out.
            let hidden = (0..times.min(8)).flat_map(|_| hidden(random, run, knowledge, count));
            text.into_iter().chain(hidden).collect()
        }
        2 => {
            // The heads, or the bodies, of frames that a cut joins.
            let frame = forged(&mut Random::new(7), run, knowledge, count);
            let (head, body) = frame.split_at(6);
            match random.below(2) {
                0 => head.repeat(times),
                _ => body.repeat(times),
            }
        }
        _ => {
            // What was read of the log, with other counts and without.
            let range = log.frames[random.below(log.frames.len())].clone();
            let quoted = &log.bytes[range];
            replaced(quoted, b"\n", b"\r\n").repeat(1 + times / 8)
        }
    }
}

fn range(random: &mut Random, len: usize, most: usize) -> Range<usize> {
    let start = random.below(len);
    start..len.min(start + 1 + random.below(most))
}

fn accident(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let len = bytes.len();
    match random.below(12) {
        0..=3 => *bytes = replaced(bytes, b"\r\n", b"\n"),
        4 | 5 => {
            // A sector of this log, elsewhere.
            let size = [64, 512][random.below(2)];
            let from = random.below(len) / size * size;
            let to = random.below(len) / size * size;
            let sector = bytes[from..len.min(from + size)].to_vec();
            let end = len.min(to + sector.len());
            bytes[to..end].copy_from_slice(&sector[..end - to]);
        }
        6 | 7 => {
            let most = [40, 400, 4000][random.below(3)];
            bytes.drain(range(random, len, most));
        }
        8 => {
            let at = random.below(len);
            let from = random.below(other.len());
            bytes.splice(at..at, other[from..].iter().copied());
        }
        9 => {
            let part = bytes[range(random, len, 600)].to_vec();
            let at = random.below(len);
            bytes.splice(at..at, part);
        }
        10 => {
            let at = random.below(len);
            bytes[at] ^= 1 << random.below(8);
        }
        _ => {
            let at = range(random, len, 64);
            bytes[at].fill(0);
        }
    }
}

#[derive(Default)]
struct Tally {
    forged: AtomicU64,
    /// Forged records shown without a mark, of authors who can read the log.
    unmarked: AtomicU64,
    /// Those of all others. Where what was deleted began and ended exactly where frames and
    /// quotations do, no byte of damage is left to see, but no preamble names their runs.
    seamless: AtomicU64,
    /// Logs of theirs whose first bytes are their quotations, shown as what the logger wrote.
    beheaded: AtomicU64,
    withheld: AtomicU64,
}

#[test]
fn no_string_becomes_a_record() {
    let seeds = seeds::wanted("LOGDEF_FORGERIES", 20_000);
    let tally = Tally::default();
    let failed = seeds::failures(&seeds, SERIES, Original::new, |original, seed| {
        original.check(seed, original.mutant(&mut Random::new(seed)), &tally);
    });
    let unmarked = tally.unmarked.into_inner();
    println!(
        "{} forged records marked, {unmarked} not, {} frames withheld",
        tally.forged.into_inner(),
        tally.withheld.load(Ordering::Relaxed)
    );
    assert!(failed.is_empty(), "{} seeds: {failed:?}", failed.len());
    assert_eq!(tally.seamless.into_inner(), 0);
    // One was seen, of seed 6,311,299.
    let beheaded = tally.beheaded.into_inner();
    assert!(
        beheaded <= 1 + (seeds.end - seeds.start) / 5_000_000,
        "{beheaded}"
    );
    // Who can read the log may hit the very count of a thread that ends there.
    let half = (seeds.end - seeds.start) / 2;
    assert!(unmarked <= 2 + half / 5_000, "{unmarked} of {half}");
    // The attacks are attacks.
    let withheld = tally.withheld.into_inner();
    assert!(withheld > (seeds.end - seeds.start) / 50, "{withheld}");
}

/// What remains of it, as FORMAT.md says.
#[test]
fn a_log_cut_off_where_a_quotation_begins_opens_with_it() {
    let seed = 6_311_299;
    let tally = Tally::default();
    let original = Original::new(seed / SERIES);
    original.check(seed, original.mutant(&mut Random::new(seed)), &tally);
    assert_eq!(tally.beheaded.into_inner(), 1);
    assert_eq!(tally.seamless.into_inner(), 0);
}
