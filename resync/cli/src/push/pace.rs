//! How long to wait before a request is made again: twice as long each time, and never quite the same, so that
//! many who lost one server do not come back at one moment. Knows neither requests nor clocks.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The first pause, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// The longest that a server may ask for.
const PATIENCE: Duration = Duration::from_secs(600);

/// The pauses between attempts.
#[derive(Debug, Default)]
pub struct Pace {
    attempts: u32,
}

impl Pace {
    /// How long to wait now: at least as long as the server asked for.
    pub fn next(&mut self, asked: Option<Duration>) -> Duration {
        let most = PAUSES
            .0
            .saturating_mul(1 << self.attempts.min(20))
            .min(PAUSES.1);
        self.attempts += 1;
        // Between half of it and all of it.
        let own = most / 2 + most.mul_f64(random()) / 2;
        own.max(asked.unwrap_or_default().min(PATIENCE))
    }
}

/// From 0 to 1, another each time.
fn random() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_a_server_may_ask_for_longer() {
        let mut pace = Pace::default();
        for doubled in 0..40 {
            let most = PAUSES.0.saturating_mul(1 << doubled.min(20)).min(PAUSES.1);
            let pause = pace.next(None);
            assert!(pause >= most / 2 && pause <= most, "{pause:?}");
        }
        let asked = Duration::from_secs(90);
        assert_eq!(pace.next(Some(asked)), asked);
        assert_eq!(pace.next(Some(Duration::MAX)), PATIENCE);
        let few: Vec<_> = (0..9).map(|_| pace.next(None)).collect();
        assert!(few.iter().any(|pause| *pause != few[0]));
    }
}
