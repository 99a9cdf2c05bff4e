//! The 64 bytes at the start of a buffer.

use std::fmt;

use super::Koid;

/// A copy of the header of a buffer, taken at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferHeader {
    /// The kernel's id of the buffer.
    pub koid: Koid,
    /// Which filling of a buffer of the source it holds, from 1; 0 before its first.
    pub filling: u64,
    /// Bytes of whole records after the header.
    pub committed: u64,
    /// No more records will come in this filling.
    pub done: bool,
    /// Records the source dropped so far because no buffer was free.
    pub dropped: u64,
    /// The clock of the timestamps, as `clock_gettime` numbers clocks.
    pub clock: u32,
}

impl BufferHeader {
    /// Bytes of the header.
    pub const BYTES: usize = 64;
    /// What a buffer begins with: a magic and the layout version.
    pub const MAGIC: [u8; 8] = *b"diagbuf\x01";
    /// Offset of the koid, u64.
    pub const KOID: usize = 8;
    /// Offset of the filling, u64.
    pub const FILLING: usize = Self::KOID + 8;
    /// Offset of the committed bytes, u64.
    pub const COMMITTED: usize = Self::FILLING + 8;
    /// Offset of the futex word, u32.
    pub const FUTEX: usize = Self::COMMITTED + 8;
    /// Offset of the flags, u32.
    pub const FLAGS: usize = Self::FUTEX + 4;
    /// Offset of the dropped records, u64.
    pub const DROPPED: usize = Self::FLAGS + 4;
    /// Offset of the clock, u32.
    pub const CLOCK: usize = Self::DROPPED + 8;
    /// The flag of a buffer that gets no more records.
    pub const DONE: u32 = 1;

    /// The header as it is in memory, with a futex word of 0.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let mut put = |offset: usize, field: &[u8]| {
            bytes[offset..offset + field.len()].copy_from_slice(field);
        };
        put(0, &Self::MAGIC);
        put(Self::KOID, &self.koid.0.to_le_bytes());
        put(Self::FILLING, &self.filling.to_le_bytes());
        put(Self::COMMITTED, &self.committed.to_le_bytes());
        put(
            Self::FLAGS,
            &(u32::from(self.done) * Self::DONE).to_le_bytes(),
        );
        put(Self::DROPPED, &self.dropped.to_le_bytes());
        put(Self::CLOCK, &self.clock.to_le_bytes());
        bytes
    }

    /// Reads a copy of the header.
    ///
    /// # Errors
    /// If it does not begin with the magic of this layout.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Result<Self, HeaderError> {
        fn field<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
            std::array::from_fn(|index| bytes[offset + index])
        }
        let magic = field(bytes, 0);
        if magic != Self::MAGIC {
            return Err(HeaderError { magic });
        }
        let flags = u32::from_le_bytes(field(bytes, Self::FLAGS));
        Ok(Self {
            koid: Koid(u64::from_le_bytes(field(bytes, Self::KOID))),
            filling: u64::from_le_bytes(field(bytes, Self::FILLING)),
            committed: u64::from_le_bytes(field(bytes, Self::COMMITTED)),
            done: flags & Self::DONE != 0,
            dropped: u64::from_le_bytes(field(bytes, Self::DROPPED)),
            clock: u32::from_le_bytes(field(bytes, Self::CLOCK)),
        })
    }
}

/// A buffer that begins with other bytes than the magic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderError {
    /// What it begins with.
    pub magic: [u8; 8],
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "buffer begins with {}", self.magic.escape_ascii())
    }
}

impl std::error::Error for HeaderError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_what_the_page_says_in_both_directions() {
        let header = BufferHeader {
            koid: Koid(0x0102_0304_0506_0708),
            filling: 0x1112_1314,
            committed: 0x20,
            done: true,
            dropped: 5,
            clock: 7,
        };
        let mut expected = Vec::new();
        expected.extend(b"diagbuf\x01");
        expected.extend([8, 7, 6, 5, 4, 3, 2, 1]); // koid
        expected.extend([0x14, 0x13, 0x12, 0x11, 0, 0, 0, 0]); // filling
        expected.extend([0x20, 0, 0, 0, 0, 0, 0, 0]); // committed
        expected.extend([0, 0, 0, 0, 1, 0, 0, 0]); // futex word, flags
        expected.extend([5, 0, 0, 0, 0, 0, 0, 0]); // dropped
        expected.extend([7, 0, 0, 0]); // clock
        expected.extend([0; 12]);
        assert_eq!(header.to_bytes()[..], expected);
        assert_eq!(BufferHeader::parse(&header.to_bytes()), Ok(header));
    }

    #[test]
    fn another_layout_version_is_refused() {
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(b"diagbuf\x02");
        let error = BufferHeader::parse(&bytes).unwrap_err();
        assert_eq!(error.to_string(), r"buffer begins with diagbuf\x02");
    }
}
