//! What a sink may know of the process: its run, its settings, its threads, its clock,
//! and what the log has to report of itself. Handed down by those who have it; knows
//! nothing of sinks, images and calls.

use crate::clock::{self, Clock};
use crate::run::RunState;
use crate::self_reports::SelfReports;
use crate::settings::Settings;
use crate::sys;
use crate::sys::Errno;
use crate::thread::Threads;
use core::sync::atomic::{AtomicU64, Ordering};

/// The part of the process that sinks use.
pub(crate) struct Shared {
    pub run: RunState,
    pub settings: Settings,
    pub threads: &'static Threads,
    pub reports: SelfReports,
    pub clock: Clock,
    /// When (monotonic time) the file that is written to will be too old.
    ages_at: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Shared {
    pub const fn new(threads: &'static Threads) -> Shared {
        Shared {
            run: RunState::new(),
            settings: Settings::new(),
            threads,
            reports: SelfReports::new(),
            clock: Clock::new(),
            ages_at: AtomicU64::new(NEVER),
        }
    }

    /// Begins another run.
    pub fn begin_run(&self) {
        let (realtime, monotonic) = self.run.prepare_next();
        self.reports.begin(realtime, monotonic);
        self.update_slow_path_level();
        self.run.publish_next();
    }

    /// Whether the wall clock was set since this was last asked; if so, the log will
    /// report it.
    pub fn clock_was_set(&self) -> bool {
        let looks = clock::both();
        let set = looks
            .is_some_and(|(realtime, monotonic)| self.reports.compare_clocks(realtime, monotonic));
        if set {
            self.update_slow_path_level();
        }
        set
    }

    /// Says when (monotonic time) the file that is written to will be too old; `None` for
    /// never.
    pub fn set_ages_at(&self, at: Option<u64>) {
        self.ages_at.store(at.unwrap_or(NEVER), Ordering::Relaxed);
    }

    /// The log has room for a record. If it had none before, it will report that.
    pub fn write_succeeded(&self) {
        if self.reports.write_succeeded() {
            self.update_slow_path_level();
        }
    }

    /// The log is opened again at the next call. May be called in a signal handler.
    pub fn ask_to_reopen(&self) {
        self.reports.ask_to_reopen();
        self.update_slow_path_level();
    }

    /// Something was asked for from outside: the next call writes it down.
    pub fn ask_for_news(&self) {
        self.reports.ask_for_news();
        self.update_slow_path_level();
    }

    /// Level or filter is another: the next call that may take locks says so to those who
    /// remember them.
    pub fn listeners_are_due(&self) {
        self.reports.listeners_are_due();
        self.update_slow_path_level();
    }

    /// Records stay in a full file, since its successor cannot be made. The log will report it.
    pub fn stay_in_file(&self, errno: Errno) {
        if self.reports.stay_in_file(errno) {
            self.update_slow_path_level();
        }
    }

    /// The log's path does not lead to the newest file, which the log will report.
    pub fn not_linked(&self, errno: Errno) {
        self.reports.not_linked(errno);
        self.update_slow_path_level();
    }

    /// Calls were dropped; the next note with room for it reports that.
    pub fn drops_are_due(&self) {
        self.reports.drops_are_due();
        self.update_slow_path_level();
    }

    /// A file cannot be relied on, which the log will report.
    pub fn suspect_file(&self, errno: Option<Errno>) {
        self.reports.suspect_file(errno);
        self.update_slow_path_level();
    }

    /// Recomputes the level from which a call takes the slow path: every call does
    /// while the log has something to report of itself.
    pub fn update_slow_path_level(&self) {
        self.settings.update_slow_path_level(self.reports.is_due());
    }

    /// Time passes: looks whether the file that is written to is too old now.
    #[inline]
    pub fn time_passes(&self) {
        let at = self.ages_at.load(Ordering::Relaxed);
        if at != NEVER && sys::clock(libc::CLOCK_MONOTONIC_COARSE) >= at {
            self.ages_at.store(NEVER, Ordering::Relaxed);
            self.reports.file_is_old();
            self.update_slow_path_level();
        }
    }
}
