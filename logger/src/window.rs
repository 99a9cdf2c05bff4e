//! The windows through which one thread sees the log: each is one chunk of a file,
//! mapped by itself, and stays for as long as a call of the thread may store there. A
//! room for unsafe; knows neither frames nor what calls there are.
//!
//! A thread writes to one window. As it moves on, the window before is unmapped, unless
//! a call that a signal handler interrupted may still store there: then it stays, and
//! the thread has one more for a while.
//!
//! A window is named by the number of its chunk, counted by the thread itself, and by
//! its slot, so that both are had from one word of the thread's. The memory here is
//! copied to a forked child, not wiped: the child has to know what it was left.

use crate::sys::{self, Errno};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Windows that a thread can have. A handler that interrupts a handler, and so on, adds
/// one at a time; so does a call that was left for ever, which looks like one in progress.
const SLOTS: usize = 64;
const SLOT_BITS: u32 = SLOTS.trailing_zeros();
/// Chunks are counted up to this, and then from the start again.
const MAX_COUNT: u32 = u32::MAX >> SLOT_BITS;

/// The file of a window that is private memory.
const NO_FILE: u64 = 0;

/// The windows of one thread. Zeros are a thread without windows.
pub(crate) struct Windows {
    slots: [Window; SLOTS],
    /// How many chunks the thread had.
    count: AtomicU32,
    /// The turn of the newest file of which it had one, and where the last one starts there.
    newest: AtomicU64,
    furthest: AtomicU64,
}

struct Window {
    /// Null if there is no window.
    base: AtomicPtr<u8>,
    len: AtomicUsize,
    chunk: AtomicU32,
    /// The turn of its file, and where it starts there.
    turn: AtomicU64,
    offset: AtomicU64,
}

/// The number of a chunk among those of its thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd)]
pub(crate) struct Count(pub u32);

/// The count in the name of a chunk.
pub(crate) fn count(chunk: u32) -> Count {
    Count(chunk >> SLOT_BITS)
}

/// A range of a file that is mapped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Range {
    /// The file's turn.
    pub turn: u64,
    pub offset: u64,
    pub len: u64,
}

impl Windows {
    /// Memory of a chunk, from an offset on.
    ///
    /// # Safety
    ///
    /// A call that is in progress found the thread in this chunk.
    #[inline(always)]
    pub unsafe fn room(&self, chunk: u32, offset: u64) -> *mut u8 {
        let window = &self.slots[chunk as usize % SLOTS];
        let base = window.base.load(Ordering::Relaxed);
        // SAFETY: the chunk is mapped at `base` while a call is in it, and `offset` is less
        // than its size.
        unsafe { base.add(offset as usize) }
    }

    /// Whether there is no room for one more.
    pub fn are_full(&self) -> bool {
        !self.slots.iter().any(Window::is_free)
    }

    /// How many chunks the thread had.
    pub fn count(&self) -> Count {
        Count(self.count.load(Ordering::Relaxed))
    }

    /// The turn of the newest file of which the thread had a chunk, 0 for none, and where the
    /// last of those starts. It may have lost them since.
    pub fn newest(&self) -> (u64, u64) {
        let newest = self.newest.load(Ordering::Relaxed);
        (newest, self.furthest.load(Ordering::Relaxed))
    }

    /// Makes a range of a file, mapped at `base`, the next chunk. The chunk's name, and
    /// whether names start again with it.
    pub fn put(&self, range: Range, base: *mut u8) -> Result<(u32, bool), Errno> {
        let mut free = self
            .slots
            .iter()
            .zip(0..)
            .filter(|(slot, _)| slot.is_free());
        let (slot, index) = free.next().ok_or(Errno(libc::ENOBUFS))?;
        let before = self.count.load(Ordering::Relaxed);
        let count = before % MAX_COUNT + 1;
        let chunk = count << SLOT_BITS | index;
        slot.len.store(range.len as usize, Ordering::Relaxed);
        slot.chunk.store(chunk, Ordering::Relaxed);
        slot.turn.store(range.turn, Ordering::Relaxed);
        slot.offset.store(range.offset, Ordering::Relaxed);
        slot.base.store(base, Ordering::Release);
        self.count.store(count, Ordering::Relaxed);
        let (turn, offset) = self.newest().max((range.turn, range.offset));
        self.newest.store(turn, Ordering::Relaxed);
        self.furthest.store(offset, Ordering::Relaxed);
        Ok((chunk, count <= before))
    }

