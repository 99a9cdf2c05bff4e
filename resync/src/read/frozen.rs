//! What stays as it was of an input that a program may be writing: see [`freeze`](super::freeze).
//! Knows ranges and bytes only.

use std::ops::Range;

/// What of an input stays as it is.
#[derive(Debug)]
pub(crate) struct Frozen {
    /// In order, and apart from each other.
    parts: Vec<PartlyKept>,
    /// Bytes from here on were not there.
    end: u64,
}

/// A range of which some bytes are kept, and the rest is zeros.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct PartlyKept {
    pub(crate) range: Range<u64>,
    pub(crate) kept: Vec<u8>,
}

impl Frozen {
    pub(crate) fn new(mut parts: Vec<PartlyKept>, end: u64) -> Frozen {
        parts.sort_unstable_by_key(|part| part.range.start);
        Frozen { parts, end }
    }

    /// Makes of bytes that were read at an offset those that were there; how many they are.
    pub(crate) fn restore(&self, bytes: &mut [u8], offset: u64) -> usize {
        let len = self.end.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let bytes = &mut bytes[..len];
        let end = offset + len as u64;
        let first = self.parts.partition_point(|part| part.range.end <= offset);
        for part in &self.parts[first..] {
            if part.range.start >= end {
                break;
            }
            let from = part.range.start.max(offset);
            let to = part.range.end.min(end);
            let bytes = &mut bytes[(from - offset) as usize..(to - offset) as usize];
            let kept = part.kept.get((from - part.range.start) as usize..);
            let kept = kept.unwrap_or_default();
            let count = kept.len().min(bytes.len());
            bytes[..count].copy_from_slice(&kept[..count]);
            bytes[count..].fill(0);
        }
        len
    }

    /// Where it ended.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}
