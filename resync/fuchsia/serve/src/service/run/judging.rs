//! Whether a packet is a record; storing those that are, and a note of those that are not.

use logdef_fuchsia::legacy::{Packet, RunningDrops};
use logdef_fuchsia::structured::{Record, RecordWriter, Severity, Value};

use super::Service;
use crate::receive::Received;
use crate::service::Settings;
use crate::service::ring::ComponentId;
use crate::service::storage::{Format, Storage, Stored};

impl<S: Storage> Service<S> {
    /// Appends a record to the storage and keeps it for readers; whether it is stored.
    pub(super) fn store(
        &mut self,
        id: ComponentId,
        format: Format,
        lost: (u64, u64),
        record: &[u8],
    ) -> bool {
        let Some(kept) = self.ring.kept(id) else {
            return false;
        };
        let stored = Stored {
            format,
            pid: kept.component.pid,
            dropped: lost.1,
            moniker: &kept.component.moniker,
            url: kept.component.url.as_deref(),
            record,
        };
        let appended = self.storage.append(&stored);
        match &appended {
            Ok(()) => self.uncommitted += 1,
            Err(_) => self.not_stored += 1,
        }
        let is_stored = appended.is_ok();
        self.ring.push(id, format, lost, record);
        is_stored
    }

    /// Records that a writer sent something that is no record.
    pub(super) fn note_invalid(&mut self, writer: ComponentId, error: &str) {
        self.ring.counts(writer).invalid += 1;
        let Some(kept) = self.ring.kept(writer) else {
            return;
        };
        let (moniker, pid) = (kept.component.moniker.clone(), kept.component.pid);
        let mut buffer = [0; 1024];
        let Ok(mut record) =
            RecordWriter::new(&mut buffer, self.settings.clock.now(), Severity::WARN)
        else {
            return;
        };
        // A name that is too long is left out; the rest fits.
        for (name, value) in [
            ("tag", Value::from("invalid")),
            ("message", format!("invalid record: {error}").into()),
            ("writer_pid", u64::from(pid).into()),
            ("writer", moniker.into()),
        ] {
            let _ = record.argument(name, value);
        }
        let record = record.finish().to_vec();
        self.store(self.own, Format::Structured, (0, 0), &record);
    }
}

/// Whether a packet is a record, and what its writer says it lost: in all, and what of that is not in the
/// record itself.
pub(super) fn judge(
    settings: &Settings,
    format: Format,
    packet: &Received<'_>,
    drops: &mut RunningDrops,
) -> Result<(u64, u64), String> {
    if packet.truncated {
        return Err("longer than 32768 bytes".to_owned());
    }
    match format {
        Format::Structured => {
            let (record, rest) =
                Record::parse(packet.bytes, settings.profile).map_err(|error| error.to_string())?;
            if !rest.is_empty() {
                return Err(format!("{} bytes after the record", rest.len()));
            }
            let mut dropped = 0;
            for argument in record.arguments() {
                match (argument.name, argument.value) {
                    ("num_dropped" | "dropped_logs", Value::UnsignedInt(count)) if count > 0 => {
                        dropped = count;
                    }
                    _ => {}
                }
            }
            Ok((dropped, 0))
        }
        Format::Legacy => {
            let packet = Packet::parse(packet.bytes).map_err(|error| error.to_string())?;
            let dropped = drops.increase(packet.dropped_logs).into();
            Ok((dropped, dropped))
        }
    }
}
