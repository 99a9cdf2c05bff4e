//! What time it is, in nanoseconds since the Unix epoch. Knows no records.

use crate::sys;

/// Now, by the wall clock.
pub(crate) fn realtime() -> u64 {
    sys::clock(libc::CLOCK_REALTIME)
}

/// Now, by the clock that never steps.
pub(crate) fn monotonic() -> u64 {
    sys::clock(libc::CLOCK_MONOTONIC)
}

/// What a thread remembers of the clock. Valid as zeros.
pub(crate) struct Anchor {}

impl Anchor {
    /// Forgets everything.
    pub fn reset(&self) {}

    /// Now, by the wall clock.
    #[inline]
    pub fn now(&self) -> u64 {
        realtime()
    }
}
