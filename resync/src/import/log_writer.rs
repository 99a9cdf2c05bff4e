//! Writes a log from records that were made elsewhere: gives runs, threads and
//! strings their numbers, and writes each logdef before the record that first needs
//! it. Knows nothing of the format that the records come from.
//!
//! **Numbers.** An imported string was in no image, so its address is a hash of the
//! string, and the magic a hash of the image's name: wherever one pair occurs, it
//! means the same string. The run is a hash of where the records come from. So one
//! source gives the same log each time, and logs of many sources may be joined.
//!
//! **Memory.** Tables are bounded; what finds no room is written into the records.

use super::addresses::{Addresses, hash};
use super::entry::Entry;
use crate::read::framing;
use crate::read::input::Error;
use crate::recover::losses::Losses;
use crate::recover::standing::Standing;
use crate::rewrite::marker::Output;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::{BacktraceLogdef, Data, Glance, Preamble, StringLogdef, ThreadLogdef};
use logdef_wire::{Array, Description, Magic, Map, Run, Sequence, Svma, Tag, ThreadNumber, frame};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::io::{self, Write};

/// Threads that can be distinguished; when there are more, all begin new runs.
const THREADS: u64 = 1 << 20;
/// How many logdefs are remembered as written; more are written again.
const REMEMBERED: usize = 1 << 20;

/// Where records come from: runs of different sources differ in it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Origin(pub(super) u64);

impl Origin {
    /// The origin with these bytes: the source itself, or its first few thousand bytes, if
    /// they hold a time.
    pub fn of(source: &[u8]) -> Origin {
        Origin(hash(&[source]))
    }
}

/// How much was written, and what the log lacks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Written {
    /// Data records, without the logdefs that they need.
    pub records: u64,
    /// Bytes of all frames, those of logdefs included.
    pub bytes: u64,
    /// What the log lacks, since its source does: it is [clean](Losses::is_clean) if that is.
    pub lost: Losses,
}

/// Writes a log.
///
/// ```
/// use logdef_resync::import::{Entry, LogWriter, Origin};
/// use logdef_wire::{Level, Value};
///
/// let mut log = LogWriter::new(Vec::new(), Origin::of(b"boot 7"));
/// log.write(&Entry {
///     image: b"core/network",
///     pid: Some(120),
///     tid: Some(121),
///     time: Some(1_800_000_000_000_000_000),
///     level: Some(Level::INFO),
///     file: Some(b"dns.cc"),
///     line: Some(17),
///     format: b"%s",
///     args: &[Value::Raw(b"resolved")],
///     keys: &[(b"tries", Value::Uint(2))],
///     ..Entry::default()
/// })?;
/// let (log, written) = log.finish()?;
/// assert_eq!((written.records, written.bytes), (1, log.len() as u64));
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Debug)]
pub struct LogWriter<W> {
    out: Output<W>,
    pub(super) origin: Origin,
    /// Times are of the monotonic clock: a run says so by beginning at one time of both.
    is_monotonic: bool,
    /// Counts how often there were too many threads.
    epoch: u64,
    /// Threads that were given numbers.
    thread_count: u64,
    /// The number of the next thread of a run.
    next_thread: HashMap<Run, u64>,
    runs: HashMap<Option<u64>, Run>,
    introduced: HashSet<(Run, Magic)>,
    threads: HashMap<(Run, Option<u64>), Thread>,
    addresses: Addresses,
    logged: HashSet<(Magic, Svma)>,
    /// Backtrace logdefs, by their hashes.
    backtraces: HashSet<u64>,
    args: Vec<u8>,
    keys: Vec<u8>,
    buffer: Vec<u8>,
    records: u64,
    /// What the source says that it lacks.
    pub(super) lost: Losses,
    /// Records that entries say were dropped before them, and entries that are suspect.
    dropped: u64,
    suspect: u64,
}

#[derive(Debug)]
struct Thread {
    number: ThreadNumber,
    name: Vec<u8>,
    next: u64,
}

