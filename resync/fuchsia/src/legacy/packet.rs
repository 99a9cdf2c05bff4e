//! One packet: its reader and its writer.

use std::borrow::Cow;
use std::fmt;

use super::{HEADER_BYTES, MAX_PACKET_BYTES, MAX_TAG_BYTES, MAX_TAGS};
use crate::structured::Severity;

/// A packet that was read and found whole, borrowed from its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet<'a> {
    /// The process, as it says.
    pub pid: u64,
    /// The thread, as it says; Go writers send 0.
    pub tid: u64,
    /// Nanoseconds on the clock of the stream.
    pub time: i64,
    /// The signed number on the wire.
    pub raw_severity: i32,
    /// Records the writer could not send so far, in all: see [`RunningDrops`](super::RunningDrops).
    pub dropped_logs: u32,
    /// Up to five tags, in the order of the packet.
    pub tags: Tags<'a>,
    /// The text, repaired where it is not UTF-8.
    pub message: Cow<'a, str>,
}

impl<'a> Packet<'a> {
    /// Reads the packet that is all of `bytes`.
    ///
    /// # Errors
    /// The first rule that the packet breaks.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        // A header, the end of the tags; the missing message terminator is found below.
        if bytes.len() < HEADER_BYTES + 1 {
            return Err(ParseError::ShortRead(bytes.len()));
        }
        let (header, data) = bytes.split_at(HEADER_BYTES);
        match data.last() {
            Some(0) => {}
            other => return Err(ParseError::NotNullTerminated(*other.unwrap_or(&0))),
        }
        let (tags, text) = Tags::split(data)?;
        let end = text
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(ParseError::OutOfBounds)?;
        Ok(Self {
            pid: u64::from_le_bytes(field(header, 0)),
            tid: u64::from_le_bytes(field(header, 8)),
            time: i64::from_le_bytes(field(header, 16)),
            raw_severity: i32::from_le_bytes(field(header, 24)),
            dropped_logs: u32::from_le_bytes(field(header, 28)),
            tags,
            message: String::from_utf8_lossy(&text[..end]),
        })
    }

    /// The severity, with negative numbers as 0 and large ones as 255.
    pub fn severity(&self) -> Severity {
        Severity::from_signed(self.raw_severity)
    }

    /// The size that readers account this packet with: header, tags, tag terminator, message.
    pub fn accounted_bytes(&self) -> usize {
        HEADER_BYTES + self.tags.data.len() + 1 + self.message.len()
    }
}

/// The `N` bytes of the header at `offset`; the caller has split off 32 bytes.
fn field<const N: usize>(header: &[u8], offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[offset..offset + N]);
    bytes
}

/// The tags of a packet, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags<'a> {
    /// Length-prefixed tags, without the terminator.
    data: &'a [u8],
}

impl<'a> Tags<'a> {
    /// Splits the tags and their terminator from the front of `data`.
    fn split(data: &'a [u8]) -> Result<(Self, &'a [u8]), ParseError> {
        let mut offset = 0;
        for index in 0.. {
            let length = usize::from(*data.get(offset).ok_or(ParseError::OutOfBounds)?);
            if length == 0 {
                break;
            }
            if index == MAX_TAGS {
                return Err(ParseError::TooManyTags);
            }
            if length > MAX_TAG_BYTES {
                return Err(ParseError::TagTooLong { index, length });
            }
            offset += 1 + length;
        }
        let (tags, terminated) = data.split_at(offset);
        Ok((Self { data: tags }, &terminated[1..]))
    }

    /// Each tag, repaired where it is not UTF-8.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let mut data = self.data;
        std::iter::from_fn(move || {
            let (length, rest) = data.split_first()?;
            let (tag, rest) = rest.split_at_checked(usize::from(*length))?;
            data = rest;
            Some(String::from_utf8_lossy(tag))
        })
    }
}

