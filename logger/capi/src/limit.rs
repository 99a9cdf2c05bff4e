//! The rate limit by time. Those by number are in `logdef.h`, inline. May be
//! called in a signal handler.

use core::sync::atomic::{AtomicU64, Ordering};

/// How a rate-limited call site counts.
#[repr(C)]
pub struct Limit {
    /// Calls skipped since the last one that was not.
    count: AtomicU64,
    /// When the next call is due, in nanoseconds of the monotonic clock.
    due: AtomicU64,
}

/// How many calls were skipped if this one is due, else -1.
///
/// # Safety
///
/// `limit` points to a `struct logdef_limit` that only these functions change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_at_most_every(limit: *const Limit, ms: u64) -> i64 {
    // SAFETY: by the caller; both members are atomic.
    let limit = unsafe { &*limit };
    limit.take(now(), ms)
}

impl Limit {
    fn take(&self, now: u64, ms: u64) -> i64 {
        let due = self.due.load(Ordering::Relaxed);
        let next = now.saturating_add(ms.saturating_mul(1_000_000));
        // Of those who come at once, one is first.
        let first = now >= due
            && self
                .due
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !first {
            self.count.fetch_add(1, Ordering::Relaxed);
            return -1;
        }
        self.count.swap(0, Ordering::Relaxed) as i64
    }
}

/// The monotonic clock in nanoseconds, as of the last tick: it costs no more than
/// a load or two.
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the struct it is given. It cannot fail: the clock exists
    // since Linux 2.6.32.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn limit() -> Limit {
        Limit {
            count: AtomicU64::new(0),
            due: AtomicU64::new(0),
        }
    }

    #[test]
    fn the_first_call_is_due() {
        assert_eq!(limit().take(0, 100), 0);
        assert_eq!(limit().take(u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn calls_between_are_counted_once() {
        let limit = limit();
        assert_eq!(limit.take(5 * MS, 100), 0);
        for ms in [5, 6, 50, 104] {
            assert_eq!(limit.take(ms * MS, 100), -1);
        }
        assert_eq!(limit.take(105 * MS, 100), 4);
        assert_eq!(limit.take(205 * MS, 100), 0);
    }

    #[test]
    fn no_call_of_many_threads_is_lost() {
        let limit = limit();
        let written = AtomicU64::new(0);
        let told = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for now in 0..10_000 {
                        let skipped = limit.take(now * MS, 10);
                        if skipped >= 0 {
                            written.fetch_add(1, Ordering::Relaxed);
                            told.fetch_add(skipped as u64, Ordering::Relaxed);
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
        let before = now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(now() > before);
    }
}
