//! What is said of an address or of a thread from a place in the log on: the latest
//! entry before a record is the one that holds for it.

use crate::recover::tables::{BacktraceEntry, Place, Tables, Thread, map_entry, owned};
use logdef_wire::record::{BacktraceLogdef, ThreadLogdef};
use logdef_wire::{Avma, Run, ThreadNumber};

/// Entries of one key before which one that comes late may have to be put.
const BACK: usize = 1 << 12;

impl Tables {
    /// What was known about an address of a run when the record at `place` was
    /// written: the latest before it, else the earliest after.
    pub fn backtrace(&self, run: Run, address: Avma, place: Place) -> Option<&BacktraceEntry> {
        latest(self.backtraces.get(&(run, address))?, place)
    }

    /// Who a thread was when the record at `place` was written.
    pub fn thread(&self, run: Run, number: ThreadNumber, place: Place) -> Option<&Thread> {
        latest(self.names_of(run, number), place)
    }

    /// All that a thread was, in the order of the logdefs.
    #[inline]
    pub(crate) fn names_of(&self, run: Run, number: ThreadNumber) -> &[(Place, Thread)] {
        self.threads.get(&(run, number)).map_or(&[], |names| names)
    }

    pub(super) fn knows_backtrace(&self, logdef: &BacktraceLogdef<'_>, place: Place) -> bool {
        let (Some(run), Some(address)) = (logdef.run, logdef.address) else {
            return true;
        };
        let known = self.backtraces.get(&(run, address));
        known.and_then(|known| before(known, place)) == Some(&BacktraceEntry::of(logdef))
    }

    pub(super) fn add_backtrace(&mut self, logdef: &BacktraceLogdef<'_>, place: Place) {
        let (Some(run), Some(address)) = (logdef.run, logdef.address) else {
            return;
        };
        let texts = [logdef.fname, logdef.sname, logdef.build_id];
        let bytes: usize = texts.into_iter().flatten().map(<[u8]>::len).sum();
        let cost = size_of::<(Place, BacktraceEntry)>() + bytes;
        let entry = BacktraceEntry::of(logdef);
        let known = self.backtraces.get(&(run, address));
        if known.and_then(|known| before(known, place)) != Some(&entry)
            && self.try_reserve(cost + map_entry::<(Run, Avma)>(4))
        {
            let known = self.backtraces.entry((run, address)).or_default();
            self.refused += u64::from(!insert(known, place, entry));
        }
    }

    pub(super) fn knows_thread(&self, logdef: &ThreadLogdef<'_>, place: Place) -> bool {
        let (Some(run), Some(number)) = (logdef.run, logdef.number) else {
            return true;
        };
        before(self.names_of(run, number), place) == Some(&Thread::of(logdef))
    }

    pub(super) fn add_thread(&mut self, logdef: &ThreadLogdef<'_>, place: Place) {
        let (Some(run), Some(number)) = (logdef.run, logdef.number) else {
            return;
        };
        let thread = Thread::of(logdef);
        let cost = size_of::<(Place, Thread)>() + logdef.name.map_or(0, <[u8]>::len);
        if before(self.names_of(run, number), place) != Some(&thread)
            && self.try_reserve(cost + map_entry::<(Run, ThreadNumber)>(2))
        {
            let known = self.threads.entry((run, number)).or_default();
            self.refused += u64::from(!insert(known, place, thread));
        }
    }
}

impl BacktraceEntry {
    fn of(logdef: &BacktraceLogdef<'_>) -> BacktraceEntry {
        BacktraceEntry {
            fname: owned(logdef.fname),
            fbase: logdef.fbase,
            sname: owned(logdef.sname),
            saddr: logdef.saddr,
            build_id: owned(logdef.build_id),
            load_bias: logdef.load_bias,
        }
    }
}

impl Thread {
    fn of(logdef: &ThreadLogdef<'_>) -> Thread {
        Thread {
            tid: logdef.tid,
            thread: logdef.thread,
            name: owned(logdef.name),
        }
    }
}

/// The last entry before a place, in whichever input.
pub(super) fn before<T>(entries: &[(Place, T)], place: Place) -> Option<&T> {
    let before = entries.partition_point(|(other, _)| *other < place);
    Some(&entries[before.checked_sub(1)?].1)
}

/// Puts an entry where its place belongs; `false` if that is too far back. Logdefs
/// come in the order they stand, or nearly so.
pub(super) fn insert<T>(entries: &mut Vec<(Place, T)>, place: Place, value: T) -> bool {
    let at = entries.partition_point(|(other, _)| *other < place);
    let is_near = entries.len() - at <= BACK;
    if is_near {
        // Most keys have one entry.
        if entries.is_empty() {
            entries.reserve_exact(1);
        }
        entries.insert(at, (place, value));
    }
    is_near
}

/// The latest entry before a place in the same input, else the first.
#[inline]
pub(crate) fn latest<T>(entries: &[(Place, T)], place: Place) -> Option<&T> {
    if let [(_, only)] = entries {
        return Some(only);
    }
    let before = entries.partition_point(|(other, _)| *other < place);
    let (other, value) = entries.get(before.saturating_sub(1))?;
    let found = (other.input == place.input || before == 0).then_some(value);
    found.or_else(|| entries.first().map(|(_, value)| value))
}
