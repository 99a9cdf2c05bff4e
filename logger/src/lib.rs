//! A log that is still there after the crash.
//!
//! [`logdef!`] takes a level, a format in the grammar of `format!` or printf, and arguments. The calling thread
//! writes a compact binary record straight into the log, and when the call has
//! returned the record survives `kill -9`. There is no background thread, no
//! queue, no lock and no allocation. Format strings and file names are written
//! once, just before the first record that needs them; the reader, `logdef`,
//! puts the text together afterwards, on this machine or another.
//!
//! ```
//! use logdef::{Level, logdef};
//!
//! # fn main() -> std::io::Result<()> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("server.log");
//! logdef::open(path)?;
//! let (host, port) = ("localhost", 8080);
//! logdef!(Info, "listening on {host}:{port}");
//! logdef!(Error, "disk %.1f%% full", 99.5);
//! logdef::set_level(Level::WARN);
//! logdef!(Info, "not written: the level is WARN now");
//! # Ok(())
//! # }
//! ```
//!
//! # Signals, forks, threads
//!
//! A signal handler may log, even if it interrupted its thread in the middle of a log
//! call, and may jump out of that call. It uses up to 12 KiB of stack beside the
//! kernel's signal frame, more than an alternate stack of `SIGSTKSZ` bytes has. A thread needs 20 KiB of stack for its
//! first call with a backtrace, more than `PTHREAD_STACK_MIN`. A forked child starts a run of its own with its
//! first record, and continues in its parent's files: it needs no new file, and no privilege that it
//! may have dropped. A thread may end or be killed anywhere; at most the record it was writing
//! is lost. Calls before the first [`open`]
//! are kept in memory, up to 32 KiB and 256 calls, and written when the log opens, with their own
//! times and threads, by the level and the filter that it is opened with; strings are cut to
//! 4 KiB. If the environment turns the mirror on, they are shown at once. A child that is forked
//! before has them too. Those that do not fit, and calls after [`close`], are counted, and the
//! first record after the next open carries the count.
//!
//! The documentation of each function and macro, or of the type that it is a method of, has a line *Signal safety*,
//! which says whether a signal handler may call it.
//!
//! A process has one log. If several copies of the logger are in it, the program's
//! own, `liblogdef.so`, those in plugins, the first to be loaded stays loaded and
//! writes for all of them.
//!
//! # When the file fails
//!
//! Without space, over a quota or beyond the limit of a file's size, records are dropped and
//! counted, without a signal. The logger tries again, in ever smaller
//! pieces, after one second, then two, and so on up to sixteen: the call that tries waits, 50 to 75 ms on a full ext4,
//! and no other call does. When there is space, the next
//! record carries the count and a note the reason. A file that was removed, or that [`sync`] could not write, is
//! abandoned: the log continues in another file, under the next number, and a note says
//! why. A mapped file that another program truncates raises SIGBUS,
//! unless [`Options::guard_against_truncation`] was asked for. Rotate a log by
//! [`Options::rotate`], or by renaming it and calling [`reopen`]. [`state`] returns what the
//! log is doing.
//!
//! A note also records when the wall clock was set.
//!
//! # System calls
//!
//! For programs that confine themselves once they have started. If a system call is denied
//! with an error, only what it was for is lost.
//!
//! | when | in the mapped log |
//! |---|---|
//! | loading | `openat`, `read`, `close` of `/proc/self/maps`, `memfd_create`, `prlimit64`, `ftruncate`, `mmap`, `mprotect` |
//! | [`open`] | of the log's directory and of files in `/proc` and `/sys` `openat`, `close`, `read`, `lseek`, `fstat`, `statx`, `fstatfs`, `readlink`, `getdents64`, `fcntl`, `flock`, `renameat2`; `ioctl` of standard error and of the log's directory, and where that may not reserve space `fallocate` of a file without a name; `mmap`, `munmap`, `madvise`, `prlimit64`, `getpid`, `geteuid`, `getrandom`, `uname`, `sched_getaffinity`, `sigaltstack`; `sched_yield` and `futex` where another process looks at the same file; for the digest of a program that is new to the cache `mkdirat`, `write`, `renameat` |
//! | a call | none |
//! | an image's first call | `openat`, `fstat`, `mmap`, `munmap`, `read`, `readlink`, `close`: its digest |
//! | a thread's first call | `gettid`, `prctl(PR_GET_NAME)`, now and then `mmap` and `madvise`; a chunk |
//! | another chunk | `rt_sigprocmask`, `fcntl`, `close`, `statx`, `prlimit64`, `fallocate`, `pwritev`, `mmap`, `madvise`, `munmap`, `getpid`, `process_vm_readv` of itself, `getrusage`, `prctl(PR_GET_NAME)`; after [`reserve`] no `fallocate`, `pwritev`, `process_vm_readv` and `getrusage` |
//! | another file | `openat`, `close`, `fcntl`, `flock`, `fstat`, `fstatfs`, `mmap`, `munmap`, `madvise`, `gettid`, `prctl(PR_GET_NAME)`, `readlink`, `symlink`, `renameat2`, `unlink`, `getpid`, `kill` without a signal, `fallocate`, `truncate`, `rt_sigprocmask`; `sched_yield` where threads meet, `lseek` in files that begin with zeros, `dup3` where handlers jumped out of appended calls |
//! | [`sync`] | `statx`, `fdatasync`; of a new file also `openat`, `fcntl`, `fsync`, `close` of its directory; `syncfs` where files were let go of |
//! | with a helper | `futex`; its thread begins with [`open`], by `clone3`, `rseq`, `set_robust_list`, `mprotect` |
//! | a forked child's first call | `rt_sigprocmask`, `getpid`, `gettid`, `getrandom`, `mmap`, `munmap`, `kill` without a signal; a chunk |
//! | a call, appended | `statx`, `prlimit64`, `write`, for each 16 KiB `fallocate`; on NFS also `readlink` and once a second `fdatasync` |
//! | a call on a pipe, a socket or a terminal | `statx`, `gettid`, `fcntl`, `rt_sigpending`, `rt_sigprocmask`, and for each 4 KiB of a pipe `ppoll` and `write`; `futex` where threads meet, `rt_sigtimedwait` where the reader is gone |
//!
//! The times come from the vDSO where there is one, which reads the CPU's counter on most machines, as a call does: a process
//! that forbids that (`prctl(PR_SET_TSC)`, and with it the strict mode of seccomp) is killed by its next call, with SIGSEGV. On aarch64 `readlink`, `symlink` and `unlink`
//! are `readlinkat`, `symlinkat` and `unlinkat`; `fstat` is `newfstatat` in newer C libraries.
//!
//! # Spans and counters
//!
//! [`logdef_span!`] records how long something took, also across `.await`, on other threads
//! and in tasks that are cancelled; [`logdef_begin!`] and [`logdef_end!`] do so in synchronous
//! code, with smaller records; [`logdef_async_begin!`] and [`logdef_async_end!`] by a number
//! that you choose; and [`logdef_counter!`] records the values of counters.
//! The reader shows all of them as lines, and `logdef export -o fxt` writes them for trace
//! viewers.
//!
//! # Facades and other languages
//!
//! A [`CallSite`] is made at run time, by a logging facade or a binding, and is called as
//! cheaply as one that the macros lay down; [`on_change`] and [`is_possible`] are for facades
//! that remember what is logged.
//!
//! # Contexts
//!
//! Key-values that apply to all records of a request or a task are given once, by a [`Context`]:
//! [`Context::scope`] calls a function in it, [`Context::wrap`] polls a future in it on whatever
//! thread. Spans of code and contexts are independent.
//!
//! # Tests
//!
//! [`testing`] captures what a test logs, of its own thread or of all, without a file.
//!
//! # Start-up
//!
//! [`open`] takes the SHA-1 of the program's file, which proves later that a
//! file is the one that logged, and lists exported functions, so that
//! backtraces have names. The digest is kept in `$XDG_CACHE_HOME/logdef/digests`
//! (else `~/.cache/logdef/digests`, if there is a `~/.cache`), for as long as the
//! file stays the same, and costs nothing from the second start on. A library's digest
//! is taken with its first log call, unless that is in a signal handler: then the library is
//! named by its build ID.
//!
//! # Backtraces
//!
//! Records of [`Level::ERROR`] and above carry a backtrace ([`set_backtrace_level`] sets
//! another level), and so do those of [`logdef_backtrace!`]. It is a list of
//! addresses, which takes some nanoseconds each; the module and function of an address
//! are written once. Libraries may be loaded and unloaded: an address is always explained by
//! the image that was mapped there at the time.
//!
//! # Levels
//!
//! `LOGDEF=info,net=debug,db/wal.c:120=trace` in the environment, read by
//! [`open`], and [`set_filter`] choose what is logged, by module, file or
//! single line. A call that is off costs a comparison, and its arguments are
//! not evaluated; [`enabled!`] asks beforehand, and [`logdef_at!`] takes a level that is a
//! variable. The features `min_level_*` of this package leave calls out when
//! the program is compiled.
//!
//! [`logdef_once!`], [`logdef_first_n!`], [`logdef_every_n!`] and
//! [`logdef_at_most_every!`] limit how often a call is logged.
//!
//! # Features
//!
//! All are off unless a program turns them on; a library should not, since they apply to the
//! whole program. If several are on, the strictest applies.
//!
//! | feature | calls that are compiled to nothing |
//! |---|---|
//! | `min_level_debug` | below `Debug` |
//! | `min_level_info` | below `Info` |
//! | `min_level_warn` | below `Warn` |
//! | `min_level_error` | below `Error` |
//! | `min_level_fatal` | below `Fatal` |
//! | `min_level_off` | all |
//! | `release_min_level_debug`, `release_min_level_info`, `release_min_level_warn`, `release_min_level_error`, `release_min_level_fatal`, `release_min_level_off` | the same, in builds without debug assertions |
//!
//! # Unsafe code
//!
//! Only these modules may hold it, and each block says which fact it relies on:
//!
//! - `sys`: system calls
//! - `published`, `captured`: memory that is never freed
//! - `tls`, `thread`: a thread's own memory
//! - `context`, `api/in_context`: what a program says of its records; a future that is polled in its place
//! - `api/gathered`: words that point to what it holds
//! - `call/site`, `call/body`, `call/printed`, `call/emit`: what a caller passes by pointer
//! - `call/callers`: names that the linker defines
//! - `few`: copies of few bytes
//! - `calls`: marks on stacks
//! - `clock`, `crc`: instructions of the CPU
//! - `image`: what is mapped
//! - `handler`, `process`: stacks and handlers of signals, of forks, of a thread's end
//! - `copies/crossing`, `copies/leader`, `copies/observer`, `copies/request`, `copies/serve`, `changes`:
//!   what another copy of the logger passes, and its functions
//! - `mirror/number`: the C library's printf
//! - `window`, `sink/room`, `sink/chunk`, `sink/mapped`, `sink/family`, `sink/append/rotated`: the log's memory, and what
//!   processes of a family share
//! - `sink/children`, `sink/lent`, `sink/kept_path`: words and a path that calls, handlers and forked children may be reading
//! - `__private`: what the macros expand to

