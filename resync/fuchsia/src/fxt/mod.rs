#![doc = include_str!("../../FXT.md")]

mod argument;
mod bits;
mod buffer;
mod cursor;
mod error;
mod fields;
mod gap;
mod header;
mod layer;
mod plausible;
mod reader;
mod record;
mod render;
mod report;
mod scan;
mod strict;
mod string;
mod tables;
mod thread;
mod time;
mod tracker;
mod warning;
mod writer;

pub use argument::{Argument, ArgumentIter, Arguments, MAX_ARGUMENTS, RawArgument, Value};
pub use buffer::{Buffer, FixedBuffer};
pub use error::{Malformed, Problem, WriteError};
pub use gap::{Gap, GapReason};
pub use header::{MAX_LARGE_WORDS, MAX_WORDS, RecordHeader, RecordType};
pub use layer::{Layer, Plain, Raw, Resolved};
pub use reader::{Item, Located, Reader, Records};
pub use record::{
    BIG_ENDIAN_MAGIC_BYTES, Blob, BlobKind, BlobOrigin, Decoded, Event, EventKind, Initialization,
    KernelObject, LargeBlob, Log, MAGIC_BYTES, MAX_LOG_LEN, MAX_STACK_FRAMES, Metadata, ObjectKind,
    Profiler, ProviderEvent, ProviderId, Record, Scheduling, StringRecord, ThreadRecord,
    ThreadState, ThreadWord, Unknown, UserspaceObject, stack_frames,
};
pub use render::{Format, Line, write_gap};
pub use report::{Checked, Stat, check, count, dump, stat};
pub use strict::{NotZero, Strict};
pub use string::{ADVISED_STRING_LEN, MAX_STRING_LEN, StringIndex, StringRef};
pub use tables::{Object, Provider};
pub use thread::{Koid, ProcessRef, Thread, ThreadIndex, ThreadRef};
pub use time::{TickRate, Ticks, Time};
pub use tracker::Tracker;
pub use warning::{Tally, Warning, WarningKind};
pub use writer::{Error, Writer};
