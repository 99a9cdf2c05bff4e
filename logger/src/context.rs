//! Contexts: key-values that are said once and hold for every record of a thread, or of
//! whatever is handed from thread to thread. A context is memory of the program's own,
//! which the logger reads while the context is some thread's: so nothing is allocated,
//! registered or looked up, and a record names it at the price of a number. A room for
//! unsafe: that memory is followed here. Knows nothing of records, chunks and threads.
//!
//! Contexts of C and C++ mostly stand on the stack, and a thread can leave their block without the
//! end of it: by `longjmp`, and in C by `pthread_exit`. So a context has a *seal*, which holds until
//! other things are stored where it was, and no word of it is believed before. One of Rust is
//! *kept* by its scope, and has none. Which of both a context is, its pointers say.

use crate::crc;
use crate::tls;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A context, where the program keeps it. `logdef.h` declares the same.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    id: u64,
    /// As [`current_context`] returned it.
    parent: *const Context,
    /// Where the keys are; or the seal, an odd number: then they stand after the context.
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
#[derive(Clone, Copy, Debug, Default)]
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

/// In a pointer to a context: it is kept.
const KEPT: usize = 1;
/// In the word of its keys: that is a seal.
const SEAL: usize = 1;

impl Context {
    /// Ancestors of one context that are followed.
    pub(crate) const MAX_DEPTH: usize = 64;

    /// A context with this number, which [`next_context`](crate::abi::next_context) gave after its
    /// parent's. It is kept: threads enter [`Context::as_kept`].
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

    /// Makes a context with a seal, which threads enter by its address; it may be gone while it is
    /// some thread's.
    ///
    /// # Safety
    ///
    /// `at` is valid for writes, and a head and as many bytes of encoded pairs as it says stand
    /// after the context.
    pub unsafe fn seal(at: *mut Context, id: u64, parent: *const Context) {
        let keys = AtomicPtr::new(ptr::null_mut());
        // Exposed: its keys are read by its address.
        at.expose_provenance();
        // SAFETY: valid for writes, and a head and its bytes stand after it (`# Safety`).
        unsafe {
            at.write(Context { id, parent, keys });
            let seal = (*at).seal_with(crc::check(keys_behind(at).objects).crc);
            (*at).keys = AtomicPtr::new(ptr::without_provenance_mut(seal));
        }
    }

    /// The pointer to it by which threads enter it, if it is kept.
    pub fn as_kept(&self) -> *const Context {
        ptr::from_ref(self).map_addr(|address| address | KEPT)
    }

    /// Gives it other keys, more than it had: records from now on have all of them. For contexts
    /// that are kept.
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
        if head.addr() & SEAL != 0 {
            // SAFETY: the seal was looked at when the context was found.
            let keys = unsafe { keys_behind(self) };
            let is_whole = crc::check(keys.objects).crc == (head.addr() >> 32) as u32;
            return if is_whole { keys } else { Keys::default() };
        }
        if head.is_null() {
            return Keys::default();
        }
        // SAFETY: a head, and as many bytes after it as it says (`new`).
        unsafe { keys_at(head) }
    }

    /// The context that it adds to. It is older: what has its address now may be another one.
    pub(crate) fn parent(&self) -> Option<&Context> {
        // SAFETY: null or valid as long as this one is some thread's (`new`), or there to be
        // read (`seal`).
        unsafe { found(self.parent) }.filter(|parent| parent.id < self.id)
    }

    /// It and its ancestors, itself first, as far as they are followed.
    pub(crate) fn line(&self) -> impl Iterator<Item = &Context> {
        core::iter::successors(Some(self), |context| context.parent()).take(Self::MAX_DEPTH)
    }

    /// A number of 62 bits for what chunks define: another one when keys were added.
    #[inline]
    pub(crate) fn mark(&self) -> u64 {
        const COUNT_AT: u32 = 54;
        let head = self.keys.load(Ordering::Relaxed);
        let count = if head.addr() & SEAL != 0 {
            self.head_behind().count
        } else {
            // SAFETY: null or a head (`new`).
            unsafe { head.as_ref() }.map_or(0, |head| head.count)
        };
        (count as u64 & 0xff) << COUNT_AT | self.id & ((1 << COUNT_AT) - 1)
    }

    /// Whether all of it but its keys is as it was when it was sealed. Not in line: most calls are
    /// made in no context.
    #[inline(never)]
    fn is_sealed(&self) -> bool {
        let seal = self.keys.load(Ordering::Relaxed).addr();
        seal == self.seal_with((seal >> 32) as u32)
    }

    /// Its seal: the checksum of its keys, and below that a hash of everything else.
    #[inline(always)]
    fn seal_with(&self, keys: u32) -> usize {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let KeysHead { count, len } = self.head_behind();
        let place = ptr::from_ref(self).addr() as u64 ^ u64::from(keys) << 32;
        // Multiplied side by side, not one after another.
        let hash = (self.id.wrapping_mul(FACTOR))
            .wrapping_add((self.parent.addr() as u64).wrapping_mul(FACTOR.rotate_left(16)))
            .wrapping_add((u64::from(count) << 32 | u64::from(len)).wrapping_mul(FACTOR ^ 0xff00))
            .wrapping_add(place.wrapping_mul(FACTOR.rotate_left(40) | 1));
        (u64::from(keys) << 32 | hash >> 32) as usize | SEAL
    }

    /// The head of the keys after a context that has, or is to have, a seal.
    #[inline(always)]
    fn head_behind(&self) -> KeysHead {
        let head = ptr::from_ref(self).addr() + size_of::<Context>();
        // SAFETY: `seal` exposed it; the memory is there to be read, whatever is in it now.
        unsafe { ptr::with_exposed_provenance::<KeysHead>(head).read() }
    }
}

