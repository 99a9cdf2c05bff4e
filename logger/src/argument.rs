//! What may be passed to `logdef!` for which conversion, and the words that
//! are made of it. The macro finds out the conversion of each argument when it
//! is compiled and asks for [`Argument`] of that conversion, so that a
//! mismatch is an error of types, seen by `cargo check`.

use crate::body::Bytes;
use core::ffi::CStr;
use logdef_wire::printf::{Class, caller_arg, caller_args, check};
use logdef_wire::site::ArgKind;
use std::borrow::Cow;
use std::ffi::{CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A type that fits a printf conversion: `'d'` stands for all that take an
/// integer, `'*'` for a width or precision, `'c'` for a character, `'f'` for a
/// floating point number, `'s'` for a string, `'p'` for a pointer and `'n'` for
/// the place that `%n` would write to, were it not inert.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit the printf conversion of the class {CONVERSION}",
    label = "an argument here is a `{Self}`, its conversion is of the class {CONVERSION}",
    note = "integers, `bool` and `char` fit %d %i %u %x %X %o %b %B; integers and `char` fit %c; `f32` and `f64` fit %f %e %g %a",
    note = "`&str`, `String`, `&[u8]`, `&CStr`, `&OsStr`, `&Path` and `Option` of them fit %s; pointers fit %p; a * takes an `i32` or less"
)]
pub trait Argument<const CONVERSION: char> {
    /// What kind of word it becomes.
    const KIND: ArgKind;
    /// What the word needs to be kept until the call is over.
    type Captured<'a>: Captured
    where
        Self: 'a;
    /// Makes it.
    fn capture(&self) -> Self::Captured<'_>;
}

/// What a word is made of.
pub trait Captured {
    /// The word; valid while `self` is borrowed.
    fn word(&self) -> u64;
}

impl Captured for u64 {
    #[inline(always)]
    fn word(&self) -> u64 {
        *self
    }
}

impl Captured for Bytes {
    #[inline(always)]
    fn word(&self) -> u64 {
        core::ptr::from_ref(self) as u64
    }
}

