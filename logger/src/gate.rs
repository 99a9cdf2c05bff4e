//! The gate: the word with which each call site compares its own to know whether it is on.
//! Alone in its page, so that a page which other processes can write to may take its place
//! ([`crate::control`]): then their store is what the next call compares with, and the call
//! is the same. Knows neither sites nor settings.

use core::sync::atomic::{AtomicU32, Ordering};

/// A page. What stands after the gate is never read.
#[repr(C, align(4096))]
pub(crate) struct GatePage {
    word: AtomicU32,
    rest: [u8; GatePage::LEN - 4],
}

impl GatePage {
    pub const LEN: usize = 4096;
}

/// The process's.
static PAGE: GatePage = GatePage {
    word: AtomicU32::new(BASE),
    rest: [0; GatePage::LEN - 4],
};

/// Gates have this bit and are less than twice it, so that no site begins with one: a site's
/// own is zero at first.
const BASE: u32 = 1 << 30;

/// A gate that no site has, so that each call asks.
const ASK: u32 = u32::MAX;

/// The word itself.
#[inline(always)]
pub(crate) const fn word() -> &'static AtomicU32 {
    &PAGE.word
}

/// Where the page is.
pub(crate) fn page() -> &'static GatePage {
    &PAGE
}

/// The gate.
#[inline(always)]
pub(crate) fn current() -> u32 {
    PAGE.word.load(Ordering::Relaxed)
}

/// The gate that follows one.
pub(crate) const fn after(gate: u32) -> u32 {
    BASE | (gate & (BASE - 1)).wrapping_add(2) & (BASE - 2)
}

/// Makes every site decide again. Returns the new gate.
pub(crate) fn advance() -> u32 {
    let next = |gate| (gate != ASK).then_some(after(gate));
    match PAGE
        .word
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, next)
    {
        Ok(before) => after(before),
        Err(ask) => ask,
    }
}

/// Each call asks from now on.
pub(crate) fn always_ask() {
    PAGE.word.store(ASK, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_even_never_zero_and_come_round() {
        for gate in [0, BASE, BASE + 4096, 2 * BASE - 2, 2 * BASE - 1, u32::MAX] {
            let next = after(gate);
            assert!(
                next.is_multiple_of(2) && (BASE..2 * BASE).contains(&next),
                "{gate:x}"
            );
            assert_ne!(next, gate);
        }
        assert_eq!(after(2 * BASE - 2), BASE);
        assert_eq!(after(BASE + 4096), BASE + 4098);
    }
}
