//! One number as the C library prints it. A room for unsafe: this is where a
//! directive is put together, so that it is always of the type that is passed.

use core::ffi::CStr;
use core::fmt::{self, Write};
use logdef_wire::printf::{Conversion, Flags};

/// How a number is printed.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub flags: Flags,
    pub left: bool,
    pub width: usize,
    pub precision: Option<usize>,
    pub conversion: Conversion,
}

/// What is printed.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Integer(i64),
    Float(f64),
    Pointer(u64),
}

impl Form {
    /// Room for the longest number.
    pub const ROOM: usize = 640;

    /// Prints a number. A conversion that is not for it is replaced.
    pub fn print(self, number: Number, into: &mut [u8; Form::ROOM]) -> &[u8] {
        let mut spec = Spec::new();
        let _ = self.write(number, &mut spec);
        let spec = spec.as_c_str().as_ptr();
        let (at, room) = (into.as_mut_ptr().cast(), into.len());
        // SAFETY: the directive, by `write`, takes one `long long` or one `double`,
        // and no other; what is printed is cut to the room.
        let len = unsafe {
            match number {
                Number::Integer(value) => libc::snprintf(at, room, spec, value),
                Number::Pointer(value) => libc::snprintf(at, room, spec, value),
                Number::Float(value) => libc::snprintf(at, room, spec, value),
            }
        };
        let len = usize::try_from(len).unwrap_or(0);
        &into[..len.min(Form::ROOM - 1)]
    }

    fn write(self, number: Number, spec: &mut Spec) -> fmt::Result {
        for (flag, letter) in [
            (Flags::PLUS, '+'),
            (Flags::SPACE, ' '),
            (Flags::ALTERNATIVE, '#'),
            (Flags::ZERO, '0'),
            (Flags::GROUP, '\''),
        ] {
            if self.flags.has(flag) {
                spec.write_char(letter)?;
            }
        }
        if self.left {
            spec.write_char('-')?;
        }
        if self.width > 0 {
            write!(spec, "{}", self.width)?;
        }
        if let Some(precision) = self.precision {
            write!(spec, ".{precision}")?;
        }
        let letter = self.conversion.0;
        match number {
            Number::Pointer(_) => spec.write_str("#llx"),
            Number::Integer(_) => match letter {
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'b' | b'B' => {
                    write!(spec, "ll{}", char::from(letter))
                }
                _ => spec.write_str("lld"),
            },
            Number::Float(_) => match letter {
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                    spec.write_char(char::from(letter))
                }
                _ => spec.write_char('g'),
            },
        }
    }
}

/// A directive that ends in a NUL.
struct Spec {
    bytes: [u8; Spec::ROOM],
    len: usize,
}

impl Spec {
    /// Six flags, two numbers of twenty digits, and the rest.
    const ROOM: usize = 56;

    fn new() -> Spec {
        let mut bytes = [0; Spec::ROOM];
        bytes[0] = b'%';
        Spec { bytes, len: 1 }
    }

    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl Write for Spec {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        // One byte stays for the NUL.
        if end >= Spec::ROOM {
            return Err(fmt::Error);
        }
        self.bytes[self.len..end].copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
