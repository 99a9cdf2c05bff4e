//! What the service stores, and the trait of what stores it.

use std::io;

use logdef_fuchsia::diagnostics::{LogError, LogsData, Origin};
use logdef_fuchsia::legacy::Packet;
use logdef_fuchsia::structured::{Profile, Record, Severity};

/// How the bytes of a record are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A structured record.
    Structured,
    /// A legacy packet.
    Legacy,
}

/// A record with what the service knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored<'a> {
    /// How `record` is encoded.
    pub format: Format,
    /// The process that sent it, as the kernel says.
    pub pid: u32,
    /// Records its writer lost since the one before, for formats that count in total.
    pub dropped: u64,
    /// Which component sent it.
    pub moniker: &'a str,
    /// Where that was started from.
    pub url: Option<&'a str>,
    /// The record as it was sent.
    pub record: &'a [u8],
}

impl Stored<'_> {
    /// The record as diagnostics data, after `rolled_out` records that were not kept. A record that cannot
    /// be read is one that says so.
    pub fn to_data(&self, rolled_out: u64) -> LogsData {
        let origin = Origin {
            moniker: self.moniker,
            component_url: self.url,
            pid: (self.pid != 0).then_some(self.pid.into()),
            rolled_out,
        };
        let unreadable = |error: String| {
            let mut data = LogsData::new(self.moniker, 0, Severity::WARN);
            data.metadata.set_error(LogError::ParseRecord(error));
            data
        };
        match self.format {
            Format::Structured => match Record::parse(self.record, Profile::Lenient) {
                Ok((record, _)) => LogsData::from_record(&record, &origin),
                Err(error) => unreadable(error.to_string()),
            },
            Format::Legacy => match Packet::parse(self.record) {
                Ok(packet) => LogsData::from_packet(&packet, self.dropped, &origin),
                Err(error) => unreadable(error.to_string()),
            },
        }
    }
}

/// Stores records, so that queries can return them.
pub trait Storage {
    /// Takes a record.
    ///
    /// # Errors
    /// If it cannot; the record counts as not stored.
    fn append(&mut self, stored: &Stored<'_>) -> io::Result<()>;

    /// Makes everything that was appended survive the end of this process.
    ///
    /// # Errors
    /// If it cannot; nothing since the last success is acknowledged then.
    fn commit(&mut self) -> io::Result<()>;
}