/// The keys after a context.
///
/// # Safety
///
/// It has its seal, or is to have it.
unsafe fn keys_behind<'c>(context: *const Context) -> Keys<'c> {
    let head = context.addr() + size_of::<Context>();
    // SAFETY: what the seal was made of stands there.
    unsafe { keys_at(ptr::with_exposed_provenance(head)) }
}

/// The keys after a head.
///
/// # Safety
///
/// As many bytes as it says stand after it.
unsafe fn keys_at<'c>(head: *const KeysHead) -> Keys<'c> {
    // SAFETY: the contract of this function.
    unsafe {
        Keys {
            count: (*head).count,
            objects: core::slice::from_raw_parts(head.add(1).cast(), (*head).len as usize),
        }
    }
}

/// The context that a pointer leads to, unless it is gone.
///
/// # Safety
///
/// Null, or valid and kept, or to be read as bytes.
#[inline(always)]
unsafe fn found<'c>(context: *const Context) -> Option<&'c Context> {
    if context.addr() & KEPT != 0 {
        // SAFETY: it is kept, and valid by the contract.
        return unsafe { context.map_addr(|address| address & !KEPT).as_ref() };
    }
    // SAFETY: null, or there to be read by the contract.
    unsafe { context.as_ref() }.filter(|context| context.is_sealed())
}

/// The context of the calling thread.
#[inline(always)]
pub(crate) fn current<'c>() -> Option<&'c Context> {
    // SAFETY: null, or set by `enter_context`, whose caller keeps the context valid until
    // this thread has another, or readable if it has a seal; a log call is over before that.
    unsafe { found(tls::context::<Context>()) }
}

/// Makes a context that of the calling thread, null for none, and returns the one before.
/// It stays valid as long as it is some thread's, or readable if it has a seal.
pub(crate) fn enter_context(context: *const Context) -> *const Context {
    tls::replace_context(context)
}

/// The same as [`current`], for those who only pass it on.
pub(crate) fn current_context() -> *const Context {
    tls::context()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    /// A context as C has it.
    #[repr(C)]
    struct OfC {
        context: Context,
        head: KeysHead,
        objects: [u8; 16],
    }

    /// One pair: `n` is 7.
    const OBJECTS: [u8; 3] = [0xa1, b'n', 7];

    fn made(id: u64, parent: *const Context) -> Box<OfC> {
        let mut made = Box::new(OfC {
            // SAFETY: it has neither parent nor keys.
            context: unsafe { Context::new(0, ptr::null(), ptr::null()) },
            head: KeysHead { count: 1, len: 3 },
            objects: [0; 16],
        });
        made.objects[..3].copy_from_slice(&OBJECTS);
        // SAFETY: a head and as many bytes stand after it.
        unsafe { Context::seal((&raw mut *made).cast(), id, parent) };
        made
    }

    fn keys_of(context: &Context) -> Vec<&[u8]> {
        context
            .line()
            .map(|context| context.keys().objects)
            .collect()
    }

    #[test]
    fn a_context_whose_memory_was_used_again_is_not_found() {
        let parent = made(1, ptr::null());
        let mut child = made(2, (&raw const *parent).cast());
        let at = &raw mut *child;
        // SAFETY: it is there, whatever is in it.
        let found = || unsafe { found(at.cast_const().cast()) };
        assert_eq!(keys_of(found().unwrap()), [OBJECTS, OBJECTS]);
        let byte = |offset| at.cast::<u8>().wrapping_add(offset);
        for offset in 0..offset_of!(OfC, objects) + OBJECTS.len() {
            // SAFETY: a byte of the child.
            unsafe { *byte(offset) ^= 0x41 };
            match found() {
                None => assert!(offset < offset_of!(OfC, objects), "byte {offset}"),
                Some(context) => {
                    assert!(offset >= offset_of!(OfC, objects), "byte {offset}");
                    assert_eq!(keys_of(context), [&[][..], &OBJECTS]);
                }
            }
            // SAFETY: the same byte.
            unsafe { *byte(offset) ^= 0x41 };
        }
        assert!(found().is_some());
        for fill in [0, 0x41, 0xff] {
            // SAFETY: the child's own bytes.
            unsafe { ptr::write_bytes(byte(0), fill, size_of::<Context>()) };
            assert!(found().is_none(), "{fill:#x}");
        }
    }

    #[test]
    fn what_a_context_adds_to_is_older() {
        let mut parent = made(1, ptr::null());
        let child = made(2, (&raw const *parent).cast());
        assert_eq!(child.context.line().count(), 2);
        // A thread came to the same place once more, since it had left its block by `longjmp`.
        let at: *mut Context = (&raw mut *parent).cast();
        // SAFETY: a head and as many bytes stand after it.
        unsafe { Context::seal(at, 3, at) };
        assert_eq!(child.context.line().count(), 1);
        assert_eq!(parent.context.line().count(), 1);
    }

    #[test]
    fn a_context_that_is_kept_is_found_as_it_is() {
        // SAFETY: it has neither parent nor keys.
        let kept = unsafe { Context::new(1, ptr::null(), ptr::null()) };
        // SAFETY: alive.
        let found = unsafe { found(kept.as_kept()) };
        assert!(ptr::eq(found.unwrap(), &raw const kept));
    }
}
