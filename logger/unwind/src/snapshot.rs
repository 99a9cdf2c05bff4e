//! The list of loaded objects as it was at the last refresh, for C libraries
//! without a lock-free lookup. Two copies of the list: the writer fills the one
//! that is not in use and then switches, so that a reader (perhaps in a handler
//! that interrupted the writer) always finds a finished one. Knows the loader,
//! not ELF.

use core::ffi::c_char;
use core::slice;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::Mutex;

use crate::loader::{self, Object};

/// The most objects one list can hold; further ones are not found.
const CAPACITY: usize = 1024;

/// Words per object.
const WORDS: usize = 7;

/// How often a reader tries again when lists are replaced under its eyes.
const ATTEMPTS: usize = 4;

struct List {
    /// Odd while the list is being written.
    version: AtomicU64,
    len: AtomicUsize,
    objects: [[AtomicUsize; WORDS]; CAPACITY],
}

impl List {
    const fn new() -> Self {
        Self {
            version: AtomicU64::new(0),
            len: AtomicUsize::new(0),
            objects: [const { [const { AtomicUsize::new(0) }; WORDS] }; CAPACITY],
        }
    }
}

static LISTS: [List; 2] = [List::new(), List::new()];
static CURRENT: AtomicUsize = AtomicUsize::new(0);
static WRITER: Mutex<()> = Mutex::new(());

/// Takes a new list. Locks the loader and this module: not for handlers.
pub(crate) fn refresh() {
    let _writer = WRITER
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let next = CURRENT.load(Ordering::Relaxed) ^ 1;
    let list = &LISTS[next];
    list.version.fetch_add(1, Ordering::Relaxed);
    fence(Ordering::Release);
    let mut len = 0;
    loader::for_each_object(|object, _| {
        // Insertion keeps the list sorted by start address.
        let Some(mut at) = (len < CAPACITY).then_some(len) else {
            return false;
        };
        while at > 0 && list.objects[at - 1][0].load(Ordering::Relaxed) > object.start {
            for word in 0..WORDS {
                let moved = list.objects[at - 1][word].load(Ordering::Relaxed);
                list.objects[at][word].store(moved, Ordering::Relaxed);
            }
            at -= 1;
        }
        for (slot, word) in list.objects[at].iter().zip(to_words(object)) {
            slot.store(word, Ordering::Relaxed);
        }
        len += 1;
        true
    });
    list.len.store(len, Ordering::Relaxed);
    list.version.fetch_add(1, Ordering::Release);
    CURRENT.store(next, Ordering::Release);
}

/// The object of the current list that holds `address`. Async-signal-safe.
pub(crate) fn find(address: usize) -> Option<Object> {
    for _ in 0..ATTEMPTS {
        let list = &LISTS[CURRENT.load(Ordering::Acquire)];
        let version = list.version.load(Ordering::Acquire);
        let found = search(list, address);
        fence(Ordering::Acquire);
        if version.is_multiple_of(2) && list.version.load(Ordering::Relaxed) == version {
            // SAFETY: the version says that these words were written together.
            return found.map(|words| unsafe { from_words(words) });
        }
    }
    None
}

fn search(list: &List, address: usize) -> Option<[usize; WORDS]> {
    let len = list.len.load(Ordering::Relaxed).min(CAPACITY);
    let after =
        list.objects[..len].partition_point(|object| object[0].load(Ordering::Relaxed) <= address);
    let object = &list.objects[after.checked_sub(1)?];
    let words = core::array::from_fn(|word| object[word].load(Ordering::Relaxed));
    (address < words[1]).then_some(words)
}

fn to_words(object: &Object) -> [usize; WORDS] {
    let headers = object.program_headers.unwrap_or_default();
    [
        object.start,
        object.end,
        object.load_bias,
        object.name.expose_provenance(),
        headers.as_ptr().expose_provenance(),
        headers.len(),
        object.eh_frame_hdr,
    ]
}

/// # Safety
///
/// The words come from one call of [`to_words`].
unsafe fn from_words(words: [usize; WORDS]) -> Object {
    let [
        start,
        end,
        load_bias,
        name,
        headers,
        headers_len,
        eh_frame_hdr,
    ] = words;
    // SAFETY: `to_words` made them, from the pointer and length of a slice.
    let headers =
        unsafe { slice::from_raw_parts(core::ptr::with_exposed_provenance(headers), headers_len) };
    Object {
        start,
        end,
        load_bias,
        name: core::ptr::with_exposed_provenance::<c_char>(name),
        program_headers: Some(headers),
        eh_frame_hdr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_is_found_with_its_headers() {
        refresh();
        refresh();
        let address = refresh as fn() as usize;
        let object = find(address).expect("own object");
        assert!(object.start <= address && address < object.end);
        assert!(!object.program_headers.unwrap().is_empty());
        assert!(find(8).is_none());
        assert!(find(usize::MAX).is_none());
    }
}
