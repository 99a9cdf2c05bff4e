//! Calls that are made before the log is open: their records, as bytes, until it is.
//! Threads and signal handlers add to them and never wait; what does not fit is the
//! caller's to count. Knows nothing of what is in the bytes.

use crate::sys;
use core::sync::atomic::{AtomicU64, Ordering};

/// Room for records, in words: 32 KiB, whose pages are touched as they are needed.
const ROOM: usize = 4 << 10;
/// The most records.
const MOST: usize = 256;

/// Records of calls that came before the log was open.
pub(crate) struct Early {
    /// How many places and words were taken, and whether more may be.
    taken: AtomicU64,
    /// For each record where it starts, and one more than its bytes; 0 until it is whole.
    places: [AtomicU64; MOST],
    words: [AtomicU64; ROOM],
}

/// The log was opened.
const ENDED: u64 = 1 << 63;
/// There was no room for a record.
const FULL: u64 = 1 << 62;
const WORDS_BITS: u32 = 16;
const LEN_BITS: u32 = 20;
/// Stands in the place of a record that the thread which opened the log did not wait for.
const ABANDONED: u64 = u64::MAX;

/// Milliseconds that a record which is being stored is waited for.
const PATIENCE: u32 = 100;

impl Early {
    pub const fn new() -> Early {
        Early {
            taken: AtomicU64::new(0),
            places: [const { AtomicU64::new(0) }; MOST],
            words: [const { AtomicU64::new(0) }; ROOM],
        }
    }

    /// Whether a record may be kept.
    pub fn has_room(&self) -> bool {
        self.taken.load(Ordering::Relaxed) & (ENDED | FULL) == 0
    }

    /// Keeps a record. `false` if it cannot be; once there was no room for one, none that
    /// comes later is kept. May be called in a signal handler.
    pub fn keep(&self, record: &[u8]) -> bool {
        let Some((place, start)) = self.take(record.len().div_ceil(8)) else {
            return false;
        };
        for (word, bytes) in self.words[start..].iter().zip(record.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        let found = (start as u64) << LEN_BITS | (record.len() as u64 + 1);
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        self.places[place]
            .compare_exchange(0, found, success, failure)
            .is_ok()
    }

    /// Takes a place and `words` words.
    fn take(&self, words: usize) -> Option<(usize, usize)> {
        let parts = |taken: u64| {
            let places = (taken & !(ENDED | FULL)) >> WORDS_BITS;
            (places as usize, taken as usize % (1 << WORDS_BITS))
        };
        let taken = self
            .taken
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |taken| {
                let (places, used) = parts(taken);
                let fits = places < MOST && used + words <= ROOM;
                let next = ((places + 1) << WORDS_BITS | (used + words)) as u64;
                (taken & (ENDED | FULL) == 0).then_some(if fits { next } else { taken | FULL })
            })
            .ok()?;
        let (place, start) = parts(taken);
        (place < MOST && start + words <= ROOM).then_some((place, start))
    }

    /// Ends the keeping, and hands out what was kept, in the order of the calls. One that
    /// another thread is storing is waited for, for a while. Allocates.
    pub fn end(&self) -> Vec<Vec<u8>> {
        let taken = self.taken.fetch_or(ENDED, Ordering::AcqRel);
        let places = match taken & ENDED {
            0 => (taken & !FULL) >> WORDS_BITS,
            _ => 0,
        };
        let mut patience = PATIENCE;
        let all = self.places.iter().take(places as usize);
        all.filter_map(|place| self.found(place, &mut patience))
            .collect()
    }

    fn found(&self, place: &AtomicU64, patience: &mut u32) -> Option<Vec<u8>> {
        while place.load(Ordering::Acquire) == 0 && *patience > 0 {
            sys::pause(1);
            *patience -= 1;
        }
        let found = place.swap(ABANDONED, Ordering::AcqRel);
        if found == 0 || found == ABANDONED {
            // The call that stores it finds that out, and counts it.
            return None;
        }
        let (start, len) = (found >> LEN_BITS, found as usize % (1 << LEN_BITS) - 1);
        let words = self.words[start as usize..].iter().take(len.div_ceil(8));
        let mut bytes: Vec<u8> = words
            .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
            .collect();
        bytes.truncate(len);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_handed_out_once_and_in_order() {
        let early = Early::new();
        let records: Vec<Vec<u8>> = (0..MOST).map(|n| vec![n as u8; n % 130]).collect();
        let kept = records.iter().filter(|record| early.keep(record)).count();
        assert_eq!(kept, MOST);
        assert!(early.has_room());
        assert!(!early.keep(b"one too many") && !early.has_room());
        assert!(early.end() == records);
        assert!(!early.keep(b"late"));
        assert!(early.end().is_empty());
    }

    #[test]
    fn after_the_first_that_does_not_fit_none_is_kept() {
        let early = Early::new();
        assert!(early.keep(&[1; 8 * ROOM - 8]));
        assert!(!early.keep(&[2; 9]));
        assert!(!early.keep(&[3; 1]) && !early.has_room());
        assert_eq!(early.end().len(), 1);
    }

    #[test]
    fn a_record_that_is_never_whole_costs_only_itself() {
        let early = Early::new();
        assert!(early.keep(b"one"));
        let (place, _) = early.take(1).unwrap();
        assert!(early.keep(b"three"));
        assert_eq!(early.end(), [b"one".to_vec(), b"three".to_vec()]);
        assert_eq!(early.places[place].load(Ordering::Relaxed), ABANDONED);
    }

    #[test]
    fn threads_keep_all_that_fits() {
        let early = Early::new();
        let kept: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4u8)
                .map(|thread| {
                    let early = &early;
                    let keep = move |n: &u8| early.keep(&[thread, *n, 7]);
                    scope.spawn(move || (0..100).filter(keep).count())
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(kept, MOST);
        let found = early.end();
        assert_eq!(found.len(), kept);
        let distinct: std::collections::BTreeSet<_> = found.into_iter().collect();
        assert_eq!(distinct.len(), kept);
    }
}
