//! The source's half: which buffer is filled, who holds which, and what has to be sent.
//!
//! The caller owns memory, sockets and time. It calls [`reserve`](Source::reserve) for each record, and
//! after every call takes all [`Action`]s and performs them in order; only then may it write into the slot.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::Koid;

/// Which of the source's buffers, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferIndex(pub usize);

/// Which retriever: a number the caller gives to each connection and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetrieverId(pub u64);

/// What the caller has to do, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a filling: store its number, set committed to 0, clear done, zero the records.
    Start {
        /// The buffer to fill.
        buffer: BufferIndex,
        /// The number of the filling.
        filling: u64,
    },
    /// Set the done flag of the buffer.
    MarkDone(BufferIndex),
    /// Send OnBufferInit with the descriptor of the buffer.
    SendInit(RetrieverId, BufferIndex),
    /// Send OnBufferDone, with the id of the buffer.
    SendDone(RetrieverId, Koid),
    /// Close the connection; the source has forgotten the retriever.
    Close(RetrieverId, Closed),
}

/// Why a retriever was disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It retired a buffer it did not hold.
    RetiredWhatItDidNotHold(Koid),
    /// It held a full buffer past the deadline while the source had no other.
    Stalled,
}

/// Where a record may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The buffer to write to.
    pub buffer: BufferIndex,
    /// Offset after the header: what is committed in it so far.
    pub offset: usize,
}

/// The answer to a request for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// There is room here.
    Slot(Slot),
    /// No buffer is free. If there is a deadline, a retriever can be disconnected at this time.
    Full(Option<Duration>),
    /// No buffer is large enough.
    TooLarge,
}

/// What a source counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records that were written into buffers, and are there for retrievers.
    pub records: u64,
    /// Records given up because no buffer was free.
    pub dropped: u64,
    /// Retrievers disconnected because they stalled.
    pub stalled: u64,
    /// Records in the buffers that those held: no more than these are lost to them.
    pub stalled_records: u64,
}

/// The state of a source.
#[derive(Clone, Debug)]
pub struct Source {
    buffers: Vec<Buffer>,
    /// The buffer that is being filled.
    current: Option<BufferIndex>,
    capacity: usize,
    deadline: Option<Duration>,
    retrievers: BTreeSet<RetrieverId>,
    actions: VecDeque<Action>,
    /// The number of the latest filling.
    fillings: u64,
    totals: Totals,
}

#[derive(Clone, Debug)]
struct Buffer {
    koid: Koid,
    /// Which filling it holds; 0 before its first.
    filling: u64,
    committed: usize,
    records: u64,
    done: bool,
    /// Retrievers that were notified and have not retired it, and when each was notified
    /// that it is done.
    holders: BTreeMap<RetrieverId, Option<Duration>>,
}

