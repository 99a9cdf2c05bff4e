//! What was found out about a code address, kept where every thread and every
//! signal handler finds it again: 8192 entries shared by all, without locks and
//! without memory of its own making. Knows nothing of what the rules mean.
//!
//! # Protocol
//!
//! An entry is two words, `check` and `value`, where
//! `check = key ^ value * SCRAMBLE`. A writer stores both with no
//! further care. A reader takes both and believes the value only if it and the
//! check yield the key it asked for. Two writers, or a writer and the handler
//! that interrupted it, can leave halves of different pairs behind; such a pair
//! yields no key that anyone asks for, and is overwritten in time. Losing an
//! entry costs one evaluation, never a wrong answer.
//!
//! The key holds the epoch in its upper bits, so that everything learned before
//! a module was unloaded stops matching at once, including what a thread in
//! the middle of a walk is about to store.
//!
//! A key hashes to one entry, its home, and may live in any of the eight whose
//! number differs in the lowest three bits only: its own cache line first, then
//! the one beside it. Most keys are at home; without the other places a few
//! addresses of a large program would have none, and a miss costs as much as a
//! hundred hits.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A power of two; 16 bytes each.
const ENTRIES: usize = 8192;

/// Entries in which a key may live.
const PLACES: usize = 8;

/// Odd, without pattern: 2^64 divided by the golden ratio.
const SCRAMBLE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Bits of a key below the epoch: an address, and one that says whether it is
/// exact.
const EPOCH_SHIFT: u32 = 48;

/// Low bits of an address that are always zero: instructions of aarch64 have four
/// bytes, and its programs may have addresses of 48 bits.
const ZEROS: u32 = if cfg!(target_arch = "aarch64") { 2 } else { 0 };

/// No program has code at this address or beyond.
const END: u64 = if cfg!(target_arch = "aarch64") {
    1 << 48
} else {
    1 << 47
};

struct Entry {
    check: AtomicU64,
    value: AtomicU64,
}

#[repr(align(128))]
struct Table([Entry; ENTRIES]);

static TABLE: Table = Table(
    [const {
        Entry {
            check: AtomicU64::new(0),
            value: AtomicU64::new(0),
        }
    }; ENTRIES],
);

/// Starts at 1, so that no key is 0, the key of an empty entry.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// A code address in one epoch.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    word: u64,
    /// Where it lives first: a hash of the address alone, so that the processor
    /// need not wait for the rest.
    home: usize,
}

/// The epoch that the keys of one walk share: the lower bits of its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch(u16);

impl Epoch {
    #[inline]
    pub(crate) fn current() -> Self {
        Self(EPOCH.load(Ordering::Relaxed) as u16)
    }

    /// The key of `pc`, or `None` for what is no address of a program.
    #[inline]
    pub(crate) fn key(self, pc: usize, exact: bool) -> Option<Key> {
        let address = pc as u64;
        let hash = address.wrapping_mul(SCRAMBLE);
        let is_one = address < END && address.is_multiple_of(1 << ZEROS);
        is_one.then_some(Key {
            word: u64::from(self.0) << EPOCH_SHIFT | address >> ZEROS << 1 | u64::from(exact),
            home: (hash >> (64 - ENTRIES.ilog2())) as usize,
        })
    }
}

/// Makes every entry unfindable.
pub(crate) fn start_epoch() {
    let mut epoch = EPOCH.fetch_add(1, Ordering::Relaxed) + 1;
    if epoch << EPOCH_SHIFT == 0 {
        epoch = EPOCH.fetch_add(1, Ordering::Relaxed) + 1;
    }
    // The upper bits repeat from here on: forget the entries that still have them.
    if epoch << EPOCH_SHIFT == 1 << EPOCH_SHIFT {
        for entry in &TABLE.0 {
            entry.value.store(0, Ordering::Relaxed);
            entry.check.store(0, Ordering::Relaxed);
        }
    }
}

/// The value last stored for `key`. Async-signal-safe.
#[inline]
pub(crate) fn look_up(key: Key) -> Option<u64> {
    let (found, value) = TABLE.0[key.home].read();
    if found == key.word {
        return Some(value);
    }
    look_up_away(key)
}

#[inline(never)]
fn look_up_away(key: Key) -> Option<u64> {
    let mut read = places(key).map(Entry::read);
    read.find(|(found, _)| *found == key.word)
        .map(|(_, value)| value)
}

/// Stores `value` for `key`: in place of what it had before, else in a free
/// entry, else in place of another key. Async-signal-safe.
pub(crate) fn store(key: Key, value: u64) {
    let entry = places(key)
        .find(|entry| entry.read().0 == key.word)
        .or_else(|| places(key).find(|entry| entry.is_free_for(key)))
        .unwrap_or_else(|| {
            // Any choice will do, as long as keys that fight for a place do not
            // choose the same one for ever.
            static TURN: AtomicUsize = AtomicUsize::new(0);
            let turn = TURN.fetch_add(1, Ordering::Relaxed);
            &TABLE.0[key.home ^ (turn % PLACES)]
        });
    entry.value.store(value, Ordering::Relaxed);
    entry
        .check
        .store(key.word ^ scramble(value), Ordering::Relaxed);
}

