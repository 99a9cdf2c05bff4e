//! How a value crosses from one copy of the logger to another, which another compiler
//! may have made: as integers and pointers. A room for unsafe.

use crate::call::body::pairs::Pairs;
use crate::call::site::Site;
use crate::captured::Capture;
use crate::changes::Changed;
use crate::context::Context;
use crate::state::RawState;
use core::ffi::{CStr, c_char, c_int};
use core::marker::PhantomData;
use core::ptr;
use logdef_wire::Level;
use std::io;

/// A value that crosses.
pub(crate) trait Crossing {
    /// What it is on the way.
    type As;

    fn lower(self) -> Self::As;

    /// # Safety
    ///
    /// `lowered` is what the other copy's `lower` returned, and what it borrows from is
    /// still borrowed.
    unsafe fn lift(lowered: Self::As) -> Self;
}

/// Bytes that are lent for a call; null for none.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Text<'t> {
    at: *const u8,
    len: usize,
    lent: PhantomData<&'t [u8]>,
}

impl<'t> Text<'t> {
    pub(crate) const NONE: Text<'static> = Text {
        at: ptr::null(),
        len: 0,
        lent: PhantomData,
    };

    pub(crate) fn of(bytes: &'t [u8]) -> Text<'t> {
        Text {
            at: bytes.as_ptr(),
            len: bytes.len(),
            lent: PhantomData,
        }
    }

    pub(crate) fn bytes(self) -> Option<&'t [u8]> {
        // SAFETY: null, or the parts of a slice of that lifetime: in this copy `of` is
        // the only constructor, and what comes from another copy was lifted.
        (!self.at.is_null()).then(|| unsafe { core::slice::from_raw_parts(self.at, self.len) })
    }
}

/// Of types that are the same in every copy.
macro_rules! as_it_is {
    ($($type:ty),*) => {
        $(impl Crossing for $type {
            type As = Self;

            #[inline]
            fn lower(self) -> Self {
                self
            }

            #[inline]
            unsafe fn lift(lowered: Self) -> Self {
                lowered
            }
        })*
    };
}

as_it_is!(
    (),
    u32,
    u64,
    usize,
    *const u8,
    *const u64,
    &Site,
    &Pairs<'_>,
    Changed,
    &'static Capture,
    *const Context
);

impl Crossing for &mut RawState {
    type As = Self;

    fn lower(self) -> Self {
        self
    }

    unsafe fn lift(lowered: Self) -> Self {
        lowered
    }
}

impl Crossing for Level {
    type As = u8;

    #[inline]
    fn lower(self) -> u8 {
        self.0
    }

    #[inline]
    unsafe fn lift(lowered: u8) -> Level {
        Level(lowered)
    }
}

impl Crossing for bool {
    type As = c_int;

    #[inline]
    fn lower(self) -> c_int {
        self.into()
    }

    #[inline]
    unsafe fn lift(lowered: c_int) -> bool {
        lowered != 0
    }
}

impl Crossing for &CStr {
    type As = *const c_char;

    #[inline]
    fn lower(self) -> *const c_char {
        self.as_ptr()
    }

    #[inline]
    unsafe fn lift(lowered: *const c_char) -> Self {
        // SAFETY: `lower` made it of a `CStr` that is still borrowed (contract of `lift`).
        unsafe { CStr::from_ptr(lowered) }
    }
}

impl<'t> Crossing for &'t str {
    type As = Text<'t>;

    fn lower(self) -> Text<'t> {
        Text::of(self.as_bytes())
    }

    unsafe fn lift(lowered: Text<'t>) -> Self {
        let bytes = lowered.bytes().unwrap_or_default();
        // SAFETY: `lower` made it of a `str` (contract of `lift`).
        unsafe { core::str::from_utf8_unchecked(bytes) }
    }
}

/// On the way, the error that the process has a log already.
const ALREADY_EXISTS: c_int = -1;

/// An errno, or 0.
impl Crossing for io::Result<()> {
    type As = c_int;

    fn lower(self) -> c_int {
        match self {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().unwrap_or(match error.kind() {
                io::ErrorKind::AlreadyExists => ALREADY_EXISTS,
                io::ErrorKind::InvalidInput => libc::EINVAL,
                _ => libc::EIO,
            }),
        }
    }

    unsafe fn lift(lowered: c_int) -> Self {
        match lowered {
            0 => Ok(()),
            ALREADY_EXISTS => Err(already_open()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// The process has a log.
pub(crate) fn already_open() -> io::Error {
    let error = "the process has a log already";
    io::Error::new(io::ErrorKind::AlreadyExists, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_arrive_as_they_were() {
        let cross = |result: io::Result<()>| {
            // SAFETY: lowered here.
            unsafe { <io::Result<()>>::lift(result.lower()) }
        };
        assert!(cross(Ok(())).is_ok());
        let full = cross(Err(io::Error::from_raw_os_error(libc::ENOSPC)));
        assert_eq!(full.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        let open = cross(Err(already_open())).unwrap_err();
        assert_eq!(open.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(open.to_string(), already_open().to_string());
    }

    #[test]
    fn texts_arrive_as_they_were() {
        for text in ["", "info,net=debug", "é"] {
            // SAFETY: lowered here, of a text that is still borrowed.
            assert_eq!(unsafe { <&str>::lift(text.lower()) }, text);
        }
        assert_eq!(Text::NONE.bytes(), None);
        assert_eq!(Text::of(b"").bytes(), Some(&b""[..]));
    }
}
