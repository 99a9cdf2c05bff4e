//! Text as `printf` would have printed it: formats compiled once per call site,
//! then rendered over the typed arguments of a record.
//!
//! The text equals that of glibc's `printf` in the C locale, byte for byte; wide
//! characters come out as UTF-8. It is computed here from the bytes of the record
//! and never by a C library, so neither the machine that reads nor a hostile file
//! has a say in it: any format with any arguments gives some text, in time and
//! memory proportional to the record.
//!
//! # Marks
//!
//! Where `printf` has no text, a mark stands in brackets that begin with `%!`, the
//! way Go's `fmt` does it:
//!
//! | mark | meaning |
//! |---|---|
//! | `%!d(missing)` | the record has no argument for this directive |
//! | `%!d(raw=abc)` | the argument is of another type than the directive takes |
//! | `%!(width 70000)`, `%!(precision 70000)` | cut down to [`MAX_COUNT`] |
//! | `%!(width missing)`, `%!(width raw=abc)` | the `*` is not an integer |
//! | `%!(cut)` | the record's text is longer than it may be; the rest is left out |
//!
//! # Where glibc has it otherwise
//!
//! Besides the marks, only what no C standard defines: a directive that the format's
//! end cuts off stands as it is, where glibc gives up the whole text; `%Ls` and the
//! like take the type without the modifier; `%1$Ld` is `%Ld` and not `%d`; a `0` flag
//! with a negative width never pads on the right.
//!
//! # Templates
//!
//! A format whose description says that it is one of Rust's braces prints as `format!`
//! does, and one of C++'s braces as `std::format`. `%!{x}(missing)` stands where the record has no such value.
//!
//! # Bounds
//!
//! Widths, and precisions of numbers, are cut at [`MAX_COUNT`]. The text of one
//! record is bounded by the length of its format, plus [`MAX_USES`] times that of the
//! strings among its arguments (a format may print one string several times), plus
//! [`MAX_TEXT`]. A `long double` so far from 1 that it takes thousands of digits to
//! print it counts as [`MAX_COUNT`] bytes of text.

mod big;
mod braces;
mod compiled;
mod decimal;
mod errno;
mod float;
mod hexadecimal;
mod integer;
mod long_double;
mod misplaced;
mod padding;
mod parts;
mod shortcut;
mod std_format;
mod text;

pub use compiled::CompiledFormat;
pub use errno::{errno_name, errno_text};
pub use parts::{Part, Prints};

/// The largest width, and the largest precision of a number, that is printed.
pub const MAX_COUNT: usize = 4096;

/// How many bytes the text of one record may have beyond those of its format and
/// of its strings.
pub const MAX_TEXT: usize = 1 << 16;

/// How often the strings of a record may be printed in full.
pub const MAX_USES: usize = 16;
