//! A session that writes a trace: takes records with everything spelled out
//! ([`Plain`]), keeps the tables of each provider, decides which strings and threads
//! are worth a table entry, and hands whole records to any `io::Write`.
//!
//! **References.** A string is spelled out the first time and registered the second
//! time it is seen, so that a message that never comes back costs no table entry. An
//! entry is never replaced: some readers keep the first string that an index stood
//! for. When the 32 767 entries are used up, new strings are spelled out for good.
//! Threads are registered when first seen, as some readers know no other form; from
//! the 256th on they are spelled out.
//!
//! **Memory.** Records are built in one buffer that is reused. A record costs no
//! allocation unless it registers something new. The tables of all providers together hold
//! 32 MiB of strings at most, and each provider takes 32 KiB besides.

use core::fmt;
use core::hash::BuildHasher;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::io;

use super::argument::{Argument, Arguments, MAX_ARGUMENTS};
use super::buffer::Words;
use super::error::WriteError;
use super::layer::{Layers, Plain, Raw};
use super::record::{
    Blob, BlobKind, Event, EventKind, Initialization, KernelObject, Log, Metadata, ObjectKind,
    ProviderId, Record, StringRecord, ThreadRecord,
};
use super::string::{StringIndex, StringRef};
use super::thread::{Koid, ProcessRef, Thread, ThreadIndex, ThreadRef};
use super::time::{TickRate, Ticks};

/// Written out when the buffer holds this many bytes.
const FLUSH_AT: usize = 64 << 10;

/// Longer strings are never registered.
const MAX_REGISTERED_LEN: usize = 4096;
/// Bytes of strings that all providers together register.
const MAX_REGISTERED: usize = 32 << 20;

/// Why a record was not written.
#[derive(Debug)]
pub enum Error {
    /// The format cannot hold it, or forbids it. Nothing of it has been written and
    /// the session continues.
    Refused(WriteError),
    /// The output failed. What it holds may end inside a record.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(e) => e.fmt(f),
            Error::Io(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<WriteError> for Error {
    fn from(e: WriteError) -> Error {
        Error::Refused(e)
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        Error::Io(e)
    }
}

impl From<Error> for io::Error {
    fn from(e: Error) -> io::Error {
        match e {
            Error::Refused(e) => io::Error::new(io::ErrorKind::InvalidInput, e),
            Error::Io(e) => e,
        }
    }
}

/// Writes a trace. Call [`Writer::finish`] when done: what is still in the buffer
/// would be lost otherwise.
///
/// ```
/// use logdef_fuchsia::fxt::{Argument, Event, ProviderId, Thread, TickRate, Writer};
///
/// # fn main() -> Result<(), logdef_fuchsia::fxt::Error> {
/// let mut trace = Writer::new(Vec::new())?;
/// trace.provider(ProviderId(1), "server", TickRate::NANOSECONDS)?;
/// let thread = Thread::new(100, 101);
/// trace.process_name(thread.process, "server")?;
/// trace.thread_name(thread, "worker")?;
/// trace.log(1_000, thread, "listening on port 80")?;
/// let args = [Argument::new("severity", "INFO"), Argument::new("line", 42)];
/// trace.write(Event::instant(2_000, thread, "net", "accepted").args(&args))?;
/// let bytes = trace.finish()?;
/// assert_eq!(bytes[..8], [0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a trace ends with `finish`"]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    /// The arguments of the record at work, encoded.
    scratch: Vec<u8>,
    provider: ProviderId,
    tables: Tables,
    /// The tables of the providers that are not at work.
    others: HashMap<ProviderId, Tables>,
    /// Bytes that `out` has taken.
    written: u64,
    failed: bool,
}

impl<W: io::Write> Writer<W> {
    /// Begins a trace with the magic number. Until the first [`Writer::provider`],
    /// records belong to provider 0 without a name.
    pub fn new(out: W) -> Result<Writer<W>, Error> {
        let mut writer = Writer {
            out,
            buffer: Vec::with_capacity(FLUSH_AT * 2),
            scratch: Vec::new(),
            provider: ProviderId(0),
            tables: Tables {
                room: MAX_REGISTERED,
                ..Tables::default()
            },
            others: HashMap::new(),
            written: 0,
            failed: false,
        };
        writer.write(Metadata::Magic)?;
        Ok(writer)
    }

