//! String logdefs (1): a format string or file name, so that data records need
//! only name its address.

use super::{Fields, Tag};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};
use crate::{Magic, Run, Svma};

/// The string at a link-time address of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StringLogdef<'a> {
    /// Field 0: the image.
    pub magic: Option<Magic>,
    /// Field 1: where the string stands in the image.
    pub address: Option<Svma>,
    /// Field 2: its bytes, without the NUL that ends it.
    pub string: Option<&'a [u8]>,
    /// Field 3: the run that wrote it.
    pub run: Option<Run>,
    /// Field 4: grammar and names of a format, as [`Description`](crate::Description) reads them.
    pub description: Option<&'a [u8]>,
    /// Field 5: a format that is not printf's; field 2 is absent then.
    pub template: Option<&'a [u8]>,
}

impl<'a> StringLogdef<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = StringLogdef::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.magic = value.as_uint().map(Magic),
                1 => record.address = value.as_uint().map(Svma),
                2 => record.string = value.as_raw(),
                3 => record.run = value.as_uint().map(Run),
                4 => record.description = value.as_raw(),
                5 => record.template = value.as_raw(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::STRING_LOGDEF.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.magic.map(|n| n.0))?;
        fields.uint(1, self.address.map(|n| n.0))?;
        fields.raw(2, self.string)?;
        fields.uint64(3, self.run.map(|n| n.0))?;
        fields.raw(4, self.description)?;
        fields.raw(5, self.template)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_string_logdef_is_these_bytes() {
        let bytes = [
            0x01, // tag
            0x84, // four fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0a, // 0: magic
            0x01, 0xcd, 0x20, 0x08, // 1: address
            0x02, 0xa5, b'%', b'd', b' ', b'o', b'k', // 2: string
            0x03, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 3: run
        ];
        let logdef = StringLogdef {
            magic: Some(Magic(10)),
            address: Some(Svma(0x2008)),
            string: Some(b"%d ok"),
            run: Some(Run(11)),
            ..StringLogdef::default()
        };
        assert_vector(&bytes, Record::StringLogdef(logdef));
    }

    #[test]
    fn a_template_stands_where_printf_is_not_looked_for() {
        let bytes = [
            0x01, // tag
            0x83, // three fields
            0x01, 0xcd, 0x20, 0x08, // 1: address
            0x04, 0xa6, b'b', b':', b'h', b'o', b's', b't', // 4: braces of Rust, one name
            0x05, 0xa6, b'{', b'h', b'o', b's', b't', b'}', // 5: template
        ];
        let logdef = StringLogdef {
            address: Some(Svma(0x2008)),
            description: Some(b"b:host"),
            template: Some(b"{host}"),
            ..StringLogdef::default()
        };
        assert_vector(&bytes, Record::StringLogdef(logdef));
    }
}
