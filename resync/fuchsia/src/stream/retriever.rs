//! The retriever's half: which bytes to copy next, what is believed of them, and what to retire.
//!
//! The caller copies the header and the bytes that this half asks for; this half decides.
//! Buffers are read in the order in which they were announced, each to its end.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use super::{BufferHeader, Koid};
use crate::structured::Header;

/// The state of a retriever.
#[derive(Clone, Debug, Default)]
pub struct Retriever {
    /// Announced and not yet retired, in the order of their records.
    buffers: VecDeque<Cursor>,
    /// The latest filling that was announced.
    filling: Option<u64>,
}

#[derive(Clone, Debug)]
struct Cursor {
    koid: Koid,
    filling: u64,
    /// Bytes for records in the mapping.
    capacity: u64,
    read: u64,
    done: bool,
}

impl Retriever {
    /// One that knows of no buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// OnBufferInit came, with a buffer of this header and room for `capacity` bytes of records.
    ///
    /// # Errors
    /// If a buffer of this koid was announced and not retired, or the filling is not the next: the
    /// connection has to end. The latter happens to one that was given up before it took the message.
    pub fn on_init(&mut self, header: &BufferHeader, capacity: u64) -> Result<(), Corruption> {
        if self.buffers.iter().any(|buffer| buffer.koid == header.koid) {
            return Err(Corruption::AnnouncedTwice(header.koid));
        }
        let next = self
            .filling
            .is_none_or(|last| last.checked_add(1) == Some(header.filling));
        if !next {
            return Err(Corruption::Recycled);
        }
        self.filling = Some(header.filling);
        self.buffers.push_back(Cursor {
            koid: header.koid,
            filling: header.filling,
            capacity,
            read: 0,
            done: false,
        });
        Ok(())
    }

    /// OnBufferDone came.
    ///
    /// # Errors
    /// If no such buffer was announced: the connection has to end.
    pub fn on_done(&mut self, koid: Koid) -> Result<(), Corruption> {
        let mut buffers = self.buffers.iter_mut();
        let buffer = buffers
            .find(|buffer| buffer.koid == koid)
            .ok_or(Corruption::NotAnnounced(koid))?;
        buffer.done = true;
        Ok(())
    }

    /// The buffer to read now.
    pub fn current(&self) -> Option<Koid> {
        self.buffers.front().map(|buffer| buffer.koid)
    }

    /// The bytes after the header of the current buffer that are committed and not read, given a copy of
    /// its header made now.
    ///
    /// # Errors
    /// If the header cannot be true; the buffer has to be [given up](Self::give_up).
    pub fn readable(&self, header: &BufferHeader) -> Result<Range<u64>, Corruption> {
        let Some(buffer) = self.buffers.front() else {
            return Ok(0..0);
        };
        self.confirm(header)?;
        let committed = header.committed;
        if !committed.is_multiple_of(8) || committed > buffer.capacity || committed < buffer.read {
            return Err(Corruption::Committed(committed));
        }
        Ok(buffer.read..committed)
    }

    /// Whether bytes that were copied meanwhile are of the current buffer, given a copy of its header made
    /// after them.
    ///
    /// # Errors
    /// If the buffer was recycled: the bytes are not records, and the source has given this retriever up.
    pub fn confirm(&self, header: &BufferHeader) -> Result<(), Corruption> {
        match self.buffers.front() {
            Some(buffer) if header.koid != buffer.koid => {
                Err(Corruption::NotAnnounced(header.koid))
            }
            Some(buffer) if header.filling != buffer.filling => Err(Corruption::Recycled),
            _ => Ok(()),
        }
    }

    /// `bytes` more bytes of the current buffer were read.
    pub fn consume(&mut self, bytes: u64) {
        if let Some(buffer) = self.buffers.front_mut() {
            buffer.read += bytes;
        }
    }

    /// The current buffer, if no more records will come and all were read, given a copy of its header
    /// made after OnBufferDone: RetireBuffer has to be sent for it.
    pub fn retire(&mut self, header: &BufferHeader) -> Option<Koid> {
        let buffer = self.buffers.front()?;
        if !buffer.done || header.koid != buffer.koid || buffer.read < header.committed {
            return None;
        }
        self.give_up()
    }

    /// Whether OnBufferDone came for the current buffer.
    pub fn is_done(&self) -> bool {
        self.buffers.front().is_some_and(|buffer| buffer.done)
    }

    /// Leaves the current buffer, read or not: RetireBuffer has to be sent for it.
    pub fn give_up(&mut self) -> Option<Koid> {
        self.buffers.pop_front().map(|buffer| buffer.koid)
    }
}

/// Splits the first record from committed bytes that are not yet read to their end.
///
/// Only the size is judged: the record itself is for [`Record::parse`](crate::structured::Record::parse).
///
/// # Errors
/// If no record of a size that fits is there. Nothing after it can be trusted.
pub fn split_record(bytes: &[u8]) -> Result<(&[u8], &[u8]), Corruption> {
    let size = Header::parse(bytes).map(|header| header.words * 8);
    size.ok()
        .and_then(|size| bytes.split_at_checked(size))
        .ok_or(Corruption::RecordSize)
}

