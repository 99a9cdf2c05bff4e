//! Which records are shown. What a record's numbers decide is decided
//! before anything is looked up; what needs its text comes last.
//!
//! The *scope* (run, process, thread, time) is the log that is looked at; the
//! *search* (level, place, module, arguments, text) finds records in it, and
//! lines of context are taken from the scope.

use crate::args::{Filters, Levels};
use crate::choose::condition::Values;
use crate::choose::expression::Expression;
use crate::choose::when::Moment;
use crate::failure::Failure;
use crate::show::losses;
use logdef_resync::{Glance, Place, Resolved, Tables};
#[cfg(feature = "browse")]
use logdef_wire::Level;
use logdef_wire::record::Data;
use logdef_wire::{Run, ThreadNumber};
use regex::bytes::Regex;
use std::collections::HashSet;

/// Chooses records.
#[derive(Clone, Debug)]
pub struct Filter {
    since: Option<Moment>,
    until: Option<Moment>,
    runs: Option<HashSet<Run>>,
    pids: Vec<u64>,
    threads: Vec<Thread>,
    level: Option<Levels>,
    sites: Vec<Site>,
    modules: Vec<Vec<u8>>,
    conditions: Vec<Expression>,
    grep: Option<Regex>,
}

/// A place in the source: a file, or its last parts, and a line.
#[derive(Clone, Debug)]
pub struct Site {
    file: Vec<u8>,
    line: Option<u64>,
}

/// A thread by its number within the run, its number in the kernel, or its name.
#[derive(Clone, Debug)]
struct Thread {
    name: Vec<u8>,
    number: Option<u64>,
}

impl Filter {
    /// What the command line asks for. Runs count from the latest.
    pub fn new(args: &Filters, tables: &Tables) -> Result<Filter, Failure> {
        let runs = match &args.run[..] {
            [] => None,
            wanted => {
                let named = wanted.iter().map(|name| run(name, tables));
                Some(named.collect::<Result<_, _>>()?)
            }
        };
        Ok(Filter {
            since: args.since(),
            until: args.until(),
            runs,
            pids: args.pid.clone(),
            threads: args.thread.iter().map(|name| Thread::new(name)).collect(),
            level: args.level,
            sites: args.site.clone(),
            modules: args.module.iter().map(|m| m.clone().into_bytes()).collect(),
            conditions: args.conditions(),
            grep: args.grep.clone(),
        })
    }

    /// Whether the record belongs to the log that is looked at.
    pub fn is_in_scope(&self, glance: &Glance, place: Place, tables: &Tables) -> bool {
        let time = glance.time.map(Moment);
        if self.since.is_some() && time < self.since {
            return false;
        }
        if self
            .until
            .is_some_and(|until| time.is_none_or(|time| time > until))
        {
            return false;
        }
        if let Some(runs) = &self.runs
            && !glance.run.is_some_and(|run| runs.contains(&run))
        {
            return false;
        }
        if !self.pids.is_empty() {
            let info = glance.run.and_then(|run| tables.run(run));
            if !info
                .and_then(|run| run.pid)
                .is_some_and(|pid| self.pids.contains(&pid))
            {
                return false;
            }
        }
        self.threads.is_empty() || self.is_of_thread(glance, place, tables)
    }

    /// Whether every record is looked at.
    pub fn is_everything(&self) -> bool {
        self.since.is_none()
            && self.until.is_none()
            && self.runs.is_none()
            && self.pids.is_empty()
            && self.threads.is_empty()
            && !self.is_search()
    }

    /// Whether records are searched for at all.
    pub fn is_search(&self) -> bool {
        self.level.is_some()
            || self.grep.is_some()
            || !(self.sites.is_empty() && self.modules.is_empty() && self.conditions.is_empty())
    }

    /// Whether the numbers of a record may be those of one that is searched for.
    pub fn may_match(&self, glance: &Glance) -> bool {
        if self
            .level
            .is_some_and(|levels| !levels.contain(glance.level))
        {
            return false;
        }
        self.sites.is_empty() || self.sites.iter().any(|site| site.is_line(glance.line))
    }

    /// The text that is searched for.
    pub fn grep(&self) -> Option<&Regex> {
        self.grep.as_ref()
    }

    /// What is asked of the arguments.
    pub fn conditions(&self) -> &[Expression] {
        &self.conditions
    }

    /// Whether more is asked of a record than its numbers say.
    pub fn asks_sites(&self) -> bool {
        self.grep.is_some() || !(self.sites.is_empty() && self.conditions.is_empty())
    }

    /// Whether a record of this line of a file may be one that is searched for.
    pub fn may_be_of(&self, line: Option<u64>, file: &[u8]) -> bool {
        let is_one = |site: &Site| site.is_line(line) && is_tail(file, &site.file);
        self.sites.is_empty() || self.sites.iter().any(is_one)
    }

    /// Whether a record between two levels may be one that is searched for.
    #[cfg(feature = "browse")]
    pub fn may_be_of_level(&self, lowest: Level, highest: Level) -> bool {
        self.level
            .is_none_or(|levels| levels.overlap(lowest, highest))
    }

