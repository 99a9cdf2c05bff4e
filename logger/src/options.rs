//! How a log is opened: what a program chooses, and the same in numbers, as it crosses
//! to another copy of the logger. Opens nothing.

use crate::clock::ClockSource;
use crate::filter::Filter;
use crate::sink::Rotation;
use logdef_wire::Level;
use std::io;

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
    pub(crate) sink: Sink,
    pub(crate) clock: ClockSource,
    pub(crate) rotation: Rotation,
    pub(crate) level: Option<Level>,
    pub(crate) filter: Option<Filter>,
    pub(crate) backtrace_level: Option<Level>,
    pub(crate) backtrace_depth: Option<usize>,
    pub(crate) max_string: Option<usize>,
    pub(crate) mirror: Option<Level>,
    pub(crate) panic_notes: bool,
    pub(crate) signal_notes: bool,
    pub(crate) guard: bool,
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
    /// can be read alone. Of an appended log each process counts its own files.
    pub fn rotate(mut self, file_size: u64) -> Self {
        self.rotation.file_size = Some(file_size);
        self
    }

    /// Keeps the newest `files` of a rotated log, at most 1,024, the one written to
    /// included: with
    /// [`rotate`](Self::rotate), without which it is refused, a bound on the bytes of the
    /// whole, whatever processes were forked. What is removed gives its space back, but for
    /// the chunks that threads still see, one each at most.
    pub fn keep(mut self, files: u32) -> Self {
        self.rotation.keep = Some(files.max(1));
        self
    }

    /// The mode of the log's files, permission bits only, whatever the process's mask;
    /// default 0600. Their group is the process's, or the directory's if that has the
    /// set-group-ID bit.
    pub fn file_mode(mut self, mode: u32) -> Self {
        self.rotation.mode = Some(mode & 0o777).filter(|mode| *mode != 0);
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

    /// The most return addresses of a backtrace; default 32, at most 256. Where the
    /// stack is deeper, the record says so. Depths above 64 take 1.5 KiB more of the
    /// stack of a call that has a backtrace.
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
}

/// [`Options`] in numbers, but for the filter, for another copy of the logger
/// ([`copies`](crate::copies)). Zero is the default, and stays the default of what comes later.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Numbers {
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
    file_mode: u32,
    later: [u32; 14],
}

impl Options {
    /// All but the filter and what concerns this copy alone.
    pub(crate) fn numbers(&self) -> Numbers {
        let level = |level: Option<Level>| level.map_or(0, |level| level.0 as u32 + 1);
        Numbers {
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
            file_mode: self.rotation.mode.unwrap_or(0),
            later: [0; 14],
        }
    }

    /// The options that another copy of the logger has.
    pub(crate) fn of_numbers(numbers: &Numbers, filter: Option<&[u8]>) -> io::Result<Options> {
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let level = |level: u32| level.checked_sub(1).map(|level| Level(level as u8));
        let filter = filter.map(|text| {
            let text = core::str::from_utf8(text).map_err(|_| invalid())?;
            Filter::parse(text).map_err(|_| invalid())
        });
        Ok(Options {
            sink: match numbers.sink {
                0 => Sink::Auto,
                1 => Sink::Mapped,
                2 => Sink::Append,
                _ => return Err(invalid()),
            },
            clock: match numbers.clock {
                0 => ClockSource::Auto,
                1 => ClockSource::Kernel,
                2 => ClockSource::Coarse,
                _ => return Err(invalid()),
            },
            rotation: Rotation {
                file_size: (numbers.file_size > 0).then_some(numbers.file_size),
                keep: (numbers.keep > 0).then_some(numbers.keep),
                mode: (numbers.file_mode > 0).then_some(numbers.file_mode & 0o777),
            },
            level: level(numbers.level),
            filter: filter.transpose()?,
            backtrace_level: level(numbers.backtrace_level),
            backtrace_depth: numbers.backtrace_depth.checked_sub(1).map(|n| n as usize),
            max_string: numbers.max_string.checked_sub(1).map(|n| n as usize),
            mirror: level(numbers.mirror),
            panic_notes: false,
            signal_notes: numbers.signal_notes != 0,
            guard: numbers.guard != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_another_copy_as_they_are() {
        let all = Options::default()
            .sink(Sink::Append)
            .clock(ClockSource::Coarse)
            .rotate(1 << 20)
            .keep(3)
            .file_mode(0o640)
            .level(Level::TRACE)
            .filter(Filter::parse("warn,net=off,db/wal.c:120=trace").unwrap())
            .backtrace_level(Level::FATAL)
            .backtrace_depth(0)
            .max_string(0)
            .mirror(Level(1))
            .note_fatal_signals()
            .guard_against_truncation();
        for options in [all, Options::default()] {
            let (numbers, filter) = (
                options.numbers(),
                options.filter.as_ref().map(Filter::to_string),
            );
            let filter = filter.as_ref().map(String::as_bytes);
            let arrived = Options::of_numbers(&numbers, filter).unwrap();
            assert_eq!(format!("{arrived:?}"), format!("{options:?}"));
        }
        let unknown = Numbers {
            sink: 3,
            ..Numbers::default()
        };
        assert!(Options::of_numbers(&unknown, None).is_err());
    }
}