/// The letter that stands for a conversion's class in [`Argument`].
pub const fn class_letter(format: &str, index: usize) -> char {
    match caller_arg(bytes_of(format), index) {
        None => '*',
        Some(used) => match used.class {
            Class::Int => 'd',
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

/// Stops the compiler if a format is malformed or takes another number of
/// arguments than `args`.
pub const fn assert_fits(format: &str, args: usize) {
    let format = bytes_of(format);
    if let Err(error) = check(format) {
        panic!("{}", error.reason());
    }
    let wanted = caller_args(format);
    assert!(
        args >= wanted,
        "logdef!: the format takes more arguments than are passed"
    );
    assert!(
        args <= wanted,
        "logdef!: more arguments are passed than the format takes"
    );
    assert!(
        logdef_wire::printf::wire_args(format) <= crate::body::MAX_WIRE_ARGS,
        "logdef!: the format takes more than 64 arguments"
    );
}

/// The bytes of a format that the macro ended with a NUL, without it.
pub const fn bytes_of(format: &str) -> &[u8] {
    match format.as_bytes() {
        [bytes @ .., 0] => bytes,
        bytes => bytes,
    }
}

macro_rules! integers {
    ($conversion:literal, $kind:ident: $($type:ty),*) => {$(
        impl Argument<$conversion> for $type {
            const KIND: ArgKind = ArgKind::$kind;
            type Captured<'a> = u64;
            #[inline(always)]
            fn capture(&self) -> u64 {
                *self as u64
            }
        }
    )*};
}

integers!('d', INT: i8, i16, i32, i64, isize);
integers!('d', UINT: u8, u16, u32, u64, usize, char, bool);
integers!('c', INT: i8, i16, i32, i64, isize);
integers!('c', UINT: u8, u16, u32, u64, usize);
integers!('c', CHAR: char);
integers!('*', INT: i8, i16, i32);
integers!('*', UINT: u8, u16);
integers!('p', UINT: usize);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Argument<'f'> for $type {
            const KIND: ArgKind = ArgKind::DOUBLE;
            type Captured<'a> = u64;
            #[inline(always)]
            fn capture(&self) -> u64 {
                f64::from(*self).to_bits()
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
            const KIND: ArgKind = ArgKind::BYTES;
            type Captured<'a> = Bytes;
            #[inline(always)]
            fn capture(&self) -> Bytes {
                Bytes::new(self.text())
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
    const KIND: ArgKind = ArgKind::BYTES;
    type Captured<'a> = Bytes;
    #[inline(always)]
    fn capture(&self) -> Bytes {
        Bytes::new(Some(self))
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
    const KIND: ArgKind = ArgKind::BYTES;
    type Captured<'a>
        = Bytes
    where
        Self: 'a;
    #[inline(always)]
    fn capture(&self) -> Bytes {
        Bytes::new(self.as_ref().and_then(T::text))
    }
}

impl<T: Text + ToOwned + ?Sized> Argument<'s'> for Cow<'_, T> {
    const KIND: ArgKind = ArgKind::BYTES;
    type Captured<'a>
        = Bytes
    where
        Self: 'a;
    #[inline(always)]
    fn capture(&self) -> Bytes {
        Bytes::new(self.text())
    }
}

macro_rules! through {
    ($($pointer:ty),*) => {$(
        impl<T: Argument<C> + ?Sized, const C: char> Argument<C> for $pointer {
            const KIND: ArgKind = T::KIND;
            type Captured<'a> = T::Captured<'a> where Self: 'a;
            #[inline(always)]
            fn capture(&self) -> Self::Captured<'_> {
                (**self).capture()
            }
        }
    )*};
}

through!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

macro_rules! pointers {
    ($conversion:literal: $($pointer:ty),*) => {$(
        impl<T> Argument<$conversion> for $pointer {
            const KIND: ArgKind = ArgKind::POINTER;
            type Captured<'a> = u64 where Self: 'a;
            #[inline(always)]
            fn capture(&self) -> u64 {
                self.cast::<u8>().addr() as u64
            }
        }
    )*};
}

pointers!('p': *const T, *mut T);
pointers!('n': *const T, *mut T);

/// Captures one argument.
#[inline(always)]
pub fn capture<const CONVERSION: char, T: Argument<CONVERSION>>(
    arg: &T,
) -> Passed<T::Captured<'_>> {
    Passed {
        captured: arg.capture(),
        kind: T::KIND,
    }
}

/// An argument on its way.
pub struct Passed<C> {
    captured: C,
    kind: ArgKind,
}

/// A call's arguments on their way: a tuple of [`Passed`].
pub trait Arguments {
    /// The same, as kinds and words.
    type Lowered: Lower;
    /// Lowers them; the result points into `self`.
    fn lower(&self) -> Self::Lowered;
}

/// Kinds and words of a call's arguments.
pub trait Lower {
    /// Where the kinds stand.
    fn kinds(&self) -> *const u8;
    /// Where the words stand.
    fn words(&self) -> *const u64;
}

/// [`Lower`] for `N` arguments.
pub struct Lowered<const N: usize> {
    kinds: [u8; N],
    words: [u64; N],
}

impl<const N: usize> Lower for Lowered<N> {
    #[inline(always)]
    fn kinds(&self) -> *const u8 {
        self.kinds.as_ptr()
    }

    #[inline(always)]
    fn words(&self) -> *const u64 {
        self.words.as_ptr()
    }
}

macro_rules! tuples {
    ($($name:ident)*) => { tuples!(@ [] $($name)*); };
    (@ [$($done:ident)*]) => { tuples!(@impl $($done)*); };
    (@ [$($done:ident)*] $next:ident $($rest:ident)*) => {
        tuples!(@impl $($done)*);
        tuples!(@ [$($done)* $next] $($rest)*);
    };
    (@impl $($name:ident)*) => {
        impl<$($name: Captured),*> Arguments for ($(Passed<$name>,)*) {
            type Lowered = Lowered<{ crate::__private::count(&[$(stringify!($name)),*]) }>;

            #[inline(always)]
            #[allow(non_snake_case, reason = "the types' names serve for their values")]
            fn lower(&self) -> Self::Lowered {
                let ($($name,)*) = self;
                Lowered {
                    kinds: [$($name.kind.0),*],
                    words: [$($name.captured.word()),*],
                }
            }
        }
    };
}

tuples!(
    A00 A01 A02 A03 A04 A05 A06 A07 A08 A09 A10 A11 A12 A13 A14 A15
    A16 A17 A18 A19 A20 A21 A22 A23 A24 A25 A26 A27 A28 A29 A30 A31
);
