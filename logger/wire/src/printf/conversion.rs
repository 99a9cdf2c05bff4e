//! The conversion table: which letters and length modifiers exist, and what a
//! caller passes for each. It knows neither how a directive is spelled (that is
//! `directive`) nor how a value is printed.

use core::fmt;

/// The letter that ends a directive, such as the `d` of `%-5d`.
///
/// An open enum: a letter that no C library knows is kept as it stands, since
/// `printf` prints it back.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Conversion(pub u8);

impl Conversion {
    /// `%%`, which takes no argument.
    pub const PERCENT: Self = Self(b'%');
    /// `%m`, the text of `errno`.
    pub const ERRNO: Self = Self(b'm');

    /// The row of [`TABLE`] for this letter; none if no C library knows it.
    pub const fn row(self) -> Option<&'static Row> {
        let mut i = 0;
        while i < TABLE.len() {
            if TABLE[i].conversion.0 == self.0 {
                return Some(&TABLE[i]);
            }
            i += 1;
        }
        None
    }

    /// What this conversion takes with the length modifier `length`.
    ///
    /// A modifier that means nothing here (`%hs`, `%zf`) is ignored, so that such
    /// a format reads no other type than the one that every C library agrees on.
    /// None for `%%` and for unknown letters, which take nothing.
    pub const fn form(self, length: Length) -> Option<&'static Form> {
        let Some(row) = self.row() else { return None };
        let mut i = 0;
        while i < row.forms.len() {
            if row.forms[i].length as u8 == length as u8 {
                return Some(&row.forms[i]);
            }
            i += 1;
        }
        row.forms.first()
    }

    /// Whether the C standard or glibc's manual gives this conversion a meaning
    /// with the length modifier `length`.
    pub const fn accepts(self, length: Length) -> bool {
        match self.form(length) {
            Some(form) => form.length as u8 == length as u8,
            None => matches!(length, Length::None),
        }
    }
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0.escape_ascii())
    }
}

/// What a directive says of its argument's width: `hh` to `L`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum Length {
    /// No letter stands there: the type that the conversion has by itself.
    None,
    /// `hh`: a `char` passed as `int`.
    Char,
    /// `h`: a `short` passed as `int`.
    Short,
    /// `l`
    Long,
    /// `ll`
    LongLong,
    /// `q`, BSD's and glibc's `ll`.
    Quad,
    /// `L`: `long double`; with an integer, glibc's `ll`.
    LongDouble,
    /// `j`: `intmax_t`
    IntMax,
    /// `z`: `size_t`
    Size,
    /// `Z`, an old spelling of `z` in glibc.
    OldSize,
    /// `t`: `ptrdiff_t`
    Ptrdiff,
    /// `w8`: `int8_t`
    W8,
    /// `w16`: `int16_t`
    W16,
    /// `w32`: `int32_t`
    W32,
    /// `w64`: `int64_t`
    W64,
    /// `wf8`: `int_fast8_t`
    Wf8,
    /// `wf16`: `int_fast16_t`
    Wf16,
    /// `wf32`: `int_fast32_t`
    Wf32,
    /// `wf64`: `int_fast64_t`
    Wf64,
}

impl Length {
    /// The modifier as it is written in a format.
    pub const fn spelling(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Char => "hh",
            Self::Short => "h",
            Self::Long => "l",
            Self::LongLong => "ll",
            Self::Quad => "q",
            Self::LongDouble => "L",
            Self::IntMax => "j",
            Self::Size => "z",
            Self::OldSize => "Z",
            Self::Ptrdiff => "t",
            Self::W8 => "w8",
            Self::W16 => "w16",
            Self::W32 => "w32",
            Self::W64 => "w64",
            Self::Wf8 => "wf8",
            Self::Wf16 => "wf16",
            Self::Wf32 => "wf32",
            Self::Wf64 => "wf64",
        }
    }
}

/// The forms of a conversion, one per length modifier that it takes.
pub type Lengths = &'static [Form];

