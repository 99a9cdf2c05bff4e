//! The text of a record equals what the C library's `snprintf` writes for the same
//! call: over a grid of conversion, flags, width, precision, length and edge value,
//! and over random formats. `LOGDEF_SLOW=1` makes it a million random ones.
//!
//! One function calls `snprintf` with any list of arguments, by the way that the
//! System V ABI of x86_64 passes them: so that is where this test runs. What it
//! leaves out, because there is nothing of glibc's to compare with:
//!
//! - formats for which `snprintf` returns -1: a directive cut off by the format's
//!   end, a width beyond `INT_MAX`, a wide character that is no character;
//! - `%1$`, cut off too, where glibc prints half of it; `%1$Ld` and `%1$qd`, which
//!   glibc takes for `%1$d`, unlike `%Ld` and `%qd`;
//! - a `0` flag with a negative `*` beside numbered arguments or unknown conversions,
//!   where glibc pads on the right with zeros (`%2$0*1$.1f` of -5 and 2.5 gives `2.500`);
//! - x87's pseudo-denormals, which no operation gives and of which glibc prints one
//!   value in decimal and another in hexadecimal;
//! - widths and precisions above `MAX_COUNT`, where a mark takes the place of
//!   thousands of blanks;
//! - length modifiers that C defines for another kind of conversion (`%hs`, `%Lc`),
//!   with which glibc reads another type than the table says;
//! - `%w8d` to `%wf64d`, which glibc knows from 2.38 on: compared with the `%hhd` to
//!   `%ld` that they mean on Linux;
//! - wide characters outside ASCII in the C locale, whose text is an error there:
//!   compared in `C.UTF-8`, which differs in nothing else.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

mod args;
mod doubles;
mod grid;
mod integers;
mod long_doubles;
mod random;
mod text;
