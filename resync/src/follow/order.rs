//! The order of what is followed. A thread moves on to another chunk, or to another file,
//! while the one before is not read to its end yet, so its records may be met in any
//! order. Each record has its count in its thread: one that comes too early is held until
//! those before it came, or did not come for a while. What comes after all is *late*: it is given,
//! and marked. A record that was given is not given again, however many files hold it. Knows no files.

use super::News;
use crate::recover::memory::Memory;
use crate::recover::notes::Notes;
use crate::recover::sequences::Intervals;
use crate::recover::standing::Standing;
use logdef_wire::record::{Note, Peek};
use logdef_wire::{Run, ThreadNumber};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::time::SystemTime;

/// Looks at all files after which records that did not come count as missing.
const PATIENCE: u32 = 20;
/// The same for records of a thread that were perhaps removed before it was followed: those
/// that are there were all read by then. It may log during the first look.
const PATIENCE_AT_FIRST: u32 = 2;
/// The same, if it did not log during that look.
const PATIENCE_WITH_OLD: u32 = 1;
/// A record that was written this many nanoseconds before the first look, or later, may have
/// been written during the look.
const DURING_LOOK: u64 = 1_000_000_000;
/// Threads whose order is kept; records of more are given as they come.
const THREADS: usize = 1 << 17;
/// Bytes of memory for records that are held; beyond, nothing is waited for.
const HELD: usize = 64 << 20;
/// Memory that a record takes beside its bytes while it is held, roughly: nodes of a tree are
/// half full.
const OF_ONE: usize = 2 * size_of::<(u64, Held)>() + 32;
/// Intervals of counts that are remembered, of all threads together. With more, records that
/// are missing from a thread are not given any more when they come after all.
const INTERVALS: usize = 1 << 17;
/// Records in doubt of which is remembered what they were.
const DOUBTED: usize = 1 << 16;
/// Notes of which is remembered that they were given.
const NOTES: usize = 1 << 16;
/// Memory for what notes say of records that are not here.
const NOTED: usize = 4 << 20;

type Key = (Run, ThreadNumber);

/// A record that can be given.
#[derive(Debug)]
struct Given {
    /// Its time, or that of a record of its thread before it, if that is later.
    time: u64,
    news: News,
}

/// What is given at once.
#[derive(Debug, Default)]
struct Batch {
    number: u64,
    given: Vec<Given>,
    late: BTreeMap<Key, Late>,
}

/// The late records of a thread in a batch.
#[derive(Debug)]
struct Late {
    from: u64,
    to: u64,
    records: u64,
    after: u64,
}

/// Puts followed records in the order of their threads' counts.
#[derive(Debug)]
pub(super) struct Order {
    threads: HashMap<Key, Thread>,
    /// Threads that have records held.
    waiting: BTreeSet<Key>,
    /// Memory for these records.
    held: usize,
    intervals: usize,
    looks: u32,
    /// When (Unix time) the first record came.
    begun: Option<u64>,
    batch: Batch,
    /// Records that were given and may be quotations, with a hash of their bytes.
    doubted: HashMap<(Key, u64), u64>,
    /// What the writer gave up is not missing.
    notes: Notes,
    /// Hashes of the notes that were given.
    noted: HashSet<u64>,
}

impl Default for Order {
    fn default() -> Order {
        Order {
            threads: HashMap::new(),
            waiting: BTreeSet::new(),
            held: 0,
            intervals: 0,
            looks: 0,
            begun: None,
            batch: Batch::default(),
            doubted: HashMap::new(),
            notes: Notes::new(&Memory::new(NOTED)),
            noted: HashSet::new(),
        }
    }
}

#[derive(Debug, Default)]
struct Thread {
    seen: Intervals,
    /// The count that comes next.
    next: u64,
    /// By count; of two with the same, the one in doubt comes first.
    held: BTreeMap<(u64, bool), Held>,
    /// The look since which records are held.
    since: u32,
    /// Its first records may have been removed before it was followed, which is no loss: how many
    /// looks they are waited for.
    at_first: Option<u32>,
    /// The latest time of its records in a batch.
    latest: (u64, u64),
}

#[derive(Debug)]
struct Held {
    time: u64,
    bytes: usize,
    dropped: u64,
    news: News,
}