/// What goes on the wire for one argument, and as which msgpack object.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum Class {
    /// A `*` width or precision: an integer with its sign.
    Star,
    /// An integer with its true sign, after the default promotions.
    Int,
    /// A character of `%c`: an integer.
    Char,
    /// A character of `%lc` or `%C`: an integer.
    WideChar,
    /// A `double`: float64.
    Float,
    /// A `long double`: its bytes, little-endian, as a raw; 10 of them are an x87
    /// extended, 16 a binary128.
    LongDouble,
    /// A string of bytes, cut at the directive's precision: a raw; nil for a null
    /// pointer.
    Str,
    /// A wide string: a raw of UTF-8, cut at the precision, which counts bytes; nil
    /// for a null pointer.
    WideStr,
    /// A pointer: an unsigned integer.
    Pointer,
    /// The pointer of a `%n`: taken, never written through, nil on the wire.
    Written,
    /// The `errno` of a `%m`, as it is at the call: an integer. The caller passes
    /// no argument for it.
    Errno,
}

impl Class {
    /// The name used in the printed table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::Int => "int",
            Self::Char => "char",
            Self::WideChar => "wide-char",
            Self::Float => "float",
            Self::LongDouble => "long-double",
            Self::Str => "str",
            Self::WideStr => "wide-str",
            Self::Pointer => "pointer",
            Self::Written => "written",
            Self::Errno => "errno",
        }
    }
}

/// The C type that a caller passes, default promotions applied: what `va_arg` is
/// asked for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum CType {
    /// Nothing is passed (`%m`).
    None,
    /// `int`
    Int,
    /// `unsigned int`
    Unsigned,
    /// `long`
    Long,
    /// `unsigned long`
    UnsignedLong,
    /// `long long`
    LongLong,
    /// `unsigned long long`
    UnsignedLongLong,
    /// `intmax_t`
    IntMax,
    /// `uintmax_t`
    UintMax,
    /// The signed type of `size_t`'s width, which C does not name (`ssize_t`).
    SignedSize,
    /// `size_t`
    Size,
    /// `ptrdiff_t`
    Ptrdiff,
    /// The unsigned type of `ptrdiff_t`'s width, which C does not name.
    UnsignedPtrdiff,
    /// `int32_t`
    Int32,
    /// `uint32_t`
    Uint32,
    /// `int64_t`
    Int64,
    /// `uint64_t`
    Uint64,
    /// `int_fast16_t`
    IntFast16,
    /// `uint_fast16_t`
    UintFast16,
    /// `int_fast32_t`
    IntFast32,
    /// `uint_fast32_t`
    UintFast32,
    /// `int_fast64_t`
    IntFast64,
    /// `uint_fast64_t`
    UintFast64,
    /// `wint_t`
    WideInt,
    /// `double`
    Double,
    /// `long double`
    LongDouble,
    /// `char *`
    CharPointer,
    /// `wchar_t *`
    WideCharPointer,
    /// `void *`
    VoidPointer,
}

impl CType {
    /// The type as it is written in C; empty for [`CType::None`].
    pub const fn spelling(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Int => "int",
            Self::Unsigned => "unsigned int",
            Self::Long => "long",
            Self::UnsignedLong => "unsigned long",
            Self::LongLong => "long long",
            Self::UnsignedLongLong => "unsigned long long",
            Self::IntMax => "intmax_t",
            Self::UintMax => "uintmax_t",
            Self::SignedSize => "ssize_t",
            Self::Size => "size_t",
            Self::Ptrdiff => "ptrdiff_t",
            Self::UnsignedPtrdiff => "unsigned ptrdiff_t",
            Self::Int32 => "int32_t",
            Self::Uint32 => "uint32_t",
            Self::Int64 => "int64_t",
            Self::Uint64 => "uint64_t",
            Self::IntFast16 => "int_fast16_t",
            Self::UintFast16 => "uint_fast16_t",
            Self::IntFast32 => "int_fast32_t",
            Self::UintFast32 => "uint_fast32_t",
            Self::IntFast64 => "int_fast64_t",
            Self::UintFast64 => "uint_fast64_t",
            Self::WideInt => "wint_t",
            Self::Double => "double",
            Self::LongDouble => "long double",
            Self::CharPointer => "char *",
            Self::WideCharPointer => "wchar_t *",
            Self::VoidPointer => "void *",
        }
    }

    /// This type, or for an unsigned integer the signed one of its width. Both may
    /// be passed for one argument, in C as here.
    pub const fn signed(self) -> Self {
        match self {
            Self::Unsigned => Self::Int,
            Self::UnsignedLong => Self::Long,
            Self::UnsignedLongLong => Self::LongLong,
            Self::UintMax => Self::IntMax,
            Self::Size => Self::SignedSize,
            Self::UnsignedPtrdiff => Self::Ptrdiff,
            Self::Uint32 => Self::Int32,
            Self::Uint64 => Self::Int64,
            Self::UintFast16 => Self::IntFast16,
            Self::UintFast32 => Self::IntFast32,
            Self::UintFast64 => Self::IntFast64,
            other => other,
        }
    }
}

