//! An observer: code of the program that is called with each record as it is written,
//! on the thread that logs, for instance to copy records into shared memory.

use logdef_wire::record::Data;
use logdef_wire::{Level, Value};

/// Receives records; see [`set_observer`](crate::set_observer).
///
/// Signal safety: it is called in the middle of a log call, and so in every signal handler
/// that logs: `observe` must be async-signal-safe if such handlers exist.
///
/// If it panics, the log call panics. It is called again for what it logs itself.
pub trait Observer: Sync {
    /// Called with a record after it was written, or was dropped for lack of space.
    fn observe(&self, record: &Observed<'_>);
}

/// A record as its observer sees it.
///
/// Signal safety: its functions are async-signal-safe.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'r> {
    pub(crate) data: Data<'r>,
    pub(crate) body: &'r [u8],
    pub(crate) file: &'r [u8],
    pub(crate) message: &'r [u8],
}

impl<'r> Observed<'r> {
    /// The level at which it was logged; `INFO` for a record without one.
    pub fn level(&self) -> Level {
        self.data.level.unwrap_or(Level::INFO)
    }

    /// The wall clock at the call, in nanoseconds since the Unix epoch.
    pub fn time(&self) -> u64 {
        self.data.time.unwrap_or(0)
    }

    /// The path of the source file, as the compiler was given it.
    pub fn file(&self) -> &'r [u8] {
        self.file
    }

    /// The line of the call in the source file, from 1; 0 if it has none.
    pub fn line(&self) -> u64 {
        self.data.line.unwrap_or(0)
    }

    /// The text that printf makes of format and arguments, cut at 4 KiB, with escapes for
    /// control characters. Widths and precisions above 128 are shortened, and `%m` prints the
    /// number of the error, as in `errno 5`.
    pub fn message(&self) -> &'r [u8] {
        self.message
    }

    /// The arguments, in order, with their types.
    pub fn arguments(&self) -> impl Iterator<Item = Value<'r>> + use<'r> {
        self.data.args.into_iter().flatten()
    }
}
