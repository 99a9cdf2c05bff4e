//! Counts of dropped calls that stand in no note so far. Each member of a family keeps its own in the memory
//! that they share, and writes it down itself where it can: a member that was killed before, or that has
//! no file left to write to, owes the log a note. The next member that begins a chunk or a file, syncs, closes
//! or exits writes that. Any member may be killed at any instruction. Knows no frames.

use crate::sys::{self, Errno};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence};
use logdef_wire::Run;

/// Members whose counts can be kept at the same time; those beyond them write their own, or none.
const MEMBERS: usize = 256;

/// What a note of drops says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DropCount {
    pub run: Run,
    /// Calls of the run that were dropped so far.
    pub dropped: u64,
    /// When the first of those was dropped that no note has reported, in nanoseconds of the wall clock;
    /// 0 if that is not known.
    pub since: u64,
    pub errno: Option<Errno>,
}

/// Which process writes the note, unless it is killed before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Writes {
    /// The process with this id, whose count it is.
    Itself(u32),
    /// Any other: that one has no room.
    Others,
}

/// The counts of all members. Memory of zeros holds no count.
pub(crate) struct Owed {
    /// Whether a member has ever kept one.
    has_been_used: AtomicBool,
    members: [Member; MEMBERS],
}

struct Member {
    /// 0 in a free place, [`Member::SETTING`] while the rest is stored.
    dropped: AtomicU64,
    run: AtomicU64,
    since: AtomicU64,
    errno: AtomicI32,
    /// The process that will write the note; 0 for any.
    writer: AtomicU32,
}

impl Owed {
    /// Keeps a count. Of what a run had before and this the higher number holds.
    pub fn keep(&self, count: DropCount, writes: Writes) {
        self.has_been_used.store(true, Ordering::Relaxed);
        let own = self
            .places(count.run)
            .find(|member| member.is_of(count.run));
        let of_own = own.and_then(|member| Some((member, member.begin()?)));
        let place = of_own.or_else(|| {
            let mut free = self.places(count.run).filter(|member| member.is_free());
            free.find_map(|member| Some((member, member.begin()?)))
        });
        if let Some((member, before)) = place {
            let dropped = count.dropped.max(before);
            member.set(DropCount { dropped, ..count }, writes);
        }
    }

    /// A run has written its count down.
    pub fn forget(&self, run: Run) {
        if let Some(member) = self.places(run).find(|member| member.is_of(run))
            && member.begin().is_some()
        {
            member.dropped.store(0, Ordering::Release);
        }
    }

    /// Whether another process than the one that dropped calls is to write a note.
    pub fn is_any(&self) -> bool {
        self.owed().next().is_some()
    }

    /// Hands each count that is owed to `write`, which says whether the log has it now, up to the first that it
    /// has not. Whether it has all of them.
    pub fn settle(&self, mut write: impl FnMut(&DropCount) -> bool) -> bool {
        self.owed().all(|(member, count)| {
            let written = write(&count);
            if written {
                member.clear(&count);
            }
            written
        })
    }

    fn owed(&self) -> impl Iterator<Item = (&Member, DropCount)> {
        let places = if self.has_been_used.load(Ordering::Relaxed) {
            &self.members[..]
        } else {
            &[]
        };
        let counts = places.iter();
        let counts = counts.filter_map(|member| Some((member, member.get()?)));
        counts.filter(|(member, _)| member.is_left())
    }

    /// All places, from the one on at which a run looks first.
    fn places(&self, run: Run) -> impl Iterator<Item = &Member> {
        let (before, first) = self.members.split_at(run.0 as usize % MEMBERS);
        first.iter().chain(before)
    }
}

impl Member {
    const SETTING: u64 = u64::MAX;

    fn is_free(&self) -> bool {
        self.dropped.load(Ordering::Acquire) == 0
    }

    fn is_of(&self, run: Run) -> bool {
        !self.is_free() && self.run.load(Ordering::Relaxed) == run.0
    }

    /// Whether the process whose count it is will not write it.
    fn is_left(&self) -> bool {
        let writer = self.writer.load(Ordering::Relaxed);
        writer == 0 || !sys::is_alive(writer)
    }

    /// Takes the right to store a count; which one was there before. A process that is killed meanwhile keeps the place.
    fn begin(&self) -> Option<u64> {
        let before = self.dropped.load(Ordering::Acquire);
        let is_mine = before != Member::SETTING && self.exchange(before, Member::SETTING);
        is_mine.then_some(before)
    }

