//! What the log has to say about itself as soon as it can: that there was no space
//! for a while, that a file is suspect, that the wall clock was set. May be used in
//! a signal handler; knows no frames.
//!
//! No call waits for such a report. While one is due, every call takes the slow path
//! ([`crate::settings::Settings::slow_path_level`]), so that the next one takes it
//! along, and calls pay nothing when none is.

use crate::clock;
use crate::sys::Errno;
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// What the log has to report about itself.
pub(crate) struct SelfReports {
    due: AtomicU32,
    /// Why records are dropped now; 0 if they are not.
    refused: AtomicU32,
    /// Since when, in nanoseconds of the wall clock.
    refused_since: AtomicU64,
    /// What the reports due say: errors, and a time.
    no_space_errno: AtomicU32,
    no_space_since: AtomicU64,
    suspect_errno: AtomicU32,
    /// Why a file is still written to where another should have followed it; 0 if that is not so.
    stay_errno: AtomicU32,
    /// Why the log's path does not lead to the newest file.
    link_errno: AtomicU32,
    /// What the wall clock is ahead of the monotonic one.
    ahead: AtomicI64,
}

/// Reports that are due.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Due(u32);

impl Due {
    const SPACE_RETURNED: Due = Due(1);
    const SUSPECT: Due = Due(2);
    const CLOCK_SET: Due = Due(4);
    const REOPEN: Due = Due(8);
    const STAY: Due = Due(16);
    const DROPS: Due = Due(32);
    const FILE_IS_OLD: Due = Due(64);
    const NEWS: Due = Due(128);
    const LISTENERS: Due = Due(256);
    const LINK: Due = Due(512);

    /// There was no space, and there is again.
    pub fn space_returned(self) -> bool {
        self.0 & Due::SPACE_RETURNED.0 != 0
    }

    /// The file before the current one cannot be relied on.
    pub fn suspect_file(self) -> bool {
        self.0 & Due::SUSPECT.0 != 0
    }

    /// The log is to be opened again, which is no report, but done at the same time.
    pub fn reopen(self) -> bool {
        self.0 & Due::REOPEN.0 != 0
    }

    /// A file is still written to where another should have followed it.
    pub fn stay(self) -> bool {
        self.0 & Due::STAY.0 != 0
    }

    /// The log's path leads to an older file than the one that is written to.
    pub fn link(self) -> bool {
        self.0 & Due::LINK.0 != 0
    }

    /// Calls were dropped that no note has reported.
    pub fn drops(self) -> bool {
        self.0 & Due::DROPS.0 != 0
    }

    /// Another file is to follow, unless one does already; done at the same time.
    pub fn file_is_old(self) -> bool {
        self.0 & Due::FILE_IS_OLD.0 != 0
    }

    /// Something was asked for from outside.
    pub fn news(self) -> bool {
        self.0 & Due::NEWS.0 != 0
    }

    /// Level or filter was changed from outside, which those who remember them do not know.
    pub fn listeners(self) -> bool {
        self.0 & Due::LISTENERS.0 != 0
    }

    /// The wall clock was set.
    pub fn clock_set(self) -> bool {
        self.0 & Due::CLOCK_SET.0 != 0
    }
}

/// The wall clock was set if it is off by more nanoseconds: what the two readings
/// can be apart, and then some.
const STEP: u64 = 5_000_000;

impl SelfReports {
    pub const fn new() -> SelfReports {
        SelfReports {
            due: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            refused_since: AtomicU64::new(0),
            no_space_errno: AtomicU32::new(0),
            no_space_since: AtomicU64::new(0),
            suspect_errno: AtomicU32::new(0),
            stay_errno: AtomicU32::new(0),
            link_errno: AtomicU32::new(0),
            ahead: AtomicI64::new(0),
        }
    }

    /// A log begins: what was asked for of the one before does not matter.
    pub fn begin_log(&self) {
        self.due.store(0, Ordering::Relaxed);
    }

