//! What `logdef.h` promises to C and C++ programs.
//!
//! The header without the library, whose part is played by `tests/c/recorder.c`:
//! it compiles clean wherever it may stand ([`clean`]), its misuse is reported
//! where it happens ([`misuse`]), it does what it says ([`behaviour`]), its call
//! sites lie in their section ([`sites`]), and its layouts and numbers are those
//! of `logdef_wire` ([`abi`]).
//!
//! Compilers that are not installed are named and skipped, but for the system's
//! own. `LOGDEF_SLOW=1` tries every combination in place of a few.

mod abi;
mod behaviour;
mod clean;
mod compilers;
mod misuse;
mod sites;
