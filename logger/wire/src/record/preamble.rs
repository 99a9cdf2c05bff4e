//! Preamble records (0): which image logs, in which run. One for each image
//! of each run, again at the front of every chunk.

use super::{Fields, Tag};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};
use crate::{Magic, Run};

/// An executable image that logs, in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Preamble<'a> {
    /// Field 0: the logdef table of this image; derived from size and digest.
    pub magic: Option<Magic>,
    /// Field 1: full path of the image.
    pub path: Option<&'a [u8]>,
    /// Field 2: bytes of the image file.
    pub size: Option<u64>,
    /// Field 3: SHA-1 of the image file, 20 bytes (16: MD5).
    pub digest: Option<&'a [u8]>,
    /// Field 4: version of the format, 1.
    pub version: Option<u64>,
    /// Field 5: identity of this run of the process.
    pub run: Option<Run>,
    /// Field 6: process id.
    pub pid: Option<u64>,
    /// Field 7: runtime address minus link-time address, modulo 2⁶⁴.
    pub load_bias: Option<u64>,
    /// Field 8: GNU build ID.
    pub build_id: Option<&'a [u8]>,
    /// Field 9: nanoseconds since the Unix epoch when the run opened its log.
    pub realtime: Option<u64>,
    /// Field 10: `CLOCK_MONOTONIC` nanoseconds at the same instant.
    pub monotonic: Option<u64>,
    /// Field 11: `x86_64`, `aarch64`, ….
    pub machine: Option<&'a [u8]>,
    /// Field 12: host name.
    pub host: Option<&'a [u8]>,
    /// Field 13: bytes of the chunk that this preamble opens, counted from the first byte of this frame.
    pub chunk: Option<u64>,
    /// Field 14: identity of the boot.
    pub boot_id: Option<&'a [u8]>,
    /// Field 15: `ext4`, `tmpfs`, …: says what survives the machine.
    pub file_system: Option<&'a [u8]>,
    /// Field 16: the run that opened the log in which this run writes: its own, or one that it descends from by forks.
    pub family: Option<Run>,
    /// Field 17: the run that this one was forked from.
    pub parent: Option<Run>,
    /// Field 18: the number of this file in a log that is cut into files.
    pub part: Option<u64>,
}

impl Preamble<'_> {
    /// Bytes after the preamble that opens a mapped file which are reserved for notes. Those
    /// that no note takes are zeros.
    pub const ROOM_FOR_NOTES: u64 = 1024;
}

impl<'a> Preamble<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = Preamble::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.magic = value.as_uint().map(Magic),
                1 => record.path = value.as_raw(),
                2 => record.size = value.as_uint(),
                3 => record.digest = value.as_raw(),
                4 => record.version = value.as_uint(),
                5 => record.run = value.as_uint().map(Run),
                6 => record.pid = value.as_uint(),
                7 => record.load_bias = value.as_uint(),
                8 => record.build_id = value.as_raw(),
                9 => record.realtime = value.as_uint(),
                10 => record.monotonic = value.as_uint(),
                11 => record.machine = value.as_raw(),
                12 => record.host = value.as_raw(),
                13 => record.chunk = value.as_uint(),
                14 => record.boot_id = value.as_raw(),
                15 => record.file_system = value.as_raw(),
                16 => record.family = value.as_uint().map(Run),
                17 => record.parent = value.as_uint().map(Run),
                18 => record.part = value.as_uint(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::PREAMBLE.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.magic.map(|n| n.0))?;
        fields.raw(1, self.path)?;
        fields.uint(2, self.size)?;
        fields.raw(3, self.digest)?;
        fields.uint(4, self.version)?;
        fields.uint64(5, self.run.map(|n| n.0))?;
        fields.uint(6, self.pid)?;
        fields.uint(7, self.load_bias)?;
        fields.raw(8, self.build_id)?;
        fields.uint64(9, self.realtime)?;
        fields.uint64(10, self.monotonic)?;
        fields.raw(11, self.machine)?;
        fields.raw(12, self.host)?;
        fields.uint(13, self.chunk)?;
        fields.raw(14, self.boot_id)?;
        fields.raw(15, self.file_system)?;
        fields.uint64(16, self.family.map(|n| n.0))?;
        fields.uint64(17, self.parent.map(|n| n.0))?;
        fields.uint(18, self.part)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_preamble_is_these_bytes() {
        let bytes = [
            0x00, // tag
            0x88, // eight fields
            0x00, 0xcf, 0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x69, // 0: magic
            0x01, 0xa4, b'/', b'b', b'/', b'a', // 1: path
            0x02, 0x03, // 2: size
            0x04, 0x01, // 4: version
            0x05, 0xcf, 0, 0, 0, 0, 0, 0, 0x12, 0x34, // 5: run
            0x06, 0xcd, 0x03, 0xe8, // 6: pid
            0x07, 0xcf, 0x00, 0x00, 0x55, 0x55, 0x55, 0x55, 0x40, 0x00, // 7: load bias
            0x0d, 0xce, 0x00, 0x01, 0x00, 0x00, // 13: chunk
        ];
        let preamble = Preamble {
            magic: Some(Magic(0xa999_3e36_4706_8169)),
            path: Some(b"/b/a"),
            size: Some(3),
            version: Some(1),
            run: Some(Run(0x1234)),
            pid: Some(1000),
            load_bias: Some(0x5555_5555_4000),
            chunk: Some(65536),
            ..Preamble::default()
        };
        assert_vector(&bytes, Record::Preamble(preamble));
    }

    #[test]
    fn all_fields_survive() {
        let preamble = Preamble {
            magic: Some(Magic(1)),
            path: Some(b"p"),
            size: Some(2),
            digest: Some(&[3; 20]),
            version: Some(1),
            run: Some(Run(5)),
            pid: Some(6),
            load_bias: Some(7),
            build_id: Some(&[8; 20]),
            realtime: Some(9),
            monotonic: Some(10),
            machine: Some(b"m"),
            host: Some(b"h"),
            chunk: Some(13),
            boot_id: Some(b"b"),
            file_system: Some(b"f"),
            family: Some(Run(16)),
            parent: Some(Run(17)),
            part: Some(18),
        };
        let mut buffer = [0; 256];
        let mut encoder = Encoder::new(&mut buffer);
        preamble.encode(&mut encoder).unwrap();
        assert_eq!(
            Record::decode(encoder.written()),
            Ok(Record::Preamble(preamble))
        );
    }
}
