//! Paths that are put together without allocation.

use crate::sys::{Errno, Temporary};
use core::ffi::CStr;
use core::num::NonZeroUsize;

/// A path under construction. In memory of its own: stacks of signal handlers are
/// small.
pub(super) struct PathBuffer {
    memory: Temporary,
    len: usize,
}

impl PathBuffer {
    pub fn new() -> Result<PathBuffer, Errno> {
        let len = const { NonZeroUsize::new(libc::PATH_MAX as usize).unwrap() };
        Ok(PathBuffer {
            memory: Temporary::new(len)?,
            len: 0,
        })
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let end = self.len + bytes.len();
        // One byte stays for the NUL.
        let memory = self.memory.bytes();
        if end >= memory.len() {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        memory[self.len..end].copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    /// A number of at least six digits, so that names sort.
    pub fn push_number(&mut self, number: u32) -> Result<(), Errno> {
        let mut digits = [b'0'; 10];
        let mut rest = number;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let first = digits.iter().position(|digit| *digit != b'0');
        self.push(&digits[first.unwrap_or(10).min(4)..])
    }

    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(self.memory.as_slice()).unwrap_or_default()
    }
}
