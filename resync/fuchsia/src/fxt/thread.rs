//! Threads and processes: kernel object ids, and the 8-bit references to them that
//! records carry. Index zero means that the ids stand in the record itself.

use core::fmt;
use core::num::NonZeroU8;

use super::buffer::{Buffer, Words};
use super::cursor::Cursor;
use super::error::{Malformed, WriteError};

/// A kernel object id. On Linux, process and thread ids serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Koid(pub u64);

impl fmt::Display for Koid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for Koid {
    fn from(koid: u64) -> Koid {
        Koid(koid)
    }
}

/// A thread of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread {
    /// The kernel's id of the process.
    pub process: Koid,
    /// The kernel's id of the thread.
    pub thread: Koid,
}

impl Thread {
    /// The thread `thread` of the process `process`.
    pub fn new(process: impl Into<Koid>, thread: impl Into<Koid>) -> Thread {
        Thread {
            process: process.into(),
            thread: thread.into(),
        }
    }
}

/// An index into a thread table: 1 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadIndex(NonZeroU8);

impl ThreadIndex {
    /// `index`, unless it is zero.
    pub const fn new(index: u8) -> Option<ThreadIndex> {
        match NonZeroU8::new(index) {
            Some(index) => Some(ThreadIndex(index)),
            None => None,
        }
    }

    /// The number, 1 to 255.
    pub const fn get(self) -> u8 {
        self.0.get()
    }
}

/// A thread as a record refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadRef {
    /// Spelled out in the record.
    Inline(Thread),
    /// An entry of the thread table, as registered by an earlier thread record.
    Index(ThreadIndex),
}

impl ThreadRef {
    /// Reads the ids from `cursor` if the reference in the low 8 bits says so.
    pub(crate) fn read(bits: u64, cursor: &mut Cursor<'_>) -> Result<ThreadRef, Malformed> {
        Ok(match ThreadIndex::new(bits as u8) {
            Some(index) => ThreadRef::Index(index),
            None => ThreadRef::Inline(Thread {
                process: Koid(cursor.word("process id")?),
                thread: Koid(cursor.word("thread id")?),
            }),
        })
    }

    /// The 8 bits that stand for this thread.
    pub(crate) fn bits(self) -> u64 {
        match self {
            ThreadRef::Inline(_) => 0,
            ThreadRef::Index(index) => u64::from(index.get()),
        }
    }

    /// Writes the ids of a thread that is spelled out, nothing for others.
    pub(crate) fn write(self, words: &mut Words<'_, impl Buffer>) -> Result<(), WriteError> {
        match self {
            ThreadRef::Inline(thread) => {
                words.word(thread.process.0)?;
                words.word(thread.thread.0)
            }
            ThreadRef::Index(_) => Ok(()),
        }
    }
}

/// A process as a record refers to it: by its own id, or by one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessRef {
    /// Spelled out in the record.
    Inline(Koid),
    /// The process of an entry of the thread table.
    Index(ThreadIndex),
}

impl ProcessRef {
    /// Reads the id from `cursor` if the reference in the low 8 bits says so.
    pub(crate) fn read(bits: u64, cursor: &mut Cursor<'_>) -> Result<ProcessRef, Malformed> {
        Ok(match ThreadIndex::new(bits as u8) {
            Some(index) => ProcessRef::Index(index),
            None => ProcessRef::Inline(Koid(cursor.word("process id")?)),
        })
    }

    /// The 8 bits that stand for this process.
    pub(crate) fn bits(self) -> u64 {
        match self {
            ProcessRef::Inline(_) => 0,
            ProcessRef::Index(index) => u64::from(index.get()),
        }
    }

    /// Writes the id of a process that is spelled out, nothing for others.
    pub(crate) fn write(self, words: &mut Words<'_, impl Buffer>) -> Result<(), WriteError> {
        match self {
            ProcessRef::Inline(process) => words.word(process.0),
            ProcessRef::Index(_) => Ok(()),
        }
    }
}