impl Order {
    /// A data record comes, with the bytes it takes.
    pub(super) fn arrive(&mut self, peek: &Peek<'_>, bytes: usize, news: News) {
        let glance = &peek.glance;
        let time = glance.time.unwrap_or(0);
        let (Some(run), Some(sequence)) = (glance.run, glance.sequence) else {
            return self.give(time, news);
        };
        let (key, count) = ((run, sequence.number()), sequence.count());
        if !self.knows(key, time) {
            return self.give(time, news);
        }
        let is_first = self.see(key, count);
        if !is_first && !self.replaces_doubted((key, count), &news) {
            return;
        }
        if is_first && !is_sound(&news) && self.doubted.len() < DOUBTED {
            self.doubted.insert((key, count), hash_of(&news));
        }
        let record = Held {
            time,
            bytes: bytes + OF_ONE,
            dropped: peek.dropped,
            news,
        };
        self.put((key, count), !is_first, record);
    }

    /// Whether the order of a thread is kept, which may begin with a record of this time.
    fn knows(&mut self, key: Key, time: u64) -> bool {
        if self.threads.contains_key(&key) {
            return true;
        }
        if self.threads.len() >= THREADS {
            return false;
        }
        let mut thread = Thread::default();
        if self.looks == 0 {
            thread.begin(time, *self.begun.get_or_insert_with(now));
        }
        self.threads.insert(key, thread);
        true
    }

    /// Whether a count of a thread was not there yet.
    fn see(&mut self, key: Key, count: u64) -> bool {
        let thread = self.threads.entry(key).or_default();
        let intervals = thread.seen.len();
        let is_first = thread.seen.insert(count);
        if is_first && self.intervals >= INTERVALS {
            thread.seen.insert_range(0, thread.next);
        }
        self.intervals = self.intervals + thread.seen.len() - intervals;
        is_first
    }

    /// Whether a record is given though another has its place in its thread. One that quotes it, or
    /// is invented, must not keep it from being given.
    fn replaces_doubted(&mut self, place: (Key, u64), news: &News) -> bool {
        let is_other = |hash: &u64| *hash != hash_of(news);
        let replaces = is_sound(news) && self.doubted.get(&place).is_some_and(is_other);
        if replaces {
            self.doubted.remove(&place);
        }
        replaces
    }

    /// Gives a record and what waited for it, or holds it.
    fn put(&mut self, (key, count): (Key, u64), is_other: bool, record: Held) {
        let thread = self.threads.entry(key).or_default();
        if thread.next < count.saturating_sub(record.dropped) {
            if thread.held.is_empty() {
                thread.since = self.looks;
                self.waiting.insert(key);
            }
            self.held += record.bytes;
            thread.held.insert((count, is_other), record);
            return;
        }
        thread.give((key, count), record, &mut self.batch);
        if !thread.held.is_empty() {
            self.held -= thread.release(key, &mut self.batch);
            // What is still held waits for another record, which may have come to be only now.
            thread.since = self.looks;
            if thread.held.is_empty() {
                self.waiting.remove(&key);
            }
        }
    }

    /// A note comes, which may say what the writer gave up. A copy of a file, or a compressed one, has those of the
    /// file again.
    pub(super) fn note(&mut self, note: &Note<'_>, news: News) {
        let is_remembered = is_sound(&news) && self.noted.len() < NOTES;
        if is_remembered && !self.noted.insert(hash_of(&news)) {
            return;
        }
        self.notes.add(note);
        self.give(note.time.unwrap_or(0), news);
    }

    /// A record without a place in a thread comes.
    fn give(&mut self, time: u64, news: News) {
        self.batch.given.push(Given { time, news });
    }

    /// All files were looked at. What was waited for long enough is missing.
    pub(super) fn end_of_look(&mut self, missing: &mut Vec<News>) {
        self.looks += 1;
        self.give_up(missing, Thread::is_out_of_patience);
        self.end_of_batch(missing);
    }

    /// Some of a look was read. If too much is held, what it waits for is missing, but for first
    /// records if that is enough.
    pub(super) fn end_of_batch(&mut self, missing: &mut Vec<News>) {
        if self.held > HELD {
            self.give_up(missing, |thread, _| thread.waits_for_first());
        }
        if self.held > HELD {
            self.give_up(missing, |_, _| true);
        }
    }

