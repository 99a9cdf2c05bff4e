//! What may be passed to `logdef!` for which conversion, and the words that
//! are made of it. The macro finds out the conversion of each argument when it
//! is compiled and asks for [`Argument`] of that conversion, so that a
//! mismatch is an error of types, seen by `cargo check`.

use crate::call::body::Bytes;
use core::ffi::CStr;
use core::marker::PhantomData;
use logdef_wire::printf::{Class, caller_arg, caller_args, check};
use logdef_wire::site::ArgKind;
use std::borrow::Cow;
use std::ffi::{CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A type that fits a printf conversion: `'d'` stands for those that print an
/// integer with its sign, `'u'` for those that print it without one, `'*'` for a width or precision, `'c'` for a character, `'f'` for a
/// floating point number, `'s'` for a string, `'p'` for a pointer and `'n'` for
/// the place that `%n` would write to, were it not inert.
pub trait Argument<const CONVERSION: char> {
    /// What is passed on for it.
    fn capture(&self) -> Passed<'_>;
}

/// [`Argument`] at its place in a call: for argument `NUMBER`, counted from 1,
/// and its conversion as it is written. There only to say both when it fails.
#[diagnostic::on_unimplemented(
    message = "argument {NUMBER} is a `{Self}`, which does not fit its conversion {LETTER}",
    label = "argument {NUMBER} of this call is a `{Self}`",
    note = "integers, `bool` and `char` fit %d %i %u %x %X %o %b %B; integers and `char` fit %c; `f32` and `f64` fit %f %e %g %a",
    note = "`&str`, `String`, `&[u8]`, `&CStr`, `&OsStr`, `&Path` and `Option` of them fit %s; pointers fit %p; a * takes an `i32` or less"
)]
pub trait Fits<const CLASS: char, const LETTER: char, const NUMBER: usize> {
    /// See [`Argument::capture`].
    fn pass(&self) -> Passed<'_>;
}

#[diagnostic::do_not_recommend]
impl<T, const CLASS: char, const LETTER: char, const NUMBER: usize> Fits<CLASS, LETTER, NUMBER>
    for T
where
    T: Argument<CLASS> + ?Sized,
{
    #[inline(always)]
    fn pass(&self) -> Passed<'_> {
        self.capture()
    }
}

/// An argument on its way, which borrows from the caller's until the call is over.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    kind: ArgKind,
    word: u64,
    /// What the word points to, for [`ArgKind::BYTES`].
    bytes: Bytes,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> Passed<'a> {
    #[inline(always)]
    fn word(kind: ArgKind, word: u64) -> Self {
        Passed {
            kind,
            word,
            bytes: Bytes::new(None),
            borrowed: PhantomData,
        }
    }

    #[inline(always)]
    fn bytes(bytes: Option<&'a [u8]>) -> Self {
        Passed {
            kind: ArgKind::BYTES,
            word: 0,
            bytes: Bytes::new(bytes),
            borrowed: PhantomData,
        }
    }
}

/// Kinds and words of a call's arguments.
#[derive(Debug)]
pub struct Lowered<const N: usize> {
    kinds: [u8; N],
    words: [u64; N],
}

impl<const N: usize> Lowered<N> {
    /// Of arguments that stay where they are meanwhile: words may point to them.
    #[inline(always)]
    pub fn of(passed: &[Passed<'_>; N]) -> Lowered<N> {
        let word = |passed: &Passed<'_>| match passed.kind {
            ArgKind::BYTES => core::ptr::from_ref(&passed.bytes) as u64,
            _ => passed.word,
        };
        Lowered {
            kinds: passed.each_ref().map(|passed| passed.kind.0),
            words: passed.each_ref().map(word),
        }
    }

    /// Where the kinds stand.
    #[inline(always)]
    pub fn kinds(&self) -> *const u8 {
        self.kinds.as_ptr()
    }

    /// The words themselves.
    #[inline(always)]
    pub fn to_words(&self) -> [u64; N] {
        self.words
    }

    /// Where the words stand.
    #[inline(always)]
    pub fn words(&self) -> *const u64 {
        self.words.as_ptr()
    }
}

/// The letter that stands for a conversion's class in [`Argument`].
pub const fn class_letter(format: &str, index: usize) -> char {
    match caller_arg(bytes_of(format), index) {
        None => '*',
        Some(used) => match used.class {
            Class::Int if matches!(used.conversion.0, b'd' | b'i') => 'd',
            Class::Int => 'u',
            Class::Star => '*',
            Class::Char | Class::WideChar => 'c',
            Class::Float | Class::LongDouble => 'f',
            Class::Str | Class::WideStr => 's',
            Class::Pointer => 'p',
            Class::Written => 'n',
            _ => '*',
        },
    }
}

/// The conversion of an argument as the format has it, `'*'` for a width or
/// precision.
pub const fn letter(format: &str, index: usize) -> char {
    match caller_arg(bytes_of(format), index) {
        None => '*',
        Some(used) => used.conversion.0 as char,
    }
}

/// Stops the compiler if a format is malformed or takes another number of
/// arguments than `args`.
pub const fn assert_fits(format: &str, args: usize) {
    let format = bytes_of(format);
    if let Err(error) = check(format) {
        panic!("{}", error.reason());
    }
    let wanted = caller_args(format);
    assert!(
        wanted > 0 || !has_placeholder(format),
        "logdef!: the format is printf's, which has %s and %d for `{{}}`; text in braces that is meant is passed to a %s"
    );
    assert!(
        args >= wanted,
        "logdef!: the format takes more arguments than are passed"
    );
    assert!(
        args <= wanted,
        "logdef!: more arguments are passed than the format takes"
    );
    assert!(
        logdef_wire::printf::wire_args(format) <= crate::call::body::MAX_WIRE_ARGS,
        "logdef!: the format takes more than 64 arguments"
    );
}

