//! Captures: memory into which records are copied while a test wants them, besides being
//! written. Threads and signal handlers add to it and never wait; what does not fit is
//! counted. Captures are never freed, but used again. A room for unsafe: the list of captures
//! is followed here. Knows nothing of what is in a record.

mod parts;

use crate::sys;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use parts::{Parts, split};

/// Room for the records of a capture, in words: 16 MiB, whose pages are touched as they are
/// needed. All copies of the logger in a process have the same.
const ROOM: usize = 2 << 20;
/// `wanted` of a capture that wants the records of all threads.
pub(crate) const ALL: u64 = u64::MAX;
/// `wanted` of a capture that wants none.
const NONE: u64 = 0;

/// In the first word of a record: it is whole. The bits above are its length in bytes.
const WHOLE: u64 = 1;
const LEN_AT: u32 = 1;

/// How often the end of a capture looks whether threads that store a record have done so.
const PATIENCE: u32 = 1000;

/// A capture. Shared by all copies of the logger in a process.
#[derive(Debug)]
#[repr(C)]
pub struct Capture {
    next: AtomicPtr<Capture>,
    /// The thread whose records it wants (`pthread_self()`), [`ALL`] or [`NONE`].
    wanted: AtomicU64,
    /// Threads that are storing a record.
    storing: AtomicU64,
    /// Records that found no room.
    lost: AtomicU64,
    /// Words that are in use, or fewer.
    used: AtomicU64,
    words: &'static [AtomicU64; ROOM],
}

