//! Durable records (5): how far each thread's records were on stable storage
//! when a `sync()` returned.

use super::{Fields, Tag};
use crate::Run;
use crate::msgpack::{DecodeError, Encoder, Map, OutOfRoom};

/// What a `sync()` made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Durable<'a> {
    /// Field 0: the run.
    pub run: Option<Run>,
    /// Field 1: from thread number to the count of the last record whose call had returned before the sync began;
    /// nil if none had.
    pub threads: Option<Map<'a>>,
    /// Field 2: nanoseconds since the Unix epoch.
    pub time: Option<u64>,
    /// Field 3: why the sync failed; then it covers nothing.
    pub errno: Option<u64>,
    /// Field 4: threads with lower numbers that `threads` does not name had ended before the sync began: all of
    /// their records are covered.
    pub ended: Option<u64>,
}

impl<'a> Durable<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = Durable::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.run = value.as_uint().map(Run),
                1 => record.threads = value.as_map(),
                2 => record.time = value.as_uint(),
                3 => record.errno = value.as_uint(),
                4 => record.ended = value.as_uint(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::DURABLE.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.run.map(|n| n.0))?;
        fields.map(1, self.threads)?;
        fields.uint64(2, self.time)?;
        fields.uint(3, self.errno)?;
        fields.uint(4, self.ended)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::{Decoder, Value};
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_durable_is_these_bytes() {
        let bytes = [
            0x05, // tag
            0x84, // four fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x01, 0x82, 0x00, 0xcc, 0xc8, 0x01, 0x07, // 1: thread 0 to 200, thread 1 to 7
            0x03, 0x05, // 3: EIO
            0x04, 0x09, // 4: threads below 9
        ];
        let threads = Decoder::new(&bytes[13..]).value().unwrap().as_map();
        let pairs: std::vec::Vec<_> = threads.unwrap().iter().collect();
        assert_eq!(pairs[0], (Value::Uint(0), Value::Uint(200)));
        assert_eq!(pairs[1], (Value::Uint(1), Value::Uint(7)));
        let durable = Durable {
            run: Some(Run(11)),
            threads,
            time: None,
            errno: Some(5),
            ended: Some(9),
        };
        assert_vector(&bytes, Record::Durable(durable));
    }
}
