//! Opening, closing and setting the log of the process. None of it may be
//! called in a signal handler.

use crate::filter::{Filter, FilterError};
use crate::process::process;
use crate::sink::Append;
use crate::sys;
use logdef_wire::Level;
use std::ffi::CString;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens the log of the process at `path` with the [default options](Options).
///
/// # Errors
///
/// What [`Options::open`] says.
pub fn open(path: impl AsRef<Path>) -> io::Result<Log> {
    options().open(path)
}

/// The default options, to be changed before the log is opened.
pub fn options() -> Options {
    Options::default()
}

/// The process's log, open. Dropping it changes nothing: static destructors
/// and threads that outlive `main` may still log.
#[derive(Clone, Copy, Debug)]
pub struct Log(());

impl Log {
    /// See [`sync`].
    pub fn sync(&self) -> io::Result<()> {
        sync()
    }

    /// See [`close`].
    pub fn close(self) {
        close();
    }
}

/// How the log is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    level: Option<Level>,
    filter: Option<Filter>,
    backtrace_level: Option<Level>,
    backtrace_depth: Option<usize>,
    max_string: Option<usize>,
}

impl Options {
    /// Logs calls of this level and above; default `TRACE`. Directives of
    /// [`filter`](Self::filter) win over it.
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Logs what the filter says. Without this, the variable `LOGDEF` of the
    /// environment is the filter, if it is set and right.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Adds a backtrace to records of this level and above; default `ERROR`.
    pub fn backtrace_level(mut self, level: Level) -> Self {
        self.backtrace_level = Some(level);
        self
    }

    /// At most so many return addresses in a backtrace; default 32, at most 64.
    pub fn backtrace_depth(mut self, depth: usize) -> Self {
        self.backtrace_depth = Some(depth);
        self
    }

    /// Cuts strings that are longer, visibly; default 16 KiB.
    pub fn max_string(mut self, bytes: usize) -> Self {
        self.max_string = Some(bytes);
        self
    }

    /// Opens the log at `path`, which may be a file, a pipe or a character
    /// device; a file is appended to, and made with mode 0600 if there is none.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`), or the path cannot
    /// be opened.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<Log> {
        let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
        self.open_with(|| {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NOCTTY;
            Append::to(sys::open(&path, flags, 0o600)?)
        })
    }

    /// Opens the log on a descriptor that is open already: a file, a pipe or a
    /// socket.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`).
    pub fn open_fd(self, fd: OwnedFd) -> io::Result<Log> {
        self.open_with(|| Append::to(fd.into_raw_fd()))
    }

    fn open_with(self, sink: impl FnOnce() -> Result<Append, sys::Errno>) -> io::Result<Log> {
        let process = process();
        if !process.begin_open() {
            let error = "the process has a log already";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, error));
        }
        let opened = sink().and_then(|sink| {
            process.sink.set_append(sink);
            self.apply();
            logdef_unwind::modules::refresh();
            logdef_unwind::warm_up();
            logdef_unwind::register_thread();
            process.finish_open()
        });
        if let Err(errno) = opened {
            process.abandon_open();
            return Err(errno.into());
        }
        Ok(Log(()))
    }

    fn apply(self) {
        let process = process();
        if let Some(level) = self.level {
            process.set_level(level);
        }
        if let Some(level) = self.backtrace_level {
            process.set_backtrace_level(level);
        }
        if let Some(depth) = self.backtrace_depth {
            process.set_backtrace_depth(depth);
        }
        if let Some(bytes) = self.max_string {
            process.set_max_string(bytes);
        }
        if let Some(filter) = self.filter.or_else(filter_of_environment) {
            process.set_filter(filter);
        }
    }
}

fn filter_of_environment() -> Option<Filter> {
    let text = std::env::var("LOGDEF").ok()?;
    Filter::parse(&text).ok()
}

/// Ends the log. Later calls are counted, and the count is written down after
/// the next [`open`].
pub fn close() {
    process().end();
}

/// Waits until every record whose call has returned is on stable storage.
///
/// # Errors
///
/// What the system says; then nothing is promised.
pub fn sync() -> io::Result<()> {
    Ok(process().sink.sync()?)
}

/// Logs calls of this level and above from now on, where no directive of the
/// filter says otherwise.
pub fn set_level(level: Level) {
    process().set_level(level);
}

/// Logs what the directives say from now on.
///
/// # Errors
///
/// If one of them is none; then nothing changes.
pub fn set_filter(directives: &str) -> Result<(), FilterError> {
    process().set_filter(Filter::parse(directives)?);
    Ok(())
}

/// Adds a backtrace to records of this level and above from now on.
pub fn set_backtrace_level(level: Level) {
    process().set_backtrace_level(level);
}

/// At most so many return addresses in a backtrace from now on.
pub fn set_backtrace_depth(depth: usize) {
    process().set_backtrace_depth(depth);
}
