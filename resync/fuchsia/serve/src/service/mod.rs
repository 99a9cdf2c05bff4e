//! The log service: takes records of many processes over Unix sockets, keeps them, answers queries.
//!
//! In one directory, for this user only:
//!
//! | socket | type | what is sent to it |
//! |---|---|---|
//! | `log` | SEQPACKET | structured records, one in each packet; one connection for each writer |
//! | `log.dgram` | DGRAM | structured records, without a connection |
//! | `legacy` | SEQPACKET | legacy packets |
//! | `legacy.dgram` | DGRAM | legacy packets |
//! | `stream` | STREAM | a [`Request`] in a line of JSON; answered with JSON arrays |
//!
//! Who a record is from is what the kernel says of its sender, never what the record says. A record is
//! *stored* once it is in the log of the service, written by our own logger ([`LogStorage`]), and survives
//! its end; a writer that wants to know asks for it with [`SYNC`]. What is kept in memory for queries is bounded, for each component and in all: the
//! oldest is rolled out and counted.

mod component;
mod directory;
mod log_storage;
mod readers;
mod replay;
mod request;
mod ring;
mod run;
mod statistics;
mod storage;

use std::path::PathBuf;

pub use log_storage::LogStorage;
pub use replay::Recovered;
pub use request::{Kind, Mode, Request};
pub use run::{Service, Stop};
pub use storage::{Format, Storage, Stored};

use crate::Clock;
use logdef_fuchsia::structured::Profile;

/// A packet that is no record and asks a `log` or `legacy` connection for an answer: these 8 bytes, then
/// what the service had of the connection when all of it was stored, as three u64: records stored,
/// packets refused as invalid, records the writer reported as dropped.
pub const SYNC: [u8; 8] = *b"sync\0\0\0\0";

/// What happens to a writer of an invalid record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalid {
    /// Its connection is closed, and the error is recorded. A datagram has none: it is dropped.
    #[default]
    Close,
    /// The record is dropped, and the error is recorded.
    Drop,
}

/// How a service behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the sockets are.
    pub directory: PathBuf,
    /// What is accepted as a record.
    pub profile: Profile,
    /// What happens to writers of what is not.
    pub on_invalid: OnInvalid,
    /// Bytes kept in memory of one component.
    pub component_bytes: usize,
    /// Bytes kept in memory in all.
    pub total_bytes: usize,
    /// The clock that writers take their timestamps from, and the service its own.
    pub clock: Clock,
    /// Connections of writers at a time.
    pub writers: usize,
    /// Connections of readers at a time.
    pub readers: usize,
}

impl Settings {
    /// The defaults for sockets in `directory`: lenient profile, close on invalid, 1 MiB for each component,
    /// 64 MiB in all, the monotonic clock, 512 writers, 32 readers.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            profile: Profile::Lenient,
            on_invalid: OnInvalid::Close,
            component_bytes: 1 << 20,
            total_bytes: 64 << 20,
            clock: Clock::default(),
            writers: 512,
            readers: 32,
        }
    }

    /// The usual directory: `logdef` in the runtime directory of the user (`$XDG_RUNTIME_DIR`, or else
    /// `/run/user/UID`, or `/run` for root), or else `/tmp/logdef-UID`. A directory that is a symbolic
    /// link, of another user, or that others can write is refused by the service, and a service of another user by
    /// its clients.
    pub fn default_directory() -> PathBuf {
        directory::usual()
    }
}
