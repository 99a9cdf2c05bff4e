//! Whether this command was asked to end: SIGTERM and SIGINT ask, and end it at once if they come again. Knows
//! nothing of what is to be ended.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest that a request to end is not seen.
const GLANCE: Duration = Duration::from_millis(50);

/// Says whether a signal asked for the end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Takes the signals over.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGTERM, SIGINT] {
            // In this order: the first signal finds nothing set, the second does.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.0))?;
            flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    pub fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits, or less if the end is asked for.
    pub fn wait(&self, time: Duration) {
        let end = Instant::now().checked_add(time);
        while !self.is_wanted() {
            let left = end.map_or(GLANCE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(GLANCE));
        }
    }
}
