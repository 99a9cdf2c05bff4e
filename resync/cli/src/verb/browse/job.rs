//! Work of the person's that takes long, a piece at a time, so that a key can stop it: to search, to count
//! call sites, to write rows.

use super::frames::Frames;
use super::list::{List, Listed};
use super::log::{Images, Log};
use super::look::Writers;
use crate::count::Counts;
use crate::destination::Unfinished;
use jiff::tz::TimeZone;
use logdef_wire::Level;
use regex::bytes::Regex;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Rows that are looked at in one piece: those whose text is needed, and others.
const READ: usize = 512;
const GLANCED: usize = 1 << 16;

/// What is searched for.
#[derive(Clone)]
pub enum Target {
    Text(Regex),
    Error,
    Gap,
}

impl Target {
    /// Rows that are looked at in one piece.
    fn most(&self) -> usize {
        match self {
            Target::Text(_) => READ,
            Target::Error | Target::Gap => GLANCED,
        }
    }
}

/// Work that was begun.
pub enum Job {
    Seek {
        target: Target,
        is_forward: bool,
        /// The next position to look at.
        at: i64,
        /// Which of those that are found is wanted, and how many were found so far.
        nth: u64,
        found: u64,
        /// All rows that there are were looked at, and others are still to come.
        waits: bool,
    },
    Count {
        at: Option<i64>,
        counts: Box<Counts>,
        times: Option<(u64, u64)>,
    },
    Write {
        at: Option<i64>,
        file: Unfinished,
        path: PathBuf,
        written: u64,
    },
}

/// How far a piece of work came.
pub enum Step {
    More,
    /// It is done, at this position if it was a search that found one.
    Done(Option<i64>),
    Failed(String),
}

/// What work is done on.
pub struct Place<'p> {
    pub log: &'p Log,
    pub list: &'p List,
    pub frames: &'p mut Frames,
    pub images: &'p mut Images,
    pub zone: &'p TimeZone,
}

impl Job {
    /// Begins to write all rows of a list to a file that is not there yet.
    pub fn write(path: &Path) -> Result<Job, String> {
        let file = Unfinished::begin(path);
        let file = file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Job::Write {
            at: None,
            file,
            path: path.to_owned(),
            written: 0,
        })
    }

    /// Begins to search beside a position, for the nth row.
    pub fn seek(target: Target, is_forward: bool, position: i64, nth: u64) -> Job {
        Job::Seek {
            target,
            is_forward,
            at: beside(position, is_forward),
            nth,
            found: 0,
            waits: false,
        }
    }

    /// After all rows were replaced: a search begins again beside a position, where the person is now.
    pub fn begin_again(&mut self, position: i64) {
        if let Job::Seek {
            is_forward,
            at,
            found,
            waits,
            ..
        } = self
        {
            *at = beside(position, *is_forward);
            (*found, *waits) = (0, false);
        }
    }

    /// Whether it waits for rows of the list that are not there yet.
    pub fn waits(&self) -> bool {
        matches!(
            self,
            Job::Seek { waits: true, .. }
                | Job::Count { at: None, .. }
                | Job::Write { at: None, .. }
        )
    }

    /// Does a piece of it.
    pub fn step(&mut self, place: &mut Place<'_>) -> Step {
        match self {
            Job::Seek {
                target,
                is_forward,
                at,
                nth,
                found,
                waits,
            } => {
                // Asked first: no row comes after it.
                let is_complete = place.list.is_complete(place.log);
                let rows = next_in(*is_forward, at, target.most(), place);
                *waits = rows.is_empty() && !is_complete;
                match seek(target, &rows, *nth - *found, place) {
                    Ok(position) => Step::Done(Some(position)),
                    Err(_) if rows.is_empty() && is_complete => Step::Done(None),
                    Err(more) => {
                        *found += more;
                        Step::More
                    }
                }
            }
            Job::Count { at, counts, times } => {
                let Some(rows) = next_rows(at, place) else {
                    return Step::More;
                };
                if rows.is_empty() {
                    return Step::Done(None);
                }
                count(&rows, counts, times, place);
                Step::More
            }
            Job::Write {
                at,
                file,
                path,
                written,
            } => {
                let Some(rows) = next_rows(at, place) else {
                    return Step::More;
                };
                let failed =
                    |error| Step::Failed(format!("cannot write {}: {error}", path.display()));
                if rows.is_empty() {
                    return file.finish().map_or_else(failed, |()| Step::Done(None));
                }
                *written += rows.len() as u64;
                let is_json = path
                    .extension()
                    .is_some_and(|extension| extension == "json");
                match write(&rows, file, is_json, place) {
                    Ok(()) => Step::More,
                    Err(error) => failed(error),
                }
            }
        }
    }
}