impl<W: Write> LogWriter<W> {
    /// A log of records that come from `origin`.
    pub fn new(out: W, origin: Origin) -> LogWriter<W> {
        LogWriter {
            out: Output::new(out),
            origin,
            is_monotonic: false,
            epoch: 0,
            thread_count: 0,
            next_thread: HashMap::new(),
            runs: HashMap::new(),
            introduced: HashSet::new(),
            threads: HashMap::new(),
            addresses: Addresses::default(),
            logged: HashSet::new(),
            backtraces: HashSet::new(),
            args: Vec::new(),
            keys: Vec::new(),
            buffer: vec![0; 1 << 10],
            records: 0,
            lost: Losses::default(),
            dropped: 0,
            suspect: 0,
        }
    }

    /// Takes times to be of the monotonic clock, and not since the Unix epoch.
    pub fn monotonic(self) -> LogWriter<W> {
        LogWriter {
            is_monotonic: true,
            ..self
        }
    }

    /// Writes a record, and first the logdefs that it needs.
    pub fn write(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        if self.thread_count >= THREADS {
            self.epoch += 1;
            self.thread_count = 0;
            self.next_thread.clear();
            self.runs.clear();
            self.threads.clear();
        }
        let magic = Magic(hash(&[b"image", entry.image]));
        let run = self.run(magic, entry)?;
        let sequence = self.thread(run, entry)?;
        let format = self.string(magic, entry.format, entry.description)?;
        let file = match entry.file {
            Some(file) => self.string(magic, file, b"")?,
            None => None,
        };
        for address in entry.addresses {
            self.backtrace(&BacktraceLogdef {
                run: Some(run),
                magic: Some(magic),
                ..*address
            })?;
        }
        let mut args = std::mem::take(&mut self.args);
        let mut keys = std::mem::take(&mut self.keys);
        encode_all(&mut args, |encoder| {
            entry
                .args
                .iter()
                .try_for_each(|arg| framing::value(encoder, *arg))
        })?;
        encode_all(&mut keys, |encoder| {
            entry.keys.iter().try_for_each(|(key, of)| {
                encoder.raw(key)?;
                framing::value(encoder, *of)
            })
        })?;
        let data = Data {
            front: Glance {
                magic: Some(magic),
                file,
                line: entry.line,
                level: entry.level,
                format,
                run: Some(run),
                sequence: Some(sequence),
                time: entry.time,
                ..Glance::default()
            },
            args: match entry.args.len() {
                0 => None,
                len => Array::from_objects(len as u32, &args).ok(),
            },
            format_text: format.is_none().then_some(entry.format),
            file_text: entry.file.filter(|_| file.is_none()),
            dropped: (entry.dropped > 0).then_some(entry.dropped),
            kind: entry.kind,
            backtrace: entry.backtrace,
            keys: match entry.keys.len() {
                0 => None,
                len => Map::from_objects(len as u32, &keys).ok(),
            },
            ..Data::default()
        };
        let len = framing::encode(&mut self.buffer, |encoder| data.encode(encoder))?;
        let frame = &self.buffer[..len];
        self.out.write(frame, Tag::DATA, entry.standing)?;
        self.args = args;
        self.keys = keys;
        self.records += 1;
        self.dropped = self.dropped.saturating_add(entry.dropped);
        self.suspect += u64::from(entry.standing == Standing::Suspect);
        Ok(())
    }

    /// Data records that were written so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Gives the output back.
    pub fn finish(mut self) -> Result<(W, Written), Error> {
        self.note_losses()?;
        let records = self.records;
        let lost = Losses {
            dropped: self.lost.dropped.saturating_add(self.dropped),
            rejected: self.lost.rejected.saturating_add(self.suspect),
            ..self.lost
        };
        let (out, written) = self.out.finish()?;
        let bytes = written.bytes;
        let written = Written {
            records,
            bytes,
            lost,
        };
        Ok((out, written))
    }

