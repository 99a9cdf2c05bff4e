//! The path of a log, which calls and handlers may read while it is replaced by another
//! log's. A room for unsafe; knows nothing of what stands there.

use crate::sys::{self, Errno};
use core::ffi::CStr;
use core::num::NonZeroUsize;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The path of a log, if it has one: memory of zeros is a log without a path.
pub(crate) struct KeptPath {
    /// The last that was set, in memory of its own; null before the first.
    last: AtomicPtr<u8>,
    is_set: AtomicBool,
}

impl KeptPath {
    pub const fn new() -> KeptPath {
        KeptPath {
            last: AtomicPtr::new(ptr::null_mut()),
            is_set: AtomicBool::new(false),
        }
    }

    /// Keeps a path. The one before, which a call may be reading, keeps its memory; that
    /// is used again for the same path, so that a program may open its log any number of times.
    pub fn set(&self, path: &CStr) -> Result<(), Errno> {
        if self.last() != Some(path) {
            let bytes = path.to_bytes_with_nul();
            let len = NonZeroUsize::new(bytes.len()).ok_or(Errno(libc::EINVAL))?;
            let memory = sys::allocate(len)?.as_ptr();
            // SAFETY: fresh memory of this size; no other thread has its address yet.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
            self.last.store(memory, Ordering::Release);
        }
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }

    /// Forgets the path, and keeps its memory for the next one.
    pub fn clear(&self) {
        self.is_set.store(false, Ordering::Release);
    }

    /// The path.
    pub fn get(&self) -> Option<&CStr> {
        let is_set = self.is_set.load(Ordering::Acquire);
        self.last().filter(|_| is_set)
    }

    fn last(&self) -> Option<&CStr> {
        let last = self.last.load(Ordering::Acquire);
        // SAFETY: null, or set in `set` to a path that ends in a NUL and stays until `free`.
        (!last.is_null()).then(|| unsafe { CStr::from_ptr(last.cast()) })
    }

    /// Gives its memory back.
    ///
    /// # Safety
    ///
    /// No code of this process uses the path any more.
    pub unsafe fn free(&self) {
        let len = self.last().map_or(0, |path| path.to_bytes_with_nul().len());
        // Not forgotten: other processes may share the word, and have the memory of their own.
        let last = self.last.load(Ordering::Acquire);
        if !last.is_null() {
            sys::unmap(last, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_path_is_kept_once_and_another_leaves_the_one_before_as_it_is() {
        let kept = KeptPath::new();
        assert_eq!(kept.get(), None);
        kept.set(c"/a/log").unwrap();
        let first = kept.get().unwrap();
        kept.clear();
        assert_eq!(kept.get(), None);
        kept.set(c"/a/log").unwrap();
        assert_eq!(kept.get().unwrap().as_ptr(), first.as_ptr());
        kept.set(c"/another").unwrap();
        assert_eq!((kept.get(), first), (Some(c"/another"), c"/a/log"));
    }
}
