//! Files and links that a process of the log's family is making or removing, each noted before there is
//! anything to be seen of that: where the process is killed, another finds the note, and ends it.
//!
//! A file in the making has a name, and is the log's once it has a [place](super::places). One that is being
//! removed has no place any more, and still its name.

use crate::{clock, sys};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Work of threads that are at it, and of those that were killed and that is to be looked at again. More is
/// not noted.
const NOTES: usize = 256;

/// What the family has begun.
pub(super) struct Unfinished {
    notes: [Note; NOTES],
}

/// What a process has begun.
pub(super) struct Note {
    /// The process; 0 for none.
    owner: AtomicU32,
    /// [`Work`].
    work: AtomicU32,
    /// The file's number, once the owner has written it; 0 before.
    number: AtomicU32,
    detail: AtomicU64,
}

/// Work on a file, or on a link to one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Begun {
    pub work: Work,
    /// The file's.
    pub number: u32,
    /// Its inode, or 0 if that is not known so far; of a link what makes its name the thread's own.
    pub detail: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Work {
    /// A file that is in no place yet.
    Making,
    /// One that is in none any more.
    Removing,
    /// A link that is to become the log's path.
    Linking,
}

/// What became of work whose process was killed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ended {
    Yes,
    /// It is to be looked at again.
    NotYet,
}

impl Unfinished {
    #[cfg(test)]
    pub const fn new() -> Unfinished {
        Unfinished {
            notes: [const {
                Note {
                    owner: AtomicU32::new(0),
                    work: AtomicU32::new(0),
                    number: AtomicU32::new(0),
                    detail: AtomicU64::new(0),
                }
            }; NOTES],
        }
    }

    /// This process begins some work.
    pub fn begin(&self, begun: Begun) -> Option<&Note> {
        let pid = sys::process_id();
        let mut all = self.notes.iter();
        let note = all.find(|note| note.change_owner(0, pid))?;
        note.work.store(begun.work as u32, Ordering::SeqCst);
        note.detail.store(begun.detail, Ordering::SeqCst);
        note.number.store(begun.number, Ordering::SeqCst);
        Some(note)
    }

    /// The file that this process began to make has a place, or no name.
    pub fn end_making(&self, number: u32) {
        let pid = sys::process_id();
        if let Some(note) = self.making(number)
            && note.owner.load(Ordering::SeqCst) == pid
        {
            note.end();
        }
    }

    /// The inode of a file that a process of the family is making, or made and was killed.
    pub fn inode_of(&self, number: u32) -> Option<u64> {
        let note = self.making(number)?;
        let inode = note.detail.load(Ordering::SeqCst);
        // Else it may be that of another file, for which the note was taken meanwhile.
        (inode != 0 && note.is_making(number)).then_some(inode)
    }

    fn making(&self, number: u32) -> Option<&Note> {
        self.notes.iter().find(|note| note.is_making(number))
    }

    /// Hands out the work of processes that were killed, each to one thread.
    pub fn each_left(&self, mut end: impl FnMut(Begun) -> Ended) {
        let pid = sys::process_id();
        for note in &self.notes {
            let owner = note.owner.load(Ordering::SeqCst);
            if owner == 0 || owner == pid || sys::is_alive(owner) || !note.change_owner(owner, pid)
            {
                continue;
            }
            let work = note.work.load(Ordering::SeqCst);
            let all = [Work::Making, Work::Removing, Work::Linking];
            let begun = Begun {
                work: all[work as usize % all.len()],
                number: note.number.load(Ordering::SeqCst),
                detail: note.detail.load(Ordering::SeqCst),
            };
            match end(begun) {
                Ended::NotYet => note.owner.store(owner, Ordering::SeqCst),
                Ended::Yes => note.end(),
            }
        }
    }

    /// As if the process that makes a file had been killed before it could know its inode.
    #[cfg(test)]
    pub fn forget_inode(&self, number: u32) {
        self.making(number).unwrap().set_inode(0);
    }

    /// As if the processes that have begun work had been killed.
    #[cfg(test)]
    pub fn end_all_owners(&self) {
        for note in &self.notes {
            if note.owner.load(Ordering::SeqCst) != 0 {
                note.owner.store(0x7fff_fff0, Ordering::SeqCst);
            }
        }
    }
}

impl Note {
    fn change_owner(&self, from: u32, to: u32) -> bool {
        let (order, failed) = (Ordering::SeqCst, Ordering::Relaxed);
        let changed = self.owner.compare_exchange(from, to, order, failed);
        changed.is_ok()
    }

    fn is_making(&self, number: u32) -> bool {
        self.number.load(Ordering::SeqCst) == number
            && self.work.load(Ordering::SeqCst) == Work::Making as u32
    }

    /// The inode of the file is known.
    pub fn set_inode(&self, inode: u64) {
        self.detail.store(inode, Ordering::SeqCst);
    }

    /// The work is done.
    pub fn end(&self) {
        self.number.store(0, Ordering::SeqCst);
        self.owner.store(0, Ordering::SeqCst);
    }
}

/// A process has marked the file that it makes as in use before it is that old, or given the link the log's
/// path.
const AGE_S: u64 = 10;

/// Whether a process that lives where this one cannot see it may be about to use what it has just made, which the
/// file system says was at `made_s`.
pub(super) fn is_young(made_s: i64) -> bool {
    let now_s = clock::realtime() / 1_000_000_000;
    now_s.abs_diff(made_s as u64) < AGE_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn making(number: u32) -> Begun {
        Begun {
            work: Work::Making,
            number,
            detail: 0,
        }
    }

    fn left(unfinished: &Unfinished) -> Vec<Begun> {
        let mut all = Vec::new();
        unfinished.each_left(|begun| {
            all.push(begun);
            Ended::NotYet
        });
        all
    }

    #[test]
    fn the_work_of_processes_that_ended_is_handed_out_until_it_is_done() {
        let unfinished = Unfinished::new();
        let removing = Begun {
            work: Work::Removing,
            number: 7,
            detail: 70,
        };
        unfinished.begin(removing);
        unfinished.begin(making(7));
        let known = unfinished.begin(making(9)).unwrap();
        known.set_inode(90);
        assert_eq!(left(&unfinished), [], "this process lives");
        let found = [7, 9, 10].map(|number| unfinished.inode_of(number));
        assert_eq!(found, [None, Some(90), None]);
        unfinished.end_making(9);
        assert_eq!(unfinished.inode_of(9), None);
        unfinished.end_all_owners();
        assert_eq!(left(&unfinished), [removing, making(7)]);
        unfinished.each_left(|begun| {
            let others = usize::from(begun.work == Work::Removing);
            assert_eq!(left(&unfinished).len(), others);
            Ended::Yes
        });
        assert_eq!(left(&unfinished), []);
    }

    #[test]
    fn work_for_which_there_is_no_note_is_done_all_the_same() {
        let unfinished = Unfinished::new();
        let numbers = 1..=NOTES as u32;
        let begun: Vec<_> = numbers
            .map(|number| unfinished.begin(making(number)))
            .collect();
        assert!(begun.iter().all(Option::is_some));
        assert!(unfinished.begin(making(100)).is_none());
        unfinished.end_making(100);
        begun.into_iter().flatten().for_each(Note::end);
        unfinished.begin(making(1));
        unfinished.end_all_owners();
        assert_eq!(left(&unfinished), [making(1)]);
    }
}
