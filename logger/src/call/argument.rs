//! What may be passed to `logdef!` for which conversion, and the words that
//! are made of it. The macro finds out the conversion of each argument when it
//! is compiled and asks for [`Argument`] of that conversion, so that a
//! mismatch is an error of types, seen by `cargo check`.

use crate::call::body::Bytes;
use crate::call::printed::Printing;
use core::ffi::CStr;
use core::marker::PhantomData;
use core::time::Duration;
use logdef_wire::site::ArgKind;
use std::borrow::Cow;
use std::ffi::{CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A type that is logged with its type, by what prints it.
///
/// Of printf's conversions `'d'` stands for those that print an
/// integer with its sign, `'u'` for those that print it without one, `'*'` for a width or precision, `'c'` for a character, `'f'` for a
/// floating point number, `'s'` for a string, `'p'` for a pointer and `'n'` for
/// the place that `%n` would write to, were it not inert. Of placeholders `'{'` stands for `{}`,
/// `'.'` for `{:.3}`, `'?'` for `{:?}`, `'x'` for `{:x}`, `{:o}` and `{:b}`, `'e'` for `{:e}`,
/// `'p'` for `{:p}`, `'$'` for a width or precision and `'M'` for several of them; `'='` stands
/// for `key = value`.
///
/// It cannot be implemented for other types: these implement [`Loggable`](crate::Loggable).
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not fit {CONVERSION} of the format",
    label = "this is a `{Self}`",
    note = "integers, `bool` and `char` fit %d %i %u %x %X %o %b %B; integers and `char` fit %c; `f32` and `f64` fit %f %e %g %a; \
            pointers fit %p; text, bytes, paths and `Option` of them fit %s; a * takes an `i32` or less",
    note = "a value of another type is logged as text: write `{{}}` or `{{:?}}` in the format, or pass `logdef::display(&value)` or `logdef::debug(&value)` for %s",
    note = "integers fit {{:x}}, {{:o}}, {{:b}} and {{:e}}; `f64` fits {{:e}}; pointers fit {{:p}}; a width or precision in braces ($) is a `usize`; \
            what several placeholders print in different ways (M) is a `u8` to `u128`, `usize` or `bool`: pass others once for each way"
)]
pub trait Argument<const CONVERSION: char> {
    /// Its kind, and the word that the record is made of.
    fn capture(&self) -> Passed<'_>;
}

