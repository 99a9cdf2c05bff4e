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
//! A set is one cache line of four entries; a key may also live in the line
//! beside it. One line alone would leave a few addresses of a large
//! program without a place, and a miss costs as much as a hundred hits.

use core::sync::atomic::{AtomicU64, Ordering};

/// Entries in one cache line.
const WAYS: usize = 4;

/// Cache lines: a power of two.
const LINES: usize = 2048;

/// Odd, without pattern: 2^64 divided by the golden ratio.
const SCRAMBLE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Bits of a key below the epoch: an address of 47 bits, and one that says
/// whether it is exact.
const EPOCH_SHIFT: u32 = 48;

struct Entry {
    check: AtomicU64,
    value: AtomicU64,
}

#[repr(align(64))]
struct Line([Entry; WAYS]);

static LINES_: [Line; LINES] = [const {
    Line(
        [const {
            Entry {
                check: AtomicU64::new(0),
                value: AtomicU64::new(0),
            }
        }; WAYS],
    )
}; LINES];

/// Starts at 1, so that no key is 0, the key of an empty entry.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// A code address in one epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key(u64);

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
        (address < 1 << (EPOCH_SHIFT - 1)).then_some(Key(self.0 | address << 1 | u64::from(exact)))
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
        for entry in LINES_.iter().flat_map(|line| &line.0) {
            entry.value.store(0, Ordering::Relaxed);
            entry.check.store(0, Ordering::Relaxed);
        }
    }
}

/// The value last stored for `key`. Async-signal-safe.
#[inline]
pub(crate) fn look_up(key: Key) -> Option<u64> {
    let home = home(key);
    find(&LINES_[home], key).or_else(|| find(&LINES_[home ^ 1], key))
}

/// Stores `value` for `key`, in place of what it had before, else in a free
/// entry, else in place of another key. Async-signal-safe.
pub(crate) fn store(key: Key, value: u64) {
    let home = home(key);
    let entries = || LINES_[home].0.iter().chain(&LINES_[home ^ 1].0);
    let entry = entries()
        .find(|entry| entry.read().0 == key)
        .or_else(|| entries().find(|entry| entry.read() == (Key(0), 0)))
        .unwrap_or_else(|| {
            // Any choice will do, as long as two keys that fight for one place
            // do not choose the same for ever.
            let turn = VICTIM.fetch_add(1, Ordering::Relaxed) as usize;
            &LINES_[home].0[turn % WAYS]
        });
    entry.value.store(value, Ordering::Relaxed);
    entry
        .check
        .store(key.0 ^ scramble(value), Ordering::Relaxed);
}

static VICTIM: AtomicU64 = AtomicU64::new(0);

#[inline]
fn find(line: &Line, key: Key) -> Option<u64> {
    for entry in &line.0 {
        let (found, value) = entry.read();
        if found == key {
            return Some(value);
        }
    }
    None
}

impl Entry {
    #[inline]
    fn read(&self) -> (Key, u64) {
        let value = self.value.load(Ordering::Relaxed);
        let check = self.check.load(Ordering::Relaxed);
        (Key(check ^ scramble(value)), value)
    }
}

#[inline]
fn scramble(value: u64) -> u64 {
    value.wrapping_mul(SCRAMBLE)
}

#[inline]
fn home(key: Key) -> usize {
    (key.0.wrapping_mul(SCRAMBLE) >> (64 - LINES.ilog2())) as usize
}