/// What a source did that it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// A buffer of this koid is still held.
    AnnouncedTwice(Koid),
    /// No buffer of this koid is held.
    NotAnnounced(Koid),
    /// The header says that this many bytes are committed.
    Committed(u64),
    /// A record is longer than what is committed, or is not a record.
    RecordSize,
    /// The buffer was recycled before it was retired: the source has given the retriever up.
    Recycled,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnnouncedTwice(koid) => write!(f, "buffer {koid} was announced twice"),
            Self::NotAnnounced(koid) => write!(f, "buffer {koid} was not announced"),
            Self::Committed(bytes) => write!(f, "{bytes} committed bytes cannot be"),
            Self::RecordSize => f.write_str("a record passes the committed bytes"),
            Self::Recycled => f.write_str("buffer was recycled before it was retired"),
        }
    }
}

impl std::error::Error for Corruption {}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(koid: u64, filling: u64, committed: u64) -> BufferHeader {
        BufferHeader {
            koid: Koid(koid),
            filling,
            committed,
            done: false,
            dropped: 0,
            clock: 1,
        }
    }

    #[test]
    fn a_buffer_is_read_to_its_end_and_then_retired() {
        let mut retriever = Retriever::new();
        retriever.on_init(&header(1, 1, 0), 64).unwrap();
        assert_eq!(retriever.readable(&header(1, 1, 16)), Ok(0..16));
        retriever.consume(16);
        assert_eq!(retriever.retire(&header(1, 1, 16)), None, "not done");
        retriever.on_done(Koid(1)).unwrap();
        assert_eq!(retriever.retire(&header(1, 1, 24)), None, "not read");
        assert_eq!(retriever.readable(&header(1, 1, 24)), Ok(16..24));
        retriever.consume(8);
        assert_eq!(retriever.retire(&header(1, 1, 24)), Some(Koid(1)));
        assert_eq!(retriever.current(), None);
    }

    #[test]
    fn buffers_are_read_in_the_order_of_their_announcement() {
        let mut retriever = Retriever::new();
        retriever.on_init(&header(2, 6, 8), 64).unwrap();
        retriever.on_done(Koid(2)).unwrap();
        retriever.on_init(&header(1, 7, 8), 64).unwrap();
        assert_eq!(retriever.current(), Some(Koid(2)));
        retriever.consume(8);
        retriever.retire(&header(2, 6, 8)).unwrap();
        assert_eq!(retriever.current(), Some(Koid(1)));
    }

    #[test]
    fn impossible_headers_are_corruption() {
        let mut retriever = Retriever::new();
        retriever.on_init(&header(1, 1, 0), 64).unwrap();
        retriever.consume(16);
        for committed in [8, 17, 72, u64::MAX] {
            assert_eq!(
                retriever.readable(&header(1, 1, committed)),
                Err(Corruption::Committed(committed))
            );
        }
        assert_eq!(
            retriever.readable(&header(1, 2, 16)),
            Err(Corruption::Recycled)
        );
        assert_eq!(
            retriever.confirm(&header(1, 2, 16)),
            Err(Corruption::Recycled)
        );
        assert_eq!(
            retriever.readable(&header(3, 1, 16)),
            Err(Corruption::NotAnnounced(Koid(3)))
        );
    }

    #[test]
    fn messages_about_unknown_buffers_are_corruption() {
        let mut retriever = Retriever::new();
        assert_eq!(
            retriever.on_done(Koid(1)),
            Err(Corruption::NotAnnounced(Koid(1)))
        );
        retriever.on_init(&header(1, 1, 0), 64).unwrap();
        let twice = retriever.on_init(&header(1, 2, 0), 64);
        assert_eq!(twice, Err(Corruption::AnnouncedTwice(Koid(1))));
    }

    #[test]
    fn fillings_must_be_consecutive() {
        for (next, verdict) in [
            (6, Err(Corruption::Recycled)),
            (7, Ok(())),
            (8, Err(Corruption::Recycled)),
        ] {
            let mut retriever = Retriever::new();
            retriever.on_init(&header(1, 6, 0), 64).unwrap();
            assert_eq!(retriever.on_init(&header(2, next, 0), 64), verdict);
        }
    }

    #[test]
    fn a_record_that_passes_the_committed_bytes_is_corruption() {
        let mut bytes = [0; 24];
        bytes[0] = 0x29;
        assert_eq!(split_record(&bytes), Ok((&bytes[..16], &bytes[16..])));
        assert_eq!(split_record(&[]), Err(Corruption::RecordSize));
        assert_eq!(split_record(&bytes[16..]), Err(Corruption::RecordSize));
        assert_eq!(split_record(&bytes[..8]), Err(Corruption::RecordSize));
        bytes[0] = 0x49;
        assert_eq!(split_record(&bytes), Err(Corruption::RecordSize));
    }
}
