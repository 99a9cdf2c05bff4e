//! Structured log records of Fuchsia, one behind the other, each within the
//! strict limits: 15 arguments, names of 256 bytes, 32 760 bytes in all. What
//! does not fit is left out from the end: first keys, then the end of the message.

use logdef_fuchsia::diagnostics::LogsData;
use logdef_fuchsia::structured::{MAX_NAME_BYTES, MAX_RECORD_BYTES};
use std::io;

/// Writes records.
#[derive(Debug)]
pub struct Exporter<W> {
    out: W,
    buffer: Vec<u8>,
    cut: u64,
}

impl<W: io::Write> Exporter<W> {
    /// Begins with nothing: the format has no header.
    pub fn new(out: W) -> Self {
        Exporter {
            out,
            buffer: vec![0; MAX_RECORD_BYTES],
            cut: 0,
        }
    }

    /// Adds a record.
    pub fn write(&mut self, data: &LogsData) -> io::Result<()> {
        if let Ok(record) = data.to_record(&mut self.buffer) {
            return self.out.write_all(record);
        }
        self.cut += 1;
        let mut data = data.clone();
        if let Some(payload) = &mut data.payload {
            let fits = |name: &str| (1..=MAX_NAME_BYTES).contains(&name.len());
            payload.keys.retain(|(name, _)| fits(name));
        }
        loop {
            if let Ok(record) = data.to_record(&mut self.buffer) {
                return self.out.write_all(record);
            }
            if !shorten(&mut data) {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    /// Records of which something was left out.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Gives the output back.
    pub fn finish(self) -> W {
        self.out
    }
}

/// Leaves something out; false if there is nothing left.
fn shorten(data: &mut LogsData) -> bool {
    if let Some(payload) = &mut data.payload {
        if payload.keys.pop().is_some() {
            return true;
        }
        if let Some(message) = &mut payload.message
            && !message.is_empty()
        {
            let half = (0..=message.len() / 2).rev();
            let end = half.into_iter().find(|at| message.is_char_boundary(*at));
            message.truncate(end.unwrap_or(0));
            return true;
        }
    }
    let metadata = &mut data.metadata;
    metadata.tags.pop().is_some() || metadata.file.take().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_fuchsia::diagnostics::{LogsPayload, Property};
    use logdef_fuchsia::structured::{Profile, Record, Severity, Value};

    #[test]
    fn what_does_not_fit_is_left_out_from_the_end() {
        let mut data = LogsData::new("", 5, Severity(0x2e));
        data.metadata.pid = Some(7);
        data.metadata.tags.push("t".into());
        let key = |index: i64| (index.to_string(), Property::SignedInt(index));
        let mut keys: Vec<_> = (0..20).map(key).collect();
        keys.insert(3, (String::new(), Property::Boolean(true)));
        let message = Some("é".repeat(30_000));
        data.payload = Some(LogsPayload { message, keys });
        let mut exporter = Exporter::new(Vec::new());
        exporter.write(&data).unwrap();
        assert_eq!(exporter.cut(), 1);
        let out = exporter.finish();
        let (record, rest) = Record::parse(&out, Profile::Strict).unwrap();
        assert!(rest.is_empty());
        assert_eq!(record.severity(), Severity(0x2e));
        let names: Vec<_> = record.arguments().map(|argument| argument.name).collect();
        assert_eq!(names, ["pid", "message", "tag"]);
        let message = record.arguments().nth(1).unwrap().value;
        assert_eq!(message, Value::from("é".repeat(15_000)));

        data.payload.as_mut().unwrap().message = Some("short".into());
        let mut exporter = Exporter::new(Vec::new());
        exporter.write(&data).unwrap();
        let out = exporter.finish();
        let (record, _) = Record::parse(&out, Profile::Strict).unwrap();
        assert_eq!(record.arguments().count(), 15);
    }
}
