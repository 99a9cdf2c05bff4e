//! Opening, closing and setting the log of the process. None of it may be
//! called in a signal handler.

use crate::call::emit;
use crate::clock::ClockSource;
use crate::filter::{Filter, FilterError};
use crate::image::digest_cache;
use crate::mirror;
use crate::note::{self, Progress};
use crate::observer::Observer;
use crate::process::guard;
use crate::process::meeting::{self, Target};
use crate::process::process;
use crate::sink::target::{self, Target as Place};
use crate::sink::{Append, Rotation};
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
    guard: bool,
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

    /// Keeps the newest `files` of a rotated log, at most 1,024, the one written to
    /// included: with
    /// [`rotate`](Self::rotate), a bound on the bytes of the whole. A forked child's
    /// files are counted apart.
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

    /// Survives that somebody else cuts the file of a mapped log short or punches a
    /// hole into it on a full disk; default off, and then touching what is gone
    /// raises SIGBUS. With it, the log goes on in another file, and says so. It
    /// handles SIGBUS for the log's own memory and passes every other one on.
    pub fn guard_against_truncation(mut self) -> Self {
        self.guard = true;
        self
    }

    /// Opens the log at `path`.
    ///
    /// A mapped log is a new file of mode 0600; a file of that name from an
    /// earlier run is renamed to `path.000001` or the next free number. An
    /// appended log may be a file, which is added to, a pipe or a character
    /// device. A link at `path` is followed once, and the log lives where it leads.
    /// `/dev/stdout`, `/dev/stderr`, `/dev/fd/N` and `/proc/self/fd/N` are the streams
    /// that the process has.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`), or the file cannot
    /// be made, reserved or mapped.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<Log> {
        let path = path.as_ref();
        let name = CString::new(path.as_os_str().as_bytes())?;
        if let Some(leader) = meeting::join() {
            leader.open(&self, Target::Path(name.as_bytes()))?;
            return self.opened();
        }
        let target = target::find(path)?;
        let mapped = match (&target, self.sink) {
            (Place::File(path), Sink::Auto) => target::may_be_mapped(path),
            (Place::File(_), Sink::Mapped) => true,
            (_, Sink::Mapped) => return Err(sys::Errno(libc::EINVAL).into()),
            _ => false,
        };
        let rotation = self.rotation;
        self.open_with(|| {
            let process = process();
            process.sink.set(&process.shared, target, mapped, rotation)
        })
    }

    /// Opens the log on a descriptor that is open already: a file, a pipe or a
    /// socket.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`).
    pub fn open_fd(self, fd: OwnedFd) -> io::Result<Log> {
        if let Some(leader) = meeting::join() {
            leader.open(&self, Target::Descriptor(fd))?;
            return self.opened();
        }
        self.open_with(|| {
            process().sink.set_append(Append::to(fd.into_raw_fd())?);
            Ok(())
        })
    }

    fn open_with(self, set_sink: impl FnOnce() -> Result<(), sys::Errno>) -> io::Result<Log> {
        let process = process();
        if !process.shared.run.begin_open() {
            return Err(already_open());
        }
        let opened = set_sink().and_then(|()| {
            self.apply();
            logdef_unwind::modules::refresh();
            logdef_unwind::warm_up();
            logdef_unwind::register_thread();
            logdef_unwind::modules::index_exports();
            digest_cache::find_place();
            let program = process.images.of(sys::main_program_address());
            program.map(|(_, program)| program.identity());
            process.finish_open()
        });
        if let Err(errno) = opened {
            process.shared.run.abandon_open();
            return Err(errno.into());
        }
        if self.signal_notes {
            note::install_signal_handlers()?;
        }
        // After it, so that it is asked first.
        if self.guard {
            guard::install()?;
        }
        self.opened()
    }

    /// What is the affair of each copy of the logger.
    fn opened(&self) -> io::Result<Log> {
        if self.panic_notes {
            note::install_panic_hook();
        }
        Ok(Log(()))
    }

    fn apply(&self) {
        let process = process();
        process.shared.clock.set(self.clock);
        if let Some(level) = self.level {
            process.shared.settings.set_level(level);
        }
        if let Some(level) = self.backtrace_level {
            process.set_backtrace_level(level);
        }
        if let Some(depth) = self.backtrace_depth {
            process.shared.settings.set_backtrace_depth(depth);
        }
        if let Some(bytes) = self.max_string {
            process.shared.settings.set_max_string(bytes);
        }
        process.set_mirror_level(self.mirror.or_else(mirror::level_of_environment));
        if let Some(filter) = self.filter.clone().or_else(filter_of_environment) {
            process.shared.settings.set_filter(filter);
        }
    }
}

