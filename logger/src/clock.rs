//! The wall clock, in nanoseconds since the Unix epoch. Knows no records.
//!
//! Asking the kernel costs more than encoding a record. Where the CPU's time
//! stamp counter runs at one speed and the kernel itself uses it as its clock, each
//! thread keeps an *anchor*, a pair of counter and wall clock, and counts from
//! there; after a millisecond it takes a new one. So a wall clock that is set is
//! followed within a millisecond, and threads share only the length of a tick.

use crate::sys;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Asks the kernel for the wall clock, in nanoseconds since the Unix epoch.
pub(crate) fn realtime() -> u64 {
    sys::clock(libc::CLOCK_REALTIME)
}

/// Asks the kernel for the clock that is never set, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    sys::clock(libc::CLOCK_MONOTONIC)
}

/// The wall clock and the monotonic one, at one instant. `None` if this thread lost the CPU between two looks: they
/// would seem to have moved against each other.
pub(crate) fn both() -> Option<(u64, u64)> {
    const AT_MOST: u64 = 1_000_000;
    let monotonic = monotonic();
    let realtime = realtime();
    let took = self::monotonic() - monotonic;
    (took < AT_MOST).then_some((realtime, monotonic))
}

/// The clock that times records.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum ClockSource {
    /// The time stamp counter where it can be trusted, else the kernel.
    #[default]
    Auto,
    /// The kernel's clock, asked at every call.
    Kernel,
    /// The kernel's coarse clock: cheap, and as exact as its tick, 1 to 10 ms.
    Coarse,
}

impl ClockSource {
    /// All clocks, each at its number in `logdef.h` and between copies of the logger.
    pub(crate) const ALL: [ClockSource; 3] =
        [ClockSource::Auto, ClockSource::Kernel, ClockSource::Coarse];
}

/// The clock of the process.
pub(crate) struct Clock {
    source: AtomicU8,
    /// Nanoseconds of a tick, times 2³².
    tick: AtomicU64,
    /// Ticks in a millisecond.
    lifetime: AtomicU64,
    /// How many anchors were off by more than [`OFF`] nanoseconds.
    strikes: AtomicU32,
}

const KERNEL: u8 = 0;
const COARSE: u8 = 1;
const COUNTER: u8 = 2;

/// Nanoseconds after which an anchor is replaced.
const LIFETIME: u64 = 1_000_000;
/// A reading that took more ticks than this was interrupted.
const BRACKET: u64 = 300;
/// The counter is given up after this many anchors that were off by more than
/// [`OFF`] nanoseconds.
const STRIKES: u32 = 64;
const OFF: u64 = 10_000;

impl Clock {
    pub const fn new() -> Clock {
        Clock {
            source: AtomicU8::new(KERNEL),
            tick: AtomicU64::new(0),
            lifetime: AtomicU64::new(0),
            strikes: AtomicU32::new(0),
        }
    }

    /// Chooses the source. Opens a file and measures for 0.1 ms: not for log calls.
    pub fn set(&self, source: ClockSource) {
        let source = match source {
            ClockSource::Kernel => KERNEL,
            ClockSource::Coarse => COARSE,
            ClockSource::Auto if counter::is_even() && kernel_counts_too() => {
                self.measure();
                COUNTER
            }
            ClockSource::Auto => KERNEL,
        };
        self.strikes.store(0, Ordering::Relaxed);
        self.source.store(source, Ordering::Release);
    }

    /// Measures a tick over 0.1 ms: exact to a few parts in ten thousand, which is some
    /// hundred nanoseconds until anchors refine it.
    fn measure(&self) {
        let first = reading();
        let mut last = reading();
        while last.1.wrapping_sub(first.1) < 100_000 {
            last = reading();
        }
        self.refine(first, last);
    }

    fn refine(&self, first: (u64, u64), last: (u64, u64)) {
        let ticks = last.0.wrapping_sub(first.0);
        let nanos = last.1.wrapping_sub(first.1);
        if ticks == 0 {
            return;
        }
        let tick = ((nanos as u128) << 32) / ticks as u128;
        // A counter between 100 MHz and 100 GHz.
        if (1 << 25..1 << 36).contains(&tick) {
            let tick = tick as u64;
            self.tick.store(tick, Ordering::Relaxed);
            let lifetime = ((LIFETIME as u128) << 32) / tick as u128;
            self.lifetime.store(lifetime as u64, Ordering::Relaxed);
        }
    }
}

/// Reads counter and wall clock at one instant: of four attempts, the one that took the
/// fewest ticks.
fn reading() -> (u64, u64) {
    let mut best = (0, 0);
    let mut width = u64::MAX;
    for _ in 0..4 {
        let before = counter::read();
        let time = realtime();
        let after = counter::read();
        let took = after.wrapping_sub(before);
        if took < width {
            width = took;
            best = (before.wrapping_add(took / 2), time);
        }
        if width < BRACKET {
            break;
        }
    }
    best
}