    /// The run of an entry's process, after its preamble.
    fn run(&mut self, magic: Magic, entry: &Entry<'_>) -> Result<Run, Error> {
        let (origin, epoch) = (self.origin.0.to_be_bytes(), self.epoch.to_be_bytes());
        let run = *self.runs.entry(entry.pid).or_insert_with(|| {
            let pid = entry.pid.unwrap_or(u64::MAX).to_be_bytes();
            Run(hash(&[b"run", &origin, &epoch, &pid]))
        });
        if is_news(&mut self.introduced, (run, magic)) {
            let preamble = Preamble {
                magic: Some(magic),
                path: Some(entry.image).filter(|image| !image.is_empty()),
                version: Some(1),
                run: Some(run),
                pid: entry.pid.filter(|_| !entry.is_pid_made_up),
                realtime: entry.time,
                monotonic: entry.time.filter(|_| self.is_monotonic),
                ..Preamble::default()
            };
            self.frame(|encoder| preamble.encode(encoder))?;
        }
        Ok(run)
    }

    /// The place of an entry in its thread, after the thread's logdef.
    fn thread(&mut self, run: Run, entry: &Entry<'_>) -> Result<Sequence, Error> {
        let key = (run, entry.tid);
        let count = |thread: &Thread| thread.next.saturating_add(entry.dropped);
        let known = self.threads.get(&key);
        // A thread that has used up its counts continues under another number.
        let mut is_news = known.is_none_or(|thread| count(thread) >= 1 << Sequence::COUNT_BITS);
        if is_news {
            let number = self.next_thread.entry(run).or_default();
            let thread = Thread {
                number: ThreadNumber(*number),
                name: Vec::new(),
                next: 0,
            };
            *number += 1;
            self.thread_count += 1;
            self.threads.insert(key, thread);
        }
        let Some(thread) = self.threads.get_mut(&key) else {
            unreachable!("the thread was put there");
        };
        if let Some(name) = entry.thread_name
            && thread.name != name
        {
            is_news = true;
            thread.name = name.to_vec();
        }
        let number = thread.number;
        let count = count(thread) & ((1 << Sequence::COUNT_BITS) - 1);
        thread.next = count + 1;
        if is_news {
            let logdef = ThreadLogdef {
                run: Some(run),
                tid: entry.tid.filter(|_| !entry.is_tid_made_up),
                name: entry.thread_name,
                number: Some(number),
                ..ThreadLogdef::default()
            };
            self.frame(|encoder| logdef.encode(encoder))?;
        }
        Ok(Sequence::new(number, count))
    }

    /// The address of a string, after its logdef; `None` if it must stand in the record itself.
    fn string(
        &mut self,
        magic: Magic,
        string: &[u8],
        description: &[u8],
    ) -> Result<Option<Svma>, Error> {
        let Some(address) = self.addresses.of(string, description) else {
            return Ok(None);
        };
        if is_news(&mut self.logged, (magic, address)) {
            let is_template = Description::of(description).grammar().is_template();
            let logdef = StringLogdef {
                magic: Some(magic),
                address: Some(address),
                string: Some(string).filter(|_| !is_template),
                template: Some(string).filter(|_| is_template),
                description: Some(description).filter(|description| !description.is_empty()),
                run: None,
            };
            self.frame(|encoder| logdef.encode(encoder))?;
        }
        Ok(Some(address))
    }

    /// Writes a backtrace logdef, once for all records that need it.
    fn backtrace(&mut self, logdef: &BacktraceLogdef<'_>) -> Result<(), Error> {
        let mut body = Vec::new();
        encode_all(&mut body, |encoder| logdef.encode(encoder))?;
        if is_news(&mut self.backtraces, hash(&[&body])) {
            self.frame(|encoder| logdef.encode(encoder))?;
        }
        Ok(())
    }

    pub(super) fn frame(
        &mut self,
        body: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
    ) -> Result<(), Error> {
        self.out.record(body)
    }
}

/// Whether `key` is not among those remembered; it is now.
fn is_news<K: Eq + Hash>(remembered: &mut HashSet<K>, key: K) -> bool {
    if remembered.len() >= REMEMBERED {
        remembered.clear();
    }
    remembered.insert(key)
}