    /// Waits no longer for the next records of those threads of which it is said.
    fn give_up(&mut self, missing: &mut Vec<News>, is_to_give_up: fn(&Thread, u32) -> bool) {
        for key in std::mem::take(&mut self.waiting) {
            let Some(thread) = self.threads.get_mut(&key) else {
                continue;
            };
            while let Some((&(count, _), record)) = thread.held.first_key_value()
                && is_to_give_up(thread, self.looks)
            {
                if thread.waits_for_first() {
                    // Others may be written during the look.
                    thread.since = self.looks;
                } else {
                    let to = count.saturating_sub(record.dropped);
                    let time = Some(record.time).filter(|time| *time > 0);
                    let is_pruned = self.notes.is_pruned(key, to, time);
                    missing.push(not_there(key, thread.next..to, is_pruned));
                }
                thread.next = count;
                self.held -= thread.release(key, &mut self.batch);
            }
            if !thread.held.is_empty() {
                self.waiting.insert(key);
            }
        }
    }

    /// What can be given now, by time, and in the order of each thread; before it, what of it is
    /// late.
    pub(super) fn take(&mut self) -> impl Iterator<Item = News> {
        let number = self.batch.number + 1;
        let next = Batch {
            number,
            ..Batch::default()
        };
        let Batch {
            mut given, late, ..
        } = std::mem::replace(&mut self.batch, next);
        given.sort_by_key(|given| given.time);
        let late = late.into_iter().map(|(key, late)| late.of(key));
        late.chain(given.into_iter().map(|given| given.news))
    }
}

impl Batch {
    fn late(&mut self, key: Key, count: u64, after: u64) {
        let late = self.late.entry(key).or_insert(Late {
            from: count,
            to: count,
            records: 0,
            after,
        });
        late.from = late.from.min(count);
        late.to = late.to.max(count);
        late.records += 1;
    }
}

impl Late {
    fn of(self, (run, number): Key) -> News {
        News::Late {
            run,
            number,
            from: self.from,
            to: self.to,
            records: self.records,
            after: self.after,
        }
    }
}

/// Records of a thread that are not waited for any more.
fn not_there((run, number): Key, counts: Range<u64>, is_pruned: bool) -> News {
    let (from, count) = (counts.start, counts.end - counts.start);
    if is_pruned {
        News::Pruned {
            run,
            number,
            from,
            count,
        }
    } else {
        News::Missing {
            run,
            number,
            from,
            count,
        }
    }
}

fn is_sound(news: &News) -> bool {
    let standing = Standing::Sound;
    matches!(news, News::Frame { standing: of, .. } if *of == standing)
}

fn hash_of(news: &News) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let News::Frame { bytes, .. } = news {
        bytes.hash(&mut hasher);
    }
    hasher.finish()
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

impl Thread {
    /// The first record comes that is met of it, in the first look, which began at a time.
    /// What came before may not be here any more; or it is in a part of the files that is read later,
    /// or the thread logs in the middle of the look, in a file that was read before.
    fn begin(&mut self, time: u64, look: u64) {
        let is_old = time.saturating_add(DURING_LOOK) < look;
        self.at_first = Some(if is_old {
            PATIENCE_WITH_OLD
        } else {
            PATIENCE_AT_FIRST
        });
    }

    /// Whether nothing came of it yet, and nothing has to come before what is held.
    fn waits_for_first(&self) -> bool {
        self.at_first.is_some() && self.next == 0
    }

    fn is_out_of_patience(&self, looks: u32) -> bool {
        let at_first = self.at_first.filter(|_| self.next == 0);
        looks - self.since >= at_first.unwrap_or(PATIENCE)
    }

    fn give(&mut self, (key, count): (Key, u64), record: Held, batch: &mut Batch) {
        let (of, latest) = self.latest;
        let latest = if of == batch.number { latest } else { 0 };
        let time = record.time.max(latest);
        self.latest = (batch.number, time);
        let mut news = record.news;
        if count < self.next {
            batch.late(key, count, self.next - 1);
            if let News::Frame { is_late, .. } = &mut news {
                *is_late = true;
            }
        }
        self.next = self.next.max(count + 1);
        batch.given.push(Given { time, news });
    }

