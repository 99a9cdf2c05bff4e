//! Zstandard streams, one frame after the other, as RFC 8878 has them. A stream that was cut gives
//! all of its whole blocks: the decoder retains as much as a window holds, megabytes mostly, until
//! a block comes that is marked as the last. Where the stream ends before that, one is put there.
//! Knows nothing of what is in the blocks.

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, Read};

/// The first bytes of a frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The same of one that holds something else, without the lowest four bits.
const SKIPPABLE: u32 = 0x184d_2a50;
/// A block that holds nothing and is the last.
const LAST: [u8; 3] = [1, 0, 0];
/// Bytes of a block's head, and of the checksum after the last one.
const BLOCK_HEAD: usize = 3;
const CHECKSUM: usize = 4;

/// The bytes in all frames of a stream.
pub(super) struct Zstd<R: BufRead> {
    decoder: Option<StreamingDecoder<Blocks<R>, FrameDecoder>>,
    rest: Option<R>,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(reader: R) -> Self {
        Zstd {
            decoder: None,
            rest: Some(reader),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                let got = decoder.read(buffer)?;
                if got > 0 || buffer.is_empty() {
                    return Ok(got);
                }
                let blocks = self.decoder.take().map(|decoder| decoder.into_inner());
                if blocks.as_ref().is_some_and(|blocks| blocks.is_cut) {
                    return Err(cut());
                }
                self.rest = blocks.map(|blocks| blocks.reader);
            }
            let Some(mut reader) = self.rest.take() else {
                return Ok(0);
            };
            if reader.fill_buf()?.is_empty() {
                return Ok(0);
            }
            match Blocks::of_next_frame(reader)? {
                Next::Frame(blocks) => {
                    let decoder = StreamingDecoder::new(blocks);
                    self.decoder = Some(decoder.map_err(io::Error::other)?);
                }
                Next::Skipped(reader) => self.rest = Some(reader),
            }
        }
    }
}

fn cut() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "a frame of zstd ends before its last block",
    )
}

/// The bytes of one frame, a block at a time.
struct Blocks<R: BufRead> {
    reader: R,
    /// What is given next, from `at` on.
    ready: Vec<u8>,
    at: usize,
    has_checksum: bool,
    /// Whether the last block is among what is ready, or was given.
    has_ended: bool,
    /// Whether the stream has ended before.
    is_cut: bool,
}

/// What the next frame of a stream is.
enum Next<R: BufRead> {
    Frame(Blocks<R>),
    Skipped(R),
}

impl<R: BufRead> Blocks<R> {
    /// Reads the head of a frame; one that holds no data is passed over.
    fn of_next_frame(mut reader: R) -> io::Result<Next<R>> {
        let mut head = vec![0; MAGIC.len() + 1];
        reader.read_exact(&mut head[..MAGIC.len()])?;
        let magic = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        if magic & !0xf == SKIPPABLE {
            let mut len = [0; 4];
            reader.read_exact(&mut len)?;
            let len = u64::from(u32::from_le_bytes(len));
            if io::copy(&mut (&mut reader).take(len), &mut io::sink())? < len {
                return Err(cut());
            }
            return Ok(Next::Skipped(reader));
        }
        if head[..MAGIC.len()] != MAGIC {
            let message = "no frame of zstd follows the one before";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        reader.read_exact(&mut head[MAGIC.len()..])?;
        let descriptor = head[MAGIC.len()];
        let is_single_segment = descriptor & 0x20 != 0;
        let window = usize::from(!is_single_segment);
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = match descriptor >> 6 {
            0 => usize::from(is_single_segment),
            flag => 1 << flag,
        };
        let start = head.len();
        head.resize(start + window + dictionary + size, 0);
        reader.read_exact(&mut head[start..])?;
        Ok(Next::Frame(Blocks {
            reader,
            ready: head,
            at: 0,
            has_checksum: descriptor & 4 != 0,
            has_ended: false,
            is_cut: false,
        }))
    }

    /// Takes in the next block whole, or ends the frame.
    fn next_block(&mut self) -> io::Result<()> {
        self.at = 0;
        match self.read_block() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.is_cut = true;
                self.has_ended = true;
                self.ready.clear();
                self.ready.extend(LAST);
                self.ready.resize(LAST.len() + self.checksum(), 0);
                Ok(())
            }
            read => read,
        }
    }

    fn read_block(&mut self) -> io::Result<()> {
        self.ready.resize(BLOCK_HEAD, 0);
        self.reader.read_exact(&mut self.ready)?;
        let head = u32::from_le_bytes([self.ready[0], self.ready[1], self.ready[2], 0]);
        self.has_ended = head & 1 != 0;
        // One byte stands for all of a block of equal bytes.
        let size = match head >> 1 & 3 {
            1 => 1,
            _ => (head >> 3) as usize,
        };
        let behind = if self.has_ended { self.checksum() } else { 0 };
        self.ready.resize(BLOCK_HEAD + size + behind, 0);
        self.reader.read_exact(&mut self.ready[BLOCK_HEAD..])
    }

    fn checksum(&self) -> usize {
        if self.has_checksum { CHECKSUM } else { 0 }
    }
}

