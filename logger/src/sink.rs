//! Where frames go. A sink takes the frames of one call, which are to stand
//! together and in their order, and knows nothing of what is in them beyond
//! their lengths.

mod append;
mod arena;
mod chunk;
mod file;
pub(crate) mod file_system;
mod mapped;
mod names;

pub(crate) use append::Append;
pub(crate) use chunk::Claim;
pub(crate) use mapped::Rotation;

use crate::process::process;
use crate::process::thread::Thread;
use crate::sys::Errno;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use mapped::Mapped;

/// What became of the frames of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Put {
    /// They are in this chunk of the log.
    Done(u32),
    /// A signal handler moved the thread to another chunk meanwhile: what the
    /// chunk defines must be looked at again.
    Moved,
    /// They do not fit into the chunk: the thread needs another.
    Full,
    /// There is no room for them.
    Dropped,
}

/// After a refusal for want of space, nothing is tried for so many nanoseconds.
const RETRY_AFTER: u64 = 1_000_000_000;

/// The sink of the process.
pub(crate) struct Sink {
    kind: AtomicU8,
    /// The chunk that stands for the whole of an appended log.
    appended: AtomicU32,
    append: Append,
    mapped: Mapped,
}

const APPEND: u8 = 0;
const MAPPED: u8 = 1;

impl Sink {
    pub const fn new() -> Sink {
        Sink {
            kind: AtomicU8::new(APPEND),
            appended: AtomicU32::new(0),
            append: Append::new(),
            mapped: Mapped::new(),
        }
    }

    /// Sends what comes to a descriptor.
    pub fn set_append(&self, append: Append) {
        self.append.set(append);
        self.appended.fetch_add(1, Ordering::Relaxed);
        self.kind.store(APPEND, Ordering::Release);
    }

    /// Maps a file at `path`.
    pub fn set_mapped(&self, path: &[u8], rotation: Rotation) -> Result<(), Errno> {
        self.mapped.open(path, rotation)?;
        self.kind.store(MAPPED, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn is_mapped(&self) -> bool {
        self.kind.load(Ordering::Relaxed) == MAPPED
    }

    /// The chunk that the thread's next frames go to, if it has one.
    pub fn chunk(&self, thread: &Thread) -> Option<u32> {
        match self.is_mapped() {
            true => self.mapped.chunk(thread),
            false => Some(self.appended.load(Ordering::Relaxed)),
        }
    }

    /// The chunk that the thread's next frame goes to, if it has one of a mapped
    /// log.
    #[inline(always)]
    pub fn mapped_chunk(&self, thread: &Thread) -> Option<u32> {
        self.is_mapped().then(|| self.mapped.chunk(thread))?
    }

    /// [`Sink::put`] of one frame with this body into a [`Sink::mapped_chunk`].
    #[inline(always)]
    pub fn put_mapped(&self, thread: &Thread, checksum: u32, body: &[u8], chunk: u32) -> Put {
        self.mapped.put_frame(thread, checksum, body, chunk)
    }

    /// Puts the frames of one call where the thread writes; only into `chunk`, if
    /// one is given.
    pub fn put(&self, thread: &Thread, frames: &[u8], chunk: Option<u32>) -> Put {
        match self.is_mapped() {
            true => self.mapped.put(thread, frames, chunk),
            false => match self.append.put(frames) {
                Ok(()) => {
                    if process().trouble.accept() {
                        process().note_levels();
                    }
                    Put::Done(self.appended.load(Ordering::Relaxed))
                }
                Err(errno) => {
                    process().trouble.refuse(errno);
                    Put::Dropped
                }
            },
        }
    }

    /// Claims a chunk for the thread, with room for `need` bytes and as many
    /// again.
    pub fn claim(&self, thread: &Thread, need: u64) -> Option<Claim> {
        self.mapped.claim(thread, need)
    }

    /// Lets the thread write to a chunk that it claimed, behind the frames that
    /// open it.
    pub fn enter(&self, thread: &Thread, claim: Claim, opening: &[u8]) {
        self.mapped.enter(thread, claim, opening);
    }

    /// Makes the next `bytes` bytes of the log ready to be written.
    pub fn prepare(&self, bytes: u64) -> Result<(), Errno> {
        match self.is_mapped() {
            true => self.mapped.prepare(bytes),
            false => Ok(()),
        }
    }

    /// See [`Mapped::replace_page`].
    pub fn replace_page(&self, address: usize) -> bool {
        self.is_mapped() && self.mapped.replace_page(address)
    }

    /// The process is a forked child, which may be in the middle of a call.
    pub fn leave_to_parent(&self) {
        if self.is_mapped() {
            self.mapped.leave_to_parent();
        }
    }

    /// The process is a forked child now.
    pub fn become_child(&self) {
        match self.is_mapped() {
            true => self.mapped.become_child(),
            false => drop(self.appended.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// The name of the file system that holds the log, where it is known.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        match self.is_mapped() {
            true => self.mapped.file_system(),
            false => self.append.file_system(),
        }
    }

    /// Waits until everything written is on stable storage.
    pub fn sync(&self) -> Result<(), Errno> {
        match self.is_mapped() {
            true => self.mapped.sync(),
            false => self.append.sync(),
        }
    }
}
