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
    patience: Duration,
    is_wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Work on `total` bytes begins.
    pub fn new(total: u64) -> Progress {
        Progress {
            total,
            began: Instant::now(),
            patience: PATIENCE,
            is_wanted: std::io::stderr().is_terminal(),
            bar: None,
        }
    }

    /// `done` bytes were read.
    pub fn reached(&mut self, done: u64) {
        if !self.is_wanted || self.began.elapsed() < self.patience {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a bar shows after some work, and where it stands.
    fn shown(is_wanted: bool, patience: Duration, reached: &[u64]) -> Option<(u64, Option<u64>)> {
        let mut progress = Progress::new(100);
        progress.patience = patience;
        progress.is_wanted = is_wanted;
        reached.iter().for_each(|done| progress.reached(*done));
        let bar = progress.bar.as_ref();
        bar.map(|bar| (bar.position(), bar.length()))
    }

    #[test]
    fn long_work_shows_how_far_it_is() {
        assert_eq!(shown(true, Duration::ZERO, &[30]), Some((30, Some(100))));
        // A live file grows, and suspect frames make for a second look.
        assert_eq!(shown(true, Duration::ZERO, &[130]), Some((100, Some(100))));
        assert_eq!(
            shown(true, Duration::ZERO, &[90, 10]),
            Some((10, Some(100)))
        );
    }

    #[test]
    fn short_work_and_what_no_terminal_sees_shows_nothing() {
        assert_eq!(shown(true, Duration::MAX, &[30]), None);
        assert_eq!(shown(false, Duration::ZERO, &[30]), None);
    }
}
