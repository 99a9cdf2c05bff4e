//! An observer: code of the program that is told of each record as it is written,
//! on the thread that logs. It is how a record gets where files do not lead: into
//! shared memory that others read live, say.

use logdef_wire::record::Data;
use logdef_wire::{Level, Value};

/// Told of records; see [`set_observer`](crate::set_observer).
///
/// It is called in the middle of a log call, and in signal handlers if those log. If
/// it panics the program does. What it logs itself it is told of too.
pub trait Observer: Sync {
    /// A record was written, or could not be.
    fn observe(&self, record: &Observed<'_>);
}

/// A record as its observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'r> {
    pub(crate) data: Data<'r>,
    pub(crate) body: &'r [u8],
    pub(crate) file: &'r [u8],
    pub(crate) message: &'r [u8],
}

impl<'r> Observed<'r> {
    /// How grave it is.
    pub fn level(&self) -> Level {
        self.data.level.unwrap_or(Level::INFO)
    }

    /// Nanoseconds since the Unix epoch.
    pub fn time(&self) -> u64 {
        self.data.time.unwrap_or(0)
    }

    /// The source file.
    pub fn file(&self) -> &'r [u8] {
        self.file
    }

    /// The line in it.
    pub fn line(&self) -> u64 {
        self.data.line.unwrap_or(0)
    }

    /// What printf makes of it, with escapes for control characters, cut at 4 KiB.
    pub fn message(&self) -> &'r [u8] {
        self.message
    }

    /// The arguments, in order, with their types.
    pub fn arguments(&self) -> impl Iterator<Item = Value<'r>> + use<'r> {
        self.data.args.into_iter().flatten()
    }
}
