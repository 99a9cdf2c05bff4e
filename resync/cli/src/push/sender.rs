//! Records on their way to a store: collected into requests of bounded size, sent until the store has them,
//! and only then noted in the cursor. Who adds records waits meanwhile, so memory stays bounded.

use crate::choose::cursor::Cursor;
use crate::failure::Failure;
use crate::log;
use crate::push::client::{Answer, Client};
use crate::push::pace::Pace;
use crate::push::stop::Stop;
use crate::push::store::Store;
use crate::show::losses::count;
use logdef_resync::Glance;
use logdef_resync::export::entry::Entry;
use std::io;
use std::iter;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest that records wait for others.
const LINGER: Duration = Duration::from_secs(1);
/// What a record is cut to that a store finds too large.
const CUT: usize = 16 << 10;
/// The smallest request that a store can ask for by finding others too large.
const SMALLEST: usize = 4 << 10;

/// How a store that has taken a record is noted.
#[derive(Clone, Copy, Debug)]
pub enum Mark {
    /// A call of a thread.
    Call(Glance),
    /// Anything else, by its digest.
    Other(u64),
}

/// How much a request may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub bytes: usize,
    pub records: usize,
}

/// What to do about trouble.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How long to try again; without end if `None`.
    pub patience: Option<Duration>,
    pub skips_refused: bool,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    pub records: u64,
    pub requests: u64,
    /// Records that the store did not take.
    pub refused: u64,
    /// Records that were cut so that the store took them.
    pub cut: u64,
}

/// Collects and sends.
pub struct Sender {
    store: Store,
    client: Client,
    cursor: Option<Cursor>,
    limits: Limits,
    policy: Policy,
    stop: Stop,
    entries: Vec<Entry>,
    marks: Vec<Mark>,
    bytes: usize,
    /// Since when records wait for others.
    since: Option<Instant>,
    body: Vec<u8>,
    sum: Sum,
}

/// What a request ended with that is not made again as it is.
enum Outcome {
    Taken,
    TooLarge,
    Refused(String),
}

impl Sender {
    pub fn new(
        store: Store,
        client: Client,
        cursor: Option<Cursor>,
        limits: Limits,
        policy: Policy,
        stop: Stop,
    ) -> Sender {
        Sender {
            store,
            client,
            cursor,
            limits,
            policy,
            stop,
            entries: Vec::new(),
            marks: Vec::new(),
            bytes: 0,
            since: None,
            body: Vec::new(),
            sum: Sum::default(),
        }
    }

    /// See [`Cursor::hold`].
    pub fn hold_cursor(&mut self, lacks_some: bool) {
        if let Some(cursor) = &mut self.cursor {
            cursor.hold(lacks_some);
        }
    }

    /// Whether the store has it, as far as the cursor says.
    pub fn has(&self, mark: &Mark) -> bool {
        let has = |cursor: &Cursor| match mark {
            Mark::Call(glance) => cursor.is_behind(glance),
            Mark::Other(digest) => cursor.has_other(*digest),
        };
        self.cursor.as_ref().is_some_and(has)
    }

    /// How many calls of a thread an earlier command saw taken.
    pub fn calls_before(&self, call: &Glance) -> u64 {
        self.cursor
            .as_ref()
            .map_or(0, |cursor| cursor.calls_before(call))
    }

