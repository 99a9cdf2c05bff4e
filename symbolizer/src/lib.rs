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
//! has them: the caller escapes control characters when it prints them.
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

mod core_dump;
mod error;
mod find;
mod fingerprint;
mod image;
mod jit;
mod limits;
mod names;
mod open;
mod stack;
mod text;

pub use core_dump::images::CoreImages;
pub use core_dump::notes::{Death, MappedFile, Process, Thread};
pub use core_dump::{CoreDump, NotACore, ReadAt};
pub use error::{Error, Refusal};
#[cfg(feature = "debuginfod")]
pub use find::debuginfod::Debuginfod;
pub use find::fetch::{Artifact, Fetch};
pub use find::locator::{Locator, Options};
pub use fingerprint::{Digest, Fingerprint};
pub use image::call_site::{CallSite, CallSites, Literal};
pub use image::elf::Segment;
pub use image::placement::LogCall;
pub use image::{Image, Proof};
pub use jit::JitCode;
pub use limits::Limits;
pub use logdef_wire::Svma;
pub use names::address::AddressKind;
pub use names::demangle::demangle;
pub use names::{Source, StackFrame, Symbolized};
pub use stack::{Architecture, Memory, PlacedImage, Registers, StackAddress, walk};
pub use text::maps::MappedCode;
pub use text::markup::MarkupFilter;
pub use text::{FindImage, Loaded, TextFilter};
