//! Ticks, how long one lasts, and nanoseconds. All arithmetic is in 128 bits: the
//! largest tick count at the slowest rate is 1.8 * 10^28 ns, and nothing is rounded
//! before the last step.

use core::fmt;
use core::num::NonZeroU64;

/// A number of ticks of the provider's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

impl From<u64> for Ticks {
    fn from(ticks: u64) -> Ticks {
        Ticks(ticks)
    }
}

/// Ticks per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TickRate(NonZeroU64);

impl TickRate {
    /// One tick per nanosecond: what a trace without an initialization record has.
    pub const NANOSECONDS: TickRate = TickRate(NonZeroU64::new(1_000_000_000).unwrap());

    /// `ticks_per_second`, unless it is zero.
    pub const fn new(ticks_per_second: u64) -> Option<TickRate> {
        match NonZeroU64::new(ticks_per_second) {
            Some(rate) => Some(TickRate(rate)),
            None => None,
        }
    }

    /// How many ticks a second has; never 0.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Whole nanoseconds in `ticks`: `ticks * 10^9 / rate`, rounded down.
    pub fn nanos(self, ticks: Ticks) -> u128 {
        if self == TickRate::NANOSECONDS {
            return u128::from(ticks.0);
        }
        u128::from(ticks.0) * 1_000_000_000 / u128::from(self.get())
    }
}

impl Default for TickRate {
    fn default() -> TickRate {
        TickRate::NANOSECONDS
    }
}

/// A resolved point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Nanoseconds by the provider's tick rate, rounded down. At slow rates these
    /// exceed 64 bits.
    pub nanos: u128,
    /// What the record says.
    pub ticks: Ticks,
}

impl fmt::Display for Time {
    /// Seconds with nine decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.nanos / 1_000_000_000, self.nanos % 1_000_000_000);
        write!(f, "{seconds}.{nanos:09}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_time_at_the_slowest_rate_is_exact() {
        let slow = TickRate::new(1).unwrap();
        assert_eq!(
            slow.nanos(Ticks(u64::MAX)),
            18_446_744_073_709_551_615_000_000_000
        );
        assert_eq!(
            TickRate::NANOSECONDS.nanos(Ticks(u64::MAX)),
            u64::MAX.into()
        );
        let fast = TickRate::new(u64::MAX).unwrap();
        assert_eq!(fast.nanos(Ticks(u64::MAX)), 1_000_000_000);
        assert_eq!(fast.nanos(Ticks(u64::MAX - 1)), 999_999_999);
    }

    #[test]
    fn an_epoch_time_at_24_mhz_is_exact() {
        // 2026-01-01T00:00:00 UTC is 1 767 225 600 s; one tick more is 41 2/3 ns.
        let rate = TickRate::new(24_000_000).unwrap();
        let epoch = 1_767_225_600 * 24_000_000;
        assert_eq!(rate.nanos(Ticks(epoch)), 1_767_225_600_000_000_000);
        assert_eq!(rate.nanos(Ticks(epoch + 1)), 1_767_225_600_000_000_041);
        assert_eq!(rate.nanos(Ticks(epoch + 3)), 1_767_225_600_000_000_125);
    }

    #[test]
    fn there_is_no_rate_of_zero() {
        assert_eq!(TickRate::new(0), None);
    }
}
