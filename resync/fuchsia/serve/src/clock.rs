//! The clock of timestamps.

use rustix::time::{ClockId, clock_gettime};

/// Which clock timestamps are of. Records do not say: all that write to one service agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`, which stands still while the machine is suspended.
    #[default]
    Monotonic,
    /// `CLOCK_BOOTTIME`, which does not.
    BootTime,
}

impl Clock {
    /// The time now, in nanoseconds.
    pub fn now(self) -> i64 {
        let time = clock_gettime(match self {
            Self::Monotonic => ClockId::Monotonic,
            Self::BootTime => ClockId::Boottime,
        });
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Its number in `clock_gettime`.
    pub fn id(self) -> u32 {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC as u32,
            Self::BootTime => libc::CLOCK_BOOTTIME as u32,
        }
    }

    /// Its name in the state of a service.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::BootTime => "boottime",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_numbered_as_the_kernel_does_and_boot_time_is_not_behind() {
        assert_eq!([Clock::Monotonic.id(), Clock::BootTime.id()], [1, 7]);
        let monotonic = Clock::Monotonic.now();
        assert!(monotonic > 0 && Clock::BootTime.now() >= monotonic);
    }
}