impl Capture {
    /// A capture that wants nothing yet.
    pub fn new() -> Result<&'static Capture, sys::Errno> {
        Ok(Box::leak(Box::new(Capture {
            next: AtomicPtr::new(ptr::null_mut()),
            wanted: AtomicU64::new(NONE),
            storing: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            used: AtomicU64::new(0),
            words: sys::allocate_zeroed()?,
        })))
    }

    /// Wants the records of a thread from now on, or of [`ALL`].
    pub fn want(&self, thread: u64) {
        self.wanted.store(thread, Ordering::SeqCst);
    }

    /// Wants no more records, and waits until no thread stores one. `false` if that takes so
    /// long that the thread must have been stopped in the middle of it: then its memory is
    /// not to be used again.
    pub fn end(&self) -> bool {
        self.wanted.store(NONE, Ordering::SeqCst);
        for _ in 0..PATIENCE {
            if self.storing.load(Ordering::SeqCst) == 0 {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// Forgets all records. Only for a capture that has ended.
    pub fn clear(&self) {
        let mut used = 0;
        while let Some(first) = self.words.get(used)
            && first.load(Ordering::Acquire) != 0
        {
            let words = words_of(first.load(Ordering::Relaxed));
            let record = self.words.iter().skip(used).take(words);
            record.for_each(|word| word.store(0, Ordering::Relaxed));
            used += words;
        }
        self.lost.store(0, Ordering::Relaxed);
        self.used.store(0, Ordering::Release);
    }

    /// How many records found no room.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The records whose calls have returned, in the order in which they were stored.
    pub fn records(&self) -> Vec<Vec<u8>> {
        let (mut records, mut at) = (Vec::new(), 0);
        while let Some(first) = self.words.get(at) {
            let head = first.load(Ordering::Acquire);
            if head == 0 {
                break;
            }
            if head & WHOLE != 0 {
                let len = (head >> LEN_AT) as usize;
                let words = self.words.iter().skip(at + 1).take(len.div_ceil(8));
                let bytes = words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
                records.push(bytes.take(len).collect());
            }
            at += words_of(head);
        }
        records
    }

    fn wants(&self, thread: u64) -> bool {
        let wanted = self.wanted.load(Ordering::SeqCst);
        wanted != NONE && (wanted == ALL || wanted == thread)
    }

    /// Stores a record if it is wanted.
    fn offer(&self, thread: u64, record: &Parts<'_>) {
        if !self.wants(thread) {
            return;
        }
        self.storing.fetch_add(1, Ordering::SeqCst);
        // Asked again: only now does the end of the capture wait for this thread.
        if self.wants(thread) && !self.store(record) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        self.storing.fetch_sub(1, Ordering::SeqCst);
    }

    fn store(&self, record: &Parts<'_>) -> bool {
        let head = (record.len() as u64) << LEN_AT;
        let mut at = self.used.load(Ordering::Relaxed) as usize;
        let record_words = loop {
            let Some(place) = self.words.get(at..at + words_of(head)) else {
                return false;
            };
            // The thread that changes the first word from 0 has all of the record's.
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            match place[0].compare_exchange(0, head, success, failure) {
                Ok(_) => break place,
                Err(other) => at += words_of(other),
            }
        };
        let end = at + words_of(head);
        self.used.fetch_max(end as u64, Ordering::Relaxed);
        record.write(&record_words[1..]);
        record_words[0].store(head | WHOLE, Ordering::Release);
        true
    }
}

/// How many words a record with this first word takes, itself included.
fn words_of(head: u64) -> usize {
    1 + (head >> LEN_AT).div_ceil(8) as usize
}

/// The captures of the process.
pub(crate) struct Captures {
    first: AtomicPtr<Capture>,
    /// How many want records.
    active: AtomicU64,
}

impl Captures {
    pub const fn new() -> Captures {
        Captures {
            first: AtomicPtr::new(ptr::null_mut()),
            active: AtomicU64::new(0),
        }
    }

    /// Whether any capture wants records.
    pub fn is_any(&self) -> bool {
        self.active.load(Ordering::SeqCst) > 0
    }

    /// Adds a capture, which may have been added before.
    pub fn begin(&self, capture: &'static Capture) {
        let new = ptr::from_ref(capture).cast_mut();
        if self.iter().all(|known| !ptr::eq(known, capture)) {
            let link = |first| {
                capture.next.store(first, Ordering::Relaxed);
                Some(new)
            };
            let _ = self
                .first
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, link);
        }
        self.active.fetch_add(1, Ordering::SeqCst);
    }

    /// A capture wants no more records.
    pub fn end(&self) {
        self.active.fetch_sub(1, Ordering::SeqCst);
    }

    /// Offers a record of a thread to all captures.
    pub fn offer(&self, thread: u64, record: &Parts<'_>) {
        for capture in self.iter() {
            capture.offer(thread, record);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &'static Capture> {
        // SAFETY: null, or a capture that `begin` put here, which is never freed.
        let first = unsafe { self.first.load(Ordering::Acquire).as_ref() };
        core::iter::successors(first, |capture| {
            // SAFETY: null, or a capture that is never freed; `next` is never written once this one is
            // in the list.
            unsafe { capture.next.load(Ordering::Relaxed).as_ref() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(of: u64) -> &'static Capture {
        let capture = Capture::new().unwrap();
        capture.want(of);
        capture
    }

    fn parts(text: &[u8]) -> Parts<'_> {
        Parts {
            parts: [text, b"", b"", b"", b"", b""],
            context: None,
        }
    }

    fn firsts(capture: &Capture) -> Vec<Vec<u8>> {
        let records = capture.records();
        let first = |record: &Vec<u8>| split(record).next().unwrap().to_vec();
        records.iter().map(first).collect()
    }

    #[test]
    fn a_capture_has_the_records_of_its_thread_in_their_order() {
        let captures = Captures::new();
        let (one, all) = (capture(7), capture(ALL));
        captures.begin(one);
        captures.begin(all);
        for (thread, text) in [(7, "a"), (8, "of another"), (7, ""), (7, "twelve bytes")] {
            captures.offer(thread, &parts(text.as_bytes()));
        }
        assert_eq!(firsts(one), [&b"a"[..], b"", b"twelve bytes"]);
        assert_eq!(firsts(all).len(), 4);
        assert!(one.end());
        captures.end();
        captures.offer(7, &parts(b"late"));
        assert_eq!((firsts(one).len(), firsts(all).len()), (3, 5));
        assert!(captures.is_any());
    }

    #[test]
    fn a_capture_that_is_used_again_begins_empty() {
        let captures = Captures::new();
        let capture = capture(ALL);
        for _ in 0..3 {
            captures.begin(capture);
            capture.want(ALL);
            captures.offer(1, &parts(b"once"));
            assert_eq!(firsts(capture), [b"once"]);
            assert!(capture.end());
            captures.end();
            capture.clear();
            assert_eq!(firsts(capture), [b""; 0]);
        }
        assert_eq!(captures.iter().count(), 1);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let captures = Captures::new();
        let capture = capture(ALL);
        captures.begin(capture);
        let large = vec![b'x'; 8 * ROOM - 200];
        captures.offer(1, &parts(&large));
        captures.offer(1, &parts(&large));
        captures.offer(1, &parts(b"small"));
        assert_eq!(capture.records().len(), 2);
        assert_eq!(capture.lost(), 1);
    }

    #[test]
    fn threads_store_all_that_they_log() {
        let captures = &Captures::new();
        let capture = capture(ALL);
        captures.begin(capture);
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                scope.spawn(move || {
                    for number in 0..200u8 {
                        captures.offer(1, &parts(&[thread, number]));
                    }
                });
            }
        });
        let found = firsts(capture);
        for thread in 0..4u8 {
            let of_it = found.iter().filter(|record| record[0] == thread);
            assert!(of_it.map(|record| record[1]).eq(0..200));
        }
    }
}