/// A conversion with one length modifier: what the caller passes, what is logged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Form {
    /// The length modifier.
    pub length: Length,
    /// What goes on the wire.
    pub class: Class,
    /// What the caller passes.
    pub c_type: CType,
}

/// One conversion of the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row {
    /// The conversion's letter.
    pub conversion: Conversion,
    /// Its forms; the first one, without a modifier, also stands for modifiers
    /// that mean nothing here. Empty for `%%`.
    pub forms: Lengths,
}

/// One line per form: the directive, the class, the C type.
///
/// ```
/// use logdef_wire::printf::Conversion;
/// let text = Conversion(b'f').row().unwrap().to_string();
/// assert!(text.starts_with("%f\tfloat\tdouble\n%lf\tfloat\tdouble\n%Lf\tlong-double\tlong double\n"));
/// ```
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for form in self.forms {
            writeln!(
                f,
                "%{}{}\t{}\t{}",
                form.length.spelling(),
                char::from(self.conversion.0),
                form.class.name(),
                form.c_type.spelling()
            )?;
        }
        Ok(())
    }
}

/// Every conversion of C23 and glibc.
pub const TABLE: [Row; 24] = [
    row(b'd', SIGNED),
    row(b'i', SIGNED),
    row(b'u', UNSIGNED),
    row(b'x', UNSIGNED),
    row(b'X', UNSIGNED),
    row(b'o', UNSIGNED),
    row(b'b', UNSIGNED),
    row(b'B', UNSIGNED),
    row(b's', STRING),
    row(
        b'S',
        &[
            form(Length::None, Class::WideStr, CType::WideCharPointer),
            form(Length::Long, Class::WideStr, CType::WideCharPointer),
        ],
    ),
    row(b'c', CHARACTER),
    row(
        b'C',
        &[
            form(Length::None, Class::WideChar, CType::WideInt),
            form(Length::Long, Class::WideChar, CType::WideInt),
        ],
    ),
    row(b'f', FLOAT),
    row(b'F', FLOAT),
    row(b'e', FLOAT),
    row(b'E', FLOAT),
    row(b'g', FLOAT),
    row(b'G', FLOAT),
    row(b'a', FLOAT),
    row(b'A', FLOAT),
    row(
        b'p',
        &[form(Length::None, Class::Pointer, CType::VoidPointer)],
    ),
    row(b'n', WRITTEN),
    row(b'm', &[form(Length::None, Class::Errno, CType::None)]),
    row(b'%', &[]),
];

const SIGNED: Lengths = &[
    form(Length::None, Class::Int, CType::Int),
    form(Length::Char, Class::Int, CType::Int),
    form(Length::Short, Class::Int, CType::Int),
    form(Length::Long, Class::Int, CType::Long),
    form(Length::LongLong, Class::Int, CType::LongLong),
    form(Length::Quad, Class::Int, CType::LongLong),
    form(Length::LongDouble, Class::Int, CType::LongLong),
    form(Length::IntMax, Class::Int, CType::IntMax),
    form(Length::Size, Class::Int, CType::SignedSize),
    form(Length::OldSize, Class::Int, CType::SignedSize),
    form(Length::Ptrdiff, Class::Int, CType::Ptrdiff),
    form(Length::W8, Class::Int, CType::Int),
    form(Length::W16, Class::Int, CType::Int),
    form(Length::W32, Class::Int, CType::Int32),
    form(Length::W64, Class::Int, CType::Int64),
    form(Length::Wf8, Class::Int, CType::Int),
    form(Length::Wf16, Class::Int, CType::IntFast16),
    form(Length::Wf32, Class::Int, CType::IntFast32),
    form(Length::Wf64, Class::Int, CType::IntFast64),
];