    /// Names a provider and its tick rate. What follows belongs to it.
    pub fn provider(
        &mut self,
        provider: ProviderId,
        name: &str,
        rate: TickRate,
    ) -> Result<(), Error> {
        self.write(Metadata::ProviderInfo { provider, name })?;
        self.write(Initialization {
            ticks_per_second: rate.get(),
        })
    }

    /// Switches to a provider named before. Writes nothing if it is the current one.
    pub fn select(&mut self, provider: ProviderId) -> Result<(), Error> {
        if provider == self.provider {
            return Ok(());
        }
        self.write(Metadata::ProviderSection { provider })
    }

    /// Gives a process a name.
    pub fn process_name(&mut self, process: Koid, name: &str) -> Result<(), Error> {
        self.register(name)?;
        self.write(KernelObject::<Plain<'_>> {
            kind: ObjectKind::PROCESS,
            koid: process,
            name,
            args: &[],
        })
    }

    /// Gives a thread a name and says which process it belongs to.
    pub fn thread_name(&mut self, thread: Thread, name: &str) -> Result<(), Error> {
        self.register(name)?;
        self.write(KernelObject::<Plain<'_>> {
            kind: ObjectKind::THREAD,
            koid: thread.thread,
            name,
            args: &[Argument::new("process", thread.process)],
        })
    }

    /// Writes a log record. [`MAX_LOG_LEN`](super::MAX_LOG_LEN) bytes always fit.
    pub fn log(
        &mut self,
        time: impl Into<Ticks>,
        thread: Thread,
        message: &str,
    ) -> Result<(), Error> {
        self.write(Log {
            time: time.into(),
            thread,
            message,
        })
    }

    /// Writes a piece of a named stream of bytes.
    pub fn blob(&mut self, name: &str, kind: BlobKind, data: &[u8]) -> Result<(), Error> {
        self.write(Blob { name, kind, data })
    }

    /// Registers a string that is known to come often, if there is room for it.
    pub fn register(&mut self, text: &str) -> Result<(), Error> {
        self.tables.register(&mut self.buffer, text)?;
        self.flush_if_due()
    }

    /// Writes any record: an [`Event`], a [`Log`], a [`KernelObject`]...
    ///
    /// String and thread records are refused, as the session owns the tables; so is a
    /// section of a provider that was never named.
    pub fn write<'a>(&mut self, record: impl Into<Record<Plain<'a>>>) -> Result<(), Error> {
        self.encode(record.into())?;
        self.flush_if_due()
    }

    /// The size of the trace so far in bytes, with what is still in the buffer.
    pub fn bytes_written(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Writes out the buffer.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_out()?;
        Ok(self.out.flush()?)
    }

    /// Writes out the buffer and gives the output back.
    pub fn finish(mut self) -> Result<W, Error> {
        self.flush()?;
        Ok(self.out)
    }

    fn flush_if_due(&mut self) -> Result<(), Error> {
        if self.buffer.len() < FLUSH_AT {
            return Ok(());
        }
        self.write_out()
    }

    fn write_out(&mut self) -> Result<(), Error> {
        if self.failed {
            // How much of the buffer got out is unknown, so nothing may follow it.
            return Err(io::Error::other("an earlier write failed").into());
        }
        self.failed = true;
        self.out.write_all(&self.buffer)?;
        self.failed = false;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn encode(&mut self, record: Record<Plain<'_>>) -> Result<(), WriteError> {
        self.check(&record)?;
        let Writer {
            buffer,
            scratch,
            tables,
            ..
        } = self;
        let mut references = References {
            tables,
            buffer,
            scratch: Some(scratch),
        };
        let raw = record.map(&mut references)?;
        raw.encode(buffer)?;
        if let Record::Metadata(
            Metadata::ProviderInfo { provider, .. } | Metadata::ProviderSection { provider },
        ) = raw
        {
            self.switch(provider);
        }
        Ok(())
    }

    /// Whether the session may write `record`.
    fn check(&self, record: &Record<Plain<'_>>) -> Result<(), WriteError> {
        match record {
            Record::Initialization(init) if init.ticks_per_second == 0 => {
                Err(WriteError::Zero { what: "tick rate" })
            }
            Record::String(_) | Record::Thread(_) => Err(WriteError::Forbidden {
                what: "table entries are the session's own to write",
            }),
            Record::Metadata(Metadata::ProviderSection { provider })
                if *provider != self.provider && !self.others.contains_key(provider) =>
            {
                Err(WriteError::Forbidden {
                    what: "a section of a provider that was never named",
                })
            }
            _ => Ok(()),
        }
    }

    /// Puts the tables of `provider` in the place of those of the last one.
    fn switch(&mut self, provider: ProviderId) {
        if provider == self.provider {
            return;
        }
        let mut next = self.others.remove(&provider).unwrap_or_default();
        next.room = self.tables.room;
        let last = core::mem::replace(&mut self.tables, next);
        self.others.insert(self.provider, last);
        self.provider = provider;
    }
}

