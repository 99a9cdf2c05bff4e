//! The last records of what is shown: as they come, or by time where several files are read one after
//! another. Their number has a bound, and the memory they take has another.

use crate::choose::backlog::{Backlog, Store};
use logdef_resync::{Glance, Place};
use logdef_wire::{Record, Run, ThreadNumber};
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Bytes that are no longer wanted, and more than those that are, after which these are moved
/// together.
const UNWANTED: u64 = 1 << 20;
/// Threads that are remembered beside those of the records that are kept.
const THREADS: usize = 1024;

/// The last records.
pub enum Tail {
    AsTheyCome { most: usize, kept: Backlog },
    ByTime(ByTime),
}

impl Tail {
    pub fn as_they_come(most: usize) -> Tail {
        Tail::AsTheyCome {
            most,
            kept: Backlog::default(),
        }
    }

    pub fn by_time(most: usize) -> Tail {
        Tail::ByTime(ByTime {
            most,
            ..ByTime::default()
        })
    }

    /// Keeps a record, and gives up the first if there are too many.
    pub fn push(&mut self, place: Place, body: &[u8], scratch: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Tail::AsTheyCome { most, kept } => {
                kept.push(place, body)?;
                if kept.len() > *most {
                    kept.pop(scratch)?;
                }
                Ok(())
            }
            Tail::ByTime(kept) => kept.push(place, body, scratch),
        }
    }

    /// Takes the first record out.
    pub fn pop(&mut self, body: &mut Vec<u8>) -> io::Result<Option<Place>> {
        match self {
            Tail::AsTheyCome { kept, .. } => kept.pop(body),
            Tail::ByTime(kept) => kept.pop(body),
        }
    }

    /// Whether all that is wanted is there, and of a time or later.
    pub fn is_full_since(&mut self, time: u64, scratch: &mut Vec<u8>) -> io::Result<bool> {
        let Tail::AsTheyCome { most, kept } = self else {
            return Ok(false);
        };
        if kept.len() < *most {
            return Ok(false);
        }
        let first = kept.first(scratch)?;
        let first = first.and_then(|_| Glance::of(scratch)?.time);
        Ok(first.is_none_or(|first| first >= time))
    }
}

type Thread = (Option<Run>, Option<ThreadNumber>);

/// The last records by time, where no thread's order is broken: one whose clock was set back is
/// as late as those of its thread before.
#[derive(Default)]
pub struct ByTime {
    most: usize,
    /// Where each stands in the store, by time and by when it came.
    order: BTreeMap<(u64, u64), u64>,
    came: u64,
    /// The latest time of each thread, where it may matter.
    floors: HashMap<Thread, u64>,
    store: Store,
    /// Bytes of the store that are wanted.
    wanted: u64,
}

impl ByTime {
    fn push(&mut self, place: Place, body: &[u8], scratch: &mut Vec<u8>) -> io::Result<()> {
        let (time, thread) = time_and_thread(body);
        let floor = self.floors.get(&thread).copied();
        let time = floor.map_or(time, |floor| floor.max(time));
        let first = self.order.first_key_value().map_or(0, |(key, _)| key.0);
        if self.order.len() >= self.most && time < first || self.most == 0 {
            return Ok(());
        }
        self.floors.insert(thread, time);
        self.came += 1;
        self.order.insert((time, self.came), self.store.end());
        self.store.push(place, body)?;
        self.wanted += Store::size(body);
        if self.order.len() > self.most {
            self.pop(scratch)?;
            self.forget();
        }
        if self.store.end() > 2 * self.wanted + UNWANTED {
            self.move_together(scratch)?;
        }
        Ok(())
    }

    fn pop(&mut self, body: &mut Vec<u8>) -> io::Result<Option<Place>> {
        let Some((_, at)) = self.order.pop_first() else {
            return Ok(None);
        };
        let place = self.store.read(at, body)?;
        self.wanted -= Store::size(body);
        Ok(Some(place))
    }