/// Replaces what `buffer` holds by the objects that `write` writes.
fn encode_all(
    buffer: &mut Vec<u8>,
    write: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
) -> Result<(), Error> {
    buffer.resize(buffer.capacity().max(256), 0);
    let len = loop {
        let mut encoder = Encoder::new(buffer);
        match write(&mut encoder) {
            Ok(()) => break encoder.position(),
            Err(OutOfRoom) if buffer.len() < frame::MAX_BODY => {
                buffer.resize(buffer.len() * 2, 0);
            }
            Err(OutOfRoom) => return Err(Error::output(io::ErrorKind::FileTooLarge.into())),
        }
    };
    buffer.truncate(len);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::addresses::LONGEST_STRING;
    use super::super::entry::literal;
    use super::*;
    use crate::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
    use logdef_wire::record::Kind;
    use logdef_wire::{Level, Record, Value};

    fn written(entries: &[Entry<'_>]) -> Vec<u8> {
        let mut log = LogWriter::new(Vec::new(), Origin::of(b"test"));
        for entry in entries {
            log.write(entry).unwrap();
        }
        log.finish().unwrap().0
    }

    /// Each record with its message, in the order of a merge; nothing may be lost.
    fn read(log: Vec<u8>, mut with: impl FnMut(&Data<'_>, &crate::Resolved<'_>, &str)) -> u64 {
        let inputs = [Input::from_bytes("log", log)];
        let recovery = Recovery::of(&inputs).unwrap();
        assert_eq!(recovery.losses().damaged, 0, "{:?}", recovery.accounts());
        let mut resolver = Resolver::without_images(recovery.tables());
        let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
        let mut records = 0;
        while let Some(event) = merge.next().unwrap() {
            let Event::Frame(frame) = event else { continue };
            let Some(Record::Data(data)) = frame.record() else {
                continue;
            };
            let resolved = resolver.resolve(&data, frame.place);
            let mut message = Vec::new();
            resolved.message(&mut message);
            with(&data, &resolved, std::str::from_utf8(&message).unwrap());
            records += 1;
        }
        records
    }

    #[test]
    fn an_entry_is_read_back_with_all_it_says() {
        let nested = [0x01, 0xa1, b'x'];
        let entry = Entry {
            image: b"/pkg/bin/dns",
            pid: Some(7),
            tid: Some(9),
            thread_name: Some(b"main"),
            time: Some(1_000),
            level: Some(Level(0x31)),
            file: Some(b"dns.cc"),
            line: Some(12),
            format: b"%s is %d",
            args: &[Value::Raw(b"load"), Value::Int(-3)],
            keys: &[
                (b"flag", Value::Bool(true)),
                (
                    b"list",
                    Value::Array(Array::from_objects(2, &nested).unwrap()),
                ),
            ],
            kind: Some(Kind::COUNTER),
            ..Entry::default()
        };
        let records = read(written(&[entry]), |data, resolved, message| {
            assert_eq!(message, "load is -3");
            assert_eq!(resolved.file.bytes, Some(&b"dns.cc"[..]));
            assert_eq!(resolved.image.unwrap().path, b"/pkg/bin/dns");
            assert_eq!(resolved.run.unwrap().pid, Some(7));
            let thread = resolved.thread.unwrap();
            assert_eq!(
                (thread.tid, thread.name.as_deref()),
                (Some(9), Some(&b"main"[..]))
            );
            assert_eq!((data.line, data.time), (Some(12), Some(1_000)));
            assert_eq!(data.level, Some(Level(0x31)));
            assert_eq!(data.kind, Some(Kind::COUNTER));
            let keys: Vec<_> = data.keys.unwrap().iter().collect();
            assert_eq!(keys[0], (Value::Raw(b"flag"), Value::Bool(true)));
            let Value::Array(list) = keys[1].1 else {
                panic!()
            };
            assert_eq!(list.objects(), nested);
        });
        assert_eq!(records, 1);
    }

    #[test]
    fn logdefs_are_written_once_and_names_again_when_they_change() {
        let entry = |name: &'static [u8], time| Entry {
            image: b"a",
            tid: Some(1),
            thread_name: Some(name),
            time: Some(time),
            format: b"tick",
            ..Entry::default()
        };
        let log = written(&[entry(b"one", 1), entry(b"one", 2), entry(b"two", 3)]);
        let inputs = [Input::from_bytes("log", log.clone())];
        let recovery = Recovery::of(&inputs).unwrap();
        let records = recovery.accounts()[0].records;
        // Tags: preambles, string logdefs, backtrace logdefs, thread logdefs.
        assert_eq!(records[..4], [1, 1, 0, 2]);
        let mut names = Vec::new();
        read(log, |_, resolved, _| {
            names.push(resolved.thread.unwrap().name.clone().unwrap());
        });
        assert_eq!(names, [b"one", b"one", b"two"]);
    }

    #[test]
    fn a_loss_that_the_source_reports_stays_one() {
        let entry = |time, dropped| Entry {
            time: Some(time),
            format: b"x",
            dropped,
            ..Entry::default()
        };
        let log = written(&[entry(1, 0), entry(2, 5), entry(3, u64::MAX), entry(4, 0)]);
        let mut dropped = Vec::new();
        read(log, |data, _, _| {
            dropped.push((data.dropped, data.sequence.unwrap().count()));
        });
        assert_eq!(dropped[1], (Some(5), 6));
        assert_eq!(dropped[2].0, Some(u64::MAX));
        assert_eq!(dropped.len(), 4);
    }

    #[test]
    fn a_log_of_a_source_that_is_not_clean_is_not_clean_either() {
        let entry = Entry {
            time: Some(1),
            format: b"x",
            dropped: 5,
            ..Entry::default()
        };
        let lost = |dropped| Losses {
            missing: 3,
            dropped,
            damaged: 7,
            rejected: 1,
            broken_off: 2,
            torn: 9,
            ..Losses::default()
        };
        let most = u64::MAX >> 8;
        for (dropped, expected) in [(0, 5), (1, 6), (u64::MAX, most + 5)] {
            let mut log = LogWriter::new(Vec::new(), Origin::of(b"test"));
            log.write(&entry).unwrap();
            log.lose(&lost(dropped));
            let inputs = [Input::from_bytes("log", log.finish().unwrap().0)];
            let found = Recovery::of(&inputs).unwrap().losses();
            assert_eq!(
                found,
                Losses {
                    at_least: true,
                    ..lost(expected)
                }
            );
        }
    }

    #[test]
    fn what_the_tables_cannot_hold_stands_in_the_records() {
        let long = vec![b'l'; LONGEST_STRING + 1];
        let entry = Entry {
            format: &long,
            file: Some(&long),
            time: Some(1),
            ..Entry::default()
        };
        let records = read(written(&[entry]), |data, resolved, message| {
            assert_eq!(message.as_bytes(), long);
            assert_eq!(resolved.file.bytes, Some(&long[..]));
            assert_eq!((data.format, data.file), (None, None));
        });
        assert_eq!(records, 1);
    }

    #[test]
    fn a_source_gives_the_same_log_each_time_and_another_source_another_run() {
        let entry = Entry {
            format: b"x",
            time: Some(1),
            ..Entry::default()
        };
        let one = written(&[entry]);
        assert_eq!(one, written(&[entry]));
        let mut other = LogWriter::new(Vec::new(), Origin::of(b"other"));
        other.write(&entry).unwrap();
        let other = other.finish().unwrap().0;
        assert_eq!(read([one.clone(), other].concat(), |_, _, _| {}), 2);
        // The same records twice are one.
        assert_eq!(read([one.clone(), one].concat(), |_, _, _| {}), 1);
    }

    #[test]
    fn a_literal_prints_as_it_stands() {
        let format = literal(b"100 % of 5%d");
        let entry = Entry {
            format: &format,
            time: Some(1),
            ..Entry::default()
        };
        read(written(&[entry]), |_, _, message| {
            assert_eq!(message, "100 % of 5%d");
        });
        assert!(matches!(
            literal(b"plain"),
            std::borrow::Cow::Borrowed(b"plain")
        ));
    }
}
