//! Text logdefs (7): a string that has no address, since it was made at run time;
//! data records name it by a number. That of a format also contains the rest of its call
//! site, which no image describes.

use super::{Fields, Tag};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};
use crate::{Run, Svma};

/// The string of a number in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextLogdef<'a> {
    /// Field 0: the run.
    pub run: Option<Run>,
    /// Field 1: what data records have in place of an address; see [`Svma::text`].
    pub number: Option<Svma>,
    /// Field 2: its bytes.
    pub string: Option<&'a [u8]>,
    /// Field 3: the module of the call site with this format.
    pub module: Option<&'a [u8]>,
    /// Field 4: grammar and names of a format, as [`Description`](crate::Description) reads them.
    pub description: Option<&'a [u8]>,
    /// Field 5: a format that is not printf's; field 2 is absent then.
    pub template: Option<&'a [u8]>,
    /// Field 6: what the call site says it is about, where that is not its module.
    pub target: Option<&'a [u8]>,
    /// Field 7: the function of the call site.
    pub function: Option<&'a [u8]>,
}

impl<'a> TextLogdef<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = TextLogdef::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.run = value.as_uint().map(Run),
                1 => record.number = value.as_uint().map(Svma),
                2 => record.string = value.as_raw(),
                3 => record.module = value.as_raw(),
                4 => record.description = value.as_raw(),
                5 => record.template = value.as_raw(),
                6 => record.target = value.as_raw(),
                7 => record.function = value.as_raw(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::TEXT_LOGDEF.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.run.map(|n| n.0))?;
        fields.uint64(1, self.number.map(|n| n.0))?;
        fields.raw(2, self.string)?;
        fields.raw(3, self.module)?;
        fields.raw(4, self.description)?;
        fields.raw(5, self.template)?;
        fields.raw(6, self.target)?;
        fields.raw(7, self.function)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_text_logdef_is_these_bytes() {
        let bytes = [
            0x07, // tag
            0x87, // seven fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x01, 0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0x05, // 1: text 5
            0x03, 0xa3, b'a', b':', b'b', // 3: module
            0x04, 0xa3, b'b', b':', b'n', // 4: braces of Rust, one name
            0x05, 0xa5, b'{', b'n', b'}', b' ', b'%', // 5: template
            0x06, 0xa2, b'd', b'b', // 6: target
            0x07, 0xa1, b'f', // 7: function
        ];
        let logdef = TextLogdef {
            run: Some(Run(11)),
            number: Some(Svma::text(5)),
            module: Some(b"a:b"),
            description: Some(b"b:n"),
            template: Some(b"{n} %"),
            target: Some(b"db"),
            function: Some(b"f"),
            ..TextLogdef::default()
        };
        assert_vector(&bytes, Record::TextLogdef(logdef));
    }

    #[test]
    fn a_plain_text_logdef_is_these_bytes() {
        let bytes = [
            0x07, // tag
            0x82, // two fields
            0x01, 0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0, // 1: text 0
            0x02, 0xa4, b'a', b'.', b'r', b's', // 2: string
        ];
        let logdef = TextLogdef {
            number: Some(Svma::text(0)),
            string: Some(b"a.rs"),
            ..TextLogdef::default()
        };
        assert_vector(&bytes, Record::TextLogdef(logdef));
    }
}
