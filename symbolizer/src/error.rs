//! Why a file was not taken. One [`Refusal`] per candidate; [`Error`] is the line a person reads.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::fingerprint::{Digest, Hex};
use crate::text::printable::Printable;

/// No file could be used for the image that was asked for.
#[derive(Debug)]
pub struct Error {
    /// The image as the caller named it.
    pub wanted: PathBuf,
    /// The candidates that exist, and why each was refused, in the order they were tried. Empty if
    /// there was none.
    pub refused: Vec<(PathBuf, Refusal)>,
}

/// Why one file was refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// Neither a digest nor a build ID is known, so no file can be verified.
    NothingToMatch,
    /// There is no such file.
    NotFound,
    /// A directory, device, socket or pipe.
    NotRegular,
    /// Larger than [`Limits::file_size`](crate::Limits::file_size).
    TooLarge {
        /// Size of the file in bytes.
        size: u64,
    },
    /// A large file of which little was ever written.
    Holes {
        /// Size of the file in bytes.
        size: u64,
    },
    /// Files that the log names have been read up to
    /// [`Limits::total_size`](crate::Limits::total_size).
    TooMany {
        /// Size of the file in bytes.
        size: u64,
    },
    /// A symbolic link leads out of the directory that was searched.
    Outside,
    /// The operating system said no.
    Io(io::Error),
    /// Another file of the same name: the size differs.
    Size {
        /// Bytes in the file.
        found: u64,
        /// Bytes in the image that logged.
        wanted: u64,
    },
    /// Another file of the same name and size: the digest differs.
    Digest {
        /// The digest of the file.
        found: Digest,
        /// Of the image that logged.
        wanted: Digest,
    },
    /// Another build: the build ID differs, or there is none.
    BuildId {
        /// The build ID in the file, if it has one.
        found: Option<Vec<u8>>,
        /// In the image that logged.
        wanted: Vec<u8>,
    },
    /// The CRC-32 that `.gnu_debuglink` asks for differs.
    Crc {
        /// The checksum of the file.
        found: u32,
        /// The checksum in `.gnu_debuglink`.
        wanted: u32,
    },
    /// The file matches, but is no ELF file that can be read.
    NotElf(String),
    /// The file matches, but is a debug file: code and strings were taken out of it.
    OnlyDebug,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no image for {}", Shown(&self.wanted))?;
        if self.refused.is_empty() {
            return f.write_str(": no file of that name in the directories searched");
        }
        for (index, (path, refusal)) in self.refused.iter().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            write!(f, "{separator}{} {refusal}", Shown(path))?;
        }
        Ok(())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NothingToMatch => {
                f.write_str("cannot be verified, the log has neither a digest nor a build ID")
            }
            Refusal::NotFound => f.write_str("does not exist"),
            Refusal::NotRegular => f.write_str("is not a regular file"),
            Refusal::TooLarge { size } => write!(f, "is too large to read, {size} bytes"),
            Refusal::Holes { size } => write!(f, "has {size} bytes, nearly all of them a hole"),
            Refusal::TooMany { size } => {
                write!(f, "is not read, {size} bytes: too much was read already")
            }
            Refusal::Outside => f.write_str("leads out of the directory searched"),
            Refusal::Io(error) => write!(f, "cannot be read, {error}"),
            Refusal::Size { found, wanted } => {
                write!(f, "has {found} bytes, the image that logged has {wanted}")
            }
            Refusal::Digest { found, wanted } => {
                write!(f, "has digest {found}, the image that logged has {wanted}")
            }
            Refusal::BuildId {
                found: Some(found),
                wanted,
            } => write!(
                f,
                "has build ID {}, the image that logged has {}",
                Hex(found),
                Hex(wanted)
            ),
            Refusal::BuildId {
                found: None,
                wanted,
            } => write!(
                f,
                "has no build ID, the image that logged has {}",
                Hex(wanted)
            ),
            Refusal::Crc { found, wanted } => {
                write!(
                    f,
                    "has CRC {found:08x}, the debug link asks for {wanted:08x}"
                )
            }
            Refusal::NotElf(why) => write!(f, "is not a readable ELF file: {why}"),
            Refusal::OnlyDebug => f.write_str("has debug information only, no strings"),
        }
    }
}

/// A path that came out of a log or an image, made harmless for a terminal.
pub(crate) struct Shown<'a>(pub &'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(&self.0.to_string_lossy()).fmt(f)
    }
}
