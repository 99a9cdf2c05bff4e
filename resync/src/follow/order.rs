//! The order of what is followed. A thread moves on to another chunk, or to another file,
//! while the one before is not read to its end yet, so its records may be met in any
//! order. Each record has its count in its thread: one that comes too early is held until
//! those before it came, or did not come for a while. A record that was given is not given
//! again, however many files hold it. Knows no files.

use super::News;
use crate::recover::memory::Memory;
use crate::recover::notes::Notes;
use crate::recover::sequences::Intervals;
use crate::recover::standing::Standing;
use logdef_wire::record::{Note, Peek};
use logdef_wire::{Run, ThreadNumber};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::SystemTime;

/// Looks at all files after which records that did not come count as missing.
const PATIENCE: u32 = 20;
/// The same for records of a thread that were perhaps removed before it was followed: those
/// that are there were all read by then.
const PATIENCE_AT_FIRST: u32 = 2;
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
/// Memory for what notes say of records that are not here.
const NOTED: usize = 4 << 20;

type Key = (Run, ThreadNumber);

/// A record that can be given.
#[derive(Debug)]
pub(super) struct Given {
    /// Its time, or that of a record of its thread before it, if that is later.
    pub(super) time: u64,
    pub(super) news: News,
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
    batches: u64,
    given: Vec<Given>,
    /// Records that were given and may be quotations, with a hash of their bytes.
    doubted: HashMap<(Key, u64), u64>,
    /// What the writer gave up is not missing.
    notes: Notes,
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
            batches: 0,
            given: Vec::new(),
            doubted: HashMap::new(),
            notes: Notes::new(&Memory::new(NOTED)),
        }
    }
}

#[derive(Debug, Default)]
struct Thread {
    seen: Intervals,
    /// The count that comes next.
    next: u64,
    held: BTreeMap<u64, Held>,
    /// The look since which records are held.
    since: u32,
    /// Its first records may have been removed before it was followed, which is no loss.
    may_begin_late: bool,
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
        let (Some(run), Some(sequence)) = (glance.run, glance.sequence) else {
            return self.give(glance.time.unwrap_or(0), news);
        };
        let (key, count) = ((run, sequence.number()), sequence.count());
        let is_sound = matches!(
            &news,
            News::Frame {
                standing: Standing::Sound,
                ..
            }
        );
        let is_known = self.threads.contains_key(&key);
        if !is_known && self.threads.len() >= THREADS {
            return self.give(glance.time.unwrap_or(0), news);
        }
        let is_first_look = self.looks == 0;
        let thread = self.threads.entry(key).or_default();
        let time = glance.time.unwrap_or(0);
        if !is_known && is_first_look {
            thread.begin(count, time, *self.begun.get_or_insert_with(now));
        }
        let intervals = thread.seen.len();
        if !thread.seen.insert(count) {
            return self.repeat((key, count), time, is_sound, news);
        }
        if self.intervals >= INTERVALS {
            thread.seen.insert_range(0, thread.next);
        }
        self.intervals = self.intervals + thread.seen.len() - intervals;
        if !is_sound && self.doubted.len() < DOUBTED {
            self.doubted.insert((key, count), hash_of(&news));
        }
        let bytes = bytes + OF_ONE;
        let record = Held {
            time,
            bytes,
            dropped: peek.dropped,
            news,
        };
        if thread.next < count.saturating_sub(record.dropped) {
            if thread.held.is_empty() {
                thread.since = self.looks;
                self.waiting.insert(key);
            }
            self.held += bytes;
            thread.held.insert(count, record);
            return;
        }
        thread.give(count, record, self.batches, &mut self.given);
        if !thread.held.is_empty() {
            self.held -= thread.release(self.batches, &mut self.given);
            // What is still held waits for another record, which may have come to be only now.
            thread.since = self.looks;
            if thread.held.is_empty() {
                self.waiting.remove(&key);
            }
        }
    }

    /// A record comes whose place in its thread another has taken. One that quotes it, or
    /// is invented, must not keep it from being given.
    fn repeat(&mut self, place: (Key, u64), time: u64, is_sound: bool, news: News) {
        let is_other = |hash: &u64| *hash != hash_of(&news);
        if is_sound && self.doubted.get(&place).is_some_and(is_other) {
            self.doubted.remove(&place);
            self.give(time, news);
        }
    }

    /// A note comes, which may say what the writer gave up.
    pub(super) fn note(&mut self, note: &Note<'_>, news: News) {
        self.notes.add(note);
        self.give(note.time.unwrap_or(0), news);
    }

    /// A record without a place in a thread comes.
    pub(super) fn give(&mut self, time: u64, news: News) {
        self.given.push(Given { time, news });
    }

    /// All files were looked at. What was waited for long enough is missing.
    pub(super) fn end_of_look(&mut self, missing: &mut Vec<News>) {
        self.looks += 1;
        self.give_up(missing);
    }

    /// Some of a look was read. If too much is held, what it waits for is missing.
    pub(super) fn end_of_batch(&mut self, missing: &mut Vec<News>) {
        if self.held > HELD {
            self.give_up(missing);
        }
    }

    fn give_up(&mut self, missing: &mut Vec<News>) {
        let is_too_much = self.held > HELD;
        for key in std::mem::take(&mut self.waiting) {
            let Some(thread) = self.threads.get_mut(&key) else {
                continue;
            };
            let patience = if thread.begins_late() {
                PATIENCE_AT_FIRST
            } else {
                PATIENCE
            };
            if !is_too_much && self.looks - thread.since < patience {
                self.waiting.insert(key);
                continue;
            }
            while let Some((count, record)) = thread.held.first_key_value() {
                let from = thread.next;
                if !thread.begins_late() {
                    let to = count.saturating_sub(record.dropped);
                    let time = Some(record.time).filter(|time| *time > 0);
                    let (run, number) = key;
                    let count = to - from;
                    missing.push(if self.notes.is_pruned(key, to, time) {
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
                    });
                }
                thread.next = *count;
                self.held -= thread.release(self.batches, &mut self.given);
            }
        }
    }

    /// What can be given now, by time, and in the order of each thread.
    pub(super) fn take(&mut self) -> impl Iterator<Item = News> {
        self.batches += 1;
        let mut given = std::mem::take(&mut self.given);
        given.sort_by_key(|given| given.time);
        given.into_iter().map(|given| given.news)
    }
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
    /// What came before is not here any more; unless the thread logs in the middle of the
    /// look, in a file that is read after the one where its first records are.
    fn begin(&mut self, count: u64, time: u64, look: u64) {
        if time.saturating_add(DURING_LOOK) < look {
            self.next = count;
        } else {
            self.may_begin_late = true;
        }
    }

    /// Whether nothing came of it yet, and nothing has to come before what is held.
    fn begins_late(&self) -> bool {
        self.may_begin_late && self.next == 0
    }

    fn give(&mut self, count: u64, record: Held, batch: u64, given: &mut Vec<Given>) {
        let (of, latest) = self.latest;
        let latest = if of == batch { latest } else { 0 };
        let time = record.time.max(latest);
        self.latest = (batch, time);
        self.next = self.next.max(count + 1);
        given.push(Given {
            time,
            news: record.news,
        });
    }

    /// Gives what is held and follows; how many bytes it has.
    fn release(&mut self, batch: u64, given: &mut Vec<Given>) -> usize {
        let mut bytes = 0;
        while let Some(first) = self.held.first_entry() {
            if self.next < first.key().saturating_sub(first.get().dropped) {
                break;
            }
            let (count, record) = first.remove_entry();
            bytes += record.bytes;
            self.give(count, record, batch, given);
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