/// The next rows of a list, from its first on; empty at its end. `None` as long as it is not
/// complete: rows that come then may stand before others, and take their positions.
fn next_rows(at: &mut Option<i64>, place: &Place<'_>) -> Option<Vec<Listed>> {
    let from = match *at {
        Some(from) => from,
        None if place.list.is_complete(place.log) => place.list.positions(place.log).start,
        None => return None,
    };
    let rows = place.list.rows(from, READ, place.log);
    *at = Some(rows.last().map_or(from, |last| last.position + 1));
    Some(rows)
}

/// The position that follows one.
fn beside(position: i64, is_forward: bool) -> i64 {
    position + if is_forward { 1 } else { -1 }
}

/// The next rows of a list from a position on, in one direction; none at its end.
fn next_in(is_forward: bool, at: &mut i64, most: usize, place: &Place<'_>) -> Vec<Listed> {
    if is_forward {
        let rows = place.list.rows(*at, most, place.log);
        *at = rows.last().map_or(*at, |last| last.position + 1);
        return rows;
    }
    let from = (*at + 1 - most as i64).max(place.list.positions(place.log).start);
    let most = (*at + 1 - from).max(0) as usize;
    let mut rows = place.list.rows(from, most, place.log);
    rows.reverse();
    *at = rows.last().map_or(*at, |first| first.position - 1);
    rows
}

/// The position of the nth of some rows that is searched for, or how many there are of them.
fn seek(target: &Target, rows: &[Listed], nth: u64, place: &mut Place<'_>) -> Result<i64, u64> {
    let found = place.log.found();
    let inputs = &place.log.inputs;
    let mut writers = Writers::new(&found, inputs, place.images, place.zone);
    let mut count = 0;
    for listed in rows {
        let is_one = match target {
            Target::Error => listed.row.gravity().is_error(),
            Target::Gap => listed.row.is_gap(),
            Target::Text(regex) => {
                let line = writers.whole(listed.row, place.frames);
                regex.is_match(line.text.as_bytes())
            }
        };
        count += u64::from(is_one);
        if is_one && count >= nth {
            return Ok(listed.position);
        }
    }
    Err(count)
}

fn count(
    rows: &[Listed],
    counts: &mut Counts,
    times: &mut Option<(u64, u64)>,
    place: &mut Place<'_>,
) {
    let found = place.log.found();
    let inputs = &place.log.inputs;
    let mut writers = Writers::new(&found, inputs, place.images, place.zone);
    for listed in rows {
        writers.with_record(listed.row, place.frames, |data, place, resolver| {
            counts.add(data, place, resolver);
            if let Some(time) = data.time {
                let (first, last) = times.get_or_insert((time, time));
                *first = time.min(*first);
                *last = time.max(*last);
            }
        });
    }
}

/// A call site as the page of them shows it.
pub struct Counted {
    pub line: String,
    /// What a filter for it says.
    pub filter: String,
}

/// The busiest call sites with the records of each, their share, and how many come a second.
pub fn sites(counts: &Counts, times: Option<(u64, u64)>, most: usize) -> Vec<Counted> {
    let seconds = times.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
    let ranked = counts.ranked();
    let counted = ranked.into_iter().take(most).map(|(site, counted)| {
        let share = counted.records as f64 * 100.0 / counts.records.max(1) as f64;
        let rate = if seconds > 0.0 {
            format!("{:.1}/s", counted.records as f64 / seconds)
        } else {
            "-".into()
        };
        let level = site
            .4
            .map_or("-----".into(), |level: Level| level.to_string());
        Counted {
            line: format!(
                "{:>11} {share:5.1}% {rate:>12} {level:<5} {} {}",
                counted.records, counted.place, counted.format
            ),
            filter: format!("--site '{}'", counted.place),
        }
    });
    counted.collect()
}