/// From what is spelled out to references: registers what is worth a table entry.
struct References<'w, 's> {
    tables: &'w mut Tables,
    /// Takes the records that register something.
    buffer: &'w mut Vec<u8>,
    /// Takes the encoded arguments. `None` after that.
    scratch: Option<&'s mut Vec<u8>>,
}

impl<'a: 's, 's> Layers<Plain<'a>> for References<'_, 's> {
    type To = Raw<'s>;
    type Error = WriteError;

    fn text(&mut self, text: &'a str, _: &'static str) -> Result<StringRef<'s>, WriteError> {
        self.tables.text(self.buffer, text)
    }

    fn spelled(&mut self, text: &'a str, _: &'static str) -> &'s [u8] {
        text.as_bytes()
    }

    fn thread(&mut self, thread: Thread) -> Result<ThreadRef, WriteError> {
        self.tables.thread(self.buffer, thread)
    }

    fn process(&mut self, process: Koid) -> ProcessRef {
        ProcessRef::Inline(process)
    }

    fn time(&mut self, time: Ticks) -> Ticks {
        time
    }

    fn bytes(&mut self, bytes: &'a [u8]) -> &'s [u8] {
        bytes
    }

    fn args(&mut self, args: &'a [Argument<'a, &'a str>]) -> Result<Arguments<'s>, WriteError> {
        let count = WriteError::check("number of arguments", args.len(), MAX_ARGUMENTS as u64)?;
        let Some(scratch) = self.scratch.take() else {
            return Err(WriteError::Forbidden {
                what: "a second list of arguments in a record",
            });
        };
        scratch.clear();
        for arg in args {
            arg.map(|text| self.tables.text(self.buffer, text))?
                .write(&mut Words::continuing(scratch))?;
        }
        Ok(Arguments::encoded(scratch, count as u8))
    }
}

/// What one provider has registered.
#[derive(Debug, Default)]
struct Tables {
    strings: HashMap<Box<str>, StringIndex, RandomState>,
    threads: HashMap<Thread, ThreadIndex, RandomState>,
    seen: Seen,
    /// Bytes of strings that may yet be registered; it goes from provider to provider.
    room: usize,
}

impl Tables {
    /// The reference to use for `text`, registering it if this is not the first time.
    fn text<'t>(
        &mut self,
        buffer: &mut Vec<u8>,
        text: &'t str,
    ) -> Result<StringRef<'t>, WriteError> {
        if text.is_empty() {
            return Ok(StringRef::Empty);
        }
        if let Some(&index) = self.strings.get(text) {
            return Ok(StringRef::Index(index));
        }
        let hash = self.strings.hasher().hash_one(text);
        if self.seen.before(hash) {
            self.register(buffer, text)?;
            if let Some(&index) = self.strings.get(text) {
                return Ok(StringRef::Index(index));
            }
        }
        Ok(StringRef::from(text))
    }

    /// Registers `text` unless it is, the table is full, or it is unsuitable.
    fn register(&mut self, buffer: &mut Vec<u8>, text: &str) -> Result<(), WriteError> {
        let unsuitable = text.is_empty() || text.len() > MAX_REGISTERED_LEN.min(self.room);
        if unsuitable || self.strings.contains_key(text) {
            return Ok(());
        }
        let Some(index) = next_string(self.strings.len()) else {
            return Ok(());
        };
        let record: Record<Raw<'_>> = Record::String(StringRecord {
            index: Some(index),
            text: text.as_bytes(),
        });
        record.encode(buffer)?;
        self.room -= text.len();
        self.strings.insert(text.into(), index);
        Ok(())
    }

    /// The reference to use for `thread`, registering it while there is room.
    fn thread(&mut self, buffer: &mut Vec<u8>, thread: Thread) -> Result<ThreadRef, WriteError> {
        if let Some(&index) = self.threads.get(&thread) {
            return Ok(ThreadRef::Index(index));
        }
        let next = u8::try_from(self.threads.len() + 1).ok();
        let Some(index) = next.and_then(ThreadIndex::new) else {
            return Ok(ThreadRef::Inline(thread));
        };
        let record: Record<Raw<'_>> = Record::Thread(ThreadRecord {
            index: Some(index),
            thread,
        });
        record.encode(buffer)?;
        self.threads.insert(thread, index);
        Ok(ThreadRef::Index(index))
    }
}

