//! Streams that were compressed: what they are, by their first bytes, and the bytes in them.
//! A stream may be several, one after the other. Knows nothing of logs.

use crate::read::zstd::Zstd;
use std::io::{self, BufRead, Read};

/// First bytes that say how a file was compressed.
pub const HEAD: usize = 6;

/// How the names of compressed files end.
pub const SUFFIXES: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];

/// KiB that unpacking xz may take: enough for files of `xz -9`, which take 65 MiB. Of what a
/// file asks for beyond that, nothing is given.
const XZ_MEMORY: u32 = 80 << 10;

/// How a stream was compressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compression {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    /// What the first bytes say.
    pub fn of(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Some(Compression::Zstd)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Some(Compression::Bzip2),
            _ => None,
        }
    }
}

/// The bytes of a stream, unpacked if its first bytes ask for it.
pub fn unpacked<'r>(mut reader: impl BufRead + 'r) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match Compression::of(reader.fill_buf()?) {
        None => Box::new(reader),
        Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Some(Compression::Zstd) => Box::new(Zstd::new(reader)),
        Some(Compression::Xz) => Box::new(Pieces {
            reader: lzma_rust2::XzReader::new_mem_limit(reader, true, XZ_MEMORY),
            broken_off: None,
        }),
        Some(Compression::Bzip2) => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
    })
}

/// Bytes that are asked for at once of a decoder that gives nothing of a read in which its stream
/// ends or breaks.
const PIECE: usize = 512;

/// Reads in small pieces, so that no more is lost where the stream breaks off.
struct Pieces<R> {
    reader: R,
    /// Why it broke off after what was given.
    broken_off: Option<io::Error>,
}

impl<R: Read> Read for Pieces<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.broken_off.take() {
            return Err(error);
        }
        let mut got = 0;
        for piece in buffer.chunks_mut(PIECE) {
            match self.reader.read(piece) {
                Ok(len) if len == piece.len() => got += len,
                Ok(len) => return Ok(got + len),
                Err(error) if got == 0 => return Err(error),
                Err(error) => {
                    self.broken_off = Some(error);
                    break;
                }
            }
        }
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"a log that was compressed ";

    /// The text a hundred times, by `xz`.
    #[rustfmt::skip]
    const XZ: [u8; 112] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00,
        0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x0a, 0x27, 0x00,
        0x2f, 0x5d, 0x00, 0x30, 0x88, 0x09, 0x87, 0x33, 0xc2, 0x9c, 0x22, 0xf4, 0x20, 0x13,
        0x5e, 0x89, 0x1b, 0x6c, 0xba, 0x91, 0xc8, 0xd5, 0x45, 0x5d, 0xb7, 0x28, 0x60, 0xcf,
        0x59, 0x00, 0xa3, 0x75, 0xe7, 0x19, 0x80, 0xff, 0xee, 0x70, 0x6f, 0xe1, 0xc0, 0xd6,
        0x05, 0x0a, 0xfe, 0xd2, 0x81, 0x95, 0xdc, 0x00, 0x00, 0x00, 0xbe, 0xc8, 0x09, 0xa0,
        0xd1, 0x5e, 0xcf, 0x2e, 0x00, 0x01, 0x4b, 0xa8, 0x14, 0x00, 0x00, 0x00, 0xed, 0x3a,
        0xe6, 0x39, 0xb1, 0xc4, 0x67, 0xfb, 0x02, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
    ];

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn bzip2(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read(packed: &[u8]) -> (Vec<u8>, io::Result<usize>) {
        let mut bytes = Vec::new();
        let read = unpacked(packed).and_then(|mut reader| reader.read_to_end(&mut bytes));
        (bytes, read)
    }

    /// One of each kind that holds the text a hundred times, and its kind.
    fn packed() -> [(Vec<u8>, Compression); 4] {
        let text = TEXT.repeat(100);
        [
            (gzip(&text), Compression::Gzip),
            (zstd(&text), Compression::Zstd),
            (XZ.to_vec(), Compression::Xz),
            (bzip2(&text), Compression::Bzip2),
        ]
    }

    #[test]
    fn each_kind_is_recognized_and_streams_follow_each_other() {
        let text = TEXT.repeat(100);
        for (packed, kind) in packed() {
            assert_eq!(Compression::of(&packed[..HEAD]), Some(kind));
            let (bytes, end) = read(&packed.repeat(2));
            assert_eq!(end.unwrap(), bytes.len());
            assert_eq!(bytes, text.repeat(2), "{kind:?}");
        }
        assert_eq!(read(b"").0, b"");
        assert_eq!(read(b"BZhello").0, b"BZhello");
    }

    #[test]
    fn a_stream_that_was_cut_gives_what_comes_before_and_an_error() {
        let text = TEXT.repeat(100);
        for (packed, kind) in packed() {
            for len in HEAD..packed.len() {
                let (bytes, end) = read(&packed[..len]);
                assert!(text.starts_with(&bytes), "{kind:?} {len}");
                assert!(end.is_err(), "{kind:?} cut at {len} of {}", packed.len());
            }
        }
    }

    #[test]
    fn no_flipped_byte_makes_it_panic_or_run_on() {
        for (packed, kind) in packed() {
            for at in 0..packed.len() {
                for flip in [0x01, 0x80, 0xff] {
                    let mut packed = packed.clone();
                    packed[at] ^= flip;
                    let reader = unpacked(&packed[..]);
                    // A block of bzip2 may stand for 46 MB of one byte.
                    let limit = 1 << 26;
                    let read = reader.and_then(|r| io::copy(&mut r.take(limit), &mut io::sink()));
                    assert!(
                        read.as_ref().map_or(true, |read| *read < limit),
                        "{kind:?} {at} {flip}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_xz_stream_that_asks_for_gigabytes_gets_none() {
        let mut packed = XZ.to_vec();
        // The block header: its size, its flags, filter 0x21 with one byte of properties,
        // the size of the dictionary; then zeros and a checksum.
        let header = 12..12 + (usize::from(packed[12]) + 1) * 4;
        let at = packed[header.clone()]
            .windows(2)
            .position(|w| w == [0x21, 1]);
        packed[header.start + at.unwrap() + 2] = 40;
        let sum = header.end - 4;
        let crc = crc32fast::hash(&packed[header.start..sum]);
        packed[sum..header.end].copy_from_slice(&crc.to_le_bytes());
        let (bytes, end) = read(&packed);
        assert!(bytes.is_empty());
        assert!(end.unwrap_err().to_string().contains("memory"));
    }
}
