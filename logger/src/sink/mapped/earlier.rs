//! Where a process writes that cannot open the file which another member of its family began: it gave
//! up the right to, or the path is out of its reach. It has the files that were open when it was
//! forked, and claims chunks of the newest of them, for as long as the log keeps that.

use super::claim::Held;
use super::{Log, Reached};
use crate::shared::Shared;
use crate::sink::family::FILES;
use crate::sink::file::Refusal;
use crate::sys::Errno;
use core::sync::atomic::Ordering;

/// Chunks of a file that may lie in a part which was given up meanwhile, or be refused before it has grown.
const TRIES: u32 = 32;

impl Log<'_> {
    /// Claims a chunk of the newest file before the current one in which this process gets one, since
    /// that is refused for `why`. None that was left for good: the log was opened again since.
    pub(super) fn claim_earlier(
        &self,
        shared: &Shared,
        nth: u32,
        need: u64,
        why: Errno,
    ) -> Option<Held> {
        let pruned = self.family.oldest.load(Ordering::SeqCst);
        let left = self.family.left_before.load(Ordering::SeqCst);
        let turns = pruned.max(left)..self.family.turn();
        let files = turns.rev().take(FILES);
        let files = files.filter_map(|turn| self.file_of_turn(turn));
        let mut files = files.filter(|file| self.can_open(file));
        let held = files.find_map(|file| self.claim_in(shared, &file, nth, need, why));
        held.inspect(|_| shared.stay_in_file(why))
    }

    fn claim_in(
        &self,
        shared: &Shared,
        file: &Reached,
        nth: u32,
        need: u64,
        why: Errno,
    ) -> Option<Held> {
        let (turn, file_use) = (file.file.turn(), file.file.in_use());
        let units = self.chunk_units(nth, need);
        let is_left = || file.file.in_use() != file_use || file.file.turn() != turn;
        for _ in 0..TRIES {
            let capacity = file.file.capacity();
            match self.claim_of(file, turn, units) {
                Ok(held) if is_left() => {
                    self.discard(held);
                    return None;
                }
                // The rest of a part that was given up meanwhile.
                Ok(held) if self.left_of(held.range).is_some() => self.discard(held),
                Ok(held) => {
                    file.file.become_home();
                    self.mapped.home.store(turn, Ordering::Relaxed);
                    return Some(held);
                }
                Err(Refusal::Full) => self.grow_full(shared, file.file, capacity, why).ok()?,
                Err(_) => return None,
            }
        }
        None
    }
}
