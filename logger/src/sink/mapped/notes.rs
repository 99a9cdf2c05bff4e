//! Room for notes in a mapped log: what each file reserves for them after the frames
//! that open it, and where a pruned range stands seen from a note. Knows nothing of what
//! a note says.

use super::{Log, Mapped};
use crate::sink::anchor;
use crate::sink::chunk::{self, Claim};
use crate::sink::family::FILES;
use crate::sink::owed::Owed;
use crate::sink::room::Room;
use crate::sys;
use crate::thread::Thread;
use crate::window::Range;

impl Mapped {
    /// How many bytes of a chunk are used when it was opened: in the first of a file, room
    /// for notes is kept after the opening.
    pub(super) fn used_by_opening(&self, range: Option<Range>, opening: u64) -> u64 {
        let first = range.filter(|range| range.offset == 0);
        let log = self.log();
        let file = first.and_then(|range| log.as_ref()?.file_of_turn(range.turn));
        file.map_or(opening, |reached| reached.file.keep_room(opening))
    }

    /// Writes a frame into the room that the newest file with any has reserved for notes.
    pub fn put_note(&self, frame: &[u8]) -> bool {
        let Some(log) = self.log() else {
            return false;
        };
        let newest = log.family.turn();
        let turns = (1..=newest).rev().take(FILES);
        let mut files = turns.filter_map(|turn| log.file_of_turn(turn));
        files.any(|reached| reached.put_note(frame, || log.reopen(reached.file)))
            || log.put_anchored_note(frame)
    }

    /// Hands `work` what the family owes.
    pub fn with_owed<T>(&self, work: impl FnOnce(&Owed) -> T) -> Option<T> {
        self.log().map(|log| work(&log.family.owed))
    }

    /// The range that was pruned of the file in which a thread claimed a chunk: where it
    /// begins, from an offset in that chunk on, and how many bytes it has.
    pub fn pruned_from(&self, thread: &Thread, claim: Claim, offset: u64) -> Option<(i64, u64)> {
        let range = thread.lasting().windows.range(claim.chunk)?;
        let log = self.log()?;
        let file = log.file_of_turn(range.turn)?.file;
        let size = file.pruned_bytes().checked_sub(file.front())?;
        let start = file.front() as i64 - (range.offset + offset) as i64;
        (size > 0).then_some((start, size))
    }
}

impl Log<'_> {
    /// Writes a frame into the room for notes of the file that is written to, without a
    /// descriptor.
    fn put_anchored_note(&self, frame: &[u8]) -> bool {
        let turn = self.family.turn();
        let Some(file) = self.file_of_turn(turn) else {
            return false;
        };
        let put = self.mapped.anchor.with(turn, |base| {
            let page = sys::page_size() as usize;
            // The room may reach into a second page.
            let room = (2 * page).min(anchor::LEN as usize);
            let there = sys::advise(base, room, libc::MADV_POPULATE_WRITE);
            let at = file.file.take_room(frame.len() as u64);
            let at = at.filter(|_| there.is_ok() && file.file.front() <= room as u64)?;
            // SAFETY: within the mapping, whose pages exist; these bytes were given to no
            // other thread, and `frame` is a whole frame.
            unsafe { chunk::put(&Room(base.add(at as usize)), frame) };
            Some(())
        });
        put.flatten().is_some()
    }
}