impl<R: BufRead> Read for Blocks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() && !self.has_ended {
            self.next_block()?;
        }
        let got = (&self.ready[self.at..]).read(buffer)?;
        self.at += got;
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of many blocks that are as long as they were before.
    fn noise() -> Vec<u8> {
        let mut state = 7u64;
        let step = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..1 << 20).map(step).collect()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn read(packed: &[u8]) -> (Vec<u8>, io::Result<usize>) {
        let mut bytes = Vec::new();
        let read = Zstd::new(packed).read_to_end(&mut bytes);
        (bytes, read)
    }

    /// Of a stream of several megabytes that was cut, nothing was given: all of it was in the window.
    #[test]
    fn what_was_cut_gives_all_blocks_before() {
        let text = noise();
        let packed = packed(&text);
        for len in [packed.len() - 1, packed.len() / 2, packed.len() / 3] {
            let (bytes, end) = read(&packed[..len]);
            assert!(text.starts_with(&bytes));
            // No block is longer than 128 KiB.
            assert!(bytes.len() + (128 << 10) >= len, "{} of {len}", bytes.len());
            assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
        let (bytes, end) = read(&packed);
        assert_eq!(end.unwrap(), text.len());
        assert_eq!(bytes, text);
    }

    #[test]
    fn frames_without_data_are_passed_over() {
        let (first, second) = (packed(b"first "), packed(b"second"));
        let skippable = [0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'n', b'o', b'!'];
        let stream = [&skippable[..], &first, &skippable, &second, &skippable].concat();
        let (bytes, end) = read(&stream);
        assert_eq!(bytes, b"first second");
        end.unwrap();
        for cut in 1..skippable.len() {
            let (bytes, end) = read(&stream[..stream.len() - cut]);
            assert_eq!(bytes, b"first second");
            assert!(end.is_err(), "{cut}");
        }
    }

    /// Every way to write the head of a frame and its blocks, annotated.
    #[test]
    fn heads_of_all_forms_are_read() {
        let frames: [&[u8]; 4] = [
            // One segment, a size of one byte; a raw block of three bytes, the last.
            &[0x20, 3, 0x19, 0, 0, b'a', b'b', b'c'],
            // A window of a KiB, a checksum, which is not looked at; the same block.
            &[0x04, 0x00, 0x19, 0, 0, b'a', b'b', b'c', 1, 2, 3, 4],
            // A window, a size of four bytes; a block of three equal bytes, then an empty last one.
            &[0x80, 0x00, 3, 0, 0, 0, 0x1a, 0, 0, b'a', 0x01, 0, 0],
            // One segment, a size of eight bytes; two raw blocks.
            &[
                0xe0, 3, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, b'a', b'b', 0x09, 0, 0, b'c',
            ],
        ];
        for frame in frames {
            let frame = [&MAGIC, frame].concat();
            let (bytes, end) = read(&frame);
            assert_eq!(end.unwrap(), 3, "{frame:02x?}");
            assert!([&b"abc"[..], b"aaa"].contains(&&bytes[..]), "{frame:02x?}");
            for len in 1..frame.len() {
                assert!(read(&frame[..len]).1.is_err(), "{frame:02x?} cut at {len}");
            }
        }
    }
}