/// An argument on its way, which borrows from the caller's until the call is over.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    kind: ArgKind,
    word: u64,
    /// What the word points to, for [`ArgKind::BYTES`].
    bytes: Bytes,
    /// What the word points to, for [`Printing::TEXT`] and [`Printing::WHOLE`].
    printing: Option<Printing<'a>>,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> Passed<'a> {
    /// A word of some kind, as the logger reads it.
    #[inline(always)]
    pub(crate) fn word(kind: ArgKind, word: u64) -> Self {
        Passed {
            kind,
            word,
            bytes: Bytes::new(None),
            printing: None,
            borrowed: PhantomData,
        }
    }

    /// What the program prints, straight into the record.
    #[inline(always)]
    pub(crate) fn printed(kind: ArgKind, printing: Printing<'a>) -> Self {
        Passed {
            printing: Some(printing),
            ..Passed::word(kind, 0)
        }
    }

    /// The word that stands for it while it stays where it is.
    #[inline(always)]
    fn lowered(&self) -> u64 {
        match self.kind {
            ArgKind::BYTES => core::ptr::from_ref(&self.bytes) as u64,
            Printing::TEXT | Printing::WHOLE => match &self.printing {
                Some(printing) => core::ptr::from_ref(printing) as u64,
                None => 0,
            },
            _ => self.word,
        }
    }

    /// Bytes of its text, 0 for a number; `None` if it is still to be printed.
    pub(crate) fn text_len(&self) -> Option<usize> {
        match self.kind {
            ArgKind::BYTES => Some(self.bytes.len()),
            Printing::TEXT | Printing::WHOLE => None,
            _ => Some(0),
        }
    }

    /// No value.
    #[inline(always)]
    pub(crate) fn none() -> Self {
        Passed::bytes(None)
    }

    /// A text, or no value.
    #[inline(always)]
    pub(crate) fn bytes(bytes: Option<&'a [u8]>) -> Self {
        Passed {
            kind: ArgKind::BYTES,
            word: 0,
            bytes: Bytes::new(bytes),
            printing: None,
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
        Lowered {
            kinds: passed.each_ref().map(|passed| passed.kind.0),
            words: passed.each_ref().map(Passed::lowered),
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

/// Kinds and words of up to `N` arguments; those that are missing are no value.
#[derive(Debug)]
pub struct LoweredSome<const N: usize> {
    kinds: [u8; N],
    words: [u64; N],
}

impl<const N: usize> LoweredSome<N> {
    /// Of arguments that stay where they are meanwhile.
    #[inline(always)]
    pub fn of<'a, 'p: 'a>(passed: impl Iterator<Item = &'a Passed<'p>>) -> Self {
        let mut lowered = LoweredSome {
            kinds: [ArgKind::CSTR.0; N],
            words: [0; N],
        };
        let places = lowered.kinds.iter_mut().zip(&mut lowered.words);
        for (passed, (kind, word)) in passed.zip(places) {
            (*kind, *word) = (passed.kind.0, passed.lowered());
        }
        lowered
    }

    #[inline(always)]
    pub fn set(&mut self, index: usize, word: u64) {
        self.words[index] = word;
    }

    /// Where the kinds stand.
    #[inline(always)]
    pub fn kinds(&self) -> *const u8 {
        self.kinds.as_ptr()
    }

    /// Where the words stand.
    #[inline(always)]
    pub fn words(&self) -> *const u64 {
        self.words.as_ptr()
    }
}

macro_rules! integers {
    ($conversion:literal, $kind:ident: $($type:ty $(as $through:ty)?),*) => {$(
        #[diagnostic::do_not_recommend]
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

macro_rules! values {
    ($($kind:ident $($class:literal)*: $($type:ty),*;)*) => {$(
        values! { @ $kind [$($class)*] [$($type),*] }
    )*};
    (@ $kind:ident [$($class:literal)*] $types:tt) => {$(
        integers_of! { $class $kind $types }
    )*};
}

macro_rules! integers_of {
    ($class:literal $kind:ident [$($type:ty),*]) => {
        integers!($class, $kind: $($type),*);
    };
}

values! {
    INT '{' '.' '?' 'e' '=': i8, i16, i32, i64, isize;
    UINT '{' '.' '?' 'e' '=' 'M' 'x': u8, u16, u32, u64, usize;
    BOOL '{' '.' '?' '=' 'M': bool;
    CHAR '{' '.' '=': char;
}
// As for printf's conversions that print no sign.
integers!('x', UINT: i8 as u8, i16 as u16, i32 as u32, i64 as u64, isize as usize);
integers!('$', UINT: usize);

macro_rules! wide_integers {
    ($($class:literal)*: $($type:ty => $small:ty, $kind:ident, $large:ident);*) => {
        wide_integers! { @ [$($class)*] [$($type => $small, $kind, $large);*] }
    };
    (@ [$($class:literal)*] $types:tt) => {$(
        wide_integers! { @ $class $types }
    )*};
    (@ $class:literal [$($type:ty => $small:ty, $kind:ident, $large:ident);*]) => {$(
        #[diagnostic::do_not_recommend]
        impl Argument<$class> for $type {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                match <$small>::try_from(*self) {
                    Ok(small) => Passed::word(ArgKind::$kind, small as u64),
                    Err(_) => Passed::word(ArgKind::$large, core::ptr::from_ref(self) as u64),
                }
            }
        }
    )*};
}

wide_integers! {
    '{' '.' '?' '=': i128 => i64, INT, INT128; u128 => u64, UINT, UINT128
}
wide_integers! { 'x' 'M': u128 => u64, UINT, UINT128 }

macro_rules! non_zero {
    ($($type:ident $kind:ident),*) => {$(
        non_zero! { @ $type $kind '{' '.' '?' '=' }
    )*};
    (@ $type:ident $kind:ident $($class:literal)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Argument<$class> for core::num::$type {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                Passed::word(ArgKind::$kind, self.get() as u64)
            }
        }
    )*};
}

non_zero! {
    NonZeroI8 INT, NonZeroI16 INT, NonZeroI32 INT, NonZeroI64 INT, NonZeroIsize INT,
    NonZeroU8 UINT, NonZeroU16 UINT, NonZeroU32 UINT, NonZeroU64 UINT, NonZeroUsize UINT
}

macro_rules! floats {
    ($($class:literal: $($type:ty),*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl Argument<$class> for $type {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                Passed::word(ArgKind::DOUBLE, f64::from(*self).to_bits())
            }
        }
    )*)*};
}

// The shortest digits that name an `f32` are others for the same `f64`: without a precision
// the program prints it.
floats! {
    'f': f32, f64;
    '.': f32, f64;
    '=': f32, f64;
    '{': f64;
    '?': f64;
    'e': f64;
}

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
        strings!(@ $type, 's' '{' '.' '=');
    )*};
    (@ $type:ty, $($class:literal)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Argument<$class> for $type {
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

#[diagnostic::do_not_recommend]
impl<const N: usize> Argument<'s'> for [u8; N] {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        Passed::bytes(Some(self))
    }
}

macro_rules! texts_through {
    ($($pointer:ty),*) => {$(
        impl<T: Text + ?Sized> Text for $pointer {
            #[inline(always)]
            fn text(&self) -> Option<&[u8]> {
                (**self).text()
            }
        }
    )*};
}

texts_through!(&T, Box<T>, Rc<T>, Arc<T>);

impl<T: Text + ToOwned + ?Sized> Text for Cow<'_, T> {
    #[inline(always)]
    fn text(&self) -> Option<&[u8]> {
        (**self).text()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Text> Argument<'s'> for Option<T> {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        Passed::bytes(self.as_ref().and_then(T::text))
    }
}

macro_rules! borrowed_or_owned {
    ($($class:literal)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Text + ToOwned + ?Sized> Argument<$class> for Cow<'_, T> {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                Passed::bytes(self.text())
            }
        }
    )*};
}

borrowed_or_owned!('s' '{' '.' '=');

macro_rules! optional {
    ($($class:literal)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Argument<$class>> Argument<$class> for Option<T> {
            #[inline(always)]
            fn capture(&self) -> Passed<'_> {
                match self {
                    Some(value) => value.capture(),
                    None => Passed::none(),
                }
            }
        }
    )*};
}

optional!('{' '.' '=');

/// The value of a key has no format that could ask for `{:?}`, and a `Duration` prints itself by no
/// other.
#[diagnostic::do_not_recommend]
impl Argument<'='> for Duration {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        Passed::debug(self)
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
        #[diagnostic::do_not_recommend]
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
