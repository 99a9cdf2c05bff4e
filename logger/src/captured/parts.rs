//! What a capture copies of a record: its parts, one after another, each after its length.

use crate::context::Context;
use core::sync::atomic::{AtomicU64, Ordering};

/// A record, as it is copied.
pub(crate) struct Parts<'r> {
    /// Body, file, message, module, target, description of the format.
    pub parts: [&'r [u8]; 6],
    /// The context that the call was made in, whose key-values are copied too.
    pub context: Option<&'r Context>,
}

/// Bytes of a length.
const LEN: usize = size_of::<u32>();

impl Parts<'_> {
    fn of_context(&self) -> impl Iterator<Item = &[u8]> {
        let contexts = self.context.into_iter().flat_map(Context::line);
        contexts.map(|context| context.keys().objects)
    }

    /// All parts, that of the context last and without a length.
    fn pieces(&self, mut each: impl FnMut(&[u8])) {
        for part in self.parts {
            each(&(part.len() as u32).to_le_bytes());
            each(part);
        }
        self.of_context().for_each(each);
    }

    /// How many bytes [`Parts::write`] writes.
    pub fn len(&self) -> usize {
        let mut len = 0;
        self.pieces(|piece| len += piece.len());
        len
    }

    /// Copies them into words, which have room for them.
    pub fn write(&self, words: &[AtomicU64]) {
        let mut words = words.iter();
        let (mut word, mut filled) = ([0; 8], 0);
        let mut put = |word| {
            if let Some(place) = words.next() {
                place.store(u64::from_le_bytes(word), Ordering::Relaxed);
            }
        };
        self.pieces(|piece| {
            for byte in piece {
                word[filled] = *byte;
                filled += 1;
                if filled == word.len() {
                    put(word);
                    (word, filled) = ([0; 8], 0);
                }
            }
        });
        if filled > 0 {
            put(word);
        }
    }
}

/// The parts of a record again: the six, and the rest, which is the context's.
pub(crate) fn split(mut record: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut left = 6;
    core::iter::from_fn(move || {
        if left == 0 {
            return (!record.is_empty()).then(|| core::mem::take(&mut record));
        }
        left -= 1;
        let (len, rest) = record.split_first_chunk::<LEN>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        record = rest;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        for text in ["", "seven b", "eight by", "nine byte"] {
            let parts = [b"body", text.as_bytes(), b"", b"m", b"", b"b:x"];
            let record = Parts {
                parts,
                context: None,
            };
            let words = [const { AtomicU64::new(0) }; 16];
            record.write(&words);
            let bytes = words
                .iter()
                .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
            let bytes: Vec<u8> = bytes.take(record.len()).collect();
            assert_eq!(split(&bytes).collect::<Vec<_>>(), parts);
            assert!(
                split(&bytes[..record.len() - 1]).count() < 6,
                "a part is cut"
            );
        }
    }
}