    /// Lets go of the windows but those of chunks that are to be kept: hands each to `unmap`,
    /// its base, how many bytes it has, and of what file. Of a range that the log gave up, `left` says
    /// how many bytes at its front stay; the rest reads as zeros and gives its blocks back.
    pub fn leave(
        &self,
        keep: impl Fn(u32) -> bool,
        left: impl Fn(Range) -> Option<u64>,
        mut unmap: impl FnMut(*mut u8, u64, Option<Range>),
    ) {
        for window in self.used() {
            if keep(window.chunk.load(Ordering::Relaxed)) {
                continue;
            }
            let range = window.range();
            let base = window.base.swap(ptr::null_mut(), Ordering::AcqRel);
            if let Some(left) = range.and_then(&left) {
                window.clear(base, left as usize);
            }
            unmap(base, window.len() as u64, range);
        }
    }

    /// Puts private memory in the place of each window, in a forked child: a call that
    /// the fork interrupted may still store there, and what it stores is the parent's.
    /// How many bytes.
    pub fn cover(&self) -> u64 {
        let mut bytes = 0;
        for window in self.used() {
            let base = window.base.load(Ordering::Relaxed);
            // Refused only where the process may have no more memory. Then what the call stores is what
            // the parent's own call stores there.
            let _ = sys::replace_by_memory(base, window.len());
            window.turn.store(NO_FILE, Ordering::Relaxed);
            bytes += window.len() as u64;
        }
        bytes
    }

    /// The range in which a chunk lies, as long as it has a window on a file.
    pub fn range(&self, chunk: u32) -> Option<Range> {
        let window = &self.slots[chunk as usize % SLOTS];
        window
            .range()
            .filter(|_| window.chunk.load(Ordering::Relaxed) == chunk)
    }

    /// The ranges of all windows on files.
    pub fn ranges(&self) -> impl Iterator<Item = Range> {
        self.used().filter_map(Window::range)
    }

    /// The turn of the file of which the window holds an address; 0 if it is private
    /// memory. For signal handlers.
    pub fn turn_at(&self, address: usize) -> Option<u64> {
        let mut all = self.used();
        let window = all.find(|window| {
            let base = window.base.load(Ordering::Acquire).addr();
            (base..base + window.len()).contains(&address)
        })?;
        Some(window.turn.load(Ordering::Relaxed))
    }

    fn used(&self) -> impl Iterator<Item = &Window> {
        self.slots.iter().filter(|window| !window.is_free())
    }
}

impl Window {
    fn is_free(&self) -> bool {
        self.base.load(Ordering::Acquire).is_null()
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Clears the window but for the first bytes.
    fn clear(&self, base: *mut u8, left: usize) {
        let page = sys::page_size() as usize;
        let pages = left.next_multiple_of(page).min(self.len());
        // A kernel that cannot populate does not know whether the file was cut short.
        if left < pages && sys::populate(base, pages).is_ok() {
            // SAFETY: within the window, in which no call stores any more.
            unsafe { ptr::write_bytes(base.add(left), 0, pages - left) };
        }
        let rest = base.wrapping_add(pages);
        let _ = sys::advise(rest, self.len() - pages, libc::MADV_REMOVE);
    }

    fn range(&self) -> Option<Range> {
        let turn = self.turn.load(Ordering::Relaxed);
        (turn != NO_FILE && !self.is_free()).then(|| Range {
            turn,
            offset: self.offset.load(Ordering::Relaxed),
            len: self.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that had lost its chunk, as on a full disk, could take one of an earlier file.
    #[test]
    fn the_newest_file_is_known_when_its_window_is_gone() {
        // SAFETY: zeros are a thread without windows.
        let windows: Windows = unsafe { core::mem::zeroed() };
        assert_eq!(windows.newest(), (0, 0));
        for (turn, offset) in [(1, 9), (3, 4), (3, 2), (2, 7)] {
            let len = 1;
            let range = Range { turn, offset, len };
            windows.put(range, ptr::dangling_mut()).unwrap();
        }
        windows.leave(|_| false, |_| None, |_, _, _| {});
        assert_eq!(windows.ranges().count(), 0);
        assert_eq!(windows.newest(), (3, 4));
    }
}
