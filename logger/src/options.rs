//! The options with which a log is opened, and the same as numbers, in which they are passed
//! to another copy of the logger. Opens nothing.

use crate::clock::ClockSource;
use crate::filter::Filter;
use crate::settings::{MAX_BACKTRACE, MAX_STRING};
use crate::sink::{Access, Rotation};
use logdef_wire::Level;
use std::io;
use std::time::Duration;

/// The way in which records get into the file.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Sink {
    /// [`Mapped`](Sink::Mapped) on file systems that keep the space that was reserved (ext4,
    /// XFS, tmpfs, overlayfs above ext4 and XFS), else [`Append`](Sink::Append).
    #[default]
    Auto,
    /// The calling thread writes straight into the mapped file. `EOPNOTSUPP` where the file system
    /// cannot reserve space, as ext2 and ext3.
    Mapped,
    /// Each call is written at once, for file systems that cannot be mapped safely, pipes, sockets and
    /// terminals: to a file by one `write(2)`. To the others the threads of the process write in turns until the
    /// record is whole, to a pipe in pieces of up to 4,096 bytes.
    Append,
}

impl Sink {
    /// All sinks, each at its number in `logdef.h` and between copies of the logger.
    pub(crate) const ALL: [Sink; 3] = [Sink::Auto, Sink::Mapped, Sink::Append];
}

/// The choice that has a number.
pub(crate) fn of_number<T: Copy>(all: &[T], number: u32) -> Option<T> {
    all.get(number as usize).copied()
}

/// The options with which [`open`](Self::open) opens a log.
///
/// Signal safety: not async-signal-safe, neither making nor changing them.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until a log is opened with them"]
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
    pub(crate) helper: bool,
    pub(crate) control: Option<bool>,
}

impl Options {
    /// All options at their defaults: one file, that grows without bound, for calls of every level.
    pub fn new() -> Options {
        Options::default()
    }

