//! Closing, syncing and setting the log of the process.

use crate::api::choose;
use crate::filter::{Filter, FilterError};
use crate::observer::Observer;
use crate::state::{RawState, State};
use logdef_wire::Level;
use std::io;

/// Ends the log. Later calls are counted, and the first record after the next
/// [`open`](crate::open) carries the count.
///
/// Signal safety: not async-signal-safe.
pub fn close() {
    choose::close();
}

/// Waits until every record whose call has returned is on stable storage, and
/// records in the log, for each thread, up to which record that is.
///
/// A rotated log keeps its newest 64 files open for that, 32 if it is appended to. If files before
/// these were begun after the last `sync`, all of their file system is synced, by `syncfs`.
///
/// Signal safety: not async-signal-safe.
///
/// # Errors
///
/// The error of the system call: which records are on stable storage is then unknown, and a
/// note in the log says so. The log continues in another file: the kernel reports a failed
/// write once, and a later success would say nothing about the bytes before it.
pub fn sync() -> io::Result<()> {
    choose::sync()
}

/// Asks for the log to be opened again at its path, for programs whose logs are renamed by
/// other programs. The next call of any thread writes its record to the file that was open,
/// and opens the one at the path, which is created if it does not exist; no record is
/// lost. If the path still leads to the file that is written to, nothing changes. A rotated log begins its next file.
///
/// Signal safety: async-signal-safe.
///
/// # Errors
///
/// If no log is open (`NotConnected`). If the other file cannot be opened, a note in the old
/// file records it, and the log stays there.
pub fn reopen() -> io::Result<()> {
    choose::reopen()
}

/// Returns what the log is doing at this moment.
///
/// Signal safety: not async-signal-safe.
pub fn state() -> State {
    let mut raw = RawState::new();
    choose::state(&mut raw);
    State::from(&raw)
}

/// Reserves space in the log's file for the next `bytes` bytes, and touches the pages: for
/// programs that drop privileges, change their root or give up system calls when
/// they have started. Until these bytes are used up, a thread that needs another chunk
/// gets one without opening or growing a file, and even if the log's descriptors were closed
/// and its path is out of reach, in forked children too.
///
/// An appended log has nothing to reserve.
///
/// Signal safety: not async-signal-safe.
///
/// # Errors
///
/// `NotConnected` if no log is open; the error of the system call, such as no space or a
/// quota; `FileTooLarge` if the file that is written to may not grow by `bytes`
/// ([`Options::rotate`](crate::Options::rotate), the limit of the process).
pub fn reserve(bytes: u64) -> io::Result<()> {
    choose::reserve(bytes)
}

/// Returns how many calls of the calling thread were dropped since its last record, for
/// instance for lack of space; 0 if its last call was written. The next record of the thread
/// carries the count.
///
/// Signal safety: async-signal-safe.
pub fn unwritten() -> u64 {
    choose::unwritten()
}

/// Calls `observer` with each record of this level and above from now on, besides writing
/// it; `None` ends that. A log call that is observed also takes the time that the observer
/// and the formatting of its message take.
///
/// Each call with an observer leaks one box of two words, and two if another copy of the
/// logger in the process writes the log: a thread may still be calling the observer that was
/// set before.
///
/// Threads: may be called while other threads log, but by one thread at a time.
///
/// Signal safety: not async-signal-safe.
///
/// ```
/// use logdef::{Level, Observed, Observer};
///
/// struct Alarm;
///
/// impl Observer for Alarm {
///     fn observe(&self, record: &Observed<'_>) {
///         eprintln!("{}", String::from_utf8_lossy(record.message()));
///     }
/// }
///
/// logdef::set_observer(Some((Level::FATAL, &Alarm)));
/// ```
pub fn set_observer(observer: Option<(Level, &'static dyn Observer)>) {
    choose::set_observer(observer);
}

/// Logs calls of this level and above from now on, where no directive of the
/// filter applies.
///
/// Threads: may be called from any thread, also while others log.
///
/// Signal safety: async-signal-safe, unless a facade (`logdef-log`, `logdef-tracing`) is in use:
/// it then updates what it remembers, which takes locks.
pub fn set_level(level: Level) {
    choose::set_level(level);
}

/// Logs the calls that the directives name from now on, as [`Filter`] describes. The filter
/// that was set before is not freed: each successful call leaks one.
///
/// Threads: may be called from any thread, also while others log.
///
/// Signal safety: not async-signal-safe.
///
/// # Errors
///
/// If a directive cannot be parsed; then nothing changes.
pub fn set_filter(directives: &str) -> Result<(), FilterError> {
    // Read here, so that the error can name the directive.
    Filter::parse(directives)?;
    // The leader can read it too, unless it is an older version: then nothing changes.
    let _ = choose::set_filter(directives);
    Ok(())
}

/// Adds a backtrace to records of this level and above from now on.
///
/// Threads: may be called from any thread, also while others log.
///
/// Signal safety: async-signal-safe.
pub fn set_backtrace_level(level: Level) {
    choose::set_backtrace_level(level);
}

/// Lists the libraries that were loaded or unloaded since the log was
/// opened, or since the last call. A program may call this after `dlopen` and
/// `dlclose`, but not in a forked child.
///
/// With glibc 2.35 or newer it only makes sure that their exported functions
/// have names in backtraces of signal handlers too; everything else is looked up when
/// a backtrace needs it. With older C libraries, code of a library loaded
/// later has no name and no module in the log until this was called.
///
/// Signal safety: not async-signal-safe.
pub fn modules_changed() {
    logdef_unwind::modules::refresh();
    logdef_unwind::modules::index_exports();
}

/// Limits backtraces to `depth` return addresses from now on, at most 256; where
/// the stack is deeper, the record says so.
///
/// Threads: may be called from any thread, also while others log.
///
/// Signal safety: async-signal-safe.
pub fn set_backtrace_depth(depth: usize) {
    choose::set_backtrace_depth(depth);
}
