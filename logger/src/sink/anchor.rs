//! A mapping of the start of the file that is written to, of which more mappings can be
//! made when the process has no descriptor of the file any more and cannot open it by its
//! name: it closed all descriptors, changed its root, gave up its rights. Forked children
//! have it too. Knows neither chunks nor frames.

use crate::sys::{self, Errno};
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Bytes of the file's start that are mapped.
pub(crate) const LEN: u64 = 64 << 10;
/// In place of a turn, while a thread takes the start of another file.
const CHANGING: u64 = u64::MAX;

/// A mapping of the start of the file that is written to.
pub(crate) struct Anchor {
    base: AtomicPtr<u8>,
    /// Of its file; 0 for none.
    turn: AtomicU64,
    /// Calls that use it now.
    users: AtomicU32,
}

impl Anchor {
    pub const fn new() -> Anchor {
        Anchor {
            base: AtomicPtr::new(ptr::null_mut()),
            turn: AtomicU64::new(0),
            users: AtomicU32::new(0),
        }
    }

    /// Whether it is one of the file of a turn, or of one that came later.
    pub fn is_of(&self, turn: u64) -> bool {
        self.turn.load(Ordering::Relaxed) >= turn
    }

    /// Maps the start of the file of a turn, if `fd` is that file's, for as long as `is_its`
    /// says so.
    pub fn set(&self, turn: u64, fd: c_int, is_its: impl Fn() -> bool) {
        let before = self.turn.load(Ordering::Relaxed);
        if before >= turn || !self.begin_change(before) {
            return;
        }
        let mapped = sys::map_file(fd, 0, LEN).ok();
        let base = mapped.filter(|base| {
            let keep = is_its();
            if !keep {
                sys::unmap(*base, LEN as usize);
            }
            keep
        });
        self.exchange(base.unwrap_or(ptr::null_mut()));
        let now = base.map_or(before, |_| turn);
        self.turn.store(now, Ordering::SeqCst);
    }

    /// Unmaps it: the log was closed.
    pub fn let_go(&self) {
        let turn = self.turn.load(Ordering::Relaxed);
        if turn != CHANGING && self.begin_change(turn) {
            self.exchange(ptr::null_mut());
            self.turn.store(0, Ordering::SeqCst);
        }
    }

    /// Has this thread change it, unless another one does since it was of the file of this turn.
    fn begin_change(&self, turn: u64) -> bool {
        let (taken, order) = (Ordering::SeqCst, Ordering::Relaxed);
        let changed = self.turn.compare_exchange(turn, CHANGING, taken, order);
        changed.is_ok()
    }

    fn exchange(&self, base: *mut u8) {
        let old = self.base.swap(base, Ordering::SeqCst);
        // A call that found the old one may be using it for a moment more; then it stays.
        if !old.is_null() && self.users.load(Ordering::SeqCst) == 0 {
            sys::unmap(old, LEN as usize);
        }
    }

    /// Hands `work` the start of the file of a turn.
    pub fn with<T>(&self, turn: u64, work: impl FnOnce(*mut u8) -> T) -> Option<T> {
        self.users.fetch_add(1, Ordering::SeqCst);
        let is_of = || self.turn.load(Ordering::SeqCst) == turn;
        let base = Some(self.base.load(Ordering::SeqCst)).filter(|_| is_of());
        // Not changed since: the base is that file's.
        let base = base
            .filter(|base| !base.is_null() && is_of() && self.base.load(Ordering::SeqCst) == *base);
        let done = base.map(work);
        self.users.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// Maps a range of the file of a turn.
    pub fn map(&self, turn: u64, offset: u64, len: u64) -> Result<*mut u8, Errno> {
        let mapped = self.with(turn, |base| sys::map_again(base, offset, len));
        mapped.unwrap_or(Err(Errno(libc::EBADF)))
    }

    /// The process is a forked child: no other thread uses it or changes it.
    pub fn become_childs(&self) {
        self.users.store(0, Ordering::SeqCst);
        if self.turn.load(Ordering::SeqCst) == CHANGING {
            self.base.store(ptr::null_mut(), Ordering::SeqCst);
            self.turn.store(0, Ordering::SeqCst);
        }
    }
}