    /// How records get into the file; default [`Sink::Auto`].
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sink = sink;
        self
    }

    /// The clock that times records; default [`ClockSource::Auto`].
    pub fn clock(mut self, source: ClockSource) -> Self {
        self.clock = source;
        self
    }

    /// Starts a new file when one has `file_size` bytes, 0 as 1; default one file. The files are
    /// called `path.000001`, `path.000002`, … and `path` is a link to the newest; each
    /// can be read alone. Files are smaller where the process may have no larger ones
    /// (`RLIMIT_FSIZE`). Where no new file can be made, the log continues in the old
    /// one beyond its size, and a note says why; so where the link cannot be set. A process and its forked children
    /// write to one newest file, each as soon as it logs again.
    ///
    /// An old file of a mapped log stays open until its last chunk is taken, and mapped until each thread that
    /// has a chunk of it takes another one: a process has one descriptor for each file that is not full, at
    /// most 128. Where descriptors run out, no call is dropped: the newest file grows, as said above.
    pub fn rotate(mut self, file_size: u64) -> Self {
        self.rotation.file_size = Some(file_size.max(1));
        self
    }

    /// Keeps the newest `files` files of a rotated log, at most 1,024, the one written to
    /// included; default all. Without [`rotate`](Self::rotate) or
    /// [`rotate_after`](Self::rotate_after) the log is not opened. With `rotate` it bounds the
    /// bytes of the log and of its forked children. A file that is removed gives its space
    /// back, except for the chunks that threads still map, at most one for each thread. One that another
    /// program has moved, or linked under another name, before it was to be removed stays as it is. Where
    /// no new file can be made, the oldest parts of the log give their space back instead, and
    /// its files keep their names; an appended log drops calls and counts them.
    pub fn keep(mut self, files: u32) -> Self {
        self.rotation.keep = Some(files.max(1));
        self
    }

    /// Starts a new file at the first call after one is this old, at least a second; default
    /// never. Files are called and kept as those of [`rotate`](Self::rotate), with which it
    /// may be combined: whichever comes first applies. A log without calls stays in its file.
    pub fn rotate_after(mut self, age: Duration) -> Self {
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        self.rotation.file_age = Some(age.max(1_000_000_000));
        self
    }

    /// Bounds the bytes of all logs in the log's directory, under whatever names and by
    /// whatever programs: when the log opens or begins a file, the logs that were written to
    /// longest ago are removed until all of them take at most `bytes` bytes of the file
    /// system; default no bound. Only files that begin as a log does are counted and removed,
    /// and never one that a living process writes to: of this log itself that is the newest
    /// file. A log that is appended to without [rotation](Self::rotate) is not bounded.
    ///
    /// Looking at the directory takes some 20 µs for each file in it.
    pub fn folder_bytes(mut self, bytes: u64) -> Self {
        self.rotation.folder_bytes = Some(bytes.max(1));
        self
    }

    /// The mode of the log's files, permission bits only, whatever the process's umask;
    /// default 0600.
    pub fn file_mode(mut self, mode: u32) -> Self {
        self.rotation.access.mode = Some(mode & 0o777).filter(|mode| *mode != 0);
        self
    }

    /// Takes the process's umask, as it is when a file is made, from
    /// [`file_mode`](Self::file_mode), whose default is 0666 then; default off.
    pub fn use_umask(mut self) -> Self {
        self.rotation.access.masked = true;
        self
    }

    /// The group of the log's files, by its id; default that of the process, or of the
    /// directory if that has the set-group-ID bit. Where the system does not allow it, the file
    /// keeps its group, and that group gets no permissions.
    pub fn file_group(mut self, group: u32) -> Self {
        self.rotation.access.group = Some(group).filter(|group| *group != u32::MAX);
        self
    }

    /// Keeps about the newest `bytes` bytes of the log: rotates by an eighth of them, at least 64 KiB,
    /// and keeps eight files; default all. Each thread that logs takes 16 KiB of a file at least, so with many
    /// threads fewer records are kept.
    pub fn flight_recorder(self, bytes: u64) -> Self {
        self.rotate((bytes / 8).max(64 << 10)).keep(8)
    }

    /// Logs calls of this level and above; default `TRACE`. Directives of
    /// [`filter`](Self::filter) win over it.
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Logs the calls that the filter names. Without this, the environment variable `LOGDEF`
    /// is the filter, if it is set and can be parsed.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Adds a backtrace to records of this level and above; default `ERROR`.
    pub fn backtrace_level(mut self, level: Level) -> Self {
        self.backtrace_level = Some(level);
        self
    }

    /// How many return addresses a backtrace has at most; default 32, up to 256. Where the
    /// stack is deeper, the record says so. Depths above 64 take 1.5 KiB more of the
    /// stack of a call that has a backtrace.
    pub fn backtrace_depth(mut self, depth: usize) -> Self {
        self.backtrace_depth = Some(depth.min(MAX_BACKTRACE));
        self
    }

    /// Cuts strings that are longer than `bytes` bytes, and marks them as cut; default 16 KiB,
    /// 60,000 bytes at most.
    pub fn max_string(mut self, bytes: usize) -> Self {
        self.max_string = Some(bytes.min(MAX_STRING));
        self
    }

    /// Also shows records of this level and above as lines on standard error, while
    /// a program is being developed: in colour on a terminal, unless `NO_COLOR` is
    /// set. Without this, the environment variable `LOGDEF_STDERR` decides: a
    /// level, or `1` for all.
    ///
    /// A line takes a `write(2)` and microseconds, and if standard error is a full pipe the
    /// call waits. The C library prints the numbers.
    pub fn mirror(mut self, level: Level) -> Self {
        self.mirror = Some(level);
        self
    }

    /// Writes a note with the message and a backtrace when a Rust thread panics, and then
    /// calls the panic hook that was set before; default off.
    ///
    /// A library that is loaded at run time (a `cdylib`) has a standard library of its own, and a hook of its
    /// own in it: panics of its code leave a note only if it sets a hook that logs them.
    pub fn note_panics(mut self) -> Self {
        self.panic_notes = true;
        self
    }

    /// Writes a note with the signal, the address and a backtrace at the first
    /// SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT or SIGTRAP; default off. Afterwards the
    /// signal has the effect that it had before: usually it ends the program. A program that sets a handler of its
    /// own for one of them after the log was opened gets no note of it, unless that calls the handler before it. If another program
    /// truncated the file of a mapped log, the note is in another file.
    pub fn note_fatal_signals(mut self) -> Self {
        self.signal_notes = true;
        self
    }

    /// Survives another program that truncates the file of a mapped log or punches a
    /// hole into it on a full disk: the log continues in another file, and a note says why.
    /// Default off; then the next access to the missing bytes raises SIGBUS. It
    /// handles SIGBUS for the log's own memory and passes every other SIGBUS on to the
    /// handler that was set before. Threads that block SIGBUS are not guarded: the kernel ends the process.
    pub fn guard_against_truncation(mut self) -> Self {
        self.guard = true;
        self
    }

    /// Starts a thread that makes room for records ahead, so that a call which needs more room
    /// seldom waits for the file system; default off. The thread keeps four chunks ready, of up to
    /// 4 MiB each: the file is larger by them until they are used, and they stay zeros if the
    /// process ends before. It is meant for mapped logs with many records; a call that begins
    /// another file still creates that file itself. Until the first chunk is ready, about a
    /// millisecond after the first record, a call may wait as long: [`reserve`](crate::reserve)
    /// 24 MiB after opening if that is too long.
    /// It also removes a file that is no longer [kept](Self::keep), gives back its space, and lets
    /// the log's path lead to the newest file, within milliseconds after that file was begun. If
    /// the process is killed, or ends without [`close`](crate::close), in these, the path leads to
    /// the file before, and one file too many is left until the log is next opened.
    ///
    /// The thread is called `logdef`, blocks all signals, has the scheduling and the CPUs
    /// of the thread that opens the log (open it before you pin that), and ends when the log is
    /// closed. A forked child has no such thread. Where it cannot be started, the log works without
    /// it, and [`State::helper`](crate::State::helper) says why.
    pub fn helper(mut self) -> Self {
        self.helper = true;
        self
    }

    /// Lets `logdef ctl` see and change the log while the program runs: its level and filter,
    /// for a time or for good, another file, a sync, a note. Without this, the environment
    /// variable `LOGDEF_CTL` decides, 1 or 0; default off. Programs that have more rights than
    /// the user who started them cannot be controlled.
    ///
    /// A log in a file then has a page of 4 KiB beside it, `.NAME.ctl`, that only the user of
    /// the process may read and write, and the process has two more descriptors. A log call costs
    /// the same. Where the page cannot be made, the log works without it, and a note says why.
    pub fn control(mut self, allowed: bool) -> Self {
        self.control = Some(allowed);
        self
    }
}

