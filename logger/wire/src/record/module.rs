//! Module records (4): what was mapped where, as modules come and go, so that
//! an address without a logdef can still be given to its image.

use super::{Fields, Tag};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};
use crate::{Avma, Magic, Run};

/// A module that was loaded or unloaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Module<'a> {
    /// Field 0: the run.
    pub run: Option<Run>,
    /// Field 1: runtime address minus link-time address, modulo 2⁶⁴.
    pub load_bias: Option<u64>,
    /// Field 2: first address of the mapping.
    pub start: Option<Avma>,
    /// Field 3: bytes of the mapping.
    pub size: Option<u64>,
    /// Field 4: path of the image.
    pub path: Option<&'a [u8]>,
    /// Field 5: GNU build ID.
    pub build_id: Option<&'a [u8]>,
    /// Field 6: the magic of the image, if known.
    pub magic: Option<Magic>,
    /// Field 7: nanoseconds since the Unix epoch.
    pub time: Option<u64>,
    /// Field 8: the module has gone: its addresses end here.
    pub unloaded: Option<bool>,
}

impl<'a> Module<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = Module::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.run = value.as_uint().map(Run),
                1 => record.load_bias = value.as_uint(),
                2 => record.start = value.as_uint().map(Avma),
                3 => record.size = value.as_uint(),
                4 => record.path = value.as_raw(),
                5 => record.build_id = value.as_raw(),
                6 => record.magic = value.as_uint().map(Magic),
                7 => record.time = value.as_uint(),
                8 => record.unloaded = value.as_bool(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::MODULE.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.run.map(|n| n.0))?;
        fields.uint(1, self.load_bias)?;
        fields.uint(2, self.start.map(|n| n.0))?;
        fields.uint(3, self.size)?;
        fields.raw(4, self.path)?;
        fields.raw(5, self.build_id)?;
        fields.uint64(6, self.magic.map(|n| n.0))?;
        fields.uint64(7, self.time)?;
        fields.bool(8, self.unloaded)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_module_is_these_bytes() {
        let bytes = [
            0x04, // tag
            0x86, // six fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x02, 0xce, 0x00, 0x40, 0x00, 0x00, // 2: start
            0x03, 0xcd, 0x10, 0x00, // 3: size
            0x04, 0xa2, b'/', b'l', // 4: path
            0x05, 0xa2, 0xaa, 0xbb, // 5: build ID
            0x08, 0xc3, // 8: unloaded
        ];
        let module = Module {
            run: Some(Run(11)),
            start: Some(Avma(0x40_0000)),
            size: Some(0x1000),
            path: Some(b"/l"),
            build_id: Some(&[0xaa, 0xbb]),
            unloaded: Some(true),
            ..Module::default()
        };
        assert_vector(&bytes, Record::Module(module));
    }
}
