//! Text in a buffer of fixed size, for code that must not allocate: notes, the mirror.

use core::ffi::CStr;
use core::fmt;

/// At most `N` bytes. What does not fit whole is left out, with an error.
pub(crate) struct FixedText<const N: usize> {
    /// Zeros after the text.
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> FixedText<N> {
    pub const fn new() -> FixedText<N> {
        FixedText {
            bytes: [0; N],
            len: 0,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Bytes that still fit.
    pub fn room(&self) -> usize {
        N - self.len
    }

    pub fn push(&mut self, bytes: &[u8]) -> fmt::Result {
        let room = self.bytes[self.len..].get_mut(..bytes.len());
        room.ok_or(fmt::Error)?.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    /// The text before its first NUL; empty if the buffer is full.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Write for FixedText<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Write;

    #[test]
    fn what_does_not_fit_whole_is_left_out() {
        let mut text = FixedText::<4>::new();
        assert_eq!(write!(text, "{}", 123), Ok(()));
        assert_eq!(text.as_c_str(), c"123");
        assert_eq!(text.push(b"45"), Err(fmt::Error));
        assert_eq!((text.bytes(), text.room()), (&b"123"[..], 1));
        assert_eq!(text.push(b"4"), Ok(()));
        assert_eq!((text.bytes(), text.as_c_str()), (&b"1234"[..], c""));
    }
}