/// Why some bytes are not a legacy packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The packet has only this many bytes, too few for a header and the end of the tags.
    ShortRead(usize),
    /// The last byte of the packet is this, not 0.
    NotNullTerminated(u8),
    /// More than five tags.
    TooManyTags,
    /// A tag of more than 63 bytes.
    TagTooLong {
        /// The index of the tag, from 0.
        index: usize,
        /// Its length in bytes.
        length: usize,
    },
    /// A tag or the message passes the end of the packet.
    OutOfBounds,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ShortRead(length) => write!(f, "packet of {length} bytes is too short"),
            Self::NotNullTerminated(byte) => write!(f, "packet ends in {byte:#04x}, not in 0"),
            Self::TooManyTags => f.write_str("more than 5 tags"),
            Self::TagTooLong { index, length } => {
                write!(f, "tag {index} has {length} bytes, more than 63")
            }
            Self::OutOfBounds => f.write_str("tags or message pass the end of the packet"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Writes one packet into a buffer of the caller, without allocating.
#[derive(Debug)]
pub struct PacketWriter<'b> {
    buffer: &'b mut [u8],
    length: usize,
    tags: usize,
}

impl<'b> PacketWriter<'b> {
    /// Starts a packet at the start of `buffer`; `dropped_logs` is a running total.
    ///
    /// # Errors
    /// If the buffer is shorter than the smallest packet, 34 bytes.
    pub fn new(
        buffer: &'b mut [u8],
        pid: u64,
        tid: u64,
        time: i64,
        severity: Severity,
        dropped_logs: u32,
    ) -> Result<Self, WriteError> {
        if buffer.len() < HEADER_BYTES + 2 {
            return Err(WriteError::TooLong(HEADER_BYTES + 2));
        }
        buffer[0..8].copy_from_slice(&pid.to_le_bytes());
        buffer[8..16].copy_from_slice(&tid.to_le_bytes());
        buffer[16..24].copy_from_slice(&time.to_le_bytes());
        buffer[24..28].copy_from_slice(&i32::from(severity.0).to_le_bytes());
        buffer[28..32].copy_from_slice(&dropped_logs.to_le_bytes());
        Ok(Self {
            buffer,
            length: HEADER_BYTES,
            tags: 0,
        })
    }

    /// Appends a tag of 1 to 63 bytes.
    ///
    /// # Errors
    /// If a limit would be passed; the packet is as before then.
    pub fn tag(&mut self, tag: &str) -> Result<(), WriteError> {
        if self.tags == MAX_TAGS {
            return Err(WriteError::TooManyTags);
        }
        if !(1..=MAX_TAG_BYTES).contains(&tag.len()) {
            return Err(WriteError::TagLength(tag.len()));
        }
        self.reserve(1 + tag.len() + 2)?;
        self.buffer[self.length] = tag.len() as u8;
        self.buffer[self.length + 1..][..tag.len()].copy_from_slice(tag.as_bytes());
        self.length += 1 + tag.len();
        self.tags += 1;
        Ok(())
    }

    /// Writes the message and returns the packet.
    ///
    /// # Errors
    /// If the packet would be too long, or the message has a NUL, after which readers see nothing.
    pub fn finish(self, message: &str) -> Result<&'b [u8], WriteError> {
        if message.contains('\0') {
            return Err(WriteError::NulInMessage);
        }
        self.reserve(message.len() + 2)?;
        let end = self.length + message.len() + 2;
        let (start, buffer) = (self.length, self.buffer);
        buffer[start] = 0;
        buffer[start + 1..end - 1].copy_from_slice(message.as_bytes());
        buffer[end - 1] = 0;
        Ok(&buffer[..end])
    }

    fn reserve(&self, more: usize) -> Result<(), WriteError> {
        let end = self.length + more;
        if end > self.buffer.len().min(MAX_PACKET_BYTES) {
            return Err(WriteError::TooLong(end));
        }
        Ok(())
    }
}

/// Why a packet cannot take what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The packet would have this many bytes, more than 32768 or than the buffer.
    TooLong(usize),
    /// The packet has five tags.
    TooManyTags,
    /// A tag of this many bytes, not 1 to 63.
    TagLength(usize),
    /// A NUL in the message.
    NulInMessage,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooLong(length) => write!(f, "no room for a packet of {length} bytes"),
            Self::TooManyTags => f.write_str("more than 5 tags"),
            Self::TagLength(length) => write!(f, "tag of {length} bytes is not 1 to 63"),
            Self::NulInMessage => f.write_str("message has a nul"),
        }
    }
}

