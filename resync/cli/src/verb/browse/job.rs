//! Work of the person's that takes long, a piece at a time, so that a key can stop it: to search, to count
//! call sites, to write rows.

use super::frames::Frames;
use super::list::{List, Listed};
use super::log::{Images, Log};
use super::look::Writers;
use crate::count::Counts;
use jiff::tz::TimeZone;
use logdef_wire::Level;
use regex::bytes::Regex;
use std::fs::File;
use std::io::{BufWriter, Write};
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
    fn is_glance(&self) -> bool {
        !matches!(self, Target::Text(_))
    }
}

/// Work that was begun.
pub enum Job {
    Seek {
        target: Target,
        is_forward: bool,
        /// The next position to look at.
        at: i64,
        /// How many more there have to be.
        more: u64,
    },
    Count {
        at: Option<i64>,
        counts: Box<Counts>,
        times: Option<(u64, u64)>,
    },
    Write {
        at: Option<i64>,
        file: BufWriter<File>,
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
        let file = File::options().write(true).create_new(true).open(path);
        let file = file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Job::Write {
            at: None,
            file: BufWriter::new(file),
            path: path.to_owned(),
            written: 0,
        })
    }

    /// Whether it waits until all rows of the list are there.
    pub fn waits(&self) -> bool {
        matches!(
            self,
            Job::Count { at: None, .. } | Job::Write { at: None, .. }
        )
    }

    /// Does a piece of it.
    pub fn step(&mut self, place: &mut Place<'_>) -> Step {
        match self {
            Job::Seek {
                target,
                is_forward,
                at,
                more,
            } => seek(target, *is_forward, at, more, place),
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
                    return file.flush().map_or_else(failed, |()| Step::Done(None));
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

fn seek(
    target: &Target,
    is_forward: bool,
    at: &mut i64,
    more: &mut u64,
    place: &mut Place<'_>,
) -> Step {
    let positions = place.list.positions(place.log);
    let most = if target.is_glance() { GLANCED } else { READ };
    let (from, most) = if is_forward {
        (*at, most)
    } else {
        let from = (*at + 1 - most as i64).max(positions.start);
        (from, (*at + 1 - from).max(0) as usize)
    };
    let mut rows = place.list.rows(from, most, place.log);
    if rows.is_empty() {
        return Step::Done(None);
    }
    *at = if is_forward {
        from + rows.len() as i64
    } else {
        from - 1
    };
    if !is_forward {
        rows.reverse();
    }
    let found = place.log.found();
    let inputs = &place.log.inputs;
    let mut writers = Writers::new(&found, inputs, place.images, place.zone);
    for listed in &rows {
        let is_one = match target {
            Target::Error => listed.row.gravity().is_error(),
            Target::Gap => listed.row.is_gap(),
            Target::Text(regex) => {
                let line = writers.whole(listed.row, place.frames);
                regex.is_match(line.text.as_bytes())
            }
        };
        if is_one {
            if *more <= 1 {
                return Step::Done(Some(listed.position));
            }
            *more -= 1;
        }
    }
    Step::More
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