    fn set(&self, count: DropCount, writes: Writes) {
        self.run.store(count.run.0, Ordering::Relaxed);
        self.since.store(count.since, Ordering::Relaxed);
        let errno = count.errno.map_or(0, |errno| errno.0);
        self.errno.store(errno, Ordering::Relaxed);
        let writer = match writes {
            Writes::Itself(pid) => pid,
            Writes::Others => 0,
        };
        self.writer.store(writer, Ordering::Relaxed);
        let dropped = count.dropped.min(Member::SETTING - 1);
        self.dropped.store(dropped, Ordering::Release);
    }

    fn get(&self) -> Option<DropCount> {
        let dropped = self.dropped.load(Ordering::Acquire);
        if matches!(dropped, 0 | Member::SETTING) {
            return None;
        }
        let errno = self.errno.load(Ordering::Relaxed);
        let count = DropCount {
            run: Run(self.run.load(Ordering::Relaxed)),
            dropped,
            since: self.since.load(Ordering::Relaxed),
            errno: (errno != 0).then_some(Errno(errno)),
        };
        fence(Ordering::Acquire);
        // Else more was stored meanwhile.
        (self.dropped.load(Ordering::Relaxed) == dropped).then_some(count)
    }

    /// The log has the count, unless there is more by now.
    fn clear(&self, written: &DropCount) {
        self.exchange(written.dropped, 0);
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        let exchanged = self.dropped.compare_exchange(from, to, success, failure);
        exchanged.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::family::Family;
    use crate::sink::lent::{Owned, Shareable};

    fn family() -> Owned<Family> {
        Family::allocate().unwrap()
    }

    fn count(run: u64, dropped: u64) -> DropCount {
        DropCount {
            run: Run(run),
            dropped,
            since: 5,
            errno: Some(Errno(libc::EACCES)),
        }
    }

    fn owed(family: &Family) -> Vec<DropCount> {
        family.owed.owed().map(|(_, count)| count).collect()
    }

    #[test]
    fn what_a_member_owes_is_written_once() {
        let family = family();
        assert!(!family.owed.is_any());
        family.owed.keep(count(7, 1), Writes::Others);
        family.owed.keep(count(8, 3), Writes::Others);
        family.owed.keep(count(7, 16), Writes::Others);
        family.owed.keep(count(7, 15), Writes::Others);
        assert_eq!(owed(&family), [count(7, 16), count(8, 3)]);
        let mut tries = 0;
        let settled = family.owed.settle(|_| {
            tries += 1;
            false
        });
        assert!(!settled && tries == 1 && family.owed.is_any(), "{tries}");
        assert!(family.owed.settle(|_| true));
        assert!(!family.owed.is_any() && owed(&family).is_empty());
    }

    #[test]
    fn what_comes_while_a_note_is_written_is_still_owed() {
        let family = family();
        family.owed.keep(count(7, 1), Writes::Others);
        family.owed.settle(|_| {
            family.owed.keep(count(7, 16), Writes::Others);
            true
        });
        assert_eq!(owed(&family), [count(7, 16)]);
    }

    #[test]
    fn a_process_that_lives_writes_its_own_note() {
        let of_the_dead = u32::MAX >> 2;
        let family = family();
        let keep = |run, pid| family.owed.keep(count(run, 3), Writes::Itself(pid));
        keep(7, sys::process_id());
        assert!(!family.owed.is_any());
        keep(8, of_the_dead);
        assert_eq!(owed(&family), [count(8, 3)]);
        family.owed.forget(Run(7));
        keep(7, of_the_dead);
        assert_eq!(owed(&family), [count(7, 3), count(8, 3)]);
        family.owed.forget(Run(8));
        assert_eq!(owed(&family), [count(7, 3)]);
    }

    #[test]
    fn a_member_that_was_killed_while_it_stored_a_count_is_passed_over() {
        let family = family();
        assert!(family.owed.members[0].begin().is_some());
        assert!(!family.owed.is_any());
        for run in 0..MEMBERS as u64 {
            family.owed.keep(count(run + 1, 1), Writes::Others);
        }
        assert_eq!(owed(&family).len(), MEMBERS - 1);
    }
}