    /// Forgets threads of which no record is kept: a later one is as late as it says, or is not
    /// among the last.
    fn forget(&mut self) {
        if self.floors.len() > 2 * self.order.len() + THREADS {
            let first = self.order.first_key_value().map_or(0, |(key, _)| key.0);
            self.floors.retain(|_, floor| *floor >= first);
        }
    }

    /// Makes the store one of the wanted records alone.
    fn move_together(&mut self, scratch: &mut Vec<u8>) -> io::Result<()> {
        let mut store = Store::default();
        for at in self.order.values_mut() {
            let place = self.store.read(*at, scratch)?;
            *at = store.end();
            store.push(place, scratch)?;
        }
        self.store = store;
        Ok(())
    }
}

/// What a record is ordered by.
fn time_and_thread(body: &[u8]) -> (u64, Thread) {
    let glance = match Glance::of(body) {
        Some(glance) => glance,
        None => match Record::decode(body) {
            Ok(Record::Note(note)) => return (note.time.unwrap_or(0), (note.run, None)),
            _ => Glance::default(),
        },
    };
    let thread = glance.sequence.map(|sequence| sequence.number());
    (glance.time.unwrap_or(0), (glance.run, thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::msgpack::Encoder;
    use logdef_wire::record::Data;
    use logdef_wire::{Sequence, ThreadNumber};

    /// A record of a thread, and its time.
    fn body(thread: u64, count: u64, time: u64, len: usize) -> Vec<u8> {
        let text = vec![b'x'; len];
        let data = Data {
            front: Glance {
                run: Some(Run(1)),
                sequence: Some(Sequence::new(ThreadNumber(thread), count)),
                time: Some(time),
                ..Glance::default()
            },
            format_text: Some(&text),
            ..Data::default()
        };
        let mut bytes = vec![0; len + 100];
        let mut encoder = Encoder::new(&mut bytes);
        data.encode(&mut encoder).unwrap();
        encoder.written().to_vec()
    }

    #[test]
    fn the_last_by_time_break_no_thread() {
        for (most, len) in [(0, 5), (1, 5), (10, 5), (500, 5), (5000, 5), (300, 200_000)] {
            let mut kept = Tail::by_time(most);
            let mut scratch = Vec::new();
            let (mut all, mut floors) = (Vec::new(), [0; 40]);
            // Files one after another, each with four threads, whose clocks are set back now
            // and then.
            for number in 0..1000_u64 {
                let (file, at) = (number / 100, number % 100);
                let thread = file * 4 + at % 4;
                let step = if at % 17 < 3 { 40 } else { 0 };
                let time = 1000 + (at * 10).saturating_sub(step) + file % 3;
                let floor = &mut floors[thread as usize];
                *floor = time.max(*floor);
                all.push((*floor, number));
                let place = Place {
                    input: file as u32,
                    offset: number,
                };
                let body = body(thread, at / 4, time, len);
                kept.push(place, &body, &mut scratch).unwrap();
            }
            all.sort_unstable();
            let expected = &all[all.len().saturating_sub(most)..];
            for (_, number) in expected {
                let place = kept.pop(&mut scratch).unwrap();
                assert_eq!(place.map(|place| place.offset), Some(*number), "{most}");
                assert_eq!(Glance::of(&scratch).unwrap().run, Some(Run(1)));
            }
            assert_eq!(kept.pop(&mut scratch).unwrap(), None);
        }
    }

    #[test]
    fn what_is_not_wanted_any_more_takes_little_room() {
        let mut kept = Tail::by_time(10);
        let mut scratch = Vec::new();
        let place = Place {
            input: 0,
            offset: 0,
        };
        for number in 0..40_000 {
            let body = body(number, 0, number, 300);
            kept.push(place, &body, &mut scratch).unwrap();
            let Tail::ByTime(kept) = &kept else { return };
            assert!(kept.store.end() < 2 * UNWANTED, "{}", kept.store.end());
            assert!(kept.floors.len() <= THREADS + 2 * 11);
        }
    }
}
