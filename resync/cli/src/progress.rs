//! How far long work is, for people who wait for it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar on standard error, if that is a terminal and the work is long.
pub struct Progress {
    total: u64,
    began: Instant,
    is_wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Work on `total` bytes begins.
    pub fn new(total: u64) -> Progress {
        Progress {
            total,
            began: Instant::now(),
            is_wanted: std::io::stderr().is_terminal(),
            bar: None,
        }
    }

    /// So many bytes are done.
    pub fn reached(&mut self, done: u64) {
        if !self.is_wanted || self.began.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}";
            let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
            match ProgressStyle::with_template(style) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        // A second look at the same bytes starts over.
        bar.set_position(done.min(self.total));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
