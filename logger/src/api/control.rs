//! Closing, syncing and setting the log of the process.

use crate::api::choose;
use crate::filter::{Filter, FilterError};
use crate::observer::Observer;
use crate::state::{RawState, State};
use logdef_wire::Level;
use std::io;

/// Ends the log. Later calls are counted, and the count is written down after
/// the next [`open`].
pub fn close() {
    choose::close();
}

/// Waits until every record whose call has returned is on stable storage, and
/// writes down in the log how far that is.
///
/// # Errors
///
/// What the system says; then nothing is promised, and the log says that too. It goes
/// on in another file: the kernel tells of a failed write once, and a later success
/// would say nothing of the bytes before it.
pub fn sync() -> io::Result<()> {
    choose::sync()
}

/// Lets the log be opened again at its path, where another file may stand by now, or
/// none: for programs whose logs are renamed by others. The next call of any thread
/// writes its record to the file that was open, and opens the other; no record is
/// lost. A rotated log begins its next file. May be called in a signal handler.
///
/// # Errors
///
/// If no log is open (`NotConnected`). That no other file could be opened is told by a
/// note in the old one, which is written to as before.
pub fn reopen() -> io::Result<()> {
    choose::reopen()
}

/// What the log is doing. Not for signal handlers.
pub fn state() -> State {
    let mut raw = RawState::new();
    choose::state(&mut raw);
    State::from(&raw)
}

/// Gives the log's file room for the next `bytes` bytes, and the room pages: for
/// programs that drop privileges, change their root or give up system calls when
/// they have started. Until they are used up, a thread that needs another chunk
/// finds one without opening or growing anything.
///
/// An appended log has nothing to reserve.
///
/// # Errors
///
/// What the system says: no space, a quota; `FileTooLarge` if the file that is
/// written to may not have so many more bytes ([`Options::rotate`], the limit of the
/// process).
pub fn reserve(bytes: u64) -> io::Result<()> {
    choose::reserve(bytes)
}

/// How many calls of this thread in a row, up to the last, could not be written,
/// for want of space above all. The next that can says how many there were.
pub fn unwritten() -> u64 {
    choose::unwritten()
}

/// Tells `observer` of records of this level and above from now on, beside writing
/// them; `None` ends that. Such records take as long as the observer does, and what
/// printing them takes.
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
/// filter says otherwise.
pub fn set_level(level: Level) {
    choose::set_level(level);
}

/// Logs what the directives say from now on.
///
/// # Errors
///
/// If one of them is none; then nothing changes.
pub fn set_filter(directives: &str) -> Result<(), FilterError> {
    // Read here, so that the error can name the directive.
    Filter::parse(directives)?;
    // What this copy can read, the leader can, or it is older and does not know it.
    let _ = choose::set_filter(directives);
    Ok(())
}

/// Adds a backtrace to records of this level and above from now on.
pub fn set_backtrace_level(level: Level) {
    choose::set_backtrace_level(level);
}

/// Takes notice of libraries that were loaded or unloaded since the log was
/// opened, or since the last call. A program may call this after `dlopen` and
/// `dlclose`, outside of signal handlers and of forked children.
///
/// With glibc 2.35 or newer it only makes sure that their exported functions
/// have names in backtraces of signal handlers too; the rest is found out when
/// a backtrace needs it. With older C libraries, code of a library loaded
/// later has no name and no module in the log until this was called.
pub fn modules_changed() {
    logdef_unwind::modules::refresh();
    logdef_unwind::modules::index_exports();
}

/// From now on a backtrace has at most this many return addresses, up to 256; where
/// the stack is deeper, the record says so.
pub fn set_backtrace_depth(depth: usize) {
    choose::set_backtrace_depth(depth);
}
