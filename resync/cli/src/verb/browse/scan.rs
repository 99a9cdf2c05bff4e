//! The thread that finds the rows which filters choose, from where the person is on: first as many as a screen
//! shows, the nearest on either side, then later ones, then earlier ones. Knows nothing of the screen.

use super::frames::Frames;
use super::log::{Found, Images, Log, Resolvers};
use super::row::Row;
use super::rows::Rows;
use crate::args::Filters;
use crate::choose::filter::Filter;
use crate::failure::Failure;
use logdef_resync::{Glance, Place};
use logdef_wire::record::Data;
use logdef_wire::{Level, Magic, Record, Svma, Tag};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Rows that are looked at between two looks at what else is wanted: few at first, then as many as this
/// time allows.
const FIRST: usize = 1024;
const BLOCK: usize = 64 << 10;
const TURN: Duration = Duration::from_millis(8);
/// Rows between two looks at the clock.
const UNTIMED: usize = 256;
/// Rows that a screen may show.
const SCREEN: u64 = 256;
/// How long it waits for more rows.
const PAUSE: Duration = Duration::from_millis(20);

/// Which rows are wanted.
#[derive(Clone, Default)]
pub struct Wanted {
    /// All of them must choose a record.
    pub filters: Vec<Filters>,
    /// Of neighbours from one call site only the first.
    pub folds: bool,
}

/// The rows that were chosen, by their numbers in the log.
#[derive(Default)]
pub struct Chosen {
    /// Those before the anchor, the nearest first.
    pub before: Rows,
    /// Those from the anchor on.
    pub behind: Rows,
    /// For each of them how many were chosen up to it, where neighbours are folded.
    pub counts: Rows,
    /// How many were chosen in all.
    pub count: u64,
    /// The rows that were looked at, around this one.
    pub looked: Range<u64>,
    anchor: u64,
    pub problem: Option<String>,
    /// The generation of the rows.
    pub generation: u64,
    /// The call site of the last.
    site: Option<CallSite>,
}

/// A search that runs.
pub struct Scan {
    log: Arc<Log>,
    wanted: Wanted,
    chosen: Mutex<Chosen>,
    is_cancelled: AtomicBool,
    version: AtomicU64,
}

/// Equal call sites are the same template.
type CallSite = (Magic, Svma, Option<Svma>, Option<u64>, Option<Level>);

fn call_site(data: &Data<'_>) -> Option<CallSite> {
    Some((data.magic?, data.format?, data.file, data.line, data.level))
}

impl Chosen {
    /// Whether all rows were looked at, or no other will be.
    pub fn is_of_all(&self, found: &Found) -> bool {
        let has_all = self.generation == found.generation && self.looked == (0..found.rows.len());
        has_all || self.problem.is_some()
    }

    /// How many neighbours are folded into the row at a position.
    pub fn folded(&self, position: i64) -> u64 {
        let count = |at: u64| self.counts.get(at).ok().flatten();
        let at = u64::try_from(position).unwrap_or(u64::MAX);
        let Some(own) = count(at) else { return 0 };
        count(at + 1).unwrap_or(self.count).saturating_sub(own + 1)
    }
}

impl Scan {
    /// Begins at a row, in a thread of its own, which ends when it is cancelled.
    pub fn begin(log: &Arc<Log>, wanted: Wanted, anchor: u64, images: Images) -> Arc<Scan> {
        let generation = log.found().generation;
        let anchor = if wanted.folds { 0 } else { anchor };
        let chosen = Chosen {
            looked: anchor..anchor,
            anchor,
            generation,
            ..Chosen::default()
        };
        let scan = Arc::new(Scan {
            log: log.clone(),
            wanted,
            chosen: Mutex::new(chosen),
            is_cancelled: AtomicBool::new(false),
            version: AtomicU64::new(0),
        });
        let of_thread = scan.clone();
        std::thread::spawn(move || of_thread.run(images));
        scan
    }

    pub fn chosen(&self) -> MutexGuard<'_, Chosen> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    fn run(&self, mut images: Images) {
        let mut frames = Frames::of(self.log.inputs.clone());
        let mut block = FIRST;
        while !self.is_cancelled() {
            match self.step(block, &mut frames, &mut images) {
                Ok(true) => block = (2 * block).min(BLOCK),
                Ok(false) => {
                    frames.forget();
                    std::thread::sleep(PAUSE);
                }
                Err(failure) => {
                    self.chosen().problem = Some(failure.to_string());
                    self.version.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            }
        }
    }

