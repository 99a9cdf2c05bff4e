//! Structured log records of Fuchsia, one after another, each within the strict limits:
//! 15 arguments, names of 256 bytes, 32 760 bytes in all. Of what does not fit, the
//! longest texts are cut and end with `…`, and arguments beyond the fifteenth are
//! left out and counted in the argument `left_out`.

use logdef_fuchsia::diagnostics::LogsData;
use logdef_fuchsia::structured::MAX_RECORD_BYTES;
use std::io;

/// Writes each record as it comes, without a buffer of records.
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

    /// Writes a record, cut where it is over the limits.
    pub fn write(&mut self, data: &LogsData) -> io::Result<()> {
        if let Ok(record) = data.to_record(&mut self.buffer) {
            return self.out.write_all(record);
        }
        self.cut += 1;
        match data.to_record_that_fits(&mut self.buffer) {
            Ok((record, _)) => self.out.write_all(record),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    /// Records of which something was cut or left out.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Gives the output back.
    pub fn finish(self) -> W {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_fuchsia::diagnostics::{LogsPayload, Property};
    use logdef_fuchsia::structured::{Profile, Record, Severity, Value};

    #[test]
    fn what_does_not_fit_fills_the_record_and_is_marked() {
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
        assert!(out.len() > MAX_RECORD_BYTES - 8, "{}", out.len());
        let (record, rest) = Record::parse(&out, Profile::Strict).unwrap();
        assert!(rest.is_empty());
        assert_eq!(record.severity(), Severity(0x2e));
        let arguments: Vec<_> = record.arguments().collect();
        let names: Vec<_> = arguments.iter().map(|argument| argument.name).collect();
        assert_eq!(names[..4], ["pid", "message", "tag", "0"]);
        assert_eq!((names.len(), names[14]), (15, "left_out"));
        assert_eq!(arguments[14].value, Value::UnsignedInt(10));
        let Value::Text(message) = &arguments[1].value else {
            panic!("{arguments:?}");
        };
        assert!(message.ends_with("é…"));

        // Just what fits is whole.
        data.payload.as_mut().unwrap().keys.clear();
        data.payload.as_mut().unwrap().message = Some("x".repeat(32_600));
        let mut exporter = Exporter::new(Vec::new());
        exporter.write(&data).unwrap();
        assert_eq!(exporter.cut(), 0);
    }
}