/// The index after `used` of them, if there is one.
fn next_string(used: usize) -> Option<StringIndex> {
    StringIndex::new(u16::try_from(used + 1).ok()?)
}

/// Remembers, in a fixed amount of memory, hashes of strings seen lately. It forgets
/// when two fall on one slot; then a string is spelled out once more than needed.
#[derive(Debug, Default)]
struct Seen(Vec<u64>);

impl Seen {
    const SLOTS: usize = 4096;

    /// Whether `hash` was seen before; it has been now.
    fn before(&mut self, hash: u64) -> bool {
        if self.0.is_empty() {
            self.0 = vec![0; Seen::SLOTS];
        }
        let slot = &mut self.0[hash as usize % Seen::SLOTS];
        core::mem::replace(slot, hash) == hash
    }
}

impl<'a> Event<Plain<'a>> {
    /// An event without arguments.
    pub fn new(
        kind: EventKind<Ticks>,
        time: impl Into<Ticks>,
        thread: Thread,
        category: &'a str,
        name: &'a str,
    ) -> Self {
        Event {
            time: time.into(),
            thread,
            category,
            name,
            args: &[],
            kind,
        }
    }

    /// A point in time.
    pub fn instant(
        time: impl Into<Ticks>,
        thread: Thread,
        category: &'a str,
        name: &'a str,
    ) -> Self {
        Event::new(EventKind::Instant, time, thread, category, name)
    }

    /// A duration from `time` to `end`.
    pub fn complete(
        time: impl Into<Ticks>,
        end: impl Into<Ticks>,
        thread: Thread,
        category: &'a str,
        name: &'a str,
    ) -> Self {
        let end = end.into();
        let kind = EventKind::DurationComplete { end };
        Event::new(kind, time, thread, category, name)
    }

    /// This event with `args`.
    pub fn args(self, args: &'a [Argument<'a, &'a str>]) -> Self {
        Event { args, ..self }
    }
}
