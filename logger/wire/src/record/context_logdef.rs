//! Context logdefs (8): what a thread or a task said once of all it does, so that
//! its records need only name it.

use super::{Fields, Tag};
use crate::Run;
use crate::msgpack::{DecodeError, Encoder, Map, OutOfRoom};

/// Key-values that hold for every record which names them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextLogdef<'a> {
    /// Field 0: the run.
    pub run: Option<Run>,
    /// Field 1: what data records name; given to one context of a run only.
    pub id: Option<u64>,
    /// Field 2: the context that this one adds to.
    pub parent: Option<u64>,
    /// Field 3: key-value pairs, as those of a data record.
    pub keys: Option<Map<'a>>,
    /// Field 4: the number of the span that the context is of, if it is of one.
    pub span: Option<u64>,
}

impl<'a> ContextLogdef<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = ContextLogdef::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.run = value.as_uint().map(Run),
                1 => record.id = value.as_uint(),
                2 => record.parent = value.as_uint(),
                3 => record.keys = value.as_map(),
                4 => record.span = value.as_uint(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::CONTEXT_LOGDEF.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.run.map(|n| n.0))?;
        fields.uint(1, self.id)?;
        fields.uint(2, self.parent)?;
        fields.map(3, self.keys)?;
        fields.uint(4, self.span)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::{Decoder, Value};
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_context_logdef_is_these_bytes() {
        let bytes = [
            0x08, // tag
            0x85, // five fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x01, 0x11, // 1: context 17
            0x02, 0x03, // 2: adds to context 3
            0x03, 0x81, 0xa4, b'u', b's', b'e', b'r', 0xcd, 0x01, 0x00, // 3: user = 256
            0x04, 0x09, // 4: span 9
        ];
        let keys = Decoder::new(&bytes[17..]).value().unwrap().as_map();
        let pair = keys.unwrap().iter().next();
        assert_eq!(pair, Some((Value::Raw(b"user"), Value::Uint(256))));
        let logdef = ContextLogdef {
            run: Some(Run(11)),
            id: Some(17),
            parent: Some(3),
            keys,
            span: Some(9),
        };
        assert_vector(&bytes, Record::ContextLogdef(logdef));
    }
}
