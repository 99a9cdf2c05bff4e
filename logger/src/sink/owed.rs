//! Counts of dropped calls that members of a family could write to no file of the log. They owe the log
//! a note, which the next member that writes its own, or begins a chunk or a file, writes for them. In memory
//! that processes share; any of them may be killed at any instruction. Knows no frames.

use crate::sys::Errno;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use logdef_wire::Run;

/// Members that can owe a note at the same time; those beyond them keep trying to write it themselves.
const MEMBERS: usize = 64;

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

/// The notes that are owed. Zeros are none.
pub(crate) struct Owed {
    members: [Member; MEMBERS],
}

struct Member {
    /// 0 while nothing is owed, [`Member::SETTING`] while what is owed is stored.
    dropped: AtomicU64,
    run: AtomicU64,
    since: AtomicU64,
    errno: AtomicI32,
}

impl Owed {
    /// A member could not write this down. Of what it owed before and this the higher number counts.
    pub fn owe(&self, count: DropCount) {
        let own = self.members.iter().find(|member| member.is_of(count.run));
        let of_own = own.and_then(|member| Some((member, member.begin()?)));
        let place = of_own.or_else(|| {
            let mut free = self.members.iter().filter(|member| member.is_free());
            free.find_map(|member| Some((member, member.begin()?)))
        });
        if let Some((member, before)) = place {
            let dropped = count.dropped.max(before);
            member.set(DropCount { dropped, ..count });
        }
    }

    /// Whether a note is owed.
    pub fn is_any(&self) -> bool {
        self.members.iter().any(|member| member.get().is_some())
    }

    /// Hands each count to `write`, which says whether the log has it now, up to the first that it has not.
    /// Whether it has all of them.
    pub fn settle(&self, mut write: impl FnMut(&DropCount) -> bool) -> bool {
        let mut owed = self
            .members
            .iter()
            .filter_map(|member| Some((member, member.get()?)));
        owed.all(|(member, count)| {
            let written = write(&count);
            if written {
                member.clear(&count);
            }
            written
        })
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

    /// Takes the right to store what is owed; how much that was before. A process that is killed meanwhile keeps the place.
    fn begin(&self) -> Option<u64> {
        let before = self.dropped.load(Ordering::Acquire);
        let is_mine = before != Member::SETTING && self.exchange(before, Member::SETTING);
        is_mine.then_some(before)
    }

    fn set(&self, count: DropCount) {
        self.run.store(count.run.0, Ordering::Relaxed);
        self.since.store(count.since, Ordering::Relaxed);
        let errno = count.errno.map_or(0, |errno| errno.0);
        self.errno.store(errno, Ordering::Relaxed);
        let dropped = count.dropped.min(Member::SETTING - 1);
        self.dropped.store(dropped, Ordering::Release);
    }

    fn get(&self) -> Option<DropCount> {
        let dropped = self.dropped.load(Ordering::Acquire);
        let errno = match self.errno.load(Ordering::Relaxed) {
            0 => None,
            errno => Some(Errno(errno)),
        };
        let count = DropCount {
            run: Run(self.run.load(Ordering::Relaxed)),
            dropped,
            since: self.since.load(Ordering::Relaxed),
            errno,
        };
        core::sync::atomic::fence(Ordering::Acquire);
        let is_stable = self.dropped.load(Ordering::Relaxed) == dropped;
        (is_stable && !matches!(dropped, 0 | Member::SETTING)).then_some(count)
    }

    /// The log has the count, unless more is owed by now.
    fn clear(&self, written: &DropCount) {
        self.exchange(written.dropped, 0);
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        let exchanged =
            self.dropped
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
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
        family.owed.members.iter().filter_map(Member::get).collect()
    }

    #[test]
    fn what_a_member_owes_is_written_once() {
        let family = family();
        assert!(!family.owed.is_any());
        family.owed.owe(count(7, 1));
        family.owed.owe(count(8, 3));
        family.owed.owe(count(7, 16));
        family.owed.owe(count(7, 15));
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
        family.owed.owe(count(7, 1));
        family.owed.settle(|_| {
            family.owed.owe(count(7, 16));
            true
        });
        assert_eq!(owed(&family), [count(7, 16)]);
    }

    #[test]
    fn a_member_that_was_killed_while_it_stored_a_count_is_passed_over() {
        let family = family();
        assert!(family.owed.members[0].begin().is_some());
        assert!(!family.owed.is_any());
        for run in 0..MEMBERS as u64 {
            family.owed.owe(count(run + 1, 1));
        }
        assert_eq!(owed(&family).len(), MEMBERS - 1);
    }
}
