//! The retriever: maps what it is sent, copies records out, retires what it has read.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use logdef_fuchsia::stream::{
    BufferHeader, Corruption, HeaderError, Koid, Message, MessageError, Retriever, split_record,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SocketType;
use rustix::thread::futex;

use crate::memory::ReadableMemory;
use crate::socket::{connect_unix, receive_packet, send_packet, would_block};

/// A waiting retriever looks again after this long: a source wakes it for batches, not for each record.
pub(super) const RECHECK: Duration = Duration::from_millis(10);
/// Bytes copied at once, more than any record has.
const CHUNK: u64 = 256 << 10;
/// The largest buffer that is mapped.
const MAX_BUFFER: usize = 1 << 30;

/// A reader of one source.
#[derive(Debug)]
pub struct StreamRetriever {
    /// None once the source has gone or was left.
    connection: Option<OwnedFd>,
    state: Retriever,
    memory: BTreeMap<Koid, ReadableMemory>,
    /// Copied bytes, and which of them are not yet delivered.
    chunk: Vec<u8>,
    pending: Range<usize>,
    /// More was committed than was copied, so the last record may be cut.
    more: bool,
}

/// What a retriever read.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A record; its size is right and nothing else of it was judged.
    Record(&'a [u8]),
    /// Nothing in the time given.
    Idle,
    /// The source is gone and everything that was held of it was read.
    Ended,
}