    /// Adds a record; returns when there is room for the next.
    pub fn add(&mut self, entry: Entry, mark: Mark) -> Result<(), Failure> {
        let weight = entry.weight();
        if !self.entries.is_empty() && self.bytes + weight > self.limits.bytes {
            self.flush()?;
        }
        self.bytes += weight;
        self.entries.push(entry);
        self.marks.push(mark);
        self.since.get_or_insert_with(Instant::now);
        if self.bytes >= self.limits.bytes || self.entries.len() >= self.limits.records {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what has waited long enough.
    pub fn flush_if_due(&mut self) -> Result<(), Failure> {
        if self.since.is_some_and(|since| since.elapsed() >= LINGER) {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what was collected.
    pub fn flush(&mut self) -> Result<(), Failure> {
        if !self.entries.is_empty() {
            self.deliver()?;
        }
        self.entries.clear();
        self.marks.clear();
        self.bytes = 0;
        self.since = None;
        Ok(())
    }

    /// Whether the end was asked for.
    pub fn is_to_end(&self) -> bool {
        self.stop.is_wanted()
    }

    /// Fails if the end was asked for, when what was collected is sent.
    pub fn must_not_end(&mut self) -> Result<(), Failure> {
        if !self.is_to_end() {
            return Ok(());
        }
        self.flush()?;
        Err(self.failed("ended by a signal before all was sent".into()))
    }

    /// Waits, or less if the end is asked for.
    pub fn wait(&self, time: Duration) {
        self.stop.wait(time);
    }

    pub fn sum(&self) -> Sum {
        self.sum
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Sends what was collected, in smaller parts if the store finds it too large.
    fn deliver(&mut self) -> Result<(), Failure> {
        let mut parts: Vec<_> = iter::once(0..self.entries.len()).collect();
        let mut has_cut = false;
        while let Some(part) = parts.pop() {
            match self.post(&part)? {
                Outcome::Taken => {
                    self.sum.records += part.len() as u64;
                    self.note(&part)?;
                    self.sum.cut += u64::from(std::mem::take(&mut has_cut));
                }
                Outcome::TooLarge if part.len() > 1 => {
                    let weight = self.entries[part.clone()].iter().map(Entry::weight);
                    let half = weight.sum::<usize>() / 2;
                    self.limits.bytes = self.limits.bytes.min(half.max(SMALLEST));
                    let middle = part.start + part.len() / 2;
                    parts.extend([middle..part.end, part.start..middle]);
                }
                Outcome::TooLarge if !has_cut => {
                    self.entries[part.start].cut(CUT);
                    has_cut = true;
                    parts.push(part);
                }
                refused => {
                    // The next one is to be cut, too.
                    has_cut = false;
                    let why = match &refused {
                        Outcome::Refused(why) => why,
                        _ => "too large even when cut",
                    };
                    self.refused(&part, why)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a request until it is answered for good.
    fn post(&mut self, part: &Range<usize>) -> Result<Outcome, Failure> {
        self.body.clear();
        self.store
            .encode(&self.entries[part.clone()], &mut self.body);
        let mut pace = Pace::default();
        let mut trouble = None;
        loop {
            // One more attempt is made after the end was asked for.
            let is_last = self.stop.is_wanted();
            self.sum.requests += 1;
            let (why, asked) = match self.client.post(&self.store, &self.body)? {
                Answer::Taken(rejected) => {
                    if trouble.is_some() {
                        log::note(&format!("{}: answers again", self.store));
                    }
                    self.sum.refused += rejected.records;
                    if rejected.records > 0 || !rejected.why.is_empty() {
                        let records = count(rejected.records, "record");
                        log::say(&format!(
                            "{}: {records} rejected: {}",
                            self.store, rejected.why
                        ));
                    }
                    return Ok(Outcome::Taken);
                }
                Answer::TooLarge => return Ok(Outcome::TooLarge),
                Answer::Refused(why) => return Ok(Outcome::Refused(why)),
                Answer::Closed(why) => return Err(self.failed(why)),
                Answer::Later(why, asked) => (why, asked),
            };
            let since = *trouble.get_or_insert_with(|| {
                log::note(&format!("{}: {why}; trying again", self.store));
                Instant::now()
            });
            let is_enough = |patience| since.elapsed() >= patience;
            if is_last || self.policy.patience.is_some_and(is_enough) {
                let left = count(self.entries.len() as u64, "record");
                return Err(self.failed(format!("{why}; {left} not sent")));
            }
            self.stop.wait(pace.next(asked));
        }
    }

    /// The store does not take a part for what it holds.
    fn refused(&mut self, part: &Range<usize>, why: &str) -> Result<(), Failure> {
        let records = count(part.len() as u64, "record");
        if !self.policy.skips_refused {
            return Err(self.failed(format!(
                "{records} refused: {why}: --skip-refused leaves them out"
            )));
        }
        log::say(&format!(
            "{}: {records} refused and left out: {why}",
            self.store
        ));
        self.sum.refused += part.len() as u64;
        self.note(part)
    }

    fn failed(&self, why: String) -> Failure {
        Failure::output(Path::new(&self.store.to_string()), io::Error::other(why))
    }

    /// Notes in the cursor that the store answered for a part.
    fn note(&mut self, part: &Range<usize>) -> Result<(), Failure> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(());
        };
        for mark in &self.marks[part.clone()] {
            match mark {
                Mark::Call(glance) => cursor.pass(glance),
                Mark::Other(digest) => cursor.pass_other(*digest),
            }
        }
        cursor.save()
    }
}
