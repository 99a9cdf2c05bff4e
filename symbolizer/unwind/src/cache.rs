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

/// Bits of a key below the epoch: an address of 47 bits, and one that says
/// whether it is exact.
const EPOCH_SHIFT: u32 = 48;

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

/// The epoch that the keys of one walk share.
#[derive(Clone, Copy)]
pub(crate) struct Epoch(u64);

impl Epoch {
    #[inline]
    pub(crate) fn current() -> Self {
        Self(EPOCH.load(Ordering::Relaxed) << EPOCH_SHIFT)
    }

    /// The key of `pc`, or `None` for what is no address of a program.
    #[inline]
    pub(crate) fn key(self, pc: usize, exact: bool) -> Option<Key> {
        let address = pc as u64;
        let hash = address.wrapping_mul(SCRAMBLE);
        (address < 1 << (EPOCH_SHIFT - 1)).then_some(Key {
            word: self.0 | address << 1 | u64::from(exact),
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
    // After so many epochs the upper bits repeat: forget what still bears them.
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
        .or_else(|| places(key).find(|entry| entry.is_free()))
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
    fn is_free(&self) -> bool {
        self.read() == (0, 0)
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