impl StreamRetriever {
    /// Connects to the source at `path`.
    ///
    /// # Errors
    /// If no source listens there.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let connection = connect_unix(path.as_ref(), SocketType::SEQPACKET)?;
        Ok(Self {
            connection: Some(connection),
            state: Retriever::new(),
            memory: BTreeMap::new(),
            chunk: Vec::new(),
            pending: 0..0,
            more: false,
        })
    }

    /// The next record, waiting for it for at most `timeout`.
    ///
    /// # Errors
    /// If the source broke a rule. The buffer concerned is left, or the connection; `next`
    /// may be called again.
    pub fn next(&mut self, timeout: Duration) -> Result<Next<'_>, RetrieverError> {
        let end = Instant::now() + timeout;
        loop {
            if let Some(record) = self.split_pending()? {
                return Ok(Next::Record(&self.chunk[record]));
            }
            // Before the messages are taken: a message that says "done" must be older than this look.
            self.receive()?;
            if self.copy_more()? {
                continue;
            }
            if self.connection.is_none() && self.state.current().is_none() {
                return Ok(Next::Ended);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Next::Idle);
            }
            self.pause(left.min(RECHECK))?;
        }
    }

    fn split_pending(&mut self) -> Result<Option<Range<usize>>, RetrieverError> {
        if self.pending.is_empty() {
            return Ok(None);
        }
        match split_record(&self.chunk[self.pending.clone()]) {
            Ok((record, _)) => {
                let length = record.len();
                let start = self.pending.start;
                self.pending.start += length;
                self.state.consume(length as u64);
                Ok(Some(start..start + length))
            }
            // Cut by the end of the chunk, not by the source; the first record of a chunk never is.
            Err(_) if self.more && self.pending.start > 0 => {
                self.pending = 0..0;
                Ok(None)
            }
            Err(corruption) => {
                self.leave_buffer();
                Err(corruption.into())
            }
        }
    }

    /// Copies committed records of the current buffer, or goes to the next; false if there is nothing.
    fn copy_more(&mut self) -> Result<bool, RetrieverError> {
        let Some(memory) = self.state.current().and_then(|koid| self.memory.get(&koid)) else {
            return Ok(false);
        };
        let copied = read_header(memory)
            .map_err(RetrieverError::from)
            .and_then(|header| {
                let readable = self.state.readable(&header)?;
                let end = readable.end.min(readable.start + CHUNK);
                self.more = end < readable.end;
                let offset = |bytes: u64| BufferHeader::BYTES + bytes as usize;
                memory.copy(offset(readable.start)..offset(end), &mut self.chunk);
                // Looked at after the copy: it is of this filling only if that has not changed.
                self.state.confirm(&read_header(memory)?)?;
                Ok(header)
            });
        let header = match copied {
            Ok(header) => header,
            Err(error) => {
                self.leave_buffer();
                return Err(error);
            }
        };
        self.pending = 0..self.chunk.len();
        if !self.pending.is_empty() {
            return Ok(true);
        }
        // A source that died is as good as done: nothing will be added.
        if self.connection.is_none() {
            let current = self.state.current();
            current.map(|koid| self.state.on_done(koid)).transpose()?;
        }
        let retired = self.state.retire(&header);
        if let Some(koid) = retired {
            self.send_retirement(koid);
        }
        Ok(retired.is_some())
    }

    /// Gives the current buffer up, with what was copied of it.
    fn leave_buffer(&mut self) {
        self.pending = 0..0;
        if let Some(koid) = self.state.give_up() {
            self.send_retirement(koid);
        }
    }

    fn send_retirement(&mut self, koid: Koid) {
        self.memory.remove(&koid);
        if let Some(connection) = &self.connection {
            let message = Message::RetireBuffer(koid).to_bytes();
            // If it cannot be sent, the source is gone: the next receive finds out.
            let _ = send_packet(connection.as_fd(), &message, None);
        }
    }

    /// Takes all messages of the source.
    fn receive(&mut self) -> Result<(), RetrieverError> {
        let mut bytes = [0; Message::BYTES + 1];
        while let Some(connection) = &self.connection {
            let taken = match receive_packet(connection.as_fd(), &mut bytes) {
                Err(error) if would_block(&error) => return Ok(()),
                Ok(None) => {
                    self.connection = None;
                    return Ok(());
                }
                Ok(Some(packet)) => self.take(&bytes[..packet.length], &packet.descriptors),
                Err(error) => Err(error.into()),
            };
            if let Err(error) = taken {
                self.connection = None;
                return Err(error);
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], descriptors: &[OwnedFd]) -> Result<(), RetrieverError> {
        let message = Message::parse(bytes, descriptors.len())?;
        match (message, descriptors) {
            (Message::OnBufferInit, [file]) => {
                let memory = ReadableMemory::map(file.as_fd(), BufferHeader::BYTES, MAX_BUFFER)?;
                let header = read_header(&memory)?;
                let capacity = memory.length() - BufferHeader::BYTES;
                self.state.on_init(&header, capacity as u64)?;
                self.memory.insert(header.koid, memory);
            }
            (Message::OnBufferDone(koid), _) => self.state.on_done(koid)?,
            // A retriever receives no other message.
            _ => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
        Ok(())
    }

    /// Waits for a commit or a message.
    fn pause(&self, time: Duration) -> io::Result<()> {
        let time = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let memory = self.state.current().and_then(|koid| self.memory.get(&koid));
        if let (Some(memory), false) = (memory, self.state.is_done()) {
            let word = memory.u32_at(BufferHeader::FUTEX);
            let seen = word.load(Ordering::Acquire);
            // What was committed before this load is found by the next look, which comes soon anyway.
            let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&time));
        } else if let Some(connection) = &self.connection {
            let mut events = [PollFd::new(connection, PollFlags::IN)];
            match poll(&mut events, Some(&time)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// A copy of the header, no older than anything that was read before.
fn read_header(memory: &ReadableMemory) -> Result<BufferHeader, HeaderError> {
    fence(Ordering::Acquire);
    let magic = memory.u64_at(0).load(Ordering::Relaxed).to_le_bytes();
    if magic != BufferHeader::MAGIC {
        return Err(HeaderError { magic });
    }
    // First, and with acquire: what is read below is no older than the records it covers.
    let committed = memory
        .u64_at(BufferHeader::COMMITTED)
        .load(Ordering::Acquire);
    let half = |offset| memory.u32_at(offset).load(Ordering::Relaxed);
    Ok(BufferHeader {
        koid: Koid(memory.u64_at(BufferHeader::KOID).load(Ordering::Relaxed)),
        filling: memory.u64_at(BufferHeader::FILLING).load(Ordering::Relaxed),
        committed,
        done: half(BufferHeader::FLAGS) & BufferHeader::DONE != 0,
        dropped: memory.u64_at(BufferHeader::DROPPED).load(Ordering::Relaxed),
        clock: half(BufferHeader::CLOCK),
    })
}

/// What can go wrong with a source.
#[derive(Debug)]
#[non_exhaustive]
pub enum RetrieverError {
    /// A system call on the socket or the memory failed.
    Io(io::Error),
    /// A packet that is not a message.
    Message(MessageError),
    /// A descriptor that is not a stream buffer.
    Header(HeaderError),
    /// A buffer that breaks the rules.
    Corruption(Corruption),
}

impl fmt::Display for RetrieverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Message(error) => error.fmt(f),
            Self::Header(error) => error.fmt(f),
            Self::Corruption(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RetrieverError {}

macro_rules! from_cause {
    ($($cause:ty => $variant:ident),*) => {
        $(impl From<$cause> for RetrieverError {
            fn from(cause: $cause) -> Self {
                Self::$variant(cause)
            }
        })*
    };
}

from_cause!(io::Error => Io, MessageError => Message, HeaderError => Header, Corruption => Corruption);