fn write(
    rows: &[Listed],
    file: &mut impl Write,
    is_json: bool,
    place: &mut Place<'_>,
) -> std::io::Result<()> {
    let found = place.log.found();
    let inputs = &place.log.inputs;
    let mut writers = Writers::new(&found, inputs, place.images, place.zone);
    for listed in rows {
        if is_json {
            file.write_all(&writers.json(listed.row, place.frames))?;
        } else {
            let line = writers.whole(listed.row, place.frames);
            file.write_all(line.text.as_bytes())?;
            file.write_all(b"\n")?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::super::log::{Known, Stage};
    use super::super::row::Row;
    use super::super::rows::Rows;
    use super::*;
    use logdef_resync::{LocatedImages, Place as At, Tables};
    use logdef_symbolizer::Locator;
    use std::ops::Range;

    /// Rows at offsets of one file, from a first one on; every fourth is a gap.
    pub fn rows(offsets: Range<u64>) -> Vec<Row> {
        let of = |offset| {
            let place = At { input: 0, offset };
            if offset % 4 == 3 {
                Row::gap(place)
            } else {
                Row::record(place, None, false)
            }
        };
        offsets.map(of).collect()
    }

    /// Puts rows in place of all.
    pub fn replace(log: &Log, offsets: Range<u64>) {
        let mut all = Rows::default();
        for row in rows(offsets) {
            all.push(row.0).unwrap();
        }
        let tables = Tables::new(1 << 20);
        log.replace(all, Known::Growing(Box::new(tables)));
    }

    pub fn no_images() -> Images {
        let none = || LocatedImages::new(Locator::new(Default::default()));
        [none(), none()]
    }

    /// Does the work until it waits or ends: where it found something, if it ended.
    fn work(job: &mut Job, log: &Log) -> Option<Option<i64>> {
        let mut frames = Frames::of(log.inputs.clone());
        let mut images = no_images();
        loop {
            let step = job.step(&mut Place {
                log,
                list: &List::All,
                frames: &mut frames,
                images: &mut images,
                zone: &TimeZone::UTC,
            });
            match step {
                Step::Done(found) => return Some(found),
                Step::More if job.waits() => return None,
                Step::More => {}
                Step::Failed(why) => panic!("{why}"),
            }
        }
    }

    /// A search that came to the last row of those that were there so far said that there was nothing.
    #[test]
    fn a_search_waits_for_rows_that_are_still_to_come() {
        let log = Log::new(Vec::new());
        let push = |offsets| log.push(&mut rows(offsets), 0).unwrap();
        let mut job = Job::seek(Target::Gap, true, 0, 2);
        assert_eq!(work(&mut job, &log), None);
        push(0..3);
        log.reach(Stage::Checking(3));
        assert_eq!(work(&mut job, &log), None);
        push(3..6);
        log.reach(Stage::Reading);
        assert_eq!(work(&mut job, &log), None);
        push(6..9);
        assert_eq!(work(&mut job, &log), Some(Some(7)));
        let mut another = Job::seek(Target::Gap, true, 7, 1);
        assert_eq!(work(&mut another, &log), None);
        log.reach(Stage::Done);
        assert_eq!(work(&mut another, &log), Some(None));
    }

    #[test]
    fn a_search_looks_again_at_rows_that_were_replaced() {
        let log = Log::new(Vec::new());
        log.push(&mut rows(4..7), 0).unwrap();
        let mut job = Job::seek(Target::Gap, true, 1, 1);
        assert_eq!(work(&mut job, &log), None);
        replace(&log, 0..9);
        log.reach(Stage::Done);
        // The row that stood at 1 stands at 5 now.
        job.begin_again(5);
        assert_eq!(work(&mut job, &log), Some(Some(7)));
        let mut back = Job::seek(Target::Gap, false, 5, 1);
        assert_eq!(work(&mut back, &log), Some(Some(3)));
        let mut none = Job::seek(Target::Gap, false, 3, 1);
        assert_eq!(work(&mut none, &log), Some(None));
    }
}
