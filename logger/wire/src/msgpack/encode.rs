//! Writing msgpack into a caller's buffer. Knows neither records nor frames,
//! and fails in one way: out of room.

use core::fmt;

/// The buffer is too small for what was to be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OutOfRoom;

impl fmt::Display for OutOfRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of room")
    }
}

impl core::error::Error for OutOfRoom {}

/// Appends msgpack objects to a buffer, each in its shortest form, strings in
/// the old raw family only.
#[derive(Debug)]
pub struct Encoder<'b> {
    buffer: &'b mut [u8],
    at: usize,
}

impl<'b> Encoder<'b> {
    /// Starts at the first byte of `buffer`.
    pub fn new(buffer: &'b mut [u8]) -> Self {
        Encoder { buffer, at: 0 }
    }

    /// How many bytes were written.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes that were written so far.
    pub fn written(&self) -> &[u8] {
        &self.buffer[..self.at]
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), OutOfRoom> {
        let end = self.at.checked_add(bytes.len()).ok_or(OutOfRoom)?;
        self.buffer
            .get_mut(self.at..end)
            .ok_or(OutOfRoom)?
            .copy_from_slice(bytes);
        self.at = end;
        Ok(())
    }

    /// Writes an integer in the fewest bytes that hold it.
    pub fn uint(&mut self, value: u64) -> Result<(), OutOfRoom> {
        match value {
            0..=0x7f => self.bytes(&[value as u8]),
            0x80..=0xff => self.bytes(&[0xcc, value as u8]),
            0x100..=0xffff => self.head(0xcd, &(value as u16).to_be_bytes()),
            0x1_0000..=0xffff_ffff => self.head(0xce, &(value as u32).to_be_bytes()),
            _ => self.head(0xcf, &value.to_be_bytes()),
        }
    }

    /// An unsigned integer in nine bytes, however small.
    pub fn uint64(&mut self, value: u64) -> Result<(), OutOfRoom> {
        self.head(0xcf, &value.to_be_bytes())
    }

    /// A signed integer; one that is not negative is written as unsigned.
    pub fn int(&mut self, value: i64) -> Result<(), OutOfRoom> {
        match value {
            0.. => self.uint(value as u64),
            -0x20..=-1 => self.bytes(&[value as u8]),
            -0x80..-0x20 => self.bytes(&[0xd0, value as u8]),
            -0x8000..-0x80 => self.head(0xd1, &(value as i16).to_be_bytes()),
            -0x8000_0000..-0x8000 => self.head(0xd2, &(value as i32).to_be_bytes()),
            _ => self.head(0xd3, &value.to_be_bytes()),
        }
    }

    /// Writes a double, in nine bytes.
    pub fn float(&mut self, value: f64) -> Result<(), OutOfRoom> {
        self.head(0xcb, &value.to_bits().to_be_bytes())
    }

    /// Writes nil, in one byte.
    pub fn nil(&mut self) -> Result<(), OutOfRoom> {
        self.bytes(&[0xc0])
    }

    /// Writes a boolean, in one byte.
    pub fn bool(&mut self, value: bool) -> Result<(), OutOfRoom> {
        self.bytes(&[0xc2 | value as u8])
    }

    /// A raw: fixraw, raw16 or raw32.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), OutOfRoom> {
        match bytes.len() {
            n @ 0..=0x1f => self.bytes(&[0xa0 | n as u8])?,
            n @ 0x20..=0xffff => self.head(0xda, &(n as u16).to_be_bytes())?,
            n if n <= u32::MAX as usize => self.head(0xdb, &(n as u32).to_be_bytes())?,
            _ => return Err(OutOfRoom),
        }
        self.bytes(bytes)
    }

    /// The head of an array of `len` objects, which the caller writes next.
    pub fn array(&mut self, len: u32) -> Result<(), OutOfRoom> {
        self.count(len, 0x90, 0xdc)
    }

    /// The head of a map of `len` pairs, which the caller writes next.
    pub fn map(&mut self, len: u32) -> Result<(), OutOfRoom> {
        self.count(len, 0x80, 0xde)
    }

    /// Starts a map of fields whose number shows only at the end.
    pub fn fields(&mut self) -> Result<MapEncoder<'_, 'b>, OutOfRoom> {
        let head = self.at;
        self.bytes(&[0x80])?;
        Ok(MapEncoder {
            encoder: self,
            head,
            len: 0,
        })
    }

    fn count(&mut self, len: u32, fix: u8, head16: u8) -> Result<(), OutOfRoom> {
        match len {
            0..=0xf => self.bytes(&[fix | len as u8]),
            0x10..=0xffff => self.head(head16, &(len as u16).to_be_bytes()),
            _ => self.head(head16 + 1, &len.to_be_bytes()),
        }
    }

    fn head(&mut self, head: u8, rest: &[u8]) -> Result<(), OutOfRoom> {
        self.bytes(&[head])?;
        self.bytes(rest)
    }
}

/// A map whose keys are field tags, under construction. `None` writes nothing,
/// so that a record's optional fields are one line each.
#[derive(Debug)]
pub struct MapEncoder<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    head: usize,
    len: u16,
}

