//! The marks that a copy carries. A copy of a damaged log has no damage in it, so a note in
//! front of each range of frames says how far they could be trusted where they were copied
//! from. Knows ranges and what notes say of them; what stands in the ranges, others know.

use crate::recover::memory::Memory;
use crate::recover::standing::Standing;
use logdef_wire::frame;
use logdef_wire::record::{Note, NoteKind};

/// Bytes of frames that one note marks, unless it is a single longer frame.
pub(crate) const RANGE: u64 = 1 << 16;
/// Ranges that are remembered; after the last of them, everything is recovered.
const RANGES: usize = 1 << 20;

/// Which frames of which inputs are marked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    memory: Memory,
    /// Ascending, without overlap.
    ranges: Vec<Range>,
    /// From here on, ranges were too many to be remembered.
    overflow: Option<(u32, u64)>,
    has_suspects: bool,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    input: u32,
    len: u32,
    start: u64,
    standing: Standing,
}

impl Range {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// The note that marks the next `size` bytes; with none, it says that no more are marked.
pub(crate) fn note(standing: Standing, size: u64) -> Note<'static> {
    Note {
        kind: Some(NoteKind::MARKED),
        text: standing.word().map(str::as_bytes),
        size: Some(size),
        ..Note::default()
    }
}

impl Marks {
    pub(crate) fn new(memory: &Memory) -> Marks {
        Marks {
            memory: memory.clone(),
            ..Marks::default()
        }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.ranges.len() * size_of::<Range>()
    }

    /// Takes in what a note says of the frames that begin at `start`, where it ends. A note
    /// in a range that is marked says nothing: it was copied with it.
    pub(crate) fn add(&mut self, input: u32, start: u64, note: &Note<'_>) {
        let standing = match note.text {
            Some(b"recovered") => Standing::Recovered,
            Some(b"suspect") => Standing::Suspect,
            _ => return,
        };
        let size = note.size.unwrap_or(0).min(frame::MAX_FRAME);
        let before = self.ranges.last();
        if size == 0 || before.is_some_and(|last| (last.input, last.end()) > (input, start)) {
            return;
        }
        if self.ranges.len() >= RANGES || !self.memory.take(size_of::<Range>()) {
            self.overflow.get_or_insert((input, start));
            return;
        }
        self.has_suspects |= standing == Standing::Suspect;
        self.ranges.push(Range {
            input,
            len: size as u32,
            start,
            standing,
        });
    }

    /// A preamble ends the range that it stands in, unless it stands at its front: what was
    /// joined to a copy is not marked.
    pub(crate) fn end_at_preamble(&mut self, input: u32, offset: u64) {
        if let Some(last) = self.ranges.last_mut()
            && last.input == input
            && (last.start + 1..last.end()).contains(&offset)
        {
            last.len = (offset - last.start) as u32;
        }
    }

    /// Believes only that frames are recovered, and not that they are suspect, where `judge`
    /// says so of a note that ends at an offset: it may have been logged by an attacker who
    /// wants to hide what follows.
    pub(crate) fn soften(&mut self, is_doubtful: impl Fn(u32, u64) -> bool) {
        for range in &mut self.ranges {
            if range.standing == Standing::Suspect && is_doubtful(range.input, range.start - 1) {
                range.standing = Standing::Recovered;
            }
        }
        let mut ranges = self.ranges.iter();
        self.has_suspects = ranges.any(|range| range.standing == Standing::Suspect);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn has_suspects(&self) -> bool {
        self.has_suspects
    }

    /// How far the frame at an offset can be trusted, by the notes.
    #[inline]
    pub(crate) fn at(&self, input: u32, offset: u64) -> Standing {
        if self.ranges.is_empty() {
            return Standing::Sound;
        }
        let before = |range: &Range| (range.input, range.end()) <= (input, offset);
        let found = self.ranges.get(self.ranges.partition_point(before));
        match found.filter(|range| range.input == input && range.start <= offset) {
            Some(range) => range.standing,
            None if self.overflow.is_some_and(|from| (input, offset) >= from) => {
                Standing::Recovered
            }
            None => Standing::Sound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_marks_what_follows_it_and_no_more() {
        let mut marks = Marks::new(&Memory::new(64 << 20));
        marks.add(0, 100, &note(Standing::Recovered, 50));
        marks.add(0, 120, &note(Standing::Suspect, 500));
        marks.add(0, 200, &note(Standing::Suspect, 10));
        marks.add(0, 210, &note(Standing::Sound, 0));
        marks.add(1, 40, &note(Standing::Suspect, u64::MAX));
        marks.end_at_preamble(1, 40);
        marks.end_at_preamble(1, 70);
        let at = |input, offset| marks.at(input, offset);
        for (input, offset, expected) in [
            (0, 99, Standing::Sound),
            (0, 100, Standing::Recovered),
            (0, 149, Standing::Recovered),
            (0, 150, Standing::Sound),
            (0, 209, Standing::Suspect),
            (0, 210, Standing::Sound),
            (1, 39, Standing::Sound),
            (1, 69, Standing::Suspect),
            (1, 70, Standing::Sound),
        ] {
            assert_eq!(at(input, offset), expected, "{input} {offset}");
        }
    }

    #[test]
    fn more_ranges_than_are_remembered_are_recovered() {
        let mut marks = Marks::new(&Memory::new(64 << 20));
        for index in 0..RANGES as u64 + 2 {
            marks.add(0, 10 * index, &note(Standing::Suspect, 5));
        }
        let last = 10 * RANGES as u64;
        assert_eq!(marks.at(0, last - 10), Standing::Suspect);
        assert_eq!(marks.at(0, last), Standing::Recovered);
        assert_eq!(marks.at(1, 0), Standing::Recovered);
    }
}