fn kernel_counts_too() -> bool {
    let path = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut name = [0; 16];
    sys::read_start(path, &mut name).is_ok() && name.starts_with(b"tsc\n")
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use core::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};

    /// Whether the counter runs at one speed, whatever the CPU does.
    pub fn is_even() -> bool {
        let highest = cpuid(0x8000_0000).eax;
        highest >= 0x8000_0007 && cpuid(0x8000_0007).edx & 1 << 8 != 0
    }

    #[allow(unused_unsafe, reason = "an unsafe function until Rust 1.94")]
    fn cpuid(leaf: u32) -> CpuidResult {
        // SAFETY: every x86_64 CPU has the instruction.
        unsafe { __cpuid(leaf) }
    }

    /// Reads the counter, in ticks.
    #[inline(always)]
    pub fn read() -> u64 {
        // SAFETY: every x86_64 CPU has the instruction; a system that forbids
        // it to programs does not use it as its clock, which `kernel_counts_too`
        // checks.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    /// The kernel's clock is cheap enough elsewhere.
    pub fn is_even() -> bool {
        false
    }

    pub fn read() -> u64 {
        0
    }
}

/// What others have to do with the time.
pub(crate) trait Time {
    /// Whether the wall clock was set since this was last asked.
    fn was_set(&self) -> bool;

    /// Called at least once in every millisecond in which a thread reads the clock.
    fn passes(&self);
}

/// A thread's memory of the clock. Valid as zeros.
pub(crate) struct Anchor {
    /// Odd while the pair is being changed: a handler that finds it odd asks the
    /// kernel. Different afterwards, so that code which was interrupted between its reads
    /// of the two halves notices.
    version: AtomicU32,
    ticks: AtomicU64,
    time: AtomicU64,
    /// The last time that [`Anchor::now`] returned.
    last: AtomicU64,
}

impl Anchor {
    /// Forgets everything.
    pub fn reset(&self) {
        self.version.store(0, Ordering::Relaxed);
        self.time.store(0, Ordering::Relaxed);
        self.ticks.store(0, Ordering::Relaxed);
        self.last.store(0, Ordering::Relaxed);
    }

    /// Returns the wall clock; for one thread never less than before, unless
    /// the clock was set back. Where the counter and the kernel disagree, calls `was_set`,
    /// in which time passes.
    #[inline(always)]
    pub fn now(&self, clock: &Clock, about: &impl Time) -> u64 {
        let now = match clock.source.load(Ordering::Relaxed) {
            COUNTER => {
                let version = self.version.load(Ordering::Relaxed);
                compiler_fence(Ordering::SeqCst);
                let from = self.ticks.load(Ordering::Relaxed);
                let time = self.time.load(Ordering::Relaxed);
                compiler_fence(Ordering::SeqCst);
                let ticks = counter::read().wrapping_sub(from);
                let fresh = ticks < clock.lifetime.load(Ordering::Relaxed);
                if fresh && version & 1 == 0 && version == self.version.load(Ordering::Relaxed) {
                    // Fewer ticks than fit 32 bits, of less than 2^4 ns each.
                    time + ((ticks * clock.tick.load(Ordering::Relaxed)) >> 32)
                } else {
                    self.renew(clock, about)
                }
            }
            COARSE => {
                about.passes();
                sys::clock(libc::CLOCK_REALTIME_COARSE)
            }
            _ => {
                about.passes();
                realtime()
            }
        };
        let last = self.last.load(Ordering::Relaxed);
        let now = if now < last && last - now < OFF {
            last
        } else {
            now
        };
        self.last.store(now, Ordering::Relaxed);
        now
    }

