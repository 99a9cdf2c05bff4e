//! What `logdef.h` and the library promise to C and C++ programs.
//!
//! The header without the library, whose part is played by `tests/c/recorder.c`:
//! it compiles clean wherever it may stand ([`clean`]), its misuse is reported
//! where it happens ([`misuse`]), it does what it says ([`behaviour`]), its call
//! sites lie in their section ([`sites`]), and its layouts and numbers are those
//! of `logdef_wire` ([`abi`]).
//!
//! The library as programs get it: installed by `install.sh` and found by
//! `pkg-config` ([`installed`]), exporting what it should ([`symbols`]), and
//! logging what programs pass ([`programs`], [`arguments`], [`formats`], [`key_values`], [`contexts`],
//! [`conversions`]), also beside
//! another copy of it in the process ([`copies`]), as filters say ([`filters`]), also
//! when the wall clock is set ([`clock`]), and wherever and however programs run
//! ([`wild`]), whatever rights they have ([`borrowed`]), and beside what else is in their processes ([`neighbours`]). The logs are
//! decoded by rmp-serde, which shares no code with the logger ([`decode`]).
//!
//! Compilers that are not installed are named and skipped, but for the system's
//! own. `LOGDEF_SLOW=1` tries every combination in place of a few.

mod abi;
mod arguments;
mod behaviour;
mod borrowed;
mod clean;
mod clock;
mod compilers;
mod contexts;
mod conversions;
mod copies;
#[path = "../../../../samples/src/copy.rs"]
mod copy;
mod decode;
mod filters;
mod formats;
mod installed;
mod key_values;
mod misuse;
mod neighbours;
mod programs;
mod sites;
mod symbols;
mod wild;
