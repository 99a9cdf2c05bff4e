//! What a program may ask of its log: where it goes, why there, and what it has not
//! written. Fills nothing in by itself.

use crate::sys;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What became of what the log's path led to when the log was opened, or of another file that
/// a reopen or a rotation found there later.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Existing {
    /// There was nothing, or the log is a stream or a descriptor.
    #[default]
    Nothing,
    /// A file, which got the name [`State::previous`].
    Renamed,
    /// An empty file, which was removed, as others make one when they rotate logs.
    Removed,
    /// A file to which the log is appended.
    Appended,
    /// A link to the newest file of an earlier run, which keeps its name.
    Relinked,
}

impl Existing {
    pub(crate) fn of_code(code: u32) -> Existing {
        match code {
            1 => Existing::Renamed,
            2 => Existing::Removed,
            3 => Existing::Appended,
            4 => Existing::Relinked,
            _ => Existing::Nothing,
        }
    }

    pub(crate) fn code(self) -> u32 {
        match self {
            Existing::Nothing => 0,
            Existing::Renamed => 1,
            Existing::Removed => 2,
            Existing::Appended => 3,
            Existing::Relinked => 4,
        }
    }
}

/// The state of the log, at one moment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// Whether a log is open.
    pub is_open: bool,
    /// Whether the sink is [`Sink::Mapped`](crate::Sink::Mapped); else it is
    /// [`Sink::Append`](crate::Sink::Append).
    pub is_mapped: bool,
    /// Why the sink is not the usual one; `None` if it is.
    pub why: Option<String>,
    /// The file that is written to; empty for a descriptor or a stream.
    pub path: PathBuf,
    /// The name that the last file that stood at the log's path in the way of the log was given:
    /// when it was opened, or by a reopen or a rotation since. `None` if there was no such file.
    pub previous: Option<PathBuf>,
    /// What became of what the log's path led to when the log was opened, or of another file
    /// that a reopen or a rotation found there later.
    pub existing: Existing,
    /// Size of the file at [`path`](Self::path) in bytes, reserved and unwritten ones included.
    pub file_bytes: u64,
    /// The `errno` for which records are dropped now; `None` if they are written.
    pub errno: Option<i32>,
    /// Calls that were not written, and that no record counts yet.
    pub unreported: u64,
    /// Calls of the process that were not written since the log was opened, or since it was
    /// forked, counted by a record or not; those before that the first record counts, too.
    pub dropped: u64,
    /// What became of [`Options::helper`](crate::Options::helper).
    pub helper: Helper,
}

/// Whether a thread makes room for records ahead ([`Options::helper`](crate::Options::helper)).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Helper {
    /// None was asked for, or this is a forked child.
    #[default]
    None,
    /// Its thread runs and makes room ahead.
    Runs,
    /// It could not be started, for this `errno`; the log works as without.
    Failed(i32),
}

/// [`State`] as it crosses to another copy of the logger, and to C. Texts end in a NUL.
#[allow(missing_docs, reason = "those of `State`")]
#[derive(Debug)]
#[repr(C)]
pub struct RawState {
    pub struct_size: usize,
    pub is_open: i32,
    pub is_mapped: i32,
    pub errno: i32,
    pub existing: i32,
    pub unreported: u64,
    pub file_bytes: u64,
    pub why: [u8; 128],
    pub path: [u8; 4096],
    pub previous: [u8; 4096],
    pub dropped: u64,
    /// 1 if a helper runs, 0 without one; else it could not be started, and this is `-errno`.
    pub helper: i32,
    pub reserved: i32,
}

impl RawState {
    /// No log.
    pub const fn new() -> RawState {
        RawState {
            struct_size: size_of::<RawState>(),
            is_open: 0,
            is_mapped: 0,
            errno: 0,
            existing: 0,
            unreported: 0,
            file_bytes: 0,
            why: [0; 128],
            path: [0; 4096],
            previous: [0; 4096],
            dropped: 0,
            helper: 0,
            reserved: 0,
        }
    }
}

impl Default for RawState {
    fn default() -> RawState {
        RawState::new()
    }
}

/// Copies a text and a NUL; what does not fit is cut.
pub(crate) fn copy(into: &mut [u8], text: &[u8]) {
    let len = text.len().min(into.len() - 1);
    into[..len].copy_from_slice(&text[..len]);
    into[len] = 0;
}

impl From<&RawState> for State {
    fn from(raw: &RawState) -> State {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(sys::until_nul(bytes)));
        let why = String::from_utf8_lossy(sys::until_nul(&raw.why)).into_owned();
        let previous = path(&raw.previous);
        State {
            is_open: raw.is_open != 0,
            is_mapped: raw.is_mapped != 0,
            why: (!why.is_empty()).then_some(why),
            path: path(&raw.path),
            previous: (!previous.as_os_str().is_empty()).then_some(previous),
            existing: Existing::of_code(raw.existing as u32),
            file_bytes: raw.file_bytes,
            errno: (raw.errno != 0).then_some(raw.errno),
            unreported: raw.unreported,
            dropped: raw.dropped,
            helper: match raw.helper {
                0 => Helper::None,
                1.. => Helper::Runs,
                errno => Helper::Failed(errno.saturating_neg()),
            },
        }
    }
}
