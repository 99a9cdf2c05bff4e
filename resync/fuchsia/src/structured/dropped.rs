//! Adding a count of lost records to a record that is encoded already, as a relay must.

use std::fmt;

use super::MAX_RECORD_WORDS;
use super::words::{WORD, word_at};

/// The header of the argument that counts lost records: unsigned, 4 words, an 11-byte name.
const HEADER: u64 = 0x0000_0000_800b_0044;
/// `num_dropped`, padded.
const NAME: [u8; 16] = *b"num_dropped\0\0\0\0\0";
/// Words of the argument: header, two of name, value.
const WORDS: usize = 4;

/// Why a record cannot carry a drop count. It is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddDroppedError {
    /// Shorter than 16 bytes or not a whole number of words.
    NotARecord,
    /// The argument at this byte has size 0 or passes the record.
    BadArgument(usize),
    /// The record would pass 4095 words.
    RecordTooLong,
}

impl fmt::Display for AddDroppedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord => f.write_str("not a record"),
            Self::BadArgument(offset) => write!(f, "argument at byte {offset} has a wrong size"),
            Self::RecordTooLong => f.write_str("no room for a drop count within 4095 words"),
        }
    }
}

impl std::error::Error for AddDroppedError {}

/// Adds `count` to the `num_dropped` argument of `record`, which is all of the buffer, or appends one.
///
/// An existing count saturates. Arguments are walked by the sizes they state.
///
/// # Errors
/// If the record is malformed or would become too long.
pub fn add_dropped(record: &mut Vec<u8>, count: u64) -> Result<(), AddDroppedError> {
    if record.len() < 2 * WORD || !record.len().is_multiple_of(WORD) {
        return Err(AddDroppedError::NotARecord);
    }
    let mut offset = 2 * WORD;
    while let Some(header) = word_at(record, offset) {
        let end = offset + (header >> 4 & 0xfff) as usize * WORD;
        if end == offset || end > record.len() {
            return Err(AddDroppedError::BadArgument(offset));
        }
        let (name, value) = (offset + WORD, offset + 3 * WORD);
        if header == HEADER && record[name..value] == NAME {
            let old = word_at(record, value).unwrap_or(0);
            record[value..end].copy_from_slice(&old.saturating_add(count).to_le_bytes());
            return Ok(());
        }
        offset = end;
    }
    let words = record.len() / WORD + WORDS;
    if words > MAX_RECORD_WORDS {
        return Err(AddDroppedError::RecordTooLong);
    }
    record.extend_from_slice(&HEADER.to_le_bytes());
    record.extend_from_slice(&NAME);
    record.extend_from_slice(&count.to_le_bytes());
    let header = word_at(record, 0).unwrap_or(0) & !0xfff0 | (words as u64) << 4;
    record[..WORD].copy_from_slice(&header.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structured::{Profile, Record, RecordWriter, Severity, Value};

    fn record(arguments: &[(&str, Value<'_>)]) -> Vec<u8> {
        let mut buffer = vec![0; 32_768];
        let mut writer = RecordWriter::new(&mut buffer, 1, Severity::INFO).unwrap();
        for (name, value) in arguments {
            writer.argument(name, value.clone()).unwrap();
        }
        writer.finish().to_vec()
    }

    #[test]
    fn a_count_is_appended_to_a_record_without_one() {
        let mut bytes = record(&[("message", "hi".into())]);
        add_dropped(&mut bytes, 7).unwrap();
        assert_eq!(
            bytes,
            record(&[("message", "hi".into()), ("num_dropped", 7_u64.into())])
        );
        Record::parse(&bytes, Profile::Strict).unwrap();
    }

    #[test]
    fn a_count_is_added_to_the_one_that_is_there_and_saturates() {
        let mut bytes = record(&[("num_dropped", 5_u64.into()), ("message", "hi".into())]);
        add_dropped(&mut bytes, 7).unwrap();
        assert_eq!(
            bytes,
            record(&[("num_dropped", 12_u64.into()), ("message", "hi".into())])
        );
        add_dropped(&mut bytes, u64::MAX).unwrap();
        let (record, _) = Record::parse(&bytes, Profile::Strict).unwrap();
        let first = record.arguments().next().unwrap();
        assert_eq!(first.value, Value::UnsignedInt(u64::MAX));
    }

    #[test]
    fn a_signed_count_is_not_the_count() {
        let mut bytes = record(&[("num_dropped", 5_i64.into())]);
        add_dropped(&mut bytes, 7).unwrap();
        let (record, _) = Record::parse(&bytes, Profile::Strict).unwrap();
        assert_eq!(record.arguments().count(), 2);
    }

    #[test]
    fn malformed_and_full_records_are_refused_and_unchanged() {
        let mut short = vec![0; 15];
        assert_eq!(add_dropped(&mut short, 1), Err(AddDroppedError::NotARecord));

        let mut sizeless = record(&[("message", "hi".into())]);
        sizeless[16] &= 0x0f;
        sizeless[17] = 0;
        let before = sizeless.clone();
        assert_eq!(
            add_dropped(&mut sizeless, 1),
            Err(AddDroppedError::BadArgument(16))
        );
        assert_eq!(sizeless, before);

        let mut long = record(&[("message", "x".repeat(32_700).into())]);
        assert_eq!(long.len(), 8 * 4092);
        assert_eq!(
            add_dropped(&mut long, 1),
            Err(AddDroppedError::RecordTooLong)
        );
    }
}
