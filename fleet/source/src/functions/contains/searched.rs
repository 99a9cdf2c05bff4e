//! Buffers that many texts stand in, each searched once as a whole: a dictionary of a file is shared by the texts of many
//! rows and batches. Knows nothing of columns.

use datafusion::arrow::buffer::Buffer;
use memchr::memmem::Finder;
use std::sync::{Arc, Mutex, PoisonError};

/// A buffer is searched as soon as rows were asked about whose views have that part of its bytes: until then, it may be
/// that few of its texts are wanted.
const PART: usize = 4;
/// Buffers that are kept at hand, and their bytes; of others nothing is known.
pub(super) const MANY: usize = 128;
const KEPT: usize = 32 << 20;
/// Bits that a word has, wherever in its first byte they begin.
const FEW: usize = 57;

/// Where a text begins: a bit for each byte of a buffer, the lowest bit of a byte first.
#[derive(Debug)]
pub(super) struct Begins(Vec<u8>);

impl Begins {
    fn of(text: &Finder<'_>, buffer: &[u8]) -> Begins {
        // Eight more than there must be: a word is read from each.
        let mut bits = vec![0; buffer.len() / 8 + 8];
        let mut from = 0;
        while let Some(found) = text.find(&buffer[from..]) {
            let at = from + found;
            bits[at / 8] |= 1 << (at % 8);
            // The next may overlap with it, where it stands across the end of a text.
            from = at + 1;
        }
        Begins(bits)
    }

    /// Whether it begins at one of `count` bytes from `from`.
    #[inline]
    pub(super) fn is_at(&self, from: usize, count: usize) -> bool {
        if count > FEW {
            return self.is_at_one_of_many(from, count);
        }
        self.bits(from) & ((1 << count) - 1) != 0
    }

    fn is_at_one_of_many(&self, from: usize, count: usize) -> bool {
        let end = from + count;
        let mut parts = (from..end).step_by(FEW);
        parts.any(|part| self.is_at(part, FEW.min(end - part)))
    }

    /// The bits from one, of which the first few are right.
    #[inline]
    fn bits(&self, from: usize) -> u64 {
        let bytes = self.0.get(from / 8..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes) >> (from % 8))
    }
}

/// A buffer that was asked about with a text, and where the text begins in it.
#[derive(Debug)]
struct Known {
    text: Box<[u8]>,
    /// Held, so that no other takes its place in memory.
    buffer: Buffer,
    /// Bytes of the views that were asked about.
    asked: usize,
    begins: Option<Arc<Begins>>,
}

/// The buffers that were asked about, the last one last.
#[derive(Debug, Default)]
pub(super) struct Searched(Mutex<Vec<Known>>);

impl Searched {
    /// Where a text begins in a buffer, for some bytes of views more; `None` while each of their texts is better
    /// searched by itself.
    pub(super) fn begins(
        &self,
        text: &Finder<'_>,
        buffer: &Buffer,
        views: usize,
    ) -> Option<Arc<Begins>> {
        if buffer.len() > KEPT {
            return None;
        }
        let mut known = self.take(text.needle(), buffer);
        known.asked = known.asked.saturating_add(views);
        if known.begins.is_none() && known.asked >= buffer.len() / PART {
            known.begins = Some(Arc::new(Begins::of(text, buffer)));
        }
        let begins = known.begins.clone();
        self.keep(known);
        begins
    }

    /// Removes the entry of a buffer from the list, or makes one, so that the list is not locked while the buffer is
    /// searched.
    fn take(&self, text: &[u8], buffer: &Buffer) -> Known {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = all.iter();
        match known.rposition(|it| it.buffer.ptr_eq(buffer) && *it.text == *text) {
            Some(found) => all.remove(found),
            None => Known {
                text: text.into(),
                buffer: buffer.clone(),
                asked: 0,
                begins: None,
            },
        }
    }

    /// Puts it back, and forgets as many others as there is no room for.
    fn keep(&self, known: Known) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(known);
        let mut room = KEPT;
        let fits = |known: &&Known| {
            let rest = room.checked_sub(known.buffer.len());
            room = rest.unwrap_or(0);
            rest.is_some()
        };
        let kept = all.iter().rev().take(MANY).take_while(fits).count();
        let forgotten = all.len() - kept;
        all.drain(..forgotten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_begins_where_it_overlaps_with_itself_too() {
        let buffer = b"aaaa b aa";
        let begins = Begins::of(&Finder::new("aa"), buffer);
        for from in 0..buffer.len() + 70 {
            for count in 0..150 {
                let mut places =
                    (from..from + count).filter(|at| buffer.get(*at..at + 2) == Some(b"aa"));
                assert_eq!(begins.is_at(from, count), places.next().is_some());
            }
        }
    }

    #[test]
    fn a_text_is_found_far_behind_where_it_was_looked_for() {
        let mut buffer = vec![b'.'; 1000];
        buffer[700] = b'x';
        let begins = Begins::of(&Finder::new("x"), &buffer);
        for from in 0..=700 {
            assert!(!begins.is_at(from, 700 - from));
            assert!(begins.is_at(from, 701 - from));
        }
        assert!(!begins.is_at(701, 2000));
    }

    #[test]
    fn a_buffer_is_searched_once_enough_of_it_is_wanted_and_kept_while_there_is_room() {
        let searched = Searched::default();
        let text = Finder::new("b");
        let buffer = Buffer::from(b"abcdefgh".repeat(100));
        assert!(searched.begins(&text, &buffer, 199).is_none());
        let first = searched.begins(&text, &buffer, 1).unwrap();
        let again = searched.begins(&text, &buffer, 0).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        // Another text in it is another matter, and so is an equal buffer.
        assert!(searched.begins(&Finder::new("c"), &buffer, 0).is_none());
        let equal = Buffer::from(buffer.as_slice());
        assert!(searched.begins(&text, &equal, 0).is_none());
        for _ in 0..MANY - 3 {
            searched.begins(&text, &Buffer::from(b"b".as_slice()), 0);
        }
        assert!(searched.begins(&text, &buffer, 0).is_some());
        let large = Buffer::from(vec![b'b'; KEPT]);
        assert!(searched.begins(&text, &large, 0).is_none());
        assert!(searched.begins(&text, &buffer, 0).is_none());
        assert_eq!(searched.0.lock().unwrap().len(), 1);
    }
}
