//! Where encoded records go. A [`Buffer`] either takes all bytes of a piece or
//! refuses; [`Words`] builds one record in it, header first, and fills in the size
//! when the record is complete. Nothing here allocates except `Vec` when it grows.

use super::cursor::WORD;
use super::error::WriteError;
use super::header::RecordHeader;

/// A place for encoded records: a growing `Vec<u8>`, or a [`FixedBuffer`].
pub trait Buffer {
    /// Takes all of `bytes`, or none of them and says so.
    fn append(&mut self, bytes: &[u8]) -> Result<(), WriteError>;
    /// Everything taken so far.
    fn written(&mut self) -> &mut [u8];
    /// Forgets everything after the first `len` bytes.
    fn truncate(&mut self, len: usize);
}

impl Buffer for Vec<u8> {
    #[inline]
    fn append(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn written(&mut self) -> &mut [u8] {
        self
    }

    fn truncate(&mut self, len: usize) {
        Vec::truncate(self, len);
    }
}

/// A buffer of fixed size over the caller's bytes: never allocates, refuses a
/// record that does not fit with [`WriteError::BufferFull`].
#[derive(Debug)]
pub struct FixedBuffer<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> FixedBuffer<'a> {
    /// An empty buffer over `bytes`.
    pub fn new(bytes: &'a mut [u8]) -> FixedBuffer<'a> {
        FixedBuffer { bytes, len: 0 }
    }

    /// The records written so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Buffer for FixedBuffer<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let room = &mut self.bytes[self.len..];
        let Some(room) = room.get_mut(..bytes.len()) else {
            return Err(WriteError::BufferFull);
        };
        room.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    fn written(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

/// Builds one record at the end of a buffer.
pub(crate) struct Words<'b, B: Buffer> {
    out: &'b mut B,
    start: usize,
}

impl<'b, B: Buffer> Words<'b, B> {
    /// Continues at the end of `out` without a header, for a part of a record.
    pub(crate) fn continuing(out: &'b mut B) -> Words<'b, B> {
        let start = out.written().len();
        Words { out, start }
    }

    /// Writes one record: `header` without its size, then what `body` adds. The
    /// buffer is as before if anything fails. Returns the record's size in bytes.
    pub(crate) fn record(
        out: &'b mut B,
        body: impl FnOnce(&mut Words<'b, B>) -> Result<RecordHeader, WriteError>,
    ) -> Result<usize, WriteError> {
        let start = out.written().len();
        let mut words = Words { out, start };
        let result = words
            .word(0)
            .and_then(|()| body(&mut words))
            .and_then(|header| {
                let len = words.out.written().len() - start;
                words.patch(0, header.with_words(len / WORD)?.0);
                Ok(len)
            });
        if result.is_err() {
            words.out.truncate(start);
        }
        result
    }

    #[inline]
    pub(crate) fn word(&mut self, word: u64) -> Result<(), WriteError> {
        self.out.append(&word.to_le_bytes())
    }

    /// A byte stream and its padding.
    #[inline]
    pub(crate) fn stream(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.out.append(bytes)?;
        let used = bytes.len() % WORD;
        if used != 0 {
            self.out.append(&[0; WORD][used..])?;
        }
        Ok(())
    }

    /// Bytes that are whole words already.
    pub(crate) fn raw(&mut self, words: &[u8]) -> Result<(), WriteError> {
        self.out.append(words)
    }

    /// Bytes of this record so far.
    pub(crate) fn len(&mut self) -> usize {
        self.out.written().len() - self.start
    }

    /// Replaces the word at byte `at` of this record.
    pub(crate) fn patch(&mut self, at: usize, word: u64) {
        let at = self.start + at;
        self.out.written()[at..at + WORD].copy_from_slice(&word.to_le_bytes());
    }
}