    #[cold]
    #[inline(never)]
    fn renew(&self, clock: &Clock, about: &impl Time) -> u64 {
        about.passes();
        let version = self.version.load(Ordering::Relaxed);
        let (ticks, time) = reading();
        if version & 1 == 1 {
            // In a handler that interrupted the change below.
            return time;
        }
        self.version.store(version | 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let old = (
            self.ticks.load(Ordering::Relaxed),
            self.time.load(Ordering::Relaxed),
        );
        self.ticks.store(ticks, Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.version
            .store((version | 1).wrapping_add(1), Ordering::Relaxed);
        self.judge(clock, old, (ticks, time), about);
        time
    }

    /// Refines the tick by two anchors that are not too far apart, and gives
    /// the counter up after too many anchors that contradict it.
    fn judge(&self, clock: &Clock, old: (u64, u64), new: (u64, u64), about: &impl Time) {
        let ticks = new.0.wrapping_sub(old.0);
        let lifetime = clock.lifetime.load(Ordering::Relaxed);
        if old.1 == 0 || lifetime == 0 {
            return;
        }
        if ticks > lifetime * 1000 {
            about.was_set();
            return;
        }
        let tick = clock.tick.load(Ordering::Relaxed) as u128;
        let predicted = old.1.wrapping_add(((ticks as u128 * tick) >> 32) as u64);
        if predicted.abs_diff(new.1) <= OFF.max((new.1.wrapping_sub(old.1)) / 1000) {
            if ticks > lifetime * 10 {
                clock.refine(old, new);
            }
        } else if about.was_set() {
            // The counter is right, and the kernel's clock too.
        } else if clock.strikes.fetch_add(1, Ordering::Relaxed) >= STRIKES {
            clock.source.store(KERNEL, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is never set.
    struct Steady;

    impl Time for Steady {
        fn was_set(&self) -> bool {
            false
        }

        fn passes(&self) {}
    }

    /// A clock that reports having been set, if the cell holds `true`.
    #[cfg(target_arch = "x86_64")]
    struct Set(core::cell::Cell<bool>);

    #[cfg(target_arch = "x86_64")]
    impl Time for Set {
        fn was_set(&self) -> bool {
            self.0.set(true);
            true
        }

        fn passes(&self) {}
    }

    fn anchor() -> Anchor {
        Anchor {
            version: AtomicU32::new(0),
            ticks: AtomicU64::new(0),
            time: AtomicU64::new(0),
            last: AtomicU64::new(0),
        }
    }

    #[test]
    fn every_source_gives_the_kernels_time() {
        for source in [ClockSource::Auto, ClockSource::Kernel, ClockSource::Coarse] {
            let clock = Clock::new();
            clock.set(source);
            let anchor = anchor();
            let mut last = 0;
            for _ in 0..20_000 {
                let before = realtime();
                let now = anchor.now(&clock, &Steady);
                let after = realtime();
                // The coarse clock lags by a tick, and a counter of a virtual machine
                // that moves is off by less than what counts as a clock that was set.
                assert!(
                    now + 20_000_000 > before && now < after + 5_000_000,
                    "{source:?}"
                );
                assert!(now >= last, "{source:?}");
                last = now;
            }
        }
    }

    #[test]
    fn a_handler_that_meets_a_half_changed_anchor_asks_the_kernel() {
        let clock = Clock::new();
        clock.set(ClockSource::Auto);
        let anchor = anchor();
        anchor.now(&clock, &Steady);
        // As the interrupted change leaves it: counter new, time old.
        anchor.version.store(1, Ordering::Relaxed);
        anchor.time.store(12, Ordering::Relaxed);
        assert!(anchor.now(&clock, &Steady) > 1_000_000_000);
    }

    #[test]
    fn a_handler_leaves_an_anchor_that_is_being_changed_as_it_is() {
        let clock = Clock::new();
        let anchor = anchor();
        for cell in [&anchor.ticks, &anchor.time] {
            cell.store(12, Ordering::Relaxed);
        }
        anchor.version.store(7, Ordering::Relaxed);
        assert!(anchor.renew(&clock, &Steady) > 1_000_000_000);
        let pair = [&anchor.ticks, &anchor.time].map(|cell| cell.load(Ordering::Relaxed));
        assert_eq!((anchor.version.load(Ordering::Relaxed), pair), (7, [12; 2]));
    }

    #[test]
    fn a_thread_sees_no_time_before_the_last_one_unless_the_clock_was_set() {
        let clock = Clock::new();
        let anchor = anchor();
        // A little ahead of the kernel, as a counter may be when a thread changes its CPU.
        for _ in 0..1000 {
            let ahead = realtime() + OFF - 1;
            anchor.last.store(ahead, Ordering::Relaxed);
            assert!(anchor.now(&clock, &Steady) >= ahead);
        }
        let set_back = realtime() + 1_000_000_000;
        anchor.last.store(set_back, Ordering::Relaxed);
        assert!(anchor.now(&clock, &Steady) < set_back);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn whether_the_clock_was_set_is_asked_only_when_counter_and_kernel_disagree() {
        let clock = Clock::new();
        clock.measure();
        clock.source.store(COUNTER, Ordering::Relaxed);
        let anchor = anchor();
        let asked = Set(core::cell::Cell::new(false));
        let now = anchor.now(&clock, &asked);
        assert!(!asked.0.get(), "there is nothing to disagree with yet");
        let ticks = anchor.ticks.load(Ordering::Relaxed);
        // Read three lifetimes ago, when the wall clock was ten seconds behind.
        let lifetime = clock.lifetime.load(Ordering::Relaxed);
        let begin = ticks.wrapping_sub(3 * lifetime);
        anchor.ticks.store(begin, Ordering::Relaxed);
        anchor.time.store(now - 10_000_000_000, Ordering::Relaxed);
        let after = anchor.now(&clock, &asked);
        assert!(asked.0.get() && after >= now);
        assert_eq!(clock.strikes.load(Ordering::Relaxed), 0);
    }
}