const UNSIGNED: Lengths = &[
    form(Length::None, Class::Int, CType::Unsigned),
    form(Length::Char, Class::Int, CType::Int),
    form(Length::Short, Class::Int, CType::Int),
    form(Length::Long, Class::Int, CType::UnsignedLong),
    form(Length::LongLong, Class::Int, CType::UnsignedLongLong),
    form(Length::Quad, Class::Int, CType::UnsignedLongLong),
    form(Length::LongDouble, Class::Int, CType::UnsignedLongLong),
    form(Length::IntMax, Class::Int, CType::UintMax),
    form(Length::Size, Class::Int, CType::Size),
    form(Length::OldSize, Class::Int, CType::Size),
    form(Length::Ptrdiff, Class::Int, CType::UnsignedPtrdiff),
    form(Length::W8, Class::Int, CType::Int),
    form(Length::W16, Class::Int, CType::Int),
    form(Length::W32, Class::Int, CType::Uint32),
    form(Length::W64, Class::Int, CType::Uint64),
    form(Length::Wf8, Class::Int, CType::Int),
    form(Length::Wf16, Class::Int, CType::UintFast16),
    form(Length::Wf32, Class::Int, CType::UintFast32),
    form(Length::Wf64, Class::Int, CType::UintFast64),
];

// glibc reads `ll` and `q` before a floating point conversion as `L`.
const FLOAT: Lengths = &[
    form(Length::None, Class::Float, CType::Double),
    form(Length::Long, Class::Float, CType::Double),
    form(Length::LongDouble, Class::LongDouble, CType::LongDouble),
    form(Length::LongLong, Class::LongDouble, CType::LongDouble),
    form(Length::Quad, Class::LongDouble, CType::LongDouble),
];

const CHARACTER: Lengths = &[
    form(Length::None, Class::Char, CType::Int),
    form(Length::Long, Class::WideChar, CType::WideInt),
];

const STRING: Lengths = &[
    form(Length::None, Class::Str, CType::CharPointer),
    form(Length::Long, Class::WideStr, CType::WideCharPointer),
];

// The type pointed to follows the modifier; the pointer is never dereferenced.
const WRITTEN: Lengths = &[
    form(Length::None, Class::Written, CType::VoidPointer),
    form(Length::Char, Class::Written, CType::VoidPointer),
    form(Length::Short, Class::Written, CType::VoidPointer),
    form(Length::Long, Class::Written, CType::VoidPointer),
    form(Length::LongLong, Class::Written, CType::VoidPointer),
    form(Length::Quad, Class::Written, CType::VoidPointer),
    form(Length::LongDouble, Class::Written, CType::VoidPointer),
    form(Length::IntMax, Class::Written, CType::VoidPointer),
    form(Length::Size, Class::Written, CType::VoidPointer),
    form(Length::OldSize, Class::Written, CType::VoidPointer),
    form(Length::Ptrdiff, Class::Written, CType::VoidPointer),
    form(Length::W8, Class::Written, CType::VoidPointer),
    form(Length::W16, Class::Written, CType::VoidPointer),
    form(Length::W32, Class::Written, CType::VoidPointer),
    form(Length::W64, Class::Written, CType::VoidPointer),
    form(Length::Wf8, Class::Written, CType::VoidPointer),
    form(Length::Wf16, Class::Written, CType::VoidPointer),
    form(Length::Wf32, Class::Written, CType::VoidPointer),
    form(Length::Wf64, Class::Written, CType::VoidPointer),
];

const fn row(letter: u8, forms: Lengths) -> Row {
    Row {
        conversion: Conversion(letter),
        forms,
    }
}

const fn form(length: Length, class: Class, c_type: CType) -> Form {
    Form {
        length,
        class,
        c_type,
    }
}