    /// Gives what is held and follows; how many bytes it has.
    fn release(&mut self, key: Key, batch: &mut Batch) -> usize {
        let mut bytes = 0;
        while let Some(first) = self.held.first_entry() {
            let (count, _) = *first.key();
            if self.next < count.saturating_sub(first.get().dropped) {
                break;
            }
            let record = first.remove();
            bytes += record.bytes;
            self.give((key, count), record, batch);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::Sequence;
    use logdef_wire::record::Glance;

    fn arrive(order: &mut Order, count: u64, time: u64, bytes: usize) {
        let peek = Peek {
            glance: Glance {
                run: Some(Run(7)),
                sequence: Some(Sequence::new(ThreadNumber(0), count)),
                time: Some(time),
                ..Glance::default()
            },
            dropped: 0,
            args: None,
            backtrace: None,
            has_more: false,
        };
        let news = News::Frame {
            file: 0,
            offset: count,
            bytes: Vec::new(),
            standing: Standing::Sound,
            is_late: false,
        };
        order.arrive(&peek, bytes, news);
    }

    /// Ends a look, in which nothing may be missing; the counts that are given.
    fn look(order: &mut Order) -> Vec<u64> {
        let mut missing = Vec::new();
        order.end_of_look(&mut missing);
        assert!(missing.is_empty(), "{missing:?}");
        let given = order.take().map(|news| match news {
            News::Frame { offset, .. } => offset,
            other => panic!("{other:?}"),
        });
        given.collect()
    }

    #[test]
    fn a_follower_that_is_always_behind_misses_nothing() {
        let mut order = Order::default();
        arrive(&mut order, 0, 0, 1);
        assert_eq!(look(&mut order), [0]);
        // Each look meets a record in a new file, and another that was waited for in an old one.
        arrive(&mut order, 2, 0, HELD / 3);
        let mut given = look(&mut order);
        for count in 1..100 {
            arrive(&mut order, 2 * count + 2, 0, HELD / 3);
            arrive(&mut order, 2 * count - 1, 0, 1);
            given.extend(look(&mut order));
        }
        assert!(given.iter().copied().eq(1..199), "{given:?}");
    }

    #[test]
    fn a_look_at_a_file_of_holes_holds_and_remembers_no_more_than_a_little() {
        let mut order = Order::default();
        arrive(&mut order, 0, 0, 1);
        let mut missing = Vec::new();
        let mut given = 0;
        // All of it is in one look: each record waits for the one before it.
        for count in 1..150_000 {
            arrive(&mut order, 2 * count, 0, 640);
            if count % 1000 == 0 {
                order.end_of_batch(&mut missing);
                given += order.take().count();
                assert!(order.held <= HELD + 1000 * (640 + OF_ONE));
                assert!(order.intervals <= INTERVALS + 1000);
            }
        }
        assert!(given > 70_000, "{given}");
        let known: usize = order.threads.values().map(|it| it.seen.len()).sum();
        assert_eq!(order.intervals, known);
    }

    #[test]
    fn a_thread_that_logs_during_the_first_look_keeps_its_order() {
        let mut order = Order::default();
        arrive(&mut order, 5, now(), 1);
        assert!(look(&mut order).is_empty());
        (0..5).for_each(|count| arrive(&mut order, count, now(), 1));
        assert_eq!(look(&mut order), [0, 1, 2, 3, 4, 5]);
    }

    /// Those of a file that was copied, or compressed, were given again.
    #[test]
    fn a_note_is_given_once() {
        let mut order = Order::default();
        let note = Note::default();
        let mut come = |body: &[u8], standing| {
            let news = News::Frame {
                file: 0,
                offset: 0,
                bytes: body.to_vec(),
                standing,
                is_late: false,
            };
            order.note(&note, news);
            order.take().count()
        };
        // One in doubt does not keep what it quotes from being given.
        assert_eq!(come(b"one", Standing::Recovered), 1);
        assert_eq!(
            [b"one", b"two", b"one"].map(|body| come(body, Standing::Sound)),
            [1, 1, 0]
        );
    }

    #[test]
    fn what_was_removed_before_the_first_look_is_not_missing() {
        let mut order = Order::default();
        arrive(&mut order, 5, 1, 1);
        assert_eq!(look(&mut order), [5]);
        let mut order = Order::default();
        arrive(&mut order, 5, now(), 1);
        assert!(look(&mut order).is_empty());
        assert_eq!(look(&mut order), [5]);
    }
}
