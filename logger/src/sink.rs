//! Where frames go. A sink takes the frames of one call, which are to stand
//! together and in their order, and knows nothing of what is in them beyond
//! their lengths.

mod append;
mod file_system;

pub(crate) use append::Append;

use crate::thread::Thread;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// What became of the frames of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Put {
    /// They are in the log.
    Done,
    /// A signal handler moved the thread to another chunk meanwhile: what the
    /// chunk defines must be looked at again.
    Moved,
    /// There is no room for them.
    Dropped,
}

/// The sink of the process.
pub(crate) struct Sink {
    kind: AtomicU8,
    /// The chunk that stands for the whole of an appended log.
    appended: AtomicU32,
    append: Append,
}

const APPEND: u8 = 0;

impl Sink {
    pub const fn new() -> Sink {
        Sink {
            kind: AtomicU8::new(APPEND),
            appended: AtomicU32::new(0),
            append: Append::new(),
        }
    }

    /// Sends what comes to a descriptor.
    pub fn set_append(&self, append: Append) {
        self.append.set(append);
        self.kind.store(APPEND, Ordering::Release);
        self.appended.fetch_add(1, Ordering::Relaxed);
    }

    /// The chunk that the thread's next frames go to, and how many bytes it
    /// takes if they are its first.
    #[inline]
    pub fn chunk(&self, _thread: &Thread) -> Option<(u32, Option<u32>)> {
        Some((self.appended.load(Ordering::Relaxed), None))
    }

    /// Puts the frames of one call into chunk `chunk`.
    #[inline]
    pub fn put(&self, _thread: &Thread, frames: &[u8], _chunk: u32, _first: bool) -> Put {
        self.append.put(frames)
    }

    /// The process is a forked child now.
    pub fn become_child(&self) {
        self.appended.fetch_add(1, Ordering::Relaxed);
    }

    /// The name of the file system that holds the log, where it is known.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        self.append.file_system()
    }

    /// Waits until everything written is on stable storage.
    pub fn sync(&self) -> Result<(), crate::sys::Errno> {
        self.append.sync()
    }
}
