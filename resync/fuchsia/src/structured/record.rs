//! The record: its two leading words, the reader over its arguments, and the writer.

use super::argument::{Argument, Arguments, Value, Walk};
use super::error::{DecodeError, EncodeError, Field, Rule};
use super::words::{WORD, word_at};
use super::{MAX_ARGUMENTS, MAX_RECORD_WORDS, Profile, Severity};

/// The record type of a log record; the other values belong to the trace format.
const LOG_RECORD: u8 = 9;
/// Where the timestamp starts.
const TIMESTAMP: usize = WORD;
/// Where the arguments start.
const ARGUMENTS: usize = 2 * WORD;
const SEVERITY_SHIFT: u32 = 56;
const RESERVED: u64 = 0x00ff_ffff_ffff_0000;

/// What the first two words of a record say: a cheap look that judges no argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the whole record in words, as stated.
    pub words: usize,
    /// The severity: any byte, named or not.
    pub severity: Severity,
    /// Nanoseconds on the clock of the stream.
    pub timestamp: i64,
    reserved: u64,
}

impl Header {
    /// Reads the first two words.
    ///
    /// # Errors
    /// If there are fewer than 16 bytes or they do not start a log record of at least two words.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let at = |field, offset, rule| DecodeError {
            field,
            offset,
            rule,
        };
        let at_header = |rule| at(Field::RecordHeader, 0, rule);
        let word = word_at(bytes, 0).ok_or(at_header(Rule::Truncated(bytes.len())))?;
        let kind = (word & 0xf) as u8;
        if kind != LOG_RECORD {
            return Err(at_header(Rule::NotALogRecord(kind)));
        }
        let timestamp = word_at(bytes, TIMESTAMP).ok_or(at(
            Field::Timestamp,
            TIMESTAMP,
            Rule::Truncated(bytes.len() - TIMESTAMP),
        ))?;
        let words = (word >> 4 & 0xfff) as usize;
        if words < 2 {
            return Err(at_header(Rule::SizeTooSmall(words)));
        }
        Ok(Self {
            words,
            severity: Severity((word >> SEVERITY_SHIFT) as u8),
            timestamp: timestamp as i64,
            reserved: word & RESERVED,
        })
    }
}

/// A record that was read and found whole, borrowed from its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    header: Header,
    bytes: &'a [u8],
    profile: Profile,
}

impl<'a> Record<'a> {
    /// Reads the record at the start of `bytes` and returns it with the bytes after it.
    ///
    /// All of the record is judged here: the arguments can be read without errors afterwards.
    ///
    /// # Errors
    /// The first rule of `profile` that the record breaks, in the order of its bytes.
    pub fn parse(bytes: &'a [u8], profile: Profile) -> Result<(Self, &'a [u8]), DecodeError> {
        let header = Header::parse(bytes)?;
        let at_header = |rule| DecodeError {
            field: Field::RecordHeader,
            offset: 0,
            rule,
        };
        let Some((bytes, rest)) = bytes.split_at_checked(header.words * WORD) else {
            return Err(at_header(Rule::SizeBeyondInput(header.words)));
        };
        if profile == Profile::Strict && header.reserved != 0 {
            return Err(at_header(Rule::ReservedBits(header.reserved)));
        }
        for argument in Walk::new(bytes, ARGUMENTS, profile) {
            argument?;
        }
        let record = Self {
            header,
            bytes,
            profile,
        };
        Ok((record, rest))
    }

    /// Nanoseconds on the clock of the stream; may be negative.
    pub fn timestamp(&self) -> i64 {
        self.header.timestamp
    }

    /// The severity as it was written: any byte, named or not.
    pub fn severity(&self) -> Severity {
        self.header.severity
    }

    /// The arguments in order.
    pub fn arguments(&self) -> Arguments<'a> {
        Arguments::of_valid(self.bytes, ARGUMENTS, self.profile)
    }

    /// The bytes of the record, and of nothing else.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Writes one record into a buffer of the caller, within the strict rules.
///
/// The header word stays zero until [`finish`](Self::finish), so that a record torn by a crash is never
/// of type 9. Nothing is allocated; bytes after the record are not touched.
#[derive(Debug)]
pub struct RecordWriter<'b> {
    buffer: &'b mut [u8],
    length: usize,
    arguments: usize,
    severity: Severity,
}

impl<'b> RecordWriter<'b> {
    /// Starts a record at the start of `buffer`.
    ///
    /// # Errors
    /// If the buffer has fewer than 16 bytes.
    pub fn new(
        buffer: &'b mut [u8],
        timestamp: i64,
        severity: Severity,
    ) -> Result<Self, EncodeError> {
        let start = buffer
            .first_chunk_mut::<ARGUMENTS>()
            .ok_or(EncodeError::BufferTooSmall(ARGUMENTS))?;
        start[..TIMESTAMP].fill(0);
        start[TIMESTAMP..].copy_from_slice(&timestamp.to_le_bytes());
        Ok(Self {
            buffer,
            length: ARGUMENTS,
            arguments: 0,
            severity,
        })
    }

    /// Appends an argument.
    ///
    /// # Errors
    /// If a limit would be passed or the buffer is too small; the record is as before then and can still
    /// take other arguments.
    pub fn argument<'v>(
        &mut self,
        name: &str,
        value: impl Into<Value<'v>>,
    ) -> Result<(), EncodeError> {
        let value = value.into();
        if self.arguments == MAX_ARGUMENTS {
            return Err(EncodeError::TooManyArguments);
        }
        let end = self.length + Argument::encoded_length(name, &value)?;
        if end > MAX_RECORD_WORDS * WORD {
            return Err(EncodeError::RecordTooLong(end / WORD));
        }
        let out = self
            .buffer
            .get_mut(self.length..end)
            .ok_or(EncodeError::BufferTooSmall(end))?;
        Argument::encode(name, &value, out);
        self.length = end;
        self.arguments += 1;
        Ok(())
    }

    /// Writes the header word and returns the bytes of the record.
    pub fn finish(self) -> &'b [u8] {
        let header = u64::from(LOG_RECORD)
            | ((self.length / WORD) as u64) << 4
            | u64::from(self.severity.0) << SEVERITY_SHIFT;
        self.buffer[..WORD].copy_from_slice(&header.to_le_bytes());
        &self.buffer[..self.length]
    }
}