/// Whether text holds what `format!` would replace: braces around nothing, a name, a
/// number or what stands behind a colon.
const fn has_placeholder(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'{' {
            let end = end_of_placeholder(text, at + 1);
            if end > at {
                return true;
            }
            // A doubled brace is meant.
            at += (at + 1 < text.len() && text[at + 1] == b'{') as usize;
        }
        at += 1;
    }
    false
}

/// Where the brace stands that closes a placeholder whose inside begins at `from`; 0 if
/// it is none.
const fn end_of_placeholder(text: &[u8], from: usize) -> usize {
    let mut at = from;
    let mut behind_colon = false;
    while at < text.len() {
        match text[at] {
            b'}' => return at,
            b':' => behind_colon = true,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => {}
            b'?' | b'#' | b'.' | b'<' | b'>' | b'^' | b'+' | b'-' | b'*' | b'$' if behind_colon => {
            }
            _ => return 0,
        }
        at += 1;
    }
    0
}

/// The bytes of a format that the macro ended with a NUL, without it.
pub const fn bytes_of(format: &str) -> &[u8] {
    match format.as_bytes() {
        [bytes @ .., 0] => bytes,
        bytes => bytes,
    }
}

macro_rules! integers {
    ($conversion:literal, $kind:ident: $($type:ty $(as $through:ty)?),*) => {$(
        impl Argument<$conversion> for $type {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                Passed::word(ArgKind::$kind, *self $(as $through)? as u64)
            }
        }
    )*};
}

integers!('d', INT: i8, i16, i32, i64, isize);
integers!('d', UINT: u8, u16, u32, u64, usize, char, bool);
// The two's complement has the width of the type, which only the caller knows.
integers!('u', UINT: i8 as u8, i16 as u16, i32 as u32, i64 as u64, isize as usize);
integers!('u', UINT: u8, u16, u32, u64, usize, char, bool);
integers!('c', INT: i8, i16, i32, i64, isize);
integers!('c', UINT: u8, u16, u32, u64, usize);
integers!('c', CHAR: char);
integers!('*', INT: i8, i16, i32);
integers!('*', UINT: u8, u16);
integers!('p', UINT: usize);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Argument<'f'> for $type {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                Passed::word(ArgKind::DOUBLE, f64::from(*self).to_bits())
            }
        }
    )*};
}

floats!(f32, f64);

/// What `%s` prints.
pub trait Text {
    /// Its bytes; `None` prints as C's null pointer does.
    fn text(&self) -> Option<&[u8]>;
}

macro_rules! strings {
    ($($type:ty => $bytes:expr),* $(,)?) => {$(
        impl Text for $type {
            #[inline(always)]
            fn text(&self) -> Option<&[u8]> {
                let bytes: fn(&$type) -> &[u8] = $bytes;
                Some(bytes(self))
            }
        }
        impl Argument<'s'> for $type {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                Passed::bytes(self.text())
            }
        }
    )*};
}

strings! {
    str => |s| s.as_bytes(),
    String => |s| s.as_bytes(),
    [u8] => |s| s,
    Vec<u8> => |s| s,
    CStr => |s| s.to_bytes(),
    CString => |s| s.to_bytes(),
    OsStr => |s| s.as_encoded_bytes(),
    OsString => |s| s.as_encoded_bytes(),
    Path => |s| s.as_os_str().as_encoded_bytes(),
    PathBuf => |s| s.as_os_str().as_encoded_bytes(),
}

impl<const N: usize> Argument<'s'> for [u8; N] {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        Passed::bytes(Some(self))
    }
}

impl<T: Text + ?Sized> Text for &T {
    #[inline(always)]
    fn text(&self) -> Option<&[u8]> {
        (**self).text()
    }
}

impl<T: Text + ToOwned + ?Sized> Text for Cow<'_, T> {
    #[inline(always)]
    fn text(&self) -> Option<&[u8]> {
        (**self).text()
    }
}

impl<T: Text> Argument<'s'> for Option<T> {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        Passed::bytes(self.as_ref().and_then(T::text))
    }
}

impl<T: Text + ToOwned + ?Sized> Argument<'s'> for Cow<'_, T> {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        Passed::bytes(self.text())
    }
}

macro_rules! through {
    ($($pointer:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Argument<C> + ?Sized, const C: char> Argument<C> for $pointer {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                (**self).capture()
            }
        }
    )*};
}

through!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

macro_rules! pointers {
    ($conversion:literal: $($pointer:ty),*) => {$(
        impl<T> Argument<$conversion> for $pointer {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                Passed::word(ArgKind::POINTER, self.cast::<u8>().addr() as u64)
            }
        }
    )*};
}

pointers!('p': *const T, *mut T);
pointers!('n': *const T, *mut T);

/// Captures argument `NUMBER`, counted from 1.
#[inline(always)]
pub fn capture<const CLASS: char, const LETTER: char, const NUMBER: usize, T>(arg: &T) -> Passed<'_>
where
    T: Fits<CLASS, LETTER, NUMBER>,
{
    arg.pass()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_format_would_replace_is_told_from_text_with_braces() {
        for text in [
            "{}",
            "at {host}:{port}",
            "{0}",
            "{:?}",
            "x {ms:.3} ms",
            "{:#?}",
            "{_a1:>8}",
        ] {
            assert!(has_placeholder(text.as_bytes()), "{text}");
        }
        let texts = [
            "",
            "{",
            "}",
            "{ }",
            "{{}}",
            "{{host}}",
            "{\"a\": 1}",
            "fn f() { x }",
            "{a b}",
        ];
        for text in texts {
            assert!(!has_placeholder(text.as_bytes()), "{text}");
        }
    }
}