#![deny(unsafe_code)]

mod api;
mod call;
#[allow(unsafe_code)]
mod calls;
#[allow(unsafe_code)]
mod captured;
#[allow(unsafe_code)]
mod changes;
#[allow(unsafe_code)]
mod clock;
#[allow(unsafe_code)]
mod context;
mod control;
mod copies;
#[allow(unsafe_code)]
mod crc;
mod early;
mod environment;
mod fatal;
#[allow(unsafe_code)]
mod few;
mod filter;
mod fixed_text;
mod gate;
mod guard;
#[allow(unsafe_code)]
mod handler;
#[allow(unsafe_code)]
mod image;
mod logdefs;
mod mirror;
mod note;
mod observer;
mod options;
#[allow(unsafe_code)]
mod process;
#[allow(unsafe_code)]
mod published;
mod run;
mod self_reports;
mod settings;
mod shared;
mod sink;
mod state;
#[allow(unsafe_code)]
mod sys;
#[allow(unsafe_code)]
mod thread;
#[allow(unsafe_code)]
mod tls;
#[allow(unsafe_code)]
mod window;

#[doc(hidden)]
#[allow(unsafe_code)]
#[path = "private.rs"]
pub mod __private;
#[doc(hidden)]
pub mod abi;
/// What the macros need for placeholders. Of a name that errors of the compiler can show.
#[doc(hidden)]
pub mod placeholders {
    pub use crate::call::shown::{
        Debugged, Displayed, LoggedDisplay, PrintedDebug, PrintedDisplay, TypedDebug, TypedDisplay,
        by_debug, by_debug_of, by_display, by_display_of, print_debug,
    };
}

pub use api::call_site::{CallSite, NewCallSite, is_possible, new_span, on_change};
pub use api::control::{
    close, modules_changed, reopen, reserve, set_backtrace_depth, set_backtrace_level, set_filter,
    set_level, set_observer, state, sync, unwritten,
};
pub use api::in_context::{Context, InContext};
pub use api::open::{Log, open, options};
pub use api::testing;
pub use call::argument::{Argument, Passed};
pub use call::fields::{Field, Fields};
pub use call::shown::{Loggable, debug, display, error, value};
pub use call::span::Span;
pub use clock::ClockSource;
pub use filter::{Filter, FilterError};
#[doc(hidden)]
pub use logdef_macros::{call as __call, refused as __refused};
pub use logdef_wire::{Grammar, Level, LevelError, Value};
pub use observer::{Observed, Observer};
pub use options::{Options, Sink};
pub use state::{Existing, Helper, State};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
