//! Names, lines and strings for the addresses in a log, found afterwards.
//!
//! A log holds addresses: of format strings, of file names, of return addresses. This crate finds
//! the executable images and debug files they belong to and turns them back into text:
//!
//! - [`Locator`] finds a file. What the log says about an image is a [`Fingerprint`]; a file is
//!   accepted only if its size and digest, or its build ID, are the ones wanted.
//! - [`Image`] answers questions about one image: its log calls, the string at a link-time address,
//!   the chain of (inlined) functions at a code address.
//! - [`MarkupFilter`] and [`TextFilter`] do so for text of other origin: Fuchsia's symbolizer
//!   markup, and lines with raw addresses.
//!
//! Addresses are *SVMAs* throughout: stated virtual memory addresses, as the linker wrote them into
//! the file. The address in a process (AVMA) is the SVMA plus the image's load bias.
//!
//! Every file is presumed hostile. Whatever its bytes, no call panics, hangs or takes memory out of
//! proportion to the file; [`Limits`] says where the lines are drawn. Strings come back as the file
//! has them: whoever prints them escapes control characters.
//!
//! ```no_run
//! use logdef_symbolizer::{AddressKind, Fingerprint, Locator, Options, Svma};
//!
//! let locator = Locator::new(Options {
//!     image_dirs: vec!["builds".into()],
//!     ..Options::default()
//! });
//! let wanted = Fingerprint {
//!     build_id: Some(vec![0x12, 0x34, 0x56]),
//!     ..Fingerprint::default()
//! };
//! let image = locator.for_symbols(b"/usr/bin/server", &wanted)?;
//! for frame in image.symbolize(Svma(0x1234), AddressKind::ReturnAddress).frames() {
//!     println!("{:?} {:?}:{:?}", frame.function, frame.file, frame.line);
//! }
//! # Ok::<(), logdef_symbolizer::Error>(())
//! ```

#![forbid(unsafe_code)]

mod address;
mod call_site;
mod contain;
mod debug_files;
#[cfg(feature = "debuginfod")]
mod debuginfod;
mod demangle;
mod dwarf;
mod elf;
mod error;
mod fetch;
mod fingerprint;
mod image;
mod limits;
mod locator;
mod maps;
mod markup;
mod meter;
mod mini_debug_info;
mod names;
mod open;
mod placement;
mod pointers;
mod printable;
mod symbols;
mod text;

pub use address::AddressKind;
pub use call_site::{CallSite, CallSites, Literal};
#[cfg(feature = "debuginfod")]
pub use debuginfod::Debuginfod;
pub use demangle::demangle;
pub use elf::Segment;
pub use error::{Error, Refusal};
pub use fetch::{Artifact, Fetch};
pub use fingerprint::{Digest, Fingerprint};
pub use image::{Image, Proof};
pub use limits::Limits;
pub use locator::{Locator, Options};
pub use logdef_wire::Svma;
pub use maps::MappedCode;
pub use markup::MarkupFilter;
pub use names::{Source, StackFrame, Symbolized};
pub use placement::LogCall;
pub use text::{FindImage, Loaded, TextFilter};
