//! Masked records (126): another record's body XORed with a mask, written
//! where the body as it stands would contain a frame header pattern. Knows
//! nothing of the record inside.

use super::{Fields, Tag};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};
use crate::pattern::apply;
pub use crate::pattern::{OVERHEAD, is_clean, mask_in_place, may_begin_in};

/// A record in a form that cannot hold the pattern of a frame header.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Masked<'a> {
    /// Field 0: XORed over the body, repeated, first byte the highest.
    pub mask: Option<u64>,
    /// Field 1: the masked body.
    pub body: Option<&'a [u8]>,
}

impl<'a> Masked<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut masked = Masked::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => masked.mask = value.as_uint(),
                1 => masked.body = value.as_raw(),
                _ => {}
            }
        }
        Ok(masked)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::MASKED.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.mask)?;
        fields.raw(1, self.body)?;
        fields.finish()
    }

    /// Writes the body that was masked into the front of `out` and returns it.
    /// `None` if a field is missing or `out` is too small.
    pub fn unmask<'o>(&self, out: &'o mut [u8]) -> Option<&'o [u8]> {
        let body = self.body?;
        let out = out.get_mut(..body.len())?;
        out.copy_from_slice(body);
        apply(out, self.mask?);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use std::vec;

    #[test]
    fn masking_is_undone() {
        for len in [8, 31, 32, 300, 70_000] {
            let mut body = vec![0x7f, 0x80];
            while body.len() < len {
                body.extend([0xc1, 0xce, 9, 9, 9, 9, 0xc1, 0xda]);
            }
            let mut buffer = body.clone();
            buffer.resize(body.len() + OVERHEAD, 0);
            let masked_len = mask_in_place(&mut buffer, body.len()).unwrap();
            let masked = &buffer[..masked_len];
            assert!(is_clean(masked));
            let Ok(Record::Masked(masked)) = Record::decode(masked) else {
                panic!("not a masked record");
            };
            let mut out = vec![0; body.len()];
            assert_eq!(masked.unmask(&mut out), Some(&body[..]));
            let mut short = vec![0; body.len() - 1];
            assert_eq!(masked.unmask(&mut short), None);
        }
    }

    #[test]
    fn a_masked_record_is_these_bytes() {
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        let masked = Masked {
            mask: Some(0x0102_0304_0506_0708),
            body: Some(&[0x7f, 0x80]),
        };
        masked.encode(&mut encoder).unwrap();
        let bytes = [
            0x7e, 0x82, // masked, two fields
            0x00, 0xcf, 1, 2, 3, 4, 5, 6, 7, 8, // 0: the mask
            0x01, 0xa2, 0x7f, 0x80, // 1: the body
        ];
        assert_eq!(encoder.written(), bytes);
        assert_eq!(Record::decode(&bytes), Ok(Record::Masked(masked)));
        let mut out = [0; 2];
        assert_eq!(masked.unmask(&mut out), Some(&[0x7e, 0x82][..]));
    }
}
