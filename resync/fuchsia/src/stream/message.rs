//! The three messages, in the FIDL wire form.

use std::fmt;

use super::Koid;

/// A message between a source and a retriever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A buffer starts to be filled; its descriptor comes with the message.
    OnBufferInit,
    /// The buffer gets no more records.
    OnBufferDone(Koid),
    /// The retriever has finished with the buffer.
    RetireBuffer(Koid),
}

/// Transaction id, flags and magic: the same for all three.
const PRELUDE: [u8; 8] = [0, 0, 0, 0, 2, 0, 0, 1];
/// The first 8 bytes of the SHA-256 of `library/Protocol.Method`, top bit cleared.
const ON_BUFFER_INIT: u64 = 0x6212_abc1_fa0f_659f;
const ON_BUFFER_DONE: u64 = 0x00fd_edc5_6bd3_e1e3;
const RETIRE_BUFFER: u64 = 0x17d1_e2a7_c570_6d74;
/// The body of a message with a handle: a handle is present.
const HANDLE_PRESENT: u64 = 0xffff_ffff;

impl Message {
    /// Bytes of each message.
    pub const BYTES: usize = 24;

    /// The message as it is sent.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let (ordinal, body) = match self {
            Self::OnBufferInit => (ON_BUFFER_INIT, HANDLE_PRESENT),
            Self::OnBufferDone(koid) => (ON_BUFFER_DONE, koid.0),
            Self::RetireBuffer(koid) => (RETIRE_BUFFER, koid.0),
        };
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&PRELUDE);
        bytes[8..16].copy_from_slice(&ordinal.to_le_bytes());
        bytes[16..].copy_from_slice(&body.to_le_bytes());
        bytes
    }

    /// The message in `bytes`, which came with `descriptors` file descriptors.
    ///
    /// # Errors
    /// If `bytes` are not a message; the connection has to end then.
    pub fn parse(bytes: &[u8], descriptors: usize) -> Result<Self, MessageError> {
        let bytes: &[u8; Self::BYTES] = bytes
            .try_into()
            .map_err(|_| MessageError::Length(bytes.len()))?;
        if bytes[..8] != PRELUDE {
            return Err(MessageError::Prelude);
        }
        let word = |offset: usize| {
            let bytes = std::array::from_fn(|index| bytes[offset + index]);
            u64::from_le_bytes(bytes)
        };
        let (message, expected) = match (word(8), word(16)) {
            (ON_BUFFER_INIT, HANDLE_PRESENT) => (Self::OnBufferInit, 1),
            (ON_BUFFER_INIT, body) => return Err(MessageError::Body(body)),
            (ON_BUFFER_DONE, koid) => (Self::OnBufferDone(Koid(koid)), 0),
            (RETIRE_BUFFER, koid) => (Self::RetireBuffer(Koid(koid)), 0),
            (ordinal, _) => return Err(MessageError::Ordinal(ordinal)),
        };
        if descriptors != expected {
            return Err(MessageError::Descriptors(descriptors));
        }
        Ok(message)
    }
}

/// Why a packet is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It has this many bytes, not 24.
    Length(usize),
    /// Transaction id, flags or magic are wrong.
    Prelude,
    /// No message has this ordinal.
    Ordinal(u64),
    /// The body does not announce a descriptor.
    Body(u64),
    /// It came with this many descriptors.
    Descriptors(usize),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length(length) => write!(f, "message of {length} bytes, not 24"),
            Self::Prelude => f.write_str("message is not of this wire format"),
            Self::Ordinal(ordinal) => write!(f, "no message has ordinal {ordinal:#018x}"),
            Self::Body(body) => write!(f, "message body {body:#x} announces no descriptor"),
            Self::Descriptors(count) => write!(f, "message came with {count} descriptors"),
        }
    }
}

impl std::error::Error for MessageError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the page of the layout, and a koid of 0x0102030405060708.
    const VECTORS: [(Message, usize, &[u8; 48]); 3] = [
        (
            Message::OnBufferInit,
            1,
            b"00000000020000019f650ffac1ab1262ffffffff00000000",
        ),
        (
            Message::OnBufferDone(Koid(0x0102_0304_0506_0708)),
            0,
            b"0000000002000001e3e1d36bc5edfd000807060504030201",
        ),
        (
            Message::RetireBuffer(Koid(0x0102_0304_0506_0708)),
            0,
            b"0000000002000001746d70c5a7e2d1170807060504030201",
        ),
    ];

    fn bytes(hex: &[u8; 48]) -> [u8; 24] {
        std::array::from_fn(|index| {
            let digits = str::from_utf8(&hex[index * 2..][..2]).unwrap();
            u8::from_str_radix(digits, 16).unwrap()
        })
    }

    #[test]
    fn messages_are_what_the_page_says_in_both_directions() {
        for (message, descriptors, hex) in VECTORS {
            assert_eq!(message.to_bytes(), bytes(hex));
            assert_eq!(Message::parse(&bytes(hex), descriptors), Ok(message));
        }
    }

    #[test]
    fn a_wrong_number_of_descriptors_is_refused() {
        for (_, descriptors, hex) in VECTORS {
            for wrong in (0..3).filter(|count| *count != descriptors) {
                let error = MessageError::Descriptors(wrong);
                assert_eq!(Message::parse(&bytes(hex), wrong), Err(error));
            }
        }
    }

    #[test]
    fn every_flip_before_the_koid_and_every_cut_is_refused() {
        for (_, descriptors, hex) in VECTORS {
            let good = bytes(hex);
            for bit in 0..16 * 8 {
                let mut flipped = good;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(Message::parse(&flipped, descriptors).is_err(), "bit {bit}");
            }
            for length in 0..24 {
                let error = MessageError::Length(length);
                assert_eq!(Message::parse(&good[..length], descriptors), Err(error));
            }
        }
    }
}