    /// A run begins at these readings.
    pub fn begin(&self, realtime: u64, monotonic: u64) {
        // A forked child may have been asked to open its log again before its first record.
        self.due.fetch_and(Due::REOPEN.0, Ordering::Relaxed);
        self.refused.store(0, Ordering::Relaxed);
        self.stay_errno.store(0, Ordering::Relaxed);
        let ahead = realtime.wrapping_sub(monotonic) as i64;
        self.ahead.store(ahead, Ordering::Relaxed);
    }

    /// The log is to be opened again.
    pub fn ask_to_reopen(&self) {
        self.give_back(Due::REOPEN);
    }

    /// The file that is written to is to be followed by another.
    pub fn file_is_old(&self) {
        self.give_back(Due::FILE_IS_OLD);
    }

    /// Something was asked for from outside.
    pub fn ask_for_news(&self) {
        self.give_back(Due::NEWS);
    }

    /// Those who remember level or filter have to ask again.
    pub fn listeners_are_due(&self) {
        self.give_back(Due::LISTENERS);
    }

    /// Why records are dropped now.
    pub fn why_refused(&self) -> Option<Errno> {
        match self.refused.load(Ordering::Relaxed) {
            0 => None,
            errno => Some(Errno(errno as i32)),
        }
    }

    /// Whether something is to be reported.
    pub fn is_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) != 0
    }

    /// Takes what is to be reported.
    pub fn take(&self) -> Due {
        Due(self.due.swap(0, Ordering::AcqRel))
    }

    /// Takes the request to open the log again, if there is one.
    pub fn take_reopen(&self) -> bool {
        let due = self.due.fetch_and(!Due::REOPEN.0, Ordering::AcqRel);
        Due(due).reopen()
    }

    /// It could not be reported.
    pub fn give_back(&self, due: Due) {
        self.due.fetch_or(due.0, Ordering::Release);
    }

    /// The log has no room for a record.
    pub fn write_failed(&self, errno: Errno) {
        if self.refused.swap(errno.0 as u32, Ordering::Relaxed) == 0 {
            let now = clock::realtime();
            self.refused_since.store(now, Ordering::Relaxed);
        }
    }

    /// The log has room. `true` if it had none before, which is now to be reported.
    pub fn write_succeeded(&self) -> bool {
        if self.refused.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let errno = self.refused.swap(0, Ordering::Relaxed);
        if errno == 0 {
            return false;
        }
        let since = self.refused_since.load(Ordering::Relaxed);
        self.no_space_errno.store(errno, Ordering::Relaxed);
        self.no_space_since.store(since, Ordering::Relaxed);
        // The threads that dropped calls may have ended.
        self.give_back(Due::SPACE_RETURNED);
        self.give_back(Due::DROPS);
        true
    }

    /// Why there was no space, and since when.
    pub fn no_space(&self) -> (Errno, u64) {
        let errno = self.no_space_errno.load(Ordering::Relaxed);
        let since = self.no_space_since.load(Ordering::Relaxed);
        (Errno(errno as i32), since)
    }

    /// A file cannot be relied on, which is to be reported. `None` as error means: another
    /// process truncated it or took its place.
    pub fn suspect_file(&self, errno: Option<Errno>) {
        let errno = errno.map_or(0, |errno| errno.0 as u32);
        self.suspect_errno.store(errno, Ordering::Relaxed);
        self.give_back(Due::SUSPECT);
    }

    /// Why a file cannot be relied on.
    pub fn why_suspect(&self) -> Option<Errno> {
        match self.suspect_errno.load(Ordering::Relaxed) {
            0 => None,
            errno => Some(Errno(errno as i32)),
        }
    }

    /// Records stay in a full file, since its successor cannot be made. `true` if that, or
    /// the reason, is new and so has to be reported.
    pub fn stay_in_file(&self, errno: Errno) -> bool {
        let errno = errno.0 as u32;
        let is_new = self.stay_errno.swap(errno, Ordering::Relaxed) != errno;
        if is_new {
            self.give_back(Due::STAY);
        }
        is_new
    }

    /// The number of dropped calls has to be reported.
    pub fn drops_are_due(&self) {
        self.give_back(Due::DROPS);
    }

    /// Another file followed.
    pub fn left_file(&self) {
        self.stay_errno.store(0, Ordering::Relaxed);
    }

    /// Why no file followed.
    pub fn why_stay(&self) -> Option<Errno> {
        match self.stay_errno.load(Ordering::Relaxed) {
            0 => None,
            errno => Some(Errno(errno as i32)),
        }
    }

    /// The log's path could not be made to lead to the newest file. Each such file has to report it:
    /// those before it may be removed.
    pub fn not_linked(&self, errno: Errno) {
        self.link_errno.store(errno.0 as u32, Ordering::Relaxed);
        self.give_back(Due::LINK);
    }

    /// Why the log's path does not lead to the newest file.
    pub fn why_not_linked(&self) -> Errno {
        Errno(self.link_errno.load(Ordering::Relaxed) as i32)
    }

    /// Compares two readings of one instant with those that were last reported.
    /// `true` if the wall clock was set meanwhile, which is now to be reported.
    pub fn compare_clocks(&self, realtime: u64, monotonic: u64) -> bool {
        let ahead = realtime.wrapping_sub(monotonic) as i64;
        let before = self.ahead.load(Ordering::Relaxed);
        if ahead.wrapping_sub(before).unsigned_abs() < STEP {
            return false;
        }
        let first =
            self.ahead
                .compare_exchange(before, ahead, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            self.give_back(Due::CLOCK_SET);
        }
        first.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_that_returns_is_reported_once() {
        let reports = SelfReports::new();
        assert!(!reports.write_succeeded() && !reports.is_due());
        reports.write_failed(Errno(libc::ENOSPC));
        reports.write_failed(Errno(libc::EDQUOT));
        assert!(!reports.is_due(), "there is none yet");
        assert!(reports.write_succeeded() && !reports.write_succeeded());
        let due = reports.take();
        assert!(due.space_returned() && !due.suspect_file());
        assert_eq!(reports.no_space().0, Errno(libc::EDQUOT));
        assert!(!reports.is_due());
        reports.give_back(due);
        assert!(reports.take().space_returned());
    }

    #[test]
    fn space_was_gone_since_the_first_call_that_found_none() {
        let reports = SelfReports::new();
        reports.write_failed(Errno(libc::ENOSPC));
        let since = clock::realtime();
        while clock::realtime() == since {}
        reports.write_failed(Errno(libc::EDQUOT));
        assert!(reports.write_succeeded());
        let (_, reported) = reports.no_space();
        assert!(0 < reported && reported <= since, "{reported} {since}");
    }

    #[test]
    fn a_file_that_stays_in_use_is_reported_once_for_each_reason() {
        let reports = SelfReports::new();
        assert!(reports.stay_in_file(Errno(libc::EACCES)));
        assert!(!reports.stay_in_file(Errno(libc::EACCES)));
        assert!(reports.take().stay() && !reports.is_due());
        assert!(reports.stay_in_file(Errno(libc::EMFILE)));
        assert_eq!(reports.why_stay(), Some(Errno(libc::EMFILE)));
        reports.left_file();
        assert_eq!(reports.why_stay(), None);
        assert!(reports.stay_in_file(Errno(libc::EMFILE)));
    }

    #[test]
    fn only_a_clock_that_was_set_is_reported() {
        let reports = SelfReports::new();
        reports.begin(1_700_000_000_000_000_000, 5_000_000_000);
        // Time goes by; the readings are a little apart.
        assert!(!reports.compare_clocks(1_700_000_100_000_900_000, 105_000_000_000));
        for (realtime, monotonic) in [
            (1_700_000_099_000_000_000, 105_000_000_000),
            (1_700_000_200_000_000_000, 106_000_000_000),
        ] {
            assert!(reports.compare_clocks(realtime, monotonic));
            assert!(!reports.compare_clocks(realtime + 1_000_000_000, monotonic + 1_000_000_000));
            assert!(reports.take().clock_set());
        }
    }
}
