//! Contexts: key-values that are said once and hold for every record of a thread, or of
//! whatever is handed from thread to thread. A context is memory of the program's own,
//! which the logger reads while the context is some thread's: so nothing is allocated,
//! registered or looked up, and a record names it at the price of a number. A room for
//! unsafe: that memory is followed here. Knows nothing of records, chunks and threads.

use crate::tls;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A context, where the program keeps it. `logdef.h` declares the same.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    id: u64,
    parent: *const Context,
    keys: AtomicPtr<KeysHead>,
}

/// What stands before the bytes of a context's keys.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KeysHead {
    /// Pairs.
    pub count: u32,
    /// Bytes of the pairs, which follow.
    pub len: u32,
}

/// The key-value pairs of a context, encoded as the objects of a map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'c> {
    pub count: u32,
    pub objects: &'c [u8],
}

// SAFETY: `id` and `parent` are never written once it is made, and what `keys` leads to is
// never written once it is there.
unsafe impl Send for Context {}
// SAFETY: `id` and `parent` are never written once it is made, and `keys` is atomic.
unsafe impl Sync for Context {}

/// The numbers of contexts begin at 1.
static NAMED: AtomicU64 = AtomicU64::new(1);

/// A number for a context, given once in this process. The copy that leads gives them.
pub(crate) fn next_context() -> u64 {
    NAMED.fetch_add(1, Ordering::Relaxed)
}

impl Context {
    /// Ancestors of one context that are followed.
    pub(crate) const MAX_DEPTH: usize = 64;

    /// A context with this number, which [`next_context`](crate::abi::next_context) gave.
    ///
    /// # Safety
    ///
    /// While the context is some thread's, `parent` is null or valid, and `keys` points to
    /// a head and as many bytes of encoded pairs as it says, which do not change.
    pub unsafe fn new(id: u64, parent: *const Context, keys: *const KeysHead) -> Context {
        Context {
            id,
            parent,
            keys: AtomicPtr::new(keys.cast_mut()),
        }
    }

    /// Gives it other keys, more than it had: records from now on have all of them.
    ///
    /// # Safety
    ///
    /// As for [`Context::new`]; the keys before stay where they are as long as the context.
    pub unsafe fn replace_keys(&self, keys: *const KeysHead) {
        self.keys.store(keys.cast_mut(), Ordering::Release);
    }

    /// What records call it.
    #[inline(always)]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn keys(&self) -> Keys<'_> {
        let head = self.keys.load(Ordering::Acquire);
        if head.is_null() {
            return Keys {
                count: 0,
                objects: &[],
            };
        }
        // SAFETY: a head, and as many bytes behind it as it says (`new`).
        unsafe {
            Keys {
                count: (*head).count,
                objects: core::slice::from_raw_parts(head.add(1).cast(), (*head).len as usize),
            }
        }
    }

    /// The context that it adds to.
    pub(crate) fn parent(&self) -> Option<&Context> {
        // SAFETY: null or valid as long as this one is some thread's (`new`).
        unsafe { self.parent.as_ref() }
    }

    /// It and its ancestors, itself first, as far as they are followed.
    pub(crate) fn line(&self) -> impl Iterator<Item = &Context> {
        core::iter::successors(Some(self), |context| context.parent()).take(Self::MAX_DEPTH)
    }

    /// A number of 62 bits for what chunks define: another one when keys were added.
    #[inline(always)]
    pub(crate) fn mark(&self) -> u64 {
        const COUNT_AT: u32 = 54;
        let head = self.keys.load(Ordering::Relaxed);
        // SAFETY: null or a head (`new`).
        let count = unsafe { head.as_ref() }.map_or(0, |head| head.count);
        (count as u64 & 0xff) << COUNT_AT | self.id & ((1 << COUNT_AT) - 1)
    }
}

/// The context of the calling thread.
#[inline(always)]
pub(crate) fn current<'c>() -> Option<&'c Context> {
    // SAFETY: null, or set by `enter_context`, whose caller keeps the context valid until
    // this thread has another; a log call is over before that.
    unsafe { tls::context::<Context>().as_ref() }
}

/// Makes a context that of the calling thread, null for none, and returns the one before.
/// It stays valid as long as it is some thread's.
pub(crate) fn enter_context(context: *const Context) -> *const Context {
    tls::replace_context(context)
}

/// The same as [`current`], for those who only pass it on.
pub(crate) fn current_context() -> *const Context {
    tls::context()
}