/// The entries in which `key` may live, its home first.
fn places(key: Key) -> impl Iterator<Item = &'static Entry> {
    (0..PLACES).map(move |place| &TABLE.0[key.home ^ place])
}

impl Entry {
    /// Whether this entry can no longer be found: it is empty, torn, or of an earlier
    /// epoch.
    fn is_free_for(&self, key: Key) -> bool {
        (self.read().0 ^ key.word) >> EPOCH_SHIFT != 0
    }

    #[inline]
    fn read(&self) -> (u64, u64) {
        let value = self.value.load(Ordering::Relaxed);
        let check = self.check.load(Ordering::Relaxed);
        (check ^ scramble(value), value)
    }
}

#[inline]
fn scramble(value: u64) -> u64 {
    value.wrapping_mul(SCRAMBLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::sync::{Mutex, MutexGuard};

    /// The tests share one cache, and take turns.
    fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn key(address: usize) -> Key {
        Epoch::current().key(address, false).unwrap()
    }

    #[test]
    fn what_was_stored_is_found_for_its_address_and_kind_alone() {
        let _turn = turn();
        let address = 0x7F12_3456_7898;
        assert_eq!(look_up(key(address)), None);
        store(key(address), 7);
        assert_eq!(look_up(key(address)), Some(7));
        assert_eq!(look_up(Epoch::current().key(address, true).unwrap()), None);
        assert_eq!(look_up(key(address + 4)), None);
        store(key(address), 8);
        assert_eq!(look_up(key(address)), Some(8));
        start_epoch();
        assert_eq!(look_up(key(address)), None);
    }

    #[test]
    fn what_no_program_can_execute_has_no_key() {
        let epoch = Epoch::current();
        let end = END as usize;
        assert!(epoch.key(end - (1 << ZEROS), true).is_some());
        assert!(epoch.key(end, false).is_none());
        assert!(epoch.key(usize::MAX, true).is_none());
    }

    #[test]
    fn nothing_comes_back_when_the_epochs_start_over() {
        let _turn = turn();
        let address = 0x7F11_1111_1118;
        store(key(address), 9);
        for _ in 0..(1 << 16) + 2 {
            start_epoch();
            assert_eq!(look_up(key(address)), None);
        }
    }

    #[test]
    fn a_large_program_keeps_nearly_all_of_its_addresses() {
        let _turn = turn();
        start_epoch();
        let addresses = |count: usize| (0..count).map(|n| 0x5555_0000_0000 + n * n % 999_983 * 20);
        for address in addresses(2400) {
            store(key(address), address as u64);
        }
        let kept = addresses(2400).filter(|&address| look_up(key(address)) == Some(address as u64));
        assert!(kept.count() > 2390);
    }

    #[test]
    fn an_overfull_cache_forgets_but_never_errs() {
        let _turn = turn();
        start_epoch();
        let mut model = HashMap::new();
        let mut found = 0;
        for round in 0..100_000u64 {
            let address = 0x1000 + (round * round % 30_011) as usize * 8;
            match look_up(key(address)) {
                Some(value) => {
                    assert_eq!(Some(&value), model.get(&address));
                    found += 1;
                }
                None => {
                    store(key(address), round + 1);
                    model.insert(address, round + 1);
                }
            }
        }
        assert!(found > 10_000, "{found}");
    }

    #[test]
    fn halves_of_different_pairs_are_not_believed() {
        let _turn = turn();
        start_epoch();
        let (one, other) = (key(0x40_1000), key(0x40_1008));
        store(one, 0x1_0002);
        let entry = places(one).find(|entry| entry.read().0 == one.word);
        let entry = entry.unwrap();
        // As if another writer had been interrupted between its stores.
        entry.value.store(0x2_0002, Ordering::Relaxed);
        assert_eq!(look_up(one), None);
        assert_eq!(look_up(other), None);
        store(one, 0x1_0002);
        assert_eq!(look_up(one), Some(0x1_0002));
    }

    #[test]
    fn threads_that_store_and_forget_never_see_anothers_value() {
        let _turn = turn();
        std::thread::scope(|scope| {
            for seed in 1..=3u64 {
                scope.spawn(move || {
                    let mut random = seed;
                    for _ in 0..60_000 {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        let key = key(0x60_0000 + (random % 20_000) as usize * 4);
                        match look_up(key) {
                            Some(value) => assert_eq!(value, scramble(key.word)),
                            None => store(key, scramble(key.word)),
                        }
                        if random.is_multiple_of(5_000) {
                            start_epoch();
                        }
                    }
                });
            }
        });
    }
}
