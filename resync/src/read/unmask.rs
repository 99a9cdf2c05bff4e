//! Records as they were logged: a masked record is opened before anyone looks
//! at it. Knows nothing of what records mean.

use logdef_wire::Record;
use logdef_wire::Tag;
use logdef_wire::msgpack::{DecodeError, Reason};

/// Decodes a frame's body; where it holds a masked record, the record inside,
/// written into `scratch`.
#[inline]
pub fn decode<'b>(body: &'b [u8], scratch: &'b mut Vec<u8>) -> Result<Record<'b>, DecodeError> {
    if body.first() != Some(&Tag::MASKED.0) {
        return Record::decode(body);
    }
    let malformed = DecodeError {
        offset: 0,
        reason: Reason::Truncated,
    };
    let Record::Masked(masked) = Record::decode(body)? else {
        return Err(malformed);
    };
    scratch.clear();
    scratch.resize(masked.body.map_or(0, <[u8]>::len), 0);
    let inner = masked.unmask(scratch).ok_or(malformed)?;
    // Masked records never nest.
    match inner.first() {
        Some(tag) if *tag != Tag::MASKED.0 => Record::decode(inner),
        _ => Err(malformed),
    }
}

/// The body to decode: the frame's own, or the one inside a masked record, written
/// into `scratch`. `None` if that is malformed.
#[inline]
pub fn unmasked<'b>(body: &'b [u8], scratch: &'b mut Vec<u8>) -> Option<&'b [u8]> {
    if body.first() != Some(&Tag::MASKED.0) {
        return Some(body);
    }
    let Ok(Record::Masked(masked)) = Record::decode(body) else {
        return None;
    };
    scratch.clear();
    scratch.resize(masked.body.map_or(0, <[u8]>::len), 0);
    masked
        .unmask(scratch)
        .filter(|inner| inner.first() != Some(&Tag::MASKED.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::msgpack::Encoder;
    use logdef_wire::record::Note;
    use logdef_wire::record::masked::{OVERHEAD, mask_in_place};

    fn masked(body: &[u8]) -> Vec<u8> {
        let mut buffer = body.to_vec();
        buffer.resize(body.len() + OVERHEAD, 0);
        let len = mask_in_place(&mut buffer, body.len()).unwrap();
        buffer.truncate(len);
        buffer
    }

    #[test]
    fn a_masked_note_is_a_note_and_a_mask_in_a_mask_is_malformed() {
        let mut bytes = [0; 64];
        let mut encoder = Encoder::new(&mut bytes);
        let note = Note {
            text: Some(b"\xc1\xce\x01\x02\x03\x04\xc1\xa0"),
            ..Note::default()
        };
        note.encode(&mut encoder).unwrap();
        let once = masked(encoder.written());
        let mut scratch = Vec::new();
        assert_eq!(decode(&once, &mut scratch), Ok(Record::Note(note)));
        assert_eq!(unmasked(&once, &mut Vec::new()), Some(encoder.written()));
        let twice = masked(&once);
        assert!(decode(&twice, &mut scratch).is_err());
        assert_eq!(unmasked(&twice, &mut scratch), None);
    }
}