impl Source {
    /// A source of `koids.len()` buffers, each with room for `capacity` bytes of records.
    ///
    /// A retriever that holds a full buffer may be disconnected `deadline` after OnBufferDone if the
    /// source needs the buffer; without a deadline, never.
    pub fn new(
        koids: impl IntoIterator<Item = Koid>,
        capacity: usize,
        deadline: Option<Duration>,
    ) -> Self {
        let buffer = |koid| Buffer {
            koid,
            filling: 0,
            committed: 0,
            records: 0,
            done: false,
            holders: BTreeMap::new(),
        };
        Self {
            buffers: koids.into_iter().map(buffer).collect(),
            current: None,
            capacity,
            deadline,
            retrievers: BTreeSet::new(),
            actions: VecDeque::new(),
            fillings: 0,
            totals: Totals::default(),
        }
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What was counted so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// How many retrievers are connected.
    pub fn retrievers(&self) -> usize {
        self.retrievers.len()
    }

    /// A retriever came at time `now`: it gets messages about the latest fillings, oldest first.
    ///
    /// A filling is missing from them if an older one is held while it was recycled; only those after
    /// the last such gap are for newcomers.
    pub fn connect(&mut self, retriever: RetrieverId, now: Duration) {
        self.retrievers.insert(retriever);
        let filling = |number| {
            self.buffers
                .iter()
                .position(|buffer| buffer.filling == number)
        };
        let mut latest: Vec<_> = (1..=self.fillings).rev().map_while(filling).collect();
        latest.reverse();
        for index in latest {
            let buffer = &mut self.buffers[index];
            buffer.holders.insert(retriever, buffer.done.then_some(now));
            let init = Action::SendInit(retriever, BufferIndex(index));
            self.actions.push_back(init);
            if buffer.done {
                let done = Action::SendDone(retriever, buffer.koid);
                self.actions.push_back(done);
            }
        }
    }

    /// A retriever went: that counts as retirement of all it held.
    pub fn disconnect(&mut self, retriever: RetrieverId) {
        self.retrievers.remove(&retriever);
        for buffer in &mut self.buffers {
            buffer.holders.remove(&retriever);
        }
    }

    /// A retriever sent RetireBuffer.
    pub fn retire(&mut self, retriever: RetrieverId, koid: Koid) {
        let held = self
            .buffers
            .iter_mut()
            .find(|buffer| buffer.koid == koid)
            .is_some_and(|buffer| buffer.holders.remove(&retriever).is_some());
        if !held && self.retrievers.contains(&retriever) {
            self.disconnect(retriever);
            let reason = Closed::RetiredWhatItDidNotHold(koid);
            self.actions.push_back(Action::Close(retriever, reason));
        }
    }

    /// Room for a record of `length` bytes in the buffer that is being filled. Needs no time and makes no
    /// actions; what [`reserve`](Self::reserve) would answer in nearly all cases.
    pub fn reserve_here(&self, length: usize) -> Option<Slot> {
        let buffer = self.current?;
        let offset = self.buffers[buffer.0].committed;
        (length <= self.capacity - offset).then_some(Slot { buffer, offset })
    }

    /// Finds room for a record of `length` bytes at time `now`, which never goes back.
    pub fn reserve(&mut self, length: usize, now: Duration) -> Reservation {
        if length > self.capacity {
            return Reservation::TooLarge;
        }
        if let Some(slot) = self.reserve_here(length) {
            return Reservation::Slot(slot);
        }
        if let Some(current) = self.current {
            self.finish(current, now);
        }
        match self.free_buffer(now) {
            Ok(buffer) => {
                self.start(buffer);
                Reservation::Slot(Slot { buffer, offset: 0 })
            }
            Err(retry) => Reservation::Full(retry),
        }
    }

    /// The record was written to the slot and its bytes are committed.
    pub fn commit(&mut self, slot: Slot, length: usize) {
        let buffer = &mut self.buffers[slot.buffer.0];
        buffer.committed = slot.offset + length;
        buffer.records += 1;
        self.totals.records += 1;
    }

    /// The caller gave a record up.
    pub fn drop_record(&mut self) {
        self.totals.dropped += 1;
    }

    fn finish(&mut self, index: BufferIndex, now: Duration) {
        self.current = None;
        let buffer = &mut self.buffers[index.0];
        buffer.done = true;
        self.actions.push_back(Action::MarkDone(index));
        for (retriever, told) in &mut buffer.holders {
            *told = Some(now);
            let done = Action::SendDone(*retriever, buffer.koid);
            self.actions.push_back(done);
        }
    }

    /// The oldest buffer without holders, or else the oldest of all once its holders are past the
    /// deadline; or when the first of them will be.
    fn free_buffer(&mut self, now: Duration) -> Result<BufferIndex, Option<Duration>> {
        let oldest = |free: fn(&Buffer) -> bool| {
            let buffers = self.buffers.iter().enumerate();
            buffers
                .filter(|(_, buffer)| free(buffer))
                .min_by_key(|(_, buffer)| buffer.filling)
                .map(|(index, _)| BufferIndex(index))
        };
        if let Some(free) = oldest(|buffer| buffer.holders.is_empty()) {
            return Ok(free);
        }
        let oldest = oldest(|_| true).ok_or(None)?;
        let patience = self.deadline.ok_or(None)?;
        let mut next_deadline = None;
        for (retriever, told) in self.buffers[oldest.0].holders.clone() {
            match told.map(|told| told + patience) {
                Some(deadline) if deadline <= now => self.evict(retriever),
                deadline => next_deadline = [next_deadline, deadline].into_iter().flatten().min(),
            }
        }
        if self.buffers[oldest.0].holders.is_empty() {
            Ok(oldest)
        } else {
            Err(next_deadline)
        }
    }

    fn evict(&mut self, retriever: RetrieverId) {
        let held = self.buffers.iter();
        let held = held.filter(|buffer| buffer.holders.contains_key(&retriever));
        self.totals.stalled_records += held.map(|buffer| buffer.records).sum::<u64>();
        self.totals.stalled += 1;
        self.disconnect(retriever);
        let close = Action::Close(retriever, Closed::Stalled);
        self.actions.push_back(close);
    }

    fn start(&mut self, index: BufferIndex) {
        self.fillings += 1;
        let filling = self.fillings;
        let buffer = &mut self.buffers[index.0];
        buffer.filling = filling;
        buffer.committed = 0;
        buffer.records = 0;
        buffer.done = false;
        buffer.holders = self.retrievers.iter().map(|id| (*id, None)).collect();
        let buffer = index;
        self.actions.push_back(Action::Start { buffer, filling });
        for retriever in &self.retrievers {
            let init = Action::SendInit(*retriever, index);
            self.actions.push_back(init);
        }
        self.current = Some(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: RetrieverId = RetrieverId(1);
    const B: RetrieverId = RetrieverId(2);
    const FIRST: BufferIndex = BufferIndex(0);
    const SECOND: BufferIndex = BufferIndex(1);

    fn source(deadline: Option<Duration>) -> Source {
        Source::new([Koid(10), Koid(11)], 16, deadline)
    }

    fn actions(source: &mut Source) -> Vec<Action> {
        std::iter::from_fn(|| source.next_action()).collect()
    }

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn start(buffer: BufferIndex, filling: u64) -> Action {
        Action::Start { buffer, filling }
    }

    #[track_caller]
    fn write(source: &mut Source, expected: BufferIndex, offset: usize) {
        let slot = Slot {
            buffer: expected,
            offset,
        };
        assert_eq!(source.reserve(8, at(0)), Reservation::Slot(slot));
        source.commit(slot, 8);
    }

    #[test]
    fn retrievers_are_notified_of_a_buffer_when_it_starts_and_when_it_is_full() {
        let mut source = source(None);
        source.connect(A, at(0));
        assert_eq!(actions(&mut source), []);
        write(&mut source, FIRST, 0);
        assert_eq!(
            actions(&mut source),
            [start(FIRST, 1), Action::SendInit(A, FIRST)]
        );
        write(&mut source, FIRST, 8);
        assert_eq!(actions(&mut source), []);
        write(&mut source, SECOND, 0);
        assert_eq!(
            actions(&mut source),
            [
                Action::MarkDone(FIRST),
                Action::SendDone(A, Koid(10)),
                start(SECOND, 2),
                Action::SendInit(A, SECOND)
            ]
        );
    }

    #[test]
    fn a_buffer_is_recycled_only_after_every_notified_retriever_retired_it() {
        let mut source = source(None);
        source.connect(A, at(0));
        source.connect(B, at(0));
        for (buffer, offset) in [(FIRST, 0), (FIRST, 8), (SECOND, 0), (SECOND, 8)] {
            write(&mut source, buffer, offset);
        }
        actions(&mut source);
        assert_eq!(source.reserve(8, at(0)), Reservation::Full(None));
        source.retire(A, Koid(10));
        assert_eq!(source.reserve(8, at(999_999)), Reservation::Full(None));
        actions(&mut source);
        source.retire(B, Koid(10));
        write(&mut source, FIRST, 0);
        assert_eq!(
            actions(&mut source),
            [
                start(FIRST, 3),
                Action::SendInit(A, FIRST),
                Action::SendInit(B, FIRST)
            ]
        );
    }

    #[test]
    fn without_retrievers_the_oldest_records_give_way() {
        let mut source = source(None);
        for (buffer, offset) in [(FIRST, 0), (FIRST, 8), (SECOND, 0), (SECOND, 8), (FIRST, 0)] {
            write(&mut source, buffer, offset);
        }
        actions(&mut source);
        // The second buffer is now the older one.
        source.connect(A, at(0));
        assert_eq!(
            actions(&mut source),
            [
                Action::SendInit(A, SECOND),
                Action::SendDone(A, Koid(11)),
                Action::SendInit(A, FIRST)
            ]
        );
    }

    #[test]
    fn a_retriever_that_goes_has_retired_everything() {
        let mut source = source(None);
        source.connect(A, at(0));
        for (buffer, offset) in [(FIRST, 0), (FIRST, 8), (SECOND, 0), (SECOND, 8)] {
            write(&mut source, buffer, offset);
        }
        source.disconnect(A);
        write(&mut source, FIRST, 0);
    }

    #[test]
    fn retiring_before_the_buffer_is_done_is_legal_once() {
        let mut source = source(None);
        source.connect(A, at(0));
        write(&mut source, FIRST, 0);
        actions(&mut source);
        source.retire(A, Koid(10));
        assert_eq!(actions(&mut source), []);
        source.retire(A, Koid(10));
        let reason = Closed::RetiredWhatItDidNotHold(Koid(10));
        assert_eq!(actions(&mut source), [Action::Close(A, reason)]);
        assert_eq!(source.retrievers(), 0);
        // It is gone: nothing is sent to it, and what it still sends is ignored.
        source.retire(A, Koid(99));
        write(&mut source, FIRST, 8);
        write(&mut source, SECOND, 0);
        assert_eq!(
            actions(&mut source),
            [Action::MarkDone(FIRST), start(SECOND, 2)]
        );
    }

    #[test]
    fn one_that_stalls_is_disconnected_after_the_deadline_and_its_loss_is_counted() {
        let mut source = source(Some(at(100)));
        source.connect(A, at(0));
        source.connect(B, at(0));
        for (buffer, offset) in [(FIRST, 0), (FIRST, 8), (SECOND, 0), (SECOND, 8)] {
            write(&mut source, buffer, offset);
        }
        source.retire(A, Koid(10));
        assert_eq!(source.reserve(8, at(50)), Reservation::Full(Some(at(100))));
        source.drop_record();
        actions(&mut source);
        let slot = Slot {
            buffer: FIRST,
            offset: 0,
        };
        assert_eq!(source.reserve(8, at(100)), Reservation::Slot(slot));
        assert_eq!(actions(&mut source)[0], Action::Close(B, Closed::Stalled));
        assert_eq!(
            source.totals(),
            Totals {
                records: 4,
                dropped: 1,
                stalled: 1,
                stalled_records: 4
            }
        );
    }

    #[test]
    fn a_newcomer_has_the_whole_deadline_although_the_buffer_was_full_long_ago() {
        let mut source = source(Some(at(100)));
        source.connect(A, at(0));
        for (buffer, offset) in [(FIRST, 0), (FIRST, 8), (SECOND, 0), (SECOND, 8)] {
            write(&mut source, buffer, offset);
        }
        source.connect(B, at(90));
        actions(&mut source);
        assert_eq!(source.reserve(8, at(110)), Reservation::Full(Some(at(190))));
        let closed = actions(&mut source);
        assert!(closed.contains(&Action::Close(A, Closed::Stalled)));
        assert!(!closed.contains(&Action::Close(B, Closed::Stalled)));
    }

    #[test]
    fn a_newcomer_is_not_notified_of_what_lies_before_a_missing_filling() {
        const THIRD: BufferIndex = BufferIndex(2);
        let mut source = Source::new([Koid(10), Koid(11), Koid(12)], 8, None);
        write(&mut source, FIRST, 0);
        source.connect(A, at(0)); // holds the first
        write(&mut source, SECOND, 0);
        source.retire(A, Koid(11));
        write(&mut source, THIRD, 0);
        write(&mut source, SECOND, 0); // filling 4: 2 is missing
        actions(&mut source);
        source.connect(B, at(0));
        assert_eq!(
            actions(&mut source),
            [
                Action::SendInit(B, THIRD),
                Action::SendDone(B, Koid(12)),
                Action::SendInit(B, SECOND)
            ]
        );
    }

    #[test]
    fn a_record_over_the_capacity_is_too_large() {
        assert_eq!(source(None).reserve(17, at(0)), Reservation::TooLarge);
    }
}