/// [`Options`] in numbers, but for the filter, for another copy of the logger
/// ([`meeting`]). Zero is the default, and stays the default of what comes later.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Settings {
    sink: u32,
    clock: u32,
    /// Levels and counts are one more than they say.
    level: u32,
    backtrace_level: u32,
    backtrace_depth: u32,
    mirror: u32,
    max_string: u64,
    file_size: u64,
    keep: u32,
    signal_notes: u32,
    guard: u32,
    later: [u32; 15],
}

impl Options {
    /// All but the filter and what concerns this copy alone.
    pub(crate) fn settings(&self) -> Settings {
        let level = |level: Option<Level>| level.map_or(0, |level| level.0 as u32 + 1);
        Settings {
            sink: match self.sink {
                Sink::Auto => 0,
                Sink::Mapped => 1,
                Sink::Append => 2,
            },
            clock: match self.clock {
                ClockSource::Auto => 0,
                ClockSource::Kernel => 1,
                ClockSource::Coarse => 2,
            },
            level: level(self.level),
            backtrace_level: level(self.backtrace_level),
            backtrace_depth: self.backtrace_depth.map_or(0, |n| n as u32 + 1),
            mirror: level(self.mirror),
            max_string: self.max_string.map_or(0, |n| n as u64 + 1),
            file_size: self.rotation.file_size.unwrap_or(0),
            keep: self.rotation.keep.unwrap_or(0),
            signal_notes: self.signal_notes.into(),
            guard: self.guard.into(),
            later: [0; 15],
        }
    }

    /// The filter as directives.
    pub(crate) fn filter_text(&self) -> Option<String> {
        self.filter.as_ref().map(Filter::to_string)
    }

    /// The options that another copy of the logger has.
    pub(crate) fn of_settings(settings: &Settings, filter: Option<&[u8]>) -> io::Result<Options> {
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let level = |level: u32| level.checked_sub(1).map(|level| Level(level as u8));
        let filter = filter.map(|text| {
            let text = core::str::from_utf8(text).map_err(|_| invalid())?;
            Filter::parse(text).map_err(|_| invalid())
        });
        Ok(Options {
            sink: match settings.sink {
                0 => Sink::Auto,
                1 => Sink::Mapped,
                2 => Sink::Append,
                _ => return Err(invalid()),
            },
            clock: match settings.clock {
                0 => ClockSource::Auto,
                1 => ClockSource::Kernel,
                2 => ClockSource::Coarse,
                _ => return Err(invalid()),
            },
            rotation: Rotation {
                file_size: (settings.file_size > 0).then_some(settings.file_size),
                keep: (settings.keep > 0).then_some(settings.keep),
            },
            level: level(settings.level),
            filter: filter.transpose()?,
            backtrace_level: level(settings.backtrace_level),
            backtrace_depth: settings.backtrace_depth.checked_sub(1).map(|n| n as usize),
            max_string: settings.max_string.checked_sub(1).map(|n| n as usize),
            mirror: level(settings.mirror),
            panic_notes: false,
            signal_notes: settings.signal_notes != 0,
            guard: settings.guard != 0,
        })
    }
}

