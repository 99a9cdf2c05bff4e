//! Opening, closing and setting the log of the process. None of it may be
//! called in a signal handler.

use crate::clock::ClockSource;
use crate::filter::{Filter, FilterError};
use crate::mirror;
use crate::note::{self, Progress};
use crate::process::process;
use crate::sink::{Append, Rotation, file_system};
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

/// How records get into the file.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Sink {
    /// Mapped where the file system keeps what was reserved on it (ext4, XFS,
    /// tmpfs), else appended.
    #[default]
    Auto,
    /// The calling thread writes straight into the mapped file.
    Mapped,
    /// One `write(2)` for each call: for pipes, sockets, and file systems that
    /// cannot be mapped safely.
    Append,
}

/// How the log is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    sink: Sink,
    clock: ClockSource,
    rotation: Rotation,
    level: Option<Level>,
    filter: Option<Filter>,
    backtrace_level: Option<Level>,
    backtrace_depth: Option<usize>,
    max_string: Option<usize>,
    mirror: Option<Level>,
    panic_notes: bool,
    signal_notes: bool,
}

impl Options {
    /// How records get into the file; default [`Sink::Auto`].
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sink = sink;
        self
    }

    /// Where times come from; default [`ClockSource::Auto`].
    pub fn clock(mut self, source: ClockSource) -> Self {
        self.clock = source;
        self
    }

    /// Starts a new file when one has this many bytes. The files are called
    /// `path.000001`, `path.000002`, … and `path` is a link to the newest; each
    /// can be read alone. Mapped logs only.
    pub fn rotate(mut self, file_size: u64) -> Self {
        self.rotation.file_size = Some(file_size);
        self
    }

    /// Keeps the newest `files` of a rotated log, the one written to included.
    pub fn keep(mut self, files: u32) -> Self {
        self.rotation.keep = Some(files.max(1));
        self
    }

    /// Keeps about the newest `bytes` of the log: rotates by an eighth of it
    /// and keeps eight files.
    pub fn flight_recorder(self, bytes: u64) -> Self {
        self.rotate((bytes / 8).max(64 << 10)).keep(8)
    }

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

    /// Shows records of this level and above as lines on standard error too, while
    /// a program is being developed: in colour on a terminal, unless `NO_COLOR` is
    /// set. Without this, the variable `LOGDEF_STDERR` of the environment decides: a
    /// level, or `1` for all.
    ///
    /// A line takes a `write(2)` and microseconds, and a reader that is slow makes
    /// the call wait. Numbers are printed by the C library.
    pub fn mirror(mut self, level: Level) -> Self {
        self.mirror = Some(level);
        self
    }

    /// Leaves a note with the message and a backtrace when a Rust thread panics,
    /// before the panic hook that was there; default off.
    pub fn note_panics(mut self) -> Self {
        self.panic_notes = true;
        self
    }

    /// Leaves a note with the signal, the address and a backtrace at the first
    /// SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT or SIGTRAP; default off. Whatever
    /// the program did with the signal, to die of it above all, it does
    /// afterwards.
    pub fn note_fatal_signals(mut self) -> Self {
        self.signal_notes = true;
        self
    }

    /// Opens the log at `path`.
    ///
    /// A mapped log is a new file of mode 0600; a file of that name from an
    /// earlier run is renamed to `path.000001` or the next free number. An
    /// appended log may be a file, which is added to, a pipe or a character
    /// device.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`), or the file cannot
    /// be made, reserved or mapped.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<Log> {
        let path = path.as_ref();
        let name = CString::new(path.as_os_str().as_bytes())?;
        let mapped = match self.sink {
            Sink::Mapped => true,
            Sink::Append => false,
            Sink::Auto => may_be_mapped(path),
        };
        let rotation = self.rotation;
        self.open_with(|| {
            let sink = &process().sink;
            if mapped {
                return sink.set_mapped(name.as_bytes(), rotation);
            }
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NOCTTY;
            sink.set_append(Append::to(sys::open(&name, flags, 0o600)?)?);
            Ok(())
        })
    }

    /// Opens the log on a descriptor that is open already: a file, a pipe or a
    /// socket.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`).
    pub fn open_fd(self, fd: OwnedFd) -> io::Result<Log> {
        self.open_with(|| {
            process().sink.set_append(Append::to(fd.into_raw_fd())?);
            Ok(())
        })
    }

    fn open_with(self, set_sink: impl FnOnce() -> Result<(), sys::Errno>) -> io::Result<Log> {
        let (panic_notes, signal_notes) = (self.panic_notes, self.signal_notes);
        let process = process();
        if !process.begin_open() {
            let error = "the process has a log already";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, error));
        }
        let opened = set_sink().and_then(|()| {
            self.apply();
            logdef_unwind::modules::refresh();
            logdef_unwind::warm_up();
            logdef_unwind::register_thread();
            // The program's own symbols only: those of large libraries would take
            // longer than a start-up should, and the reader finds them too.
            let program = logdef_unwind::modules::find(sys::main_program_address());
            program.map(|program| program.index_exports());
            process.finish_open()
        });
        if let Err(errno) = opened {
            process.abandon_open();
            return Err(errno.into());
        }
        if panic_notes {
            note::install_panic_hook();
        }
        if signal_notes {
            note::install_signal_handlers()?;
        }
        Ok(Log(()))
    }

    fn apply(self) {
        let process = process();
        process.clock.set(self.clock);
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
        process.set_mirror_level(self.mirror.or_else(mirror::level_of_environment));
        if let Some(filter) = self.filter.or_else(filter_of_environment) {
            process.set_filter(filter);
        }
    }
}

/// Whether a new file at `path` may be mapped: what stands there is a file or
/// nothing, on a file system that is known.
fn may_be_mapped(path: &Path) -> bool {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return false;
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Ok(directory) = CString::new(directory.as_os_str().as_bytes()) else {
        return false;
    };
    let Ok(fd) = sys::open(&directory, libc::O_RDONLY | libc::O_DIRECTORY, 0) else {
        return false;
    };
    let magic = sys::file_system(fd);
    sys::close(fd);
    magic.is_ok_and(file_system::may_be_mapped)
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

/// Waits until every record whose call has returned is on stable storage, and
/// writes down in the log how far that is.
///
/// # Errors
///
/// What the system says; then nothing is promised, and the log says that too.
pub fn sync() -> io::Result<()> {
    let process = process();
    if !process.is_open() {
        return Ok(());
    }
    let progress = Progress::of(process);
    let synced = process.sink.sync();
    progress.note(process, synced);
    Ok(synced?)
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
