//! The Fuchsia trace format: a complete reader and writer.

mod argument;
mod bits;
mod buffer;
mod cursor;
mod error;
mod header;
mod layer;
mod record;
mod string;
mod thread;
mod time;
mod writer;

pub use argument::{Argument, ArgumentIter, Arguments, MAX_ARGUMENTS, RawArgument, Value};
pub use buffer::{Buffer, FixedBuffer};
pub use error::{Malformed, Problem, WriteError};
pub use header::{MAX_LARGE_WORDS, MAX_WORDS, RecordHeader, RecordType};
pub use layer::{Layer, Plain, Raw, Resolved};
pub use record::{
    BIG_ENDIAN_MAGIC_BYTES, Blob, BlobKind, BlobOrigin, Decoded, Event, EventKind, Initialization,
    KernelObject, LargeBlob, Log, MAGIC_BYTES, MAX_LOG_LEN, MAX_STACK_FRAMES, Metadata, ObjectKind,
    Profiler, ProviderEvent, ProviderId, Record, Scheduling, StringRecord, ThreadRecord,
    ThreadState, ThreadWord, Unknown, UserspaceObject, stack_frames,
};
pub use string::{ADVISED_STRING_LEN, MAX_STRING_LEN, StringIndex, StringRef};
pub use thread::{Koid, ProcessRef, Thread, ThreadIndex, ThreadRef};
pub use time::{TickRate, Ticks, Time};
pub use writer::{Error, Writer};