/// The process has a log.
pub(crate) fn already_open() -> io::Error {
    let error = "the process has a log already";
    io::Error::new(io::ErrorKind::AlreadyExists, error)
}

fn filter_of_environment() -> Option<Filter> {
    let text = std::env::var("LOGDEF").ok()?;
    Filter::parse(&text).ok()
}

/// Ends the log. Later calls are counted, and the count is written down after
/// the next [`open`].
pub fn close() {
    match meeting::leader() {
        Some(leader) => leader.close(),
        None => drop(process().close()),
    }
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
    if let Some(leader) = meeting::leader() {
        return leader.sync();
    }
    let process = process();
    if !process.shared.run.is_open() {
        return Ok(());
    }
    let progress = Progress::of(process);
    let synced = process.sink.sync(&process.shared);
    progress.note(process, synced);
    Ok(synced?)
}

/// Gives the log's file room for the next `bytes` bytes, and the room pages: for
/// programs that drop privileges, change their root or give up system calls when
/// they have started. Until they are used up, a thread that needs another chunk
/// finds one without opening, growing or mapping anything.
///
/// An appended log has nothing to reserve.
///
/// # Errors
///
/// What the system says: no space, a quota; `FileTooLarge` if the file that is
/// written to may not have so many more bytes ([`Options::rotate`], the limit of the
/// process).
pub fn reserve(bytes: u64) -> io::Result<()> {
    if let Some(leader) = meeting::leader() {
        return leader.reserve(bytes);
    }
    let process = process();
    match process.shared.run.is_open() {
        true => Ok(process.sink.prepare(bytes)?),
        false => Err(io::Error::from_raw_os_error(libc::ENOTCONN)),
    }
}

/// How many calls of this thread in a row, up to the last, could not be written,
/// for want of space above all. The next that can says how many there were.
pub fn unwritten() -> u64 {
    emit::unwritten(process())
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
    process().set_observer(observer);
}

/// Logs calls of this level and above from now on, where no directive of the
/// filter says otherwise.
pub fn set_level(level: Level) {
    match meeting::leader() {
        Some(leader) => leader.set_level(level),
        None => process().shared.settings.set_level(level),
    }
}

/// Logs what the directives say from now on.
///
/// # Errors
///
/// If one of them is none; then nothing changes.
pub fn set_filter(directives: &str) -> Result<(), FilterError> {
    let filter = Filter::parse(directives)?;
    match meeting::leader() {
        Some(leader) => drop(leader.set_filter(directives)),
        None => process().shared.settings.set_filter(filter),
    }
    Ok(())
}

/// Adds a backtrace to records of this level and above from now on.
pub fn set_backtrace_level(level: Level) {
    match meeting::leader() {
        Some(leader) => leader.set_backtrace_level(level),
        None => process().set_backtrace_level(level),
    }
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

/// At most so many return addresses in a backtrace from now on.
pub fn set_backtrace_depth(depth: usize) {
    match meeting::leader() {
        Some(leader) => leader.set_backtrace_depth(depth),
        None => process().shared.settings.set_backtrace_depth(depth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_another_copy_as_they_are() {
        let all = options()
            .sink(Sink::Append)
            .clock(ClockSource::Coarse)
            .rotate(1 << 20)
            .keep(3)
            .level(Level::TRACE)
            .filter(Filter::parse("warn,net=off,db/wal.c:120=trace").unwrap())
            .backtrace_level(Level::FATAL)
            .backtrace_depth(0)
            .max_string(0)
            .mirror(Level(1))
            .note_fatal_signals()
            .guard_against_truncation();
        for options in [all, options()] {
            let (settings, filter) = (options.settings(), options.filter_text());
            let filter = filter.as_ref().map(String::as_bytes);
            let arrived = Options::of_settings(&settings, filter).unwrap();
            assert_eq!(format!("{arrived:?}"), format!("{options:?}"));
        }
        let unknown = Settings {
            sink: 3,
            ..Settings::default()
        };
        assert!(Options::of_settings(&unknown, None).is_err());
    }
}