/// [`Options`] as numbers, without the filter, for another copy of the logger
/// ([`copies`](crate::copies)). Zero is the default, also of options that are added later.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Numbers {
    sink: u32,
    clock: u32,
    /// Levels and counts are stored plus one, since zero is the default.
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
    /// Nanoseconds.
    file_age: u64,
    folder_bytes: u64,
    /// One more than its id.
    file_group: u32,
    use_umask: u32,
    helper: u32,
    /// 1 for yes, 2 for no.
    control: u32,
    later: [u32; 6],
}

impl Options {
    /// All options but the filter and those that each loaded copy applies for itself.
    pub(crate) fn numbers(&self) -> Numbers {
        let level = |level: Option<Level>| level.map_or(0, |level| level.0 as u32 + 1);
        Numbers {
            sink: self.sink as u32,
            clock: self.clock as u32,
            level: level(self.level),
            backtrace_level: level(self.backtrace_level),
            backtrace_depth: self.backtrace_depth.map_or(0, |n| n as u32 + 1),
            mirror: level(self.mirror),
            max_string: self.max_string.map_or(0, |n| n as u64 + 1),
            file_size: self.rotation.file_size.unwrap_or(0),
            keep: self.rotation.keep.unwrap_or(0),
            signal_notes: self.signal_notes.into(),
            guard: self.guard.into(),
            file_mode: self.rotation.access.mode.unwrap_or(0),
            file_age: self.rotation.file_age.unwrap_or(0),
            folder_bytes: self.rotation.folder_bytes.unwrap_or(0),
            file_group: self.rotation.access.group.map_or(0, |group| group + 1),
            use_umask: self.rotation.access.masked.into(),
            helper: self.helper.into(),
            control: match self.control {
                None => 0,
                Some(true) => 1,
                Some(false) => 2,
            },
            later: [0; 6],
        }
    }

