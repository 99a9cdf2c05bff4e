//! The checksum of a record's body, CRC-32/ISO-HDLC.

/// The checksum of `body`.
#[inline]
pub(crate) fn checksum(body: &[u8]) -> u32 {
    crc32fast::hash(body)
}