impl std::error::Error for WriteError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A packet by its table: pid 1, tid 2, time 3, INFO, 4 dropped.
    fn packet(data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0x30, 0, 0, 0]);
        bytes.extend([4, 0, 0, 0]);
        bytes.extend(data);
        bytes
    }

    fn read(data: &[u8]) -> Result<(Vec<String>, String), ParseError> {
        let bytes = packet(data);
        let packet = Packet::parse(&bytes)?;
        let tags = packet.tags.iter().map(Cow::into_owned).collect();
        Ok((tags, packet.message.into_owned()))
    }

    fn write(buffer: &mut [u8]) -> PacketWriter<'_> {
        PacketWriter::new(buffer, 1, 2, 3, Severity::INFO, 4).unwrap()
    }

    #[test]
    fn a_packet_is_what_the_table_says_in_both_directions() {
        let expected = packet(b"\x03tag\x05other\0message\0");
        let mut buffer = [0xaa; 100];
        let mut writer = write(&mut buffer);
        writer.tag("tag").unwrap();
        writer.tag("other").unwrap();
        assert_eq!(writer.finish("message").unwrap(), expected);

        let packet = Packet::parse(&expected).unwrap();
        assert_eq!((packet.pid, packet.tid, packet.time), (1, 2, 3));
        assert_eq!(packet.severity(), Severity::INFO);
        assert_eq!(packet.dropped_logs, 4);
        assert_eq!(packet.tags.iter().collect::<Vec<_>>(), ["tag", "other"]);
        assert_eq!(packet.message, "message");
        assert_eq!(packet.accounted_bytes(), expected.len() - 1);
    }

    #[test]
    fn the_smallest_packet_has_34_bytes() {
        assert_eq!(read(b"\0\0"), Ok((vec![], String::new())));
        assert_eq!(read(b"\0"), Err(ParseError::OutOfBounds));
        assert_eq!(read(b""), Err(ParseError::ShortRead(32)));
        assert_eq!(Packet::parse(b"\0"), Err(ParseError::ShortRead(1)));
    }

    #[test]
    fn the_last_byte_must_be_zero() {
        assert_eq!(read(b"\0message"), Err(ParseError::NotNullTerminated(b'e')));
    }

    #[test]
    fn a_sixth_tag_is_too_many() {
        let mut data = b"\x01a\x01b\x01c\x01d\x01e".to_vec();
        data.extend(b"\0m\0");
        assert_eq!(read(&data).unwrap().0.len(), 5);
        data.splice(0..0, *b"\x01z");
        assert_eq!(read(&data), Err(ParseError::TooManyTags));
    }

    #[test]
    fn a_tag_of_64_bytes_is_too_long() {
        let mut data = vec![1, b'a', 63];
        data.extend([b't'; 63]);
        data.extend(b"\0m\0");
        assert_eq!(read(&data).unwrap().0[1].len(), 63);
        data[2] = 64;
        let error = ParseError::TagTooLong {
            index: 1,
            length: 64,
        };
        assert_eq!(read(&data), Err(error));
    }

    #[test]
    fn a_tag_that_reaches_or_passes_the_end_is_out_of_bounds() {
        // The tag swallows the final zero and ends exactly with the packet.
        assert_eq!(read(b"\x03ab\0"), Err(ParseError::OutOfBounds));
        assert_eq!(read(b"\x09ab\0"), Err(ParseError::OutOfBounds));
    }

    #[test]
    fn a_tag_may_hold_zeros_and_damaged_text() {
        assert_eq!(
            read(b"\x04a\0\xffb\0m\0").unwrap(),
            (vec!["a\0\u{fffd}b".to_owned()], "m".to_owned())
        );
    }

    #[test]
    fn what_follows_the_message_is_ignored() {
        let mut data = b"\x01t\0m\xff\0junk".to_vec();
        data.resize(MAX_PACKET_BYTES - HEADER_BYTES, 0);
        let bytes = packet(&data);
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!(packet.message, "m\u{fffd}");
        assert_eq!(packet.accounted_bytes(), 32 + 2 + 1 + 4);
    }

    #[test]
    fn severities_are_clamped_and_bucketed() {
        let mut bytes = packet(b"\0\0");
        for (raw, severity) in [
            (-1_i32, Severity(0)),
            (0x2e, Severity(0x2e)),
            (999, Severity(255)),
        ] {
            bytes[24..28].copy_from_slice(&raw.to_le_bytes());
            assert_eq!(Packet::parse(&bytes).unwrap().severity(), severity);
        }
    }

    #[test]
    fn the_writer_keeps_the_limits_of_readers() {
        let mut buffer = vec![0; MAX_PACKET_BYTES + 1];
        let mut writer = write(&mut buffer);
        assert_eq!(writer.tag(""), Err(WriteError::TagLength(0)));
        assert_eq!(writer.tag(&"t".repeat(64)), Err(WriteError::TagLength(64)));
        for _ in 0..5 {
            writer.tag("t").unwrap();
        }
        assert_eq!(writer.tag("t"), Err(WriteError::TooManyTags));
        assert_eq!(writer.finish("a\0b"), Err(WriteError::NulInMessage));

        let fits = "m".repeat(MAX_PACKET_BYTES - 34);
        assert_eq!(
            write(&mut buffer).finish(&fits).unwrap().len(),
            MAX_PACKET_BYTES
        );
        let error = WriteError::TooLong(MAX_PACKET_BYTES + 1);
        assert_eq!(write(&mut buffer).finish(&(fits + "m")), Err(error));

        let short = PacketWriter::new(&mut buffer[..33], 1, 2, 3, Severity::INFO, 4);
        assert_eq!(short.unwrap_err(), WriteError::TooLong(34));
        let mut writer = write(&mut buffer[..36]);
        assert_eq!(writer.tag("tt"), Err(WriteError::TooLong(37)));
        writer.tag("t").unwrap();
        assert_eq!(writer.finish("").unwrap().len(), 36);
    }

    #[test]
    fn every_byte_flipped_and_every_length_cut_is_judged_without_panic() {
        let bytes = packet(b"\x03tag\x05other\0message\0");
        for length in 0..bytes.len() {
            let message_starts = bytes.len() - 8;
            let cut = Packet::parse(&bytes[..length]);
            assert!(cut.is_err(), "{length} before {message_starts}");
        }
        for index in 0..bytes.len() {
            for value in 0..=255 {
                let mut flipped = bytes.clone();
                flipped[index] = value;
                if let Ok(packet) = Packet::parse(&flipped) {
                    assert!(packet.tags.iter().count() <= MAX_TAGS);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        #[test]
        fn random_packets_come_back(
            ids: (u64, u64, i64, u8, u32),
            tags in prop::collection::vec("[^\0]{1,15}", 0..=5),
            message in "[^\0]*",
        ) {
            let (pid, tid, time, severity, dropped) = ids;
            let mut buffer = [0xaa; 2000];
            let mut writer =
                PacketWriter::new(&mut buffer, pid, tid, time, Severity(severity), dropped).unwrap();
            for tag in &tags {
                writer.tag(tag).unwrap();
            }
            let packet = Packet::parse(writer.finish(&message).unwrap()).unwrap();
            prop_assert_eq!((packet.pid, packet.tid, packet.time), (pid, tid, time));
            prop_assert_eq!((packet.severity(), packet.dropped_logs), (Severity(severity), dropped));
            prop_assert_eq!(packet.tags.iter().collect::<Vec<_>>(), tags);
            prop_assert_eq!(packet.message, message);
        }

        #[test]
        fn random_data_is_judged_without_panic(mut data in prop::collection::vec(0..70_u8, 0..300)) {
            data.push(0);
            let _ = Packet::parse(&packet(&data));
        }
    }
}
