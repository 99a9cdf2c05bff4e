//! What the threads of the browser share: the inputs, the rows that were found so far, the tables that
//! records are resolved by, and how much of the log was read. Knows neither how rows are found nor how they look.

use super::row::Row;
use super::rows::Rows;
use crate::show::losses;
use logdef_resync::{Input, LocatedImages, Place, Recovery, Resolver, Standings, Tables};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

/// The files that rows stand in: those that were opened at first, and those that are followed.
#[derive(Clone)]
pub struct Inputs {
    pub first: Arc<Vec<Input>>,
    followed: Arc<RwLock<Vec<Option<Followed>>>>,
}

/// A file that is followed, and how many nanoseconds its times are moved by.
type Followed = (Arc<Input>, i64);

/// An input of either kind.
pub enum Opened<'i> {
    First(&'i Input),
    Followed(Arc<Input>),
}

impl std::ops::Deref for Opened<'_> {
    type Target = Input;

    fn deref(&self) -> &Input {
        match self {
            Opened::First(input) => input,
            Opened::Followed(input) => input,
        }
    }
}

impl Inputs {
    pub fn new(first: Vec<Input>) -> Inputs {
        Inputs {
            first: Arc::new(first),
            followed: Arc::default(),
        }
    }

    pub fn get(&self, number: u32) -> Option<Opened<'_>> {
        let number = number as usize;
        if let Some(input) = self.first.get(number) {
            return Some(Opened::First(input));
        }
        let followed = read(&self.followed);
        let (input, _) = followed.get(number - self.first.len())?.clone()?;
        Some(Opened::Followed(input))
    }

    /// How many nanoseconds the times of what is read of an input have yet to be moved by.
    pub fn times_moved(&self, number: u32) -> i64 {
        let followed = (number as usize).checked_sub(self.first.len());
        let by = followed.and_then(|number| Some(read(&self.followed).get(number)?.as_ref()?.1));
        by.unwrap_or(0)
    }

    pub fn number_of_followed(&self, file: u32) -> u32 {
        self.first.len() as u32 + file
    }

    pub fn open_followed(&self, file: u32, open: impl FnOnce() -> Option<(Input, i64)>) {
        let mut followed = write(&self.followed);
        if followed.len() <= file as usize {
            followed.resize(file as usize + 1, None);
        }
        let slot = &mut followed[file as usize];
        if slot.is_none() {
            *slot = open().map(|(input, by)| (Arc::new(input), by));
        }
    }
}

/// What rows are read by.
pub enum Known {
    /// Tables that are filled while the log is read.
    Growing(Box<Tables>),
    /// All of what was read.
    Whole(Arc<Recovery>),
}

impl Known {
    pub fn tables(&self) -> &Tables {
        match self {
            Known::Growing(tables) => tables,
            Known::Whole(recovery) => recovery.tables(),
        }
    }

    fn resolver<'k>(&'k self, images: &'k mut LocatedImages) -> Resolver<'k> {
        let resolver = Resolver::new(self.tables(), images);
        match self {
            Known::Growing(_) => resolver,
            Known::Whole(recovery) => resolver.judged_by(recovery),
        }
    }
}

/// The rows, and what they are read by.
pub struct Found {
    pub rows: Rows,
    pub known: Known,
    /// What was learned from files that are followed.
    pub followed: Option<(Box<Tables>, Standings)>,
    /// Goes up when all rows are replaced.
    pub generation: u64,
}

/// How far the log is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Stage {
    /// No row is there.
    #[default]
    Begun,
    /// All bytes are read a first time, this many so far; rows are the beginning only.
    Checking(u64),
    /// Rows are found in their order.
    Reading,
    Done,
    /// New records come, and how many files there are.
    Following,
    /// Reading ended with an error: no other row comes.
    Failed,
}

/// What the threads share.
pub struct Log {
    pub inputs: Inputs,
    pub bytes: u64,
    found: RwLock<Found>,
    stage: RwLock<Stage>,
    /// What went wrong, or is to be said: the last of it is shown.
    said: RwLock<Option<String>>,
    /// What the log lost, a line each.
    losses: RwLock<Vec<String>>,
    /// Goes up with each change.
    version: AtomicU64,
    follow: AtomicBool,
    cannot_follow: RwLock<Option<String>>,
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    pub fn new(inputs: Vec<Input>) -> Log {
        let bytes = inputs.iter().map(Input::len).sum();
        let memory = logdef_resync::Options::default().memory;
        Log {
            inputs: Inputs::new(inputs),
            bytes,
            found: RwLock::new(Found {
                rows: Rows::default(),
                known: Known::Growing(Box::new(Tables::new(memory))),
                followed: None,
                generation: 0,
            }),
            stage: RwLock::default(),
            said: RwLock::default(),
            losses: RwLock::default(),
            version: AtomicU64::new(0),
            follow: AtomicBool::new(false),
            cannot_follow: RwLock::default(),
        }
    }

