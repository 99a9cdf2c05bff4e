//! Pipes, sockets and terminals, where the records of several threads must not be torn
//! by each other. A record goes in pieces that the reader has room for, under a lock
//! that is not waited for in a handler which interrupted a log call. Knows nothing of
//! files.

use crate::run::RunState;
use crate::sys::{self, Errno};
use crate::thread::Thread;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What a descriptor leads to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// A file, which the kernel lets one thread at a time add to.
    File,
    /// A pipe: takes as much as a page whole, or nothing of it.
    Pipe,
    Socket,
    /// A terminal or another device.
    Device,
}

impl Kind {
    /// Of a file's mode.
    pub fn of(mode: libc::mode_t) -> Kind {
        match mode & libc::S_IFMT {
            libc::S_IFIFO => Kind::Pipe,
            libc::S_IFSOCK => Kind::Socket,
            libc::S_IFCHR => Kind::Device,
            _ => Kind::File,
        }
    }
}

/// A pipe, a socket or a terminal, and the lock on it.
pub(crate) struct Stream {
    /// The kernel's id of the thread that writes, or 0.
    holder: AtomicU32,
    /// How many times it was locked.
    turns: AtomicU32,
    /// Whether a part of a record may have been written.
    midway: AtomicBool,
}

/// Who writes.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'r> {
    /// The call interrupted another one of its thread.
    pub is_nested: bool,
    pub thread: &'r Thread,
    pub run: &'r RunState,
}

impl Writer<'_> {
    /// Whether the log of the call was closed, so that what is written to may be another's.
    pub fn is_late(&self) -> bool {
        self.run.is_opening() || !self.thread.is_of(self.run.id())
    }

    /// Whether the process is a forked child that was not re-initialized yet: what it still
    /// writes is its parent's.
    fn is_orphan(&self) -> bool {
        self.run.needs_reinit_after_fork()
    }
}

/// Milliseconds after which a thread that waits looks whether the one that writes
/// is still there.
const PATIENCE: c_int = 100;
/// After this many looks without progress it is taken to be gone.
const TIMES: u32 = 10;
/// Milliseconds that the reader of a stream which does not block gets for the rest of
/// a record.
const FOR_THE_REST: c_int = 1000;

impl Stream {
    pub const fn new() -> Stream {
        Stream {
            holder: AtomicU32::new(0),
            turns: AtomicU32::new(0),
            midway: AtomicBool::new(false),
        }
    }

    /// Marks the stream as free: in a forked child no thread is writing.
    pub fn forget(&self) {
        self.midway.store(false, Ordering::Relaxed);
        self.holder.store(0, Ordering::Release);
    }

    /// Writes all of `bytes`. With an error, part of them may be written: then the
    /// reader's end is gone, or it does not read.
    pub fn write(&self, fd: c_int, kind: Kind, bytes: &[u8], by: Writer<'_>) -> Result<(), Errno> {
        let me = sys::thread_id();
        let interrupts_own = by.is_nested && self.holder.load(Ordering::Relaxed) == me;
        if interrupts_own {
            if self.midway.load(Ordering::Relaxed) {
                return Err(Errno(libc::EAGAIN));
            }
            return self.write_pieces(fd, kind, bytes, by);
        }
        self.lock(me, fd, by)?;
        self.turns.fetch_add(1, Ordering::Relaxed);
        let written = self.write_pieces(fd, kind, bytes, by);
        let (order, free) = (Ordering::Release, 0);
        // In a child that was forked meanwhile, another thread may have it.
        if self
            .holder
            .compare_exchange(me, free, order, Ordering::Relaxed)
            .is_ok()
        {
            sys::wake_one(&self.holder);
        }
        written
    }

    fn lock(&self, me: u32, fd: c_int, by: Writer<'_>) -> Result<(), Errno> {
        loop {
            let Err(holder) = self.take(0, me) else {
                return Ok(());
            };
            if holder == me {
                // A handler jumped out of this thread's earlier call.
                self.midway.store(false, Ordering::Relaxed);
                return Ok(());
            }
            if by.is_nested {
                return Err(Errno(libc::EAGAIN));
            }
            if by.is_orphan() {
                return Err(Errno(libc::EINTR));
            }
            if self.is_left_by(holder, fd) && self.take(holder, me).is_ok() {
                self.midway.store(false, Ordering::Relaxed);
                return Ok(());
            }
        }
    }

    fn take(&self, from: u32, me: u32) -> Result<u32, u32> {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.holder.compare_exchange(from, me, success, failure)
    }

    /// Waits a while for the thread that writes. `true` if it will never finish: it ended
    /// in the middle of a call, or a handler jumped out of it, since there was room all the
    /// time.
    fn is_left_by(&self, holder: u32, fd: c_int) -> bool {
        let turn = self.turns.load(Ordering::Relaxed);
        (0..TIMES).all(|_| {
            sys::wait_while(&self.holder, holder, PATIENCE);
            self.holder.load(Ordering::Relaxed) == holder
                && self.turns.load(Ordering::Relaxed) == turn
                && (!sys::thread_exists(holder) || sys::wait_for_room(fd, 0) == Ok(true))
        })
    }

    fn write_pieces(
        &self,
        fd: c_int,
        kind: Kind,
        bytes: &[u8],
        by: Writer<'_>,
    ) -> Result<(), Errno> {
        let blocks = sys::status_flags(fd)? & libc::O_NONBLOCK == 0;
        let mut rest = bytes;
        let result = loop {
            let is_begun = rest.len() < bytes.len();
            self.midway.store(is_begun, Ordering::Relaxed);
            let patience = match (blocks, is_begun) {
                (true, _) => -1,
                (false, true) => FOR_THE_REST,
                (false, false) => 0,
            };
            match sys::wait_for_room(fd, patience) {
                Ok(true) => {}
                Ok(false) => break Err(Errno(libc::EAGAIN)),
                Err(Errno(libc::EINTR)) if !by.is_orphan() => continue,
                Err(errno) => break Err(errno),
            }
            if by.is_orphan() {
                break Err(Errno(libc::EINTR));
            }
            self.midway.store(true, Ordering::Relaxed);
            match write_piece(fd, kind, rest) {
                Ok(len) if len == rest.len() => break Ok(()),
                Ok(len) => rest = &rest[len..],
                Err(Errno(libc::EINTR | libc::EAGAIN)) if blocks || is_begun => {}
                Err(errno) => break Err(errno),
            }
        };
        self.midway.store(false, Ordering::Relaxed);
        result
    }
}

fn write_piece(fd: c_int, kind: Kind, bytes: &[u8]) -> Result<usize, Errno> {
    match kind {
        Kind::Socket => sys::send(fd, bytes, libc::MSG_DONTWAIT),
        Kind::Pipe => {
            let len = bytes.len().min(libc::PIPE_BUF);
            sys::write_without_signals(fd, &bytes[..len])
        }
        Kind::Device => sys::write(fd, bytes),
        Kind::File => sys::without_sigxfsz(|| sys::write(fd, bytes)),
    }
}
