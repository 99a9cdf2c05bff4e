//! Objects of msgpack, written one after another in their shortest forms. Room is asked for
//! once for many of them. Knows neither records nor calls.

use super::CUT_MARK;
use crate::few;
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::site::ArgKind;

/// Writes objects one after another into a buffer. Room is asked for once for
/// many of them ([`Out::need`]); the writes themselves look no more.
pub struct Out<'b> {
    pub(super) start: *mut u8,
    pub(super) at: *mut u8,
    pub(super) end: *mut u8,
    pub(super) buffer: core::marker::PhantomData<&'b mut [u8]>,
}

impl<'b> Out<'b> {
    #[inline(always)]
    pub fn new(buffer: &'b mut [u8]) -> Self {
        let range = buffer.as_mut_ptr_range();
        Out {
            start: range.start,
            at: range.start,
            end: range.end,
            buffer: core::marker::PhantomData,
        }
    }

    /// What is not written yet, as its own.
    #[inline(always)]
    pub fn rest(&mut self) -> Out<'_> {
        Out { ..*self }
    }

    /// Bytes written.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.at.addr() - self.start.addr()
    }

    /// Fails unless `len` more bytes fit.
    #[inline(always)]
    pub fn need(&self, len: usize) -> Result<(), OutOfRoom> {
        if self.end.addr() - self.at.addr() >= len {
            Ok(())
        } else {
            Err(OutOfRoom)
        }
    }

    /// Writes `N` bytes, of which `len` count.
    ///
    /// # Safety
    ///
    /// `N` bytes were asked for and are left.
    #[inline(always)]
    pub unsafe fn put<const N: usize>(&mut self, bytes: [u8; N], len: usize) {
        debug_assert!(len <= N && self.need(N).is_ok());
        // SAFETY: `need` found room for `N` bytes from `at` on.
        unsafe {
            self.at.cast::<[u8; N]>().write_unaligned(bytes);
            self.at = self.at.add(len);
        }
    }

    /// # Safety
    ///
    /// As many bytes were asked for and are left.
    #[inline(always)]
    pub unsafe fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        // SAFETY: `need` found room for `N` bytes.
        unsafe { self.put(bytes, N) }
    }

    /// # Safety
    ///
    /// As many bytes were asked for and are left.
    #[inline(always)]
    pub unsafe fn slice(&mut self, bytes: &[u8]) {
        debug_assert!(self.need(bytes.len()).is_ok());
        // SAFETY: `need` found room for them; the buffer is borrowed for writing, so
        // `bytes` does not overlap it.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
            self.at = self.at.add(bytes.len());
        }
    }

    /// # Safety
    ///
    /// [`SCALAR`] bytes were asked for and are left.
    #[inline(always)]
    pub unsafe fn uint(&mut self, value: u64) {
        // SAFETY: `need` found room for `SCALAR` bytes.
        unsafe { self.integer(value, unsigned_form(value)) }
    }

    /// # Safety
    ///
    /// [`SCALAR`] bytes were asked for and are left.
    #[inline(always)]
    pub unsafe fn int(&mut self, value: i64) {
        // SAFETY: `need` found room for `SCALAR` bytes.
        unsafe { self.int_or_uint(value as u64, true) }
    }

    /// An integer whose highest bit is a sign or is not.
    ///
    /// # Safety
    ///
    /// [`SCALAR`] bytes were asked for and are left.
    #[inline(always)]
    pub unsafe fn int_or_uint(&mut self, value: u64, is_signed: bool) {
        let form = if (value as i64) < 0 && is_signed {
            negative_form(value as i64)
        } else {
            unsigned_form(value)
        };
        // SAFETY: `need` found room for `SCALAR` bytes.
        unsafe { self.integer(value, form) }
    }

    /// An integer in a form of `1 + size` bytes: its head and the low `size`
    /// bytes, or its low byte alone.
    ///
    /// # Safety
    ///
    /// [`SCALAR`] bytes were asked for and are left.
    #[inline(always)]
    pub unsafe fn integer(&mut self, value: u64, (head, size): (u8, u8)) {
        let (head, value) = match size {
            0 => (value as u8, 0),
            size => (head, value << (64 - 8 * size as u32)),
        };
        let [a, b, c, d, e, f, g, h] = value.to_be_bytes();
        // SAFETY: `need` found room for `SCALAR` bytes, which are nine. Those past `size` are
        // overwritten by what comes next.
        unsafe { self.put([head, a, b, c, d, e, f, g, h], 1 + size as usize) }
    }

    /// # Safety
    ///
    /// Three bytes were asked for and are left, and `len` fits 16 bits.
    #[inline(always)]
    pub unsafe fn head(&mut self, fix: u8, fits: usize, head: u8, len: usize) {
        let [hi, lo] = (len as u16).to_be_bytes();
        // SAFETY: `need` found room for three bytes.
        unsafe {
            if len <= fits {
                self.bytes([fix | lo])
            } else {
                self.bytes([head, hi, lo])
            }
        }
    }

    /// A raw of up to [`SHORT`] bytes.
    ///
    /// # Safety
    ///
    /// One byte and [`SHORT`] were asked for and are left, and `len` bytes are valid at `from`.
    #[inline(always)]
    pub unsafe fn short(&mut self, from: *const u8, len: usize) {
        // SAFETY: `need` found the room; the buffer is borrowed for writing, so `from` does not
        // lie in it.
        unsafe {
            self.bytes([0xa0 | len as u8]);
            few::copy(from, self.at, len);
            self.at = self.at.add(len);
        }
    }

    /// An integer that 64 bits do not hold, of which `upper` writes the upper half;
    /// afterwards `then` more bytes are left.
    #[inline(always)]
    pub fn wide(
        &mut self,
        kind: ArgKind,
        then: usize,
        upper: impl FnOnce(&mut Self),
        lower: u64,
    ) -> Result<(), OutOfRoom> {
        self.need(2 + 2 * SCALAR + then)?;
        // SAFETY: `need` found the room just above.
        unsafe {
            self.bytes([0x93, kind.0]);
            upper(self);
            self.uint(lower);
        }
        Ok(())
    }

    /// A raw, cut to `bound` bytes with a mark if it is longer; afterwards
    /// `then` more bytes are left.
    #[inline(always)]
    pub fn raw(&mut self, bytes: &[u8], bound: usize, then: usize) -> Result<(), OutOfRoom> {
        if bytes.len() > bound.min(u16::MAX as usize) {
            return self.cut(bytes, bound, then);
        }
        self.need(HEAD + bytes.len() + then)?;
        // SAFETY: `need` found the room just above.
        unsafe {
            self.head(0xa0, 0x1f, 0xda, bytes.len());
            self.slice(bytes);
        }
        Ok(())
    }

    /// A raw of `bound` bytes and the mark of a cut, if 16 bits hold their length.
    #[cold]
    #[inline(never)]
    fn cut(&mut self, bytes: &[u8], bound: usize, then: usize) -> Result<(), OutOfRoom> {
        let bytes = &bytes[..bytes.len().min(bound)];
        let len = bytes.len() + CUT_MARK.len();
        if len > u16::MAX as usize {
            return Err(OutOfRoom);
        }
        self.need(HEAD + len + then)?;
        // SAFETY: `need` found the room just above.
        unsafe {
            self.head(0xa0, 0x1f, 0xda, len);
            self.slice(bytes);
            self.slice(CUT_MARK);
        }
        Ok(())
    }
}

/// The most bytes of an integer, a float or nil.
pub const SCALAR: usize = 9;
/// The most bytes of a raw whose head is one byte.
pub const SHORT: usize = 31;
/// The most bytes of the head of a raw or an array.
pub const HEAD: usize = 3;

/// Head and size of the shortest form of an unsigned integer.
#[inline(always)]
fn unsigned_form(value: u64) -> (u8, u8) {
    const FORMS: [(u8, u8); 65] = {
        let mut forms = [(0xcf, 8); 65];
        let mut bits = 0;
        while bits <= 32 {
            forms[bits] = match bits {
                0..=7 => (0, 0),
                8 => (0xcc, 1),
                9..=16 => (0xcd, 2),
                _ => (0xce, 4),
            };
            bits += 1;
        }
        forms
    };
    FORMS[64 - value.leading_zeros() as usize]
}

/// Head and size of the shortest form of a negative integer.
#[inline(always)]
fn negative_form(value: i64) -> (u8, u8) {
    match value {
        -0x20.. => (0, 0),
        -0x80.. => (0xd0, 1),
        -0x8000.. => (0xd1, 2),
        -0x8000_0000.. => (0xd2, 4),
        _ => (0xd3, 8),
    }
}