impl<'b> MapEncoder<'_, 'b> {
    /// Writes a tag and an integer; nothing for `None`.
    pub fn uint(&mut self, tag: u8, value: Option<u64>) -> Result<(), OutOfRoom> {
        match value {
            Some(value) => self.field(tag)?.uint(value),
            None => Ok(()),
        }
    }

    /// An integer field in nine bytes, for values that are rarely small.
    pub fn uint64(&mut self, tag: u8, value: Option<u64>) -> Result<(), OutOfRoom> {
        match value {
            Some(value) => self.field(tag)?.uint64(value),
            None => Ok(()),
        }
    }

    /// An integer field that may be negative.
    pub fn int(&mut self, tag: u8, value: Option<i64>) -> Result<(), OutOfRoom> {
        match value {
            Some(value) => self.field(tag)?.int(value),
            None => Ok(()),
        }
    }

    /// Writes a tag and bytes; nothing for `None`.
    pub fn raw(&mut self, tag: u8, value: Option<&[u8]>) -> Result<(), OutOfRoom> {
        match value {
            Some(value) => self.field(tag)?.raw(value),
            None => Ok(()),
        }
    }

    /// Writes a tag and a boolean; nothing for `None`.
    pub fn bool(&mut self, tag: u8, value: Option<bool>) -> Result<(), OutOfRoom> {
        match value {
            Some(value) => self.field(tag)?.bool(value),
            None => Ok(()),
        }
    }

    /// An array or map as it was decoded.
    pub fn array(&mut self, tag: u8, value: Option<super::Array<'_>>) -> Result<(), OutOfRoom> {
        match value {
            Some(value) => {
                let encoder = self.field(tag)?;
                encoder.array(value.len())?;
                encoder.bytes(value.objects())
            }
            None => Ok(()),
        }
    }

    /// A map as it was decoded.
    pub fn map(&mut self, tag: u8, value: Option<super::Map<'_>>) -> Result<(), OutOfRoom> {
        match value {
            Some(value) => {
                let encoder = self.field(tag)?;
                encoder.map(value.len())?;
                encoder.bytes(value.objects())
            }
            None => Ok(()),
        }
    }

    /// Writes a field tag; the caller writes the one object that follows.
    pub fn field(&mut self, tag: u8) -> Result<&mut Encoder<'b>, OutOfRoom> {
        debug_assert!(tag < 0x80, "field tags are positive fixnums");
        self.encoder.bytes(&[tag])?;
        self.len += 1;
        Ok(self.encoder)
    }

    /// Writes the number of fields into the head of the map.
    pub fn finish(self) -> Result<(), OutOfRoom> {
        let MapEncoder { encoder, head, len } = self;
        if len <= 0xf {
            encoder.buffer[head] = 0x80 | len as u8;
            return Ok(());
        }
        let end = encoder.at;
        encoder.bytes(&[0, 0])?;
        encoder.buffer.copy_within(head + 1..end, head + 3);
        let [hi, lo] = len.to_be_bytes();
        encoder.buffer[head..head + 3].copy_from_slice(&[0xde, hi, lo]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn encoded(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), OutOfRoom>) -> Vec<u8> {
        let mut buffer = [0; 128];
        let mut encoder = Encoder::new(&mut buffer);
        write(&mut encoder).unwrap();
        encoder.written().to_vec()
    }

    #[test]
    fn integers_take_their_shortest_form() {
        let cases: [(i64, &[u8]); 14] = [
            (0, &[0x00]),
            (127, &[0x7f]),
            (128, &[0xcc, 0x80]),
            (255, &[0xcc, 0xff]),
            (256, &[0xcd, 0x01, 0x00]),
            (65535, &[0xcd, 0xff, 0xff]),
            (65536, &[0xce, 0x00, 0x01, 0x00, 0x00]),
            (1 << 32, &[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]),
            (-1, &[0xff]),
            (-32, &[0xe0]),
            (-33, &[0xd0, 0xdf]),
            (-128, &[0xd0, 0x80]),
            (-129, &[0xd1, 0xff, 0x7f]),
            (-32769, &[0xd2, 0xff, 0xff, 0x7f, 0xff]),
        ];
        for (value, bytes) in cases {
            assert_eq!(encoded(|e| e.int(value)), bytes, "{value}");
        }
        assert_eq!(
            encoded(|e| e.int(i64::MIN)),
            [0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn raws_are_of_the_old_family_only() {
        assert_eq!(encoded(|e| e.raw(b"")), [0xa0]);
        assert_eq!(encoded(|e| e.raw(&[b'x'; 31]))[0], 0xbf);
        // 32 bytes: not str8 (d9), which a decoder of 2012 does not know.
        assert_eq!(encoded(|e| e.raw(&[b'x'; 32]))[..3], [0xda, 0x00, 0x20]);
    }

    #[test]
    fn a_map_of_sixteen_fields_gets_a_longer_head() {
        let bytes = encoded(|e| {
            let mut map = e.fields()?;
            for tag in 0..16 {
                map.uint(tag, Some(tag as u64))?;
            }
            map.uint(16, None)?;
            map.finish()
        });
        assert_eq!(bytes[..5], [0xde, 0x00, 0x10, 0x00, 0x00]);
        assert_eq!(bytes[33..], [15, 15]);
    }

    #[test]
    fn every_shorter_buffer_is_out_of_room() {
        let write = |e: &mut Encoder<'_>| {
            let mut map = e.fields()?;
            for tag in 0..16 {
                map.raw(tag, Some(b"ab"))?;
            }
            map.finish()
        };
        let len = encoded(write).len();
        for room in 0..len {
            let mut buffer = [0; 128];
            assert_eq!(
                write(&mut Encoder::new(&mut buffer[..room])),
                Err(OutOfRoom)
            );
        }
    }
}