    pub fn found(&self) -> RwLockReadGuard<'_, Found> {
        read(&self.found)
    }

    pub fn change(&self) -> RwLockWriteGuard<'_, Found> {
        let found = write(&self.found);
        // Not before: those who look meanwhile would take what they see for what is new.
        self.version.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Puts other rows in place of all, and what they are read by.
    pub fn replace(&self, rows: Rows, known: Known) {
        let mut found = self.change();
        let generation = found.generation + 1;
        *found = Found {
            rows,
            known,
            followed: None,
            generation,
        };
    }

    /// Adds rows. While others look at those that there are, fewer than `waiting` stay where they are.
    pub fn push(&self, rows: &mut Vec<Row>, waiting: usize) -> io::Result<()> {
        let found = match self.found.try_write() {
            Err(TryLockError::WouldBlock) if rows.len() < waiting => return Ok(()),
            Ok(found) => Some(found),
            Err(_) => None,
        };
        let mut found = found.unwrap_or_else(|| write(&self.found));
        self.version.fetch_add(1, Ordering::Relaxed);
        rows.drain(..).try_for_each(|row| found.rows.push(row.0))
    }

    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    pub fn stage(&self) -> Stage {
        read(&self.stage).clone()
    }

    pub fn reach(&self, stage: Stage) {
        *write(&self.stage) = stage;
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    pub fn say(&self, line: String) {
        *write(&self.said) = Some(line);
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// What is to be said, once.
    pub fn take_said(&self) -> Option<String> {
        write(&self.said).take()
    }

    pub fn lose(&self, lines: Vec<String>) {
        *write(&self.losses) = lines;
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    pub fn losses(&self) -> Vec<String> {
        read(&self.losses).clone()
    }

    /// New records are wanted too, from now on.
    pub fn follow(&self) {
        self.follow.store(true, Ordering::Relaxed);
        if let Some(why) = &*read(&self.cannot_follow) {
            self.say(why.clone());
        }
    }

    /// New records cannot be had, and why.
    pub fn cannot_follow(&self, why: String) {
        *write(&self.cannot_follow) = Some(why);
    }

    pub fn is_followed(&self) -> bool {
        self.follow.load(Ordering::Relaxed)
    }
}

/// Images for rows of the first inputs, and for those of files that are followed.
pub type Images = [LocatedImages; 2];

/// Resolves rows of either kind.
pub struct Resolvers<'k> {
    found: &'k Found,
    first: Resolver<'k>,
    followed: Option<Resolver<'k>>,
    inputs: u32,
}

impl<'k> Resolvers<'k> {
    pub fn of(found: &'k Found, inputs: &Inputs, images: &'k mut Images) -> Resolvers<'k> {
        let [first, others] = images;
        let followed = found.followed.as_ref();
        Resolvers {
            found,
            first: found.known.resolver(first),
            followed: followed
                .map(|(tables, standings)| Resolver::new(tables, others).marked_by(standings)),
            inputs: inputs.first.len() as u32,
        }
    }

    pub fn at(&mut self, place: Place) -> (&mut Resolver<'k>, &'k Tables) {
        match (&mut self.followed, &self.found.followed) {
            (Some(resolver), Some((tables, _))) if place.input >= self.inputs => (resolver, tables),
            _ => (&mut self.first, self.found.known.tables()),
        }
    }

    /// A gap in a line.
    pub fn gap(&self, place: Place) -> String {
        let Known::Whole(recovery) = &self.found.known else {
            return String::from("?");
        };
        let account = recovery.accounts().get(place.input as usize);
        let gap = account.and_then(|account| Some((account, account.gap_at(place.offset)?)));
        gap.map_or(String::from("?"), |(account, gap)| {
            losses::gap(&account.name, gap)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    /// A screen that was drawn while a change waited for it was taken for one that shows the change.
    #[test]
    fn a_change_is_news_only_when_those_who_look_have_looked() {
        let log = Arc::new(Log::new(Vec::new()));
        let before = log.version();
        let looks = log.found();
        let of_thread = log.clone();
        let (begins, has_begun) = mpsc::channel();
        let changes = thread::spawn(move || {
            begins.send(()).unwrap();
            drop(of_thread.change());
        });
        has_begun.recv().unwrap();
        for _ in 0..1000 {
            assert_eq!(log.version(), before);
            thread::yield_now();
        }
        drop(looks);
        changes.join().unwrap();
        assert_ne!(log.version(), before);
    }
}
