//! What a reader has to say about a record that it could read nevertheless. Warnings
//! name the record's offset; gaps, where nothing could be read, are a matter of
//! their own.

use core::fmt;
use std::collections::BTreeMap;

use super::header::RecordType;
use super::record::ProviderId;

/// Something odd about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where the record begins in the input, in bytes.
    pub offset: u64,
    /// What is odd about the record at that offset.
    pub kind: WarningKind,
}

/// What can be odd about a record that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// The input does not begin with the magic number.
    NoMagic,
    /// A magic number after the start: another trace begins, with empty tables.
    MagicAgain,
    /// A string index that no string record has registered for this provider. Reads
    /// as `<string N>`.
    UndefinedString(u16),
    /// A thread index that no thread record has registered for this provider. Reads
    /// as thread 0 of process 0.
    UndefinedThread(u8),
    /// The named string is not UTF-8; what is wrong in it reads as U+FFFD.
    NotUtf8(&'static str),
    /// A string record for index zero, which is ignored.
    StringIndexZero,
    /// A thread record for index zero, which is ignored.
    ThreadIndexZero,
    /// A tick rate of zero, which is ignored.
    ZeroTickRate,
    /// A section of a provider that no record has named.
    UnnamedProvider(ProviderId),
    /// A provider says that its buffer was full and records may be missing.
    BufferFull(ProviderId),
    /// More providers than the reader keeps tables for.
    TooManyProviders,
    /// A record type, or a subtype of it, without a meaning yet.
    UnknownRecord(RecordType),
    /// An event type without a meaning yet.
    UnknownEvent(u8),
    /// An argument type without a meaning yet.
    UnknownArgument(u8),
    /// Words at the end of a record, this many, that its type does not explain.
    AppendedWords(u32),
    /// Words at the end of an argument, this many, that its type does not explain.
    AppendedArgumentWords(u32),
}

impl WarningKind {
    /// What this kind of warning is called, without its details.
    pub fn name(&self) -> &'static str {
        match self {
            WarningKind::NoMagic => "no magic number at the start",
            WarningKind::MagicAgain => "magic number after the start",
            WarningKind::UndefinedString(_) => "undefined string index",
            WarningKind::UndefinedThread(_) => "undefined thread index",
            WarningKind::NotUtf8(_) => "text is not UTF-8",
            WarningKind::StringIndexZero => "string record for index zero",
            WarningKind::ThreadIndexZero => "thread record for index zero",
            WarningKind::ZeroTickRate => "tick rate of zero",
            WarningKind::UnnamedProvider(_) => "section of a provider without a name",
            WarningKind::BufferFull(_) => "provider buffer full, records may be missing",
            WarningKind::TooManyProviders => "too many providers to keep tables for",
            WarningKind::UnknownRecord(_) => "unknown record type",
            WarningKind::UnknownEvent(_) => "unknown event type",
            WarningKind::UnknownArgument(_) => "unknown argument type",
            WarningKind::AppendedWords(_) => "words appended to a record",
            WarningKind::AppendedArgumentWords(_) => "words appended to an argument",
        }
    }

    /// Whether the format foresees this, so that even a strict check passes it: types
    /// and words that a newer writer knows, and news about providers.
    pub fn is_legal(&self) -> bool {
        matches!(
            self,
            // The magic number usually stands at the start, and need not.
            WarningKind::NoMagic
                | WarningKind::MagicAgain
                | WarningKind::BufferFull(_)
                | WarningKind::UnknownRecord(_)
                | WarningKind::UnknownEvent(_)
                | WarningKind::UnknownArgument(_)
                | WarningKind::AppendedWords(_)
                | WarningKind::AppendedArgumentWords(_)
        )
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            WarningKind::UndefinedString(index) => write!(f, " {index}"),
            WarningKind::UndefinedThread(index) => write!(f, " {index}"),
            WarningKind::NotUtf8(what) => write!(f, ": {what}"),
            WarningKind::UnnamedProvider(id) | WarningKind::BufferFull(id) => {
                write!(f, ": provider {id}")
            }
            WarningKind::UnknownRecord(kind) => write!(f, ": {kind}"),
            WarningKind::UnknownEvent(kind) | WarningKind::UnknownArgument(kind) => {
                write!(f, ": {kind}")
            }
            WarningKind::AppendedWords(words) | WarningKind::AppendedArgumentWords(words) => {
                write!(f, ": {words}")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record at {}: {}", self.offset, self.kind)
    }
}

/// How often each thing was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// One more of `what`.
    pub fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// `count` of `what`, whatever there was of it before.
    pub(crate) fn set(&mut self, what: &'static str, count: u64) {
        self.0.insert(what, count);
    }

    /// How many of `what`.
    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// How many of anything.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Everything seen, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, count)| (*what, *count))
    }
}
