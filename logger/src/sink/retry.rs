//! When what the system refused is tried again: after a second, then after twice as long
//! each time, up to sixteen. A full file system may flush all it has to find some room,
//! which costs the call that asks tens of milliseconds. A lack of descriptors or memory costs
//! it microseconds, and often ends as soon: a hundredth of that then.

use crate::sys::Errno;
use core::sync::atomic::{AtomicU64, Ordering};

/// The time of the next try. Times are coarse monotonic ones, in nanoseconds.
pub(crate) struct Retry {
    /// Nothing is tried until then; 0 if nothing was refused.
    until: AtomicU64,
    /// For how long the last refusal holds.
    pause: AtomicU64,
}

const SHORTEST: u64 = 1_000_000_000;

/// For how long nothing is tried after a first refusal.
pub(crate) fn first_pause(errno: Errno) -> u64 {
    match errno {
        Errno(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => SHORTEST / 100,
        _ => SHORTEST,
    }
}

impl Retry {
    pub const fn new() -> Retry {
        Retry {
            until: AtomicU64::new(0),
            pause: AtomicU64::new(0),
        }
    }

    /// Whether nothing is to be tried now. Asks for the time only after a refusal.
    pub fn is_paused(&self, now: impl FnOnce() -> u64) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until > 0 && now() < until
    }

    /// Whether the last attempt was refused.
    pub fn was_refused(&self) -> bool {
        self.until.load(Ordering::Relaxed) > 0
    }

    /// An attempt was refused that began at `now`, or that ended then. Threads that were all
    /// refused in the same moment met one refusal: the first of them lengthens the pause.
    pub fn refused(&self, now: u64, errno: Errno) {
        let until = self.until.load(Ordering::Relaxed);
        if now < until {
            return;
        }
        let pause = self.pause.load(Ordering::Relaxed);
        let first = first_pause(errno);
        let pause = (pause * 2).clamp(first, 16 * first);
        let (set, order) = (now + pause, Ordering::Relaxed);
        let won = self.until.compare_exchange(until, set, order, order);
        if won.is_ok() {
            self.pause.store(pause, Ordering::Relaxed);
        }
    }

    pub fn granted(&self) {
        if self.until.load(Ordering::Relaxed) > 0 {
            self.until.store(0, Ordering::Relaxed);
            self.pause.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Errno = Errno(libc::ENOSPC);

    #[test]
    fn a_disk_that_stays_full_is_asked_ever_more_rarely() {
        let retry = Retry::new();
        assert!(!retry.is_paused(|| unreachable!("nothing was refused")));
        let (mut now, mut asked) = (5_000_000_000, 0);
        let end = now + 100 * SHORTEST;
        while now < end {
            if !retry.is_paused(|| now) {
                asked += 1;
                retry.refused(now, FULL);
            }
            now += SHORTEST / 10;
        }
        // After 0, 1, 3, 7, 15, 31, 47, 63, 79 and 95 seconds.
        assert_eq!(asked, 10);
        retry.granted();
        assert!(!retry.is_paused(|| now));
        retry.refused(now, FULL);
        assert!(retry.is_paused(|| now) && !retry.is_paused(|| now + SHORTEST));
    }

    /// A soak test's eight threads met a full disk together, each doubled the pause, and the
    /// log stayed silent for sixteen seconds after a disk that was full for one.
    #[test]
    fn threads_that_are_refused_together_wait_once() {
        let retry = Retry::new();
        let now = 5_000_000_000;
        for thread in 0..8 {
            retry.refused(now + thread, FULL);
        }
        assert!(!retry.is_paused(|| now + SHORTEST));
        let now = now + SHORTEST;
        for thread in 0..8 {
            retry.refused(now + thread, FULL);
        }
        assert!(retry.is_paused(|| now + 2 * SHORTEST - 1));
        assert!(!retry.is_paused(|| now + 2 * SHORTEST));
    }

    /// Descriptors were short for 10 ms, and an appended log with `keep` dropped all calls of a second.
    #[test]
    fn a_short_lack_of_descriptors_costs_little_more() {
        let retry = Retry::new();
        let (start, lack) = (5_000_000_000, 10_000_000);
        let mut now = start;
        while now < start + lack {
            if !retry.is_paused(|| now) {
                retry.refused(now, Errno(libc::EMFILE));
            }
            now += 1_000_000;
        }
        assert!(!retry.is_paused(|| now + lack));
        // A disk that is full by then is not asked as often.
        retry.refused(now + lack, FULL);
        assert!(retry.is_paused(|| now + lack + SHORTEST - 1));
    }
}