    /// Whether a record without a level may be.
    #[cfg(feature = "browse")]
    pub fn may_be_without_level(&self) -> bool {
        self.level.is_none_or(|levels| levels.contain(None))
    }

    /// Whether the arguments may be those searched for.
    pub fn may_hold(&self, data: &Data<'_>) -> bool {
        let values = Values::from(data);
        self.conditions
            .iter()
            .all(|condition| condition.may_hold(&values))
    }

    /// Whether the record is one that is searched for, if all the above hold.
    /// The message is written for `grep` only, to `message`.
    pub fn matches(&self, record: &Resolved<'_>, message: &mut Vec<u8>) -> bool {
        if !self.sites.is_empty() && !self.sites.iter().any(|site| site.is_of(record)) {
            return false;
        }
        if !self.modules.is_empty() {
            let path = record.image.map_or(&[][..], |image| &image.path);
            if !self.modules.iter().any(|module| is_tail(path, module)) {
                return false;
            }
        }
        if !self
            .conditions
            .iter()
            .all(|condition| condition.holds(record))
        {
            return false;
        }
        let Some(grep) = &self.grep else { return true };
        message.clear();
        record.message(message);
        grep.is_match(message)
    }

    fn is_of_thread(&self, glance: &Glance, place: Place, tables: &Tables) -> bool {
        let Some((run, sequence)) = glance.run.zip(glance.sequence) else {
            return false;
        };
        let number = sequence.number();
        let known = tables.thread(run, number, place);
        self.threads.iter().any(|thread| {
            thread.is(number)
                || known.is_some_and(|known| {
                    let is_tid = known.tid.is_some() && known.tid == thread.number;
                    is_tid || known.name.as_ref() == Some(&thread.name)
                })
        })
    }
}

impl Thread {
    fn new(name: &str) -> Thread {
        Thread {
            name: name.as_bytes().to_vec(),
            number: name.parse().ok(),
        }
    }

    fn is(&self, number: ThreadNumber) -> bool {
        self.number == Some(number.0)
    }
}

impl Site {
    /// `file:line`, `file`.
    pub fn parse(text: &str) -> Result<Site, String> {
        let (file, line) = match text.rsplit_once(':') {
            Some((file, line)) => match line.parse() {
                Ok(line) => (file, Some(line)),
                Err(_) => return Err(format!("{line:?} is not a line number: try wal.c:120")),
            },
            None => (text, None),
        };
        if file.is_empty() {
            return Err("no file is named: try wal.c:120".into());
        }
        let file = file.as_bytes().to_vec();
        Ok(Site { file, line })
    }

    fn is_line(&self, line: Option<u64>) -> bool {
        self.line.is_none() || self.line == line
    }

    fn is_of(&self, record: &Resolved<'_>) -> bool {
        self.is_line(record.data.line)
            && record
                .file
                .bytes
                .is_some_and(|file| is_tail(file, &self.file))
    }
}

/// Whether `part` is the path or its last parts.
fn is_tail(path: &[u8], part: &[u8]) -> bool {
    let Some(before) = path.strip_suffix(part) else {
        return false;
    };
    before.is_empty() || before.ends_with(b"/") || part.starts_with(b"/")
}

/// A run by its number from the latest (`0`, `-1`), from the first (`1`), or by
/// name.
fn run(name: &str, tables: &Tables) -> Result<Run, Failure> {
    let mut runs = tables.runs();
    if let (16, Ok(run)) = (name.len(), u64::from_str_radix(name, 16)) {
        return Ok(Run(run));
    }
    runs.sort_by_key(|(run, info)| (info.realtime, run.0));
    let place: i64 = name.parse().map_err(|_| {
        Failure::Usage(format!(
            "{name:?} is not a run: try 0 for the latest, -1 for the one before, or its 16 digits"
        ))
    })?;
    let place = match place {
        1.. => place - 1,
        back => runs.len() as i64 - 1 + back,
    };
    let found = usize::try_from(place)
        .ok()
        .and_then(|place| runs.get(place));
    found.map(|(run, _)| *run).ok_or_else(|| {
        Failure::Usage(format!(
            "there is no run {name}: the log holds {}",
            losses::count(runs.len() as u64, "run")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_by_its_last_parts() {
        assert!(is_tail(b"src/db/wal.c", b"wal.c"));
        assert!(is_tail(b"src/db/wal.c", b"db/wal.c"));
        assert!(is_tail(b"wal.c", b"wal.c"));
        assert!(!is_tail(b"src/db/drywal.c", b"wal.c"));
        assert!(!is_tail(b"wal.c", b"src/wal.c"));
    }

    #[test]
    fn sites_have_a_file_and_maybe_a_line() {
        assert_eq!(Site::parse("a/b.c:12").unwrap().line, Some(12));
        assert_eq!(Site::parse("a/b.c").unwrap().line, None);
        for wrong in ["", ":3", "a.c:", "a.c:x"] {
            assert!(Site::parse(wrong).is_err(), "{wrong}");
        }
    }
}