    /// Reads the options that another copy of the logger passed.
    pub(crate) fn of_numbers(numbers: &Numbers, filter: Option<&[u8]>) -> io::Result<Options> {
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let level = |level: u32| level.checked_sub(1).map(|level| Level(level as u8));
        let filter = filter.map(|text| {
            let text = core::str::from_utf8(text).map_err(|_| invalid())?;
            Filter::parse(text).map_err(|_| invalid())
        });
        Ok(Options {
            sink: of_number(&Sink::ALL, numbers.sink).ok_or_else(invalid)?,
            clock: of_number(&ClockSource::ALL, numbers.clock).ok_or_else(invalid)?,
            rotation: Rotation {
                file_size: (numbers.file_size > 0).then_some(numbers.file_size),
                keep: (numbers.keep > 0).then_some(numbers.keep),
                file_age: (numbers.file_age > 0).then_some(numbers.file_age),
                folder_bytes: (numbers.folder_bytes > 0).then_some(numbers.folder_bytes),
                access: Access {
                    mode: (numbers.file_mode > 0).then_some(numbers.file_mode & 0o777),
                    masked: numbers.use_umask != 0,
                    group: numbers.file_group.checked_sub(1),
                },
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
            helper: numbers.helper != 0,
            control: (numbers.control != 0).then_some(numbers.control == 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_stands_at_its_number() {
        assert!(
            (0..)
                .zip(Sink::ALL)
                .all(|(number, sink)| sink as u32 == number)
        );
        assert!(
            (0..)
                .zip(ClockSource::ALL)
                .all(|(number, clock)| clock as u32 == number)
        );
        assert_eq!(of_number(&Sink::ALL, 3), None);
    }

    #[test]
    fn options_reach_another_copy_as_they_are() {
        let all = Options::default()
            .sink(Sink::Append)
            .clock(ClockSource::Coarse)
            .rotate(1 << 20)
            .keep(3)
            .file_mode(0o640)
            .rotate_after(Duration::from_secs(86_400))
            .folder_bytes(1 << 30)
            .file_group(4)
            .use_umask()
            .level(Level::TRACE)
            .filter(Filter::parse("warn,net=off,db/wal.c:120=trace").unwrap())
            .backtrace_level(Level::FATAL)
            .backtrace_depth(0)
            .max_string(0)
            .mirror(Level(1))
            .note_fatal_signals()
            .guard_against_truncation()
            .helper()
            .control(false);
        // Options clamp what is out of range, before it becomes a number.
        let most = Options::default()
            .backtrace_depth(usize::MAX)
            .max_string(usize::MAX)
            .rotate_after(Duration::MAX)
            .folder_bytes(u64::MAX)
            .rotate(u64::MAX)
            .file_group(u32::MAX)
            .keep(u32::MAX);
        assert_eq!(
            (most.backtrace_depth, most.max_string),
            (Some(256), Some(60_000))
        );
        let least = Options::default()
            .rotate(0)
            .keep(0)
            .rotate_after(Duration::ZERO)
            .folder_bytes(0);
        for options in [all, most, least, Options::default()] {
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
