//! Notes (6): what the log says about itself.

use super::{Fields, Tag};
use crate::msgpack::{Array, DecodeError, Encoder, OutOfRoom};
use crate::{Avma, Run};

/// What a note is about. An open set.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct NoteKind(pub u64);

impl NoteKind {
    /// The process was ended by a signal.
    pub const FATAL_SIGNAL: NoteKind = NoteKind(1);
    /// A Rust thread panicked.
    pub const PANIC: NoteKind = NoteKind(2);
    /// A tool wrote this file from a damaged one.
    pub const RECOVERY: NoteKind = NoteKind(3);
    /// The file is suspect after an I/O error.
    pub const SUSPECT: NoteKind = NoteKind(4);
    /// The wall clock was set: fields 4 and 5 are a new pair.
    pub const CLOCK_SET: NoteKind = NoteKind(5);
    /// There is space again.
    pub const SPACE_RETURNED: NoteKind = NoteKind(6);

    /// The kind in words.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            NoteKind::FATAL_SIGNAL => "fatal signal",
            NoteKind::PANIC => "panic",
            NoteKind::RECOVERY => "recovery",
            NoteKind::SUSPECT => "file suspect",
            NoteKind::CLOCK_SET => "clock set",
            NoteKind::SPACE_RETURNED => "space returned",
            _ => return None,
        })
    }
}

/// Something that happened to the log itself or to its process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Note<'a> {
    /// Field 0: the run.
    pub run: Option<Run>,
    /// Field 1: what happened.
    pub kind: Option<NoteKind>,
    /// Field 2: nanoseconds since the Unix epoch.
    pub time: Option<u64>,
    /// Field 3: in words.
    pub text: Option<&'a [u8]>,
    /// Field 4: clock set: the new realtime.
    pub realtime: Option<u64>,
    /// Field 5: clock set: the monotonic time at the same instant.
    pub monotonic: Option<u64>,
    /// Field 6: fatal signal: its number.
    pub signal: Option<u64>,
    /// Field 7: fatal signal: the address it concerns.
    pub address: Option<Avma>,
    /// Field 8: fatal signal: `pthread_self()` of the thread.
    pub thread: Option<u64>,
    /// Field 9: fatal signal: return addresses, innermost first.
    pub backtrace: Option<Array<'a>>,
}

impl<'a> Note<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = Note::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.run = value.as_uint().map(Run),
                1 => record.kind = value.as_uint().map(NoteKind),
                2 => record.time = value.as_uint(),
                3 => record.text = value.as_raw(),
                4 => record.realtime = value.as_uint(),
                5 => record.monotonic = value.as_uint(),
                6 => record.signal = value.as_uint(),
                7 => record.address = value.as_uint().map(Avma),
                8 => record.thread = value.as_uint(),
                9 => record.backtrace = value.as_array(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::NOTE.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.run.map(|n| n.0))?;
        fields.uint(1, self.kind.map(|n| n.0))?;
        fields.uint64(2, self.time)?;
        fields.raw(3, self.text)?;
        fields.uint64(4, self.realtime)?;
        fields.uint64(5, self.monotonic)?;
        fields.uint(6, self.signal)?;
        fields.uint(7, self.address.map(|n| n.0))?;
        fields.uint(8, self.thread)?;
        fields.array(9, self.backtrace)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_note_is_these_bytes() {
        let bytes = [
            0x06, // tag
            0x84, // four fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x01, 0x01, // 1: fatal signal
            0x06, 0x0b, // 6: SIGSEGV
            0x09, 0x92, 0x05, 0xcd, 0x11, 0x39, // 9: two return addresses
        ];
        let note = Note {
            run: Some(Run(11)),
            kind: Some(NoteKind::FATAL_SIGNAL),
            signal: Some(11),
            backtrace: Array::from_objects(2, &bytes[18..]).ok(),
            ..Note::default()
        };
        assert_vector(&bytes, Record::Note(note));
    }
}
