//! Rate limits of call sites: a counter, and for limits by time a date. May be
//! used in a signal handler; knows nothing of what is limited.
//!
//! Each limit answers how many calls it skipped since the last one that it let
//! through, or nothing if this one is to be skipped too. `logdef.h` has the limits
//! by number again, inline.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// How a rate-limited call site counts. `struct logdef_limit` of the C ABI.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Limit {
    /// All calls, or those skipped since the last one that was not.
    count: AtomicU64,
    /// When the next call is due, in nanoseconds of the monotonic clock.
    due: AtomicU64,
}

impl Limit {
    /// A limit that nothing met yet.
    pub const fn new() -> Limit {
        Limit {
            count: AtomicU64::new(0),
            due: AtomicU64::new(0),
        }
    }

    /// Lets the first `n` calls through.
    pub fn first_n(&self, n: u64) -> Option<u64> {
        // Asked before it is counted: the count of a site that is called for
        // years must not come round.
        let all_through = self.count.load(Ordering::Relaxed) >= n;
        (!all_through && self.count.fetch_add(1, Ordering::Relaxed) < n).then_some(0)
    }

    /// Lets call 1, n + 1, 2 n + 1 and so on through.
    pub fn every_n(&self, n: u64) -> Option<u64> {
        match self.count.fetch_add(1, Ordering::Relaxed) {
            _ if n < 2 => Some(0),
            0 => Some(0),
            before => before.is_multiple_of(n).then_some(n - 1),
        }
    }

    /// Lets a call through if `period` has passed since the last one, by the
    /// kernel's coarse clock.
    pub fn at_most_every(&self, period: Duration) -> Option<u64> {
        let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        // It costs no more than a load or two.
        self.take(crate::sys::clock(libc::CLOCK_MONOTONIC_COARSE), period)
    }

    fn take(&self, now: u64, period: u64) -> Option<u64> {
        let due = self.due.load(Ordering::Relaxed);
        let next = now.saturating_add(period);
        // Of those who come at once, one is first.
        let first = now >= due
            && self
                .due
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !first {
            self.count.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.count.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_calls_pass() {
        let limit = Limit::new();
        let passed: Vec<_> = (0..6).map(|_| limit.first_n(2)).collect();
        assert_eq!(passed, [Some(0), Some(0), None, None, None, None]);
        assert_eq!(Limit::new().first_n(0), None);
    }

    #[test]
    fn every_nth_call_passes_and_counts_the_others() {
        let limit = Limit::new();
        let passed: Vec<_> = (0..7).map(|_| limit.every_n(3)).collect();
        let expected = [Some(0), None, None, Some(2), None, None, Some(2)];
        assert_eq!(passed, expected);
        for n in [0, 1] {
            let limit = Limit::new();
            assert_eq!((limit.every_n(n), limit.every_n(n)), (Some(0), Some(0)));
        }
    }

    #[test]
    fn the_first_call_is_due() {
        assert_eq!(Limit::new().take(0, 100), Some(0));
        assert_eq!(Limit::new().take(u64::MAX, u64::MAX), Some(0));
        assert_eq!(Limit::new().at_most_every(Duration::MAX), Some(0));
    }

    #[test]
    fn calls_between_are_counted_once() {
        let limit = Limit::new();
        assert_eq!(limit.take(5, 100), Some(0));
        for now in [5, 6, 50, 104] {
            assert_eq!(limit.take(now, 100), None);
        }
        assert_eq!(limit.take(105, 100), Some(4));
        assert_eq!(limit.take(205, 100), Some(0));
    }

    #[test]
    fn no_call_of_many_threads_is_lost() {
        let limit = Limit::new();
        let written = AtomicU64::new(0);
        let told = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for now in 0..10_000 {
                        if let Some(skipped) = limit.take(now, 10) {
                            written.fetch_add(1, Ordering::Relaxed);
                            told.fetch_add(skipped, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let rest = limit.count.load(Ordering::Relaxed);
        let all = written.load(Ordering::Relaxed) + told.load(Ordering::Relaxed) + rest;
        assert_eq!(all, 40_000);
    }

    #[test]
    fn the_clock_runs() {
        let limit = Limit::new();
        let period = Duration::from_millis(1);
        assert_eq!(limit.at_most_every(period), Some(0));
        std::thread::sleep(Duration::from_millis(20));
        assert!(limit.at_most_every(period).is_some());
    }
}
