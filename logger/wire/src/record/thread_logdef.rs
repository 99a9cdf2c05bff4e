//! Thread logdefs (3): who a thread number is. Written before the thread's
//! first record in a chunk, and again when its name changes.

use super::{Fields, Tag};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};
use crate::{Run, ThreadNumber};

/// A thread of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadLogdef<'a> {
    /// Field 0: the run.
    pub run: Option<Run>,
    /// Field 1: `pthread_self()`; reused after a thread ends.
    pub thread: Option<u64>,
    /// Field 2: the kernel's thread id.
    pub tid: Option<u64>,
    /// Field 3: the thread's name.
    pub name: Option<&'a [u8]>,
    /// Field 4: the high bits of its sequences; never reused.
    pub number: Option<ThreadNumber>,
}

impl<'a> ThreadLogdef<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = ThreadLogdef::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.run = value.as_uint().map(Run),
                1 => record.thread = value.as_uint(),
                2 => record.tid = value.as_uint(),
                3 => record.name = value.as_raw(),
                4 => record.number = value.as_uint().map(ThreadNumber),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::THREAD_LOGDEF.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.run.map(|n| n.0))?;
        fields.uint(1, self.thread)?;
        fields.uint(2, self.tid)?;
        fields.raw(3, self.name)?;
        fields.uint(4, self.number.map(|n| n.0))?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_thread_logdef_is_these_bytes() {
        let bytes = [
            0x03, // tag
            0x85, // five fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 0: run
            0x01, 0xcf, 0, 0, 0x7f, 0xff, 0xf7, 0xd8, 0x07, 0x40, // 1: thread
            0x02, 0xcd, 0x03, 0xe9, // 2: tid
            0x03, 0xa4, b'm', b'a', b'i', b'n', // 3: name
            0x04, 0x01, // 4: number
        ];
        let logdef = ThreadLogdef {
            run: Some(Run(11)),
            thread: Some(0x7fff_f7d8_0740),
            tid: Some(1001),
            name: Some(b"main"),
            number: Some(ThreadNumber(1)),
        };
        assert_vector(&bytes, Record::ThreadLogdef(logdef));
    }
}