    /// Looks at `block` more rows at most; `false` if all were looked at.
    fn step(
        &self,
        block: usize,
        frames: &mut Frames,
        images: &mut Images,
    ) -> Result<bool, Failure> {
        let (rows, is_forward, from) = {
            let found = self.log.found();
            let mut chosen = self.chosen();
            if chosen.generation != found.generation {
                let anchor = chosen.anchor.min(found.rows.len());
                *chosen = Chosen {
                    looked: anchor..anchor,
                    anchor,
                    generation: found.generation,
                    ..Chosen::default()
                };
            }
            let looked = chosen.looked.clone();
            let has_behind = looked.end < found.rows.len();
            let has_before = looked.start > 0;
            let has_screen = chosen.behind.len() + chosen.before.len() >= SCREEN;
            let is_nearer = looked.end - chosen.anchor <= chosen.anchor - looked.start;
            let is_forward = has_behind && (!has_before || has_screen || is_nearer);
            if !is_forward && !has_before {
                return Ok(false);
            }
            let (from, most) = if is_forward {
                (looked.end, block)
            } else {
                let from = looked.start.saturating_sub(block as u64);
                (from, (looked.start - from) as usize)
            };
            let mut rows = Vec::new();
            found.rows.read(from, most, &mut rows).map_err(lost)?;
            (rows, is_forward, from)
        };
        let found = self.log.found();
        let mut matched = Vec::new();
        let mut looked = 0;
        {
            let mut chooser = Chooser::new(&self.wanted.filters, &found, &self.log, images)?;
            let begun = Instant::now();
            while looked < rows.len() && begun.elapsed() < TURN {
                let end = rows.len().min(looked + UNTIMED);
                for step in looked..end {
                    // The nearest first.
                    let at = if is_forward {
                        step
                    } else {
                        rows.len() - 1 - step
                    };
                    if let Some(site) = chooser.choose(Row(rows[at]), frames) {
                        matched.push((from + at as u64, site));
                    }
                }
                looked = end;
            }
        }
        let mut chosen = self.chosen();
        if chosen.generation != found.generation {
            return Ok(true);
        }
        drop(found);
        self.take(&mut chosen, &matched, is_forward).map_err(lost)?;
        if is_forward {
            chosen.looked.end += looked as u64;
        } else {
            chosen.looked.start -= looked as u64;
        }
        self.version.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn take(
        &self,
        chosen: &mut Chosen,
        matched: &[(u64, Option<CallSite>)],
        is_forward: bool,
    ) -> std::io::Result<()> {
        chosen.count += matched.len() as u64;
        if !is_forward {
            let mut matched = matched.iter();
            return matched.try_for_each(|(number, _)| chosen.before.push(*number));
        }
        let before = chosen.count - matched.len() as u64;
        for ((number, site), count) in matched.iter().zip(before..) {
            if self.wanted.folds {
                if site.is_some() && chosen.site == *site {
                    continue;
                }
                chosen.site = *site;
                chosen.counts.push(count)?;
            }
            chosen.behind.push(*number)?;
        }
        Ok(())
    }
}

fn lost(error: std::io::Error) -> Failure {
    Failure::Output("a temporary file for what was found".into(), error)
}

/// Decides about rows.
pub struct Chooser<'k> {
    filters: Vec<Filter>,
    is_everything: bool,
    resolvers: Resolvers<'k>,
    message: Vec<u8>,
}

impl<'k> Chooser<'k> {
    pub fn new(
        filters: &[Filters],
        found: &'k Found,
        log: &Log,
        images: &'k mut Images,
    ) -> Result<Chooser<'k>, Failure> {
        let filters = filters.iter();
        let filters = filters.map(|filters| Filter::new(filters, found.known.tables()));
        let filters: Vec<_> = filters.collect::<Result<_, _>>()?;
        Ok(Chooser {
            is_everything: filters.iter().all(Filter::is_everything),
            filters,
            resolvers: Resolvers::of(found, &log.inputs, images),
            message: Vec::new(),
        })
    }

    /// Whether a row is wanted; if so, its call site if it has one.
    fn choose(&mut self, row: Row, frames: &mut Frames) -> Option<Option<CallSite>> {
        if row.is_gap() {
            return self.is_everything.then_some(None);
        }
        let gravity = row.gravity();
        if row.is_record() && !self.filters.iter().all(|filter| gravity.may_match(filter)) {
            return None;
        }
        let place = row.place();
        let body = frames.body(place)?;
        match (Tag(body[0]), Record::decode(body)) {
            (Tag::DATA, Ok(Record::Data(data))) => {
                (self.is_everything || self.chooses(body, &data, place)).then(|| call_site(&data))
            }
            (_, Ok(Record::Note(note))) => {
                let glance = Glance {
                    run: note.run,
                    time: note.time,
                    ..Glance::default()
                };
                let tables = self.resolvers.at(place).1;
                let mut filters = self.filters.iter();
                let is_wanted = filters.all(|filter| {
                    !filter.is_search() && filter.is_in_scope(&glance, place, tables)
                });
                is_wanted.then_some(None)
            }
            _ => None,
        }
    }

    fn chooses(&mut self, body: &[u8], data: &Data<'_>, place: Place) -> bool {
        let glance = Glance::of(body).unwrap_or_default();
        let (resolver, tables) = self.resolvers.at(place);
        let message = &mut self.message;
        self.filters.iter().all(|filter| {
            filter.is_in_scope(&glance, place, tables)
                && (!filter.is_search()
                    || filter.may_match(&glance)
                        && filter.may_hold(data)
                        && filter.matches(&resolver.resolve(data, place), message))
        })
    }
}
