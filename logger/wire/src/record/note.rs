//! Notes (6): what the log says about itself.

use super::{Fields, Tag};
use crate::msgpack::{Array, DecodeError, Encoder, Map, OutOfRoom};
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
    /// A range of the file was given back to the file system with all of its records.
    pub const PRUNED: NoteKind = NoteKind(7);
    /// Calls could not be written.
    pub const DROPS: NoteKind = NoteKind(8);
    /// The run ended cleanly, and this is how many calls it made.
    pub const END: NoteKind = NoteKind(9);
    /// Which sink writes the log, and why that one.
    pub const SINK: NoteKind = NoteKind(10);
    /// A setting from the environment could not be used.
    pub const SETTING_IGNORED: NoteKind = NoteKind(11);
    /// Frames that a tool copied from beside damage follow.
    pub const MARKED: NoteKind = NoteKind(12);
    /// Something that was asked for from outside was done.
    pub const CONTROL: NoteKind = NoteKind(13);

    /// The kind in words.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            NoteKind::FATAL_SIGNAL => "fatal signal",
            NoteKind::PANIC => "panic",
            NoteKind::RECOVERY => "recovery",
            NoteKind::SUSPECT => "file suspect",
            NoteKind::CLOCK_SET => "clock set",
            NoteKind::SPACE_RETURNED => "space returned",
            NoteKind::PRUNED => "pruned",
            NoteKind::DROPS => "drops",
            NoteKind::END => "end",
            NoteKind::SINK => "sink",
            NoteKind::SETTING_IGNORED => "setting ignored",
            NoteKind::MARKED => "marked",
            NoteKind::CONTROL => "control",
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
    /// Field 10: pruned: where the range begins, from the first byte of this frame; negative if before it.
    pub start: Option<i64>,
    /// Field 11: pruned and marked: bytes of the range.
    pub size: Option<u64>,
    /// Field 12: pruned and end: from thread number to how many calls that thread had made.
    pub threads: Option<Map<'a>>,
    /// Field 13: end: calls that all threads of the run made, dropped ones included.
    pub calls: Option<u64>,
    /// Field 14: drops and end: how many calls of the run were dropped so far.
    pub dropped: Option<u64>,
    /// Field 15: drops: when the first of those was dropped that no note before this one has.
    pub since: Option<u64>,
    /// Field 16: drops and sink: why.
    pub errno: Option<u64>,
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
                10 => record.start = value.as_int(),
                11 => record.size = value.as_uint(),
                12 => record.threads = value.as_map(),
                13 => record.calls = value.as_uint(),
                14 => record.dropped = value.as_uint(),
                15 => record.since = value.as_uint(),
                16 => record.errno = value.as_uint(),
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
        fields.int(10, self.start)?;
        fields.uint(11, self.size)?;
        fields.map(12, self.threads)?;
        fields.uint(13, self.calls)?;
        fields.uint(14, self.dropped)?;
        fields.uint64(15, self.since)?;
        fields.uint(16, self.errno)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::Decoder;
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

    #[test]
    fn a_pruned_range_is_these_bytes() {
        let bytes = [
            0x06, // tag
            0x85, // five fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x01, 0x07, // 1: pruned
            0x0a, 0xd2, 0xff, 0xff, 0x00, 0x00, // 10: begins 64 KiB before this frame
            0x0b, 0xcd, 0x40, 0x00, // 11: 16 KiB
            0x0c, 0x81, 0x02, 0xcd, 0x01, 0x2c, // 12: thread 2 had made 300 calls
        ];
        let note = Note {
            run: Some(Run(11)),
            kind: Some(NoteKind::PRUNED),
            start: Some(-0x1_0000),
            size: Some(0x4000),
            threads: Decoder::new(&bytes[25..]).value().unwrap().as_map(),
            ..Note::default()
        };
        assert_vector(&bytes, Record::Note(note));
    }

    #[test]
    fn drops_are_these_bytes() {
        let bytes = [
            0x06, // tag
            0x85, // five fields
            0x01, 0x08, // 1: drops
            0x03, 0xa4, b'f', b'u', b'l', b'l', // 3: in words
            0x0e, 0xcd, 0x01, 0x00, // 14: 256 calls
            0x0f, 0xcf, 0x18, 0x79, 0x9f, 0x3c, 0, 0, 0, 0, // 15: since
            0x10, 0x1c, // 16: ENOSPC
        ];
        let note = Note {
            kind: Some(NoteKind::DROPS),
            text: Some(b"full"),
            dropped: Some(256),
            since: Some(0x1879_9f3c_0000_0000),
            errno: Some(28),
            ..Note::default()
        };
        assert_vector(&bytes, Record::Note(note));
    }

    #[test]
    fn an_end_is_these_bytes() {
        let bytes = [
            0x06, // tag
            0x85, // five fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x01, 0x09, // 1: end
            0x0c, 0x81, 0x00, 0xcd, 0x03, 0xe8, // 12: thread 0 had made 1000 calls
            0x0d, 0xcd, 0x05, 0xdc, // 13: 1500 calls in all
            0x0e, 0x02, // 14: two of them dropped
        ];
        let note = Note {
            run: Some(Run(11)),
            kind: Some(NoteKind::END),
            threads: Decoder::new(&bytes[15..]).value().unwrap().as_map(),
            calls: Some(1500),
            dropped: Some(2),
            ..Note::default()
        };
        assert_vector(&bytes, Record::Note(note));
    }
}
