//! From records and packets to log data, and back to records.

use super::{LogError, LogsData, LogsPayload, Property};
use crate::legacy::Packet;
use crate::structured::{Cut, EncodeError, Record, RecordWriter, Value, fit};

use super::node::sort_by_name;

/// What a record does not say of itself and must not be believed about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// Which component wrote it.
    pub moniker: &'a str,
    /// Where that component was started from.
    pub component_url: Option<&'a str>,
    /// The process, if it was verified. A record that claims another keeps its claim as the key `pid`.
    pub pid: Option<u64>,
    /// How many records of that component were rolled out before this one.
    pub rolled_out: u64,
}

impl LogsData {
    /// The data of a structured record.
    ///
    /// Arguments with a conventional name and type become metadata; of those that repeat, tags add up
    /// and the last of the others wins. All other arguments become keys, sorted by name, repeats kept.
    /// `dropped_logs` is read as `num_dropped`: writers in C++ call it so.
    pub fn from_record(record: &Record<'_>, origin: &Origin<'_>) -> Self {
        let mut data = origin.start(record.timestamp(), record.severity());
        let metadata = &mut data.metadata;
        let mut payload = LogsPayload::default();
        let mut dropped = 0;
        for argument in record.arguments() {
            match (argument.name, argument.value) {
                ("pid", Value::UnsignedInt(pid)) => metadata.pid = Some(pid),
                ("tid", Value::UnsignedInt(tid)) => metadata.tid = Some(tid),
                ("tag", Value::Text(tag)) => metadata.tags.push(tag.into_owned()),
                ("file", Value::Text(file)) => metadata.file = Some(file.into_owned()),
                ("line", Value::UnsignedInt(line)) => metadata.line = Some(line),
                ("message", Value::Text(text)) => payload.message = Some(text.into_owned()),
                ("num_dropped" | "dropped_logs", Value::UnsignedInt(count)) if count > 0 => {
                    dropped = count;
                }
                ("num_dropped", Value::UnsignedInt(_)) => {}
                (name, value) => payload.keys.push((name.to_owned(), value.into())),
            }
        }
        data.finish(payload, dropped, origin)
    }

    /// The data of a legacy packet; `dropped` is what was lost since the previous packet of its writer.
    pub fn from_packet(packet: &Packet<'_>, dropped: u64, origin: &Origin<'_>) -> Self {
        let mut data = origin.start(packet.time, packet.severity());
        data.metadata.pid = Some(packet.pid);
        data.metadata.tid = Some(packet.tid);
        data.metadata.tags = packet.tags.iter().map(|tag| tag.into_owned()).collect();
        let payload = LogsPayload {
            message: Some(packet.message.clone().into_owned()),
            keys: Vec::new(),
        };
        data.finish(payload, dropped, origin)
    }

    /// Writes the data as a structured record in the order of the reference writers.
    ///
    /// Bytes and arrays, which records do not have, become text as in JSON.
    ///
    /// # Errors
    /// If it passes a limit of records or `buffer` is too small.
    pub fn to_record<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let metadata = &self.metadata;
        let mut writer =
            RecordWriter::new(buffer, metadata.timestamp, metadata.recorded_severity())?;
        if let Some(pid) = metadata.pid {
            writer.argument("pid", pid)?;
        }
        if let Some(tid) = metadata.tid {
            writer.argument("tid", tid)?;
        }
        for error in &metadata.errors {
            if let LogError::DroppedLogs { count } = error {
                writer.argument("num_dropped", *count)?;
            }
        }
        if let Some(file) = &metadata.file {
            writer.argument("file", file.as_str())?;
        }
        if let Some(line) = metadata.line {
            writer.argument("line", line)?;
        }
        if let Some(payload) = &self.payload {
            if let Some(message) = &payload.message {
                writer.argument("message", message.as_str())?;
            }
            for (name, property) in &payload.keys {
                writer.argument(name, property)?;
            }
        }
        for tag in &metadata.tags {
            writer.argument("tag", tag.as_str())?;
        }
        Ok(writer.finish())
    }

    /// Writes the data as a structured record whatever its size: what no record can hold is cut or left out as
    /// [`fit`] does, keys before tags.
    ///
    /// # Errors
    /// If the buffer is smaller than [`MAX_RECORD_BYTES`](crate::structured::MAX_RECORD_BYTES).
    pub fn to_record_that_fits<'b>(
        &self,
        buffer: &'b mut [u8],
    ) -> Result<(&'b [u8], Cut), EncodeError> {
        let metadata = &self.metadata;
        let mut arguments: Vec<(&str, Value<'_>)> = Vec::new();
        arguments.extend(metadata.pid.map(|pid| ("pid", pid.into())));
        arguments.extend(metadata.tid.map(|tid| ("tid", tid.into())));
        for error in &metadata.errors {
            if let LogError::DroppedLogs { count } = error {
                arguments.push(("num_dropped", (*count).into()));
            }
        }
        arguments.extend(metadata.file.as_deref().map(|file| ("file", file.into())));
        arguments.extend(metadata.line.map(|line| ("line", line.into())));
        let payload = self.payload.as_ref();
        let message = payload.and_then(|payload| payload.message.as_deref());
        arguments.extend(message.map(|message| ("message", message.into())));
        arguments.extend(metadata.tags.iter().map(|tag| ("tag", tag.as_str().into())));
        for (name, property) in payload.map_or(&[][..], |payload| &payload.keys) {
            arguments.push((name, property.into()));
        }
        fit(
            buffer,
            metadata.timestamp,
            metadata.recorded_severity(),
            &arguments,
        )
    }

    fn finish(mut self, mut payload: LogsPayload, dropped: u64, origin: &Origin<'_>) -> Self {
        let metadata = &mut self.metadata;
        metadata.set_error(LogError::RolledOutLogs {
            count: origin.rolled_out,
        });
        metadata.set_error(LogError::DroppedLogs { count: dropped });
        if let Some(verified) = origin.pid
            && let Some(claimed) = metadata.pid.replace(verified)
            && claimed != verified
        {
            let claim = Property::UnsignedInt(claimed);
            payload.keys.push(("pid".to_owned(), claim));
        }
        sort_by_name(&mut payload.keys);
        self.payload = Some(payload);
        self
    }
}

impl Origin<'_> {
    fn start(&self, timestamp: i64, severity: crate::structured::Severity) -> LogsData {
        let mut data = LogsData::new(self.moniker, timestamp, severity);
        data.metadata.component_url = self.component_url.map(str::to_owned);
        data
    }
}
