//! What a log says about an image file, and how a file at hand is compared with it. Nothing here
//! looks inside a file: digests are taken over its bytes.

use std::fmt;

use md5::Md5;
use sha1::{Digest as _, Sha1};

/// What the log says about a wanted image. Fields that are `None` were not in the log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fingerprint {
    /// Size of the file in bytes.
    pub size: Option<u64>,
    /// Digest of the whole file.
    pub digest: Option<Digest>,
    /// The GNU build ID, usually 20 bytes.
    pub build_id: Option<Vec<u8>>,
}

/// The digest of a whole file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Digest {
    /// SHA-1, which the logger writes.
    Sha1([u8; 20]),
    /// MD5, which readers accept.
    Md5([u8; 16]),
}

impl Digest {
    /// A digest as it stands in a preamble: 20 bytes are SHA-1, 16 are MD5, other lengths nothing.
    pub fn from_slice(bytes: &[u8]) -> Option<Digest> {
        if let Ok(sha1) = bytes.try_into() {
            Some(Digest::Sha1(sha1))
        } else {
            bytes.try_into().ok().map(Digest::Md5)
        }
    }

    /// The SHA-1 digest of `bytes`.
    pub fn sha1(bytes: &[u8]) -> Digest {
        Digest::Sha1(Sha1::digest(bytes).into())
    }

    /// The digest of `bytes` by the same algorithm as `self`.
    pub fn same_of(&self, bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::like(*self);
        hasher.add(bytes);
        hasher.digest()
    }

    /// The bytes, as `sha1sum` or `md5sum` would print them.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Digest::Sha1(bytes) => bytes,
            Digest::Md5(bytes) => bytes,
        }
    }
}

/// A digest that is taken of a file in pieces.
pub(crate) enum Hasher {
    Sha1(Sha1),
    Md5(Md5),
}

impl Hasher {
    /// By the same algorithm as `digest`.
    pub fn like(digest: Digest) -> Hasher {
        match digest {
            Digest::Sha1(_) => Hasher::Sha1(Sha1::new()),
            Digest::Md5(_) => Hasher::Md5(Md5::new()),
        }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha1(hasher) => hasher.update(bytes),
            Hasher::Md5(hasher) => hasher.update(bytes),
        }
    }

    pub fn digest(self) -> Digest {
        match self {
            Hasher::Sha1(hasher) => Digest::Sha1(hasher.finalize().into()),
            Hasher::Md5(hasher) => Digest::Md5(hasher.finalize().into()),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(self.as_bytes()).fmt(f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Digest::Sha1(_) => write!(f, "Sha1({self})"),
            Digest::Md5(_) => write!(f, "Md5({self})"),
        }
    }
}

/// Bytes as lowercase hexadecimal digits.
pub(crate) struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The digests of "abc" from RFC 3174, section 7.3, and RFC 1321, appendix A.5.
    const SHA1_ABC: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const MD5_ABC: &str = "900150983cd24fb0d6963f7d28e17f72";

    #[test]
    fn digests_are_those_of_the_standards() {
        assert_eq!(Digest::sha1(b"abc").to_string(), SHA1_ABC);
        assert_eq!(Digest::Md5([0; 16]).same_of(b"abc").to_string(), MD5_ABC);
        assert_eq!(Digest::Sha1([0; 20]).same_of(b"abc").to_string(), SHA1_ABC);
    }

    #[test]
    fn the_length_of_a_digest_determines_its_kind() {
        assert_eq!(Digest::from_slice(&[7; 20]), Some(Digest::Sha1([7; 20])));
        assert_eq!(Digest::from_slice(&[7; 16]), Some(Digest::Md5([7; 16])));
        for length in [0, 8, 15, 17, 19, 21, 32] {
            assert_eq!(Digest::from_slice(&vec![7; length]), None);
        }
    }
}
