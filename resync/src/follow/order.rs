//! The order of what is followed. A thread moves on to another chunk, or to another file,
//! while the one before is not read to its end yet, so its records may be met in any
//! order. Each record has its count in its thread: one that comes too early is held until
//! those before it came, or did not come for a while. A record that was given is not given
//! again, however many files hold it. Knows no files.

use super::News;
use crate::recover::sequences::Intervals;
use crate::recover::standing::Standing;
use logdef_wire::record::Peek;
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
const THREADS: usize = 1 << 18;
/// Bytes that are held; beyond, nothing is waited for.
const HELD: usize = 64 << 20;
/// Records in doubt of which is remembered what they were.
const DOUBTED: usize = 1 << 16;

type Key = (Run, ThreadNumber);

/// A record that can be given.
#[derive(Debug)]
pub(super) struct Given {
    /// Its time, or that of a record of its thread before it, if that is later.
    pub(super) time: u64,
    pub(super) news: News,
}

/// Puts followed records in the order of their threads' counts.
#[derive(Debug, Default)]
pub(super) struct Order {
    threads: HashMap<Key, Thread>,
    /// Threads that have records held.
    waiting: BTreeSet<Key>,
    held: usize,
    looks: u32,
    /// When (Unix time) the first record came.
    begun: Option<u64>,
    batches: u64,
    given: Vec<Given>,
    /// Records that were given and may be quotations, with a hash of their bytes.
    doubted: HashMap<(Key, u64), u64>,
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
        if !is_known && is_first_look {
            // What came before is not here any more; unless the thread logs in the middle of
            // the look, in a file that is read after the one where its first records are.
            let begun = *self.begun.get_or_insert_with(now);
            let time = glance.time.unwrap_or(0);
            if time.saturating_add(DURING_LOOK) < begun {
                thread.next = count;
            } else {
                thread.may_begin_late = true;
            }
        }
        if !thread.seen.insert(count) {
            // Who quotes a record, or invents one, must not keep the real one from being given.
            if self
                .doubted
                .get(&(key, count))
                .is_some_and(|it| *it != hash_of(&news))
                && is_sound
            {
                self.doubted.remove(&(key, count));
                self.give(glance.time.unwrap_or(0), news);
            }
            return;
        }
        if !is_sound && self.doubted.len() < DOUBTED {
            self.doubted.insert((key, count), hash_of(&news));
        }
        let record = Held {
            time: glance.time.unwrap_or(0),
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
        // What is still held waits for another record, which may have come to be only now.
        thread.since = self.looks;
        if !thread.held.is_empty() && thread.release(self.batches, &mut self.given) {
            self.waiting.remove(&key);
        }
    }

    /// A record without a place in a thread comes.
    pub(super) fn give(&mut self, time: u64, news: News) {
        self.given.push(Given { time, news });
    }

    /// All files were looked at. What was waited for long enough is missing.
    pub(super) fn end_of_look(&mut self, missing: &mut Vec<News>) {
        self.looks += 1;
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
                    missing.push(News::Missing {
                        run: key.0,
                        number: key.1,
                        from,
                        count: count.saturating_sub(record.dropped) - from,
                    });
                }
                thread.next = *count;
                thread.release(self.batches, &mut self.given);
            }
        }
        if self.waiting.is_empty() {
            self.held = 0;
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

    /// Gives what is held and follows; whether that is all.
    fn release(&mut self, batch: u64, given: &mut Vec<Given>) -> bool {
        while let Some(first) = self.held.first_entry() {
            if self.next < first.key().saturating_sub(first.get().dropped) {
                return false;
            }
            let (count, record) = first.remove_entry();
            self.give(count, record, batch, given);
        }
        true
    }
}
