//! What stands between frames: padding, torn frames, damage. Only the words for
//! it; the items iterator decides which applies.

use std::fmt;

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub struct Gap {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes, at least 1.
    pub len: u64,
    /// Padding, a torn frame, or damage.
    pub kind: GapKind,
}

impl Gap {
    /// Offset after the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }

    /// Whether something was lost here that had been written.
    pub fn is_damage(&self) -> bool {
        matches!(self.kind, GapKind::Damage(_))
    }
}

/// The gaps of an input that an earlier walk found, in the order of their offsets.
pub(crate) trait KnownGaps: fmt::Debug + Sync {
    /// The gap at an index; `None` after the last.
    fn gap(&self, index: usize) -> Option<Gap>;

    /// The index of the first gap at or after an offset.
    fn first_from(&self, offset: u64) -> usize;
}

/// What bytes outside frames are.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum GapKind {
    /// Zeros between frames: the unused tail of a chunk, or space reserved ahead.
    Padding,
    /// A frame that was being written when the writer, or the file, ended. No
    /// damage: the call that wrote it never returned, or the file was cut here.
    Torn(Torn),
    /// Bytes that were something else once.
    Damage(Damage),
}

/// How a frame came to be torn.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Torn {
    /// Its place was reserved and its length stored, but it was never published.
    Unpublished,
    /// The file ends inside it, or ended when something was appended.
    Cut,
}

/// Why bytes are taken for damage.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Damage {
    /// A frame header stands here, but its checksum is not that of what follows.
    Checksum,
    /// A frame header stands here that claims more bytes than there are, or than
    /// a record may have.
    Length,
    /// No frame header stands where one must: at the start of these bytes. Further on in them may be
    /// one of a damaged frame.
    NoHeader,
    /// Zeros, and the thread whose records should stand here went on counting.
    LostBlock,
    /// The medium did not give these bytes (`EIO`), or the file was cut or removed while it was read.
    Unreadable,
}

impl Damage {
    /// The reason as a word for machines.
    pub fn name(self) -> &'static str {
        match self {
            Damage::Checksum => "checksum",
            Damage::Length => "length",
            Damage::NoHeader => "no header",
            Damage::LostBlock => "lost block",
            Damage::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for GapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GapKind::Padding => "padding",
            GapKind::Torn(Torn::Unpublished) => "torn: a frame that was never finished",
            GapKind::Torn(Torn::Cut) => "torn: the file was cut inside a frame",
            GapKind::Damage(Damage::Checksum) => "damage: checksum mismatch",
            GapKind::Damage(Damage::Length) => "damage: frame length runs past the end",
            GapKind::Damage(Damage::NoHeader) => "damage: no frame header at its start",
            GapKind::Damage(Damage::LostBlock) => "damage: zeros where records stood",
            GapKind::Damage(Damage::Unreadable) => {
                "damage: these bytes cannot be read, or not any more"
            }
        })
    }
}
