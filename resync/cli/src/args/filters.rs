//! The options that choose records, for every verb that shows or counts them.

use crate::choose::expression::Expression;
use crate::choose::filter::Site;
use crate::choose::when::{self, Moment, Written};
use clap::Args as ClapArgs;
use jiff::tz::TimeZone;
use logdef_resync::MergeOptions;
use logdef_wire::Level;
use regex::bytes::Regex;

/// Which records. Run, process, thread and time choose the log that is looked
/// at; the others search in it.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Filters")]
pub struct Filters {
    /// At this level or above: trace, debug, info, warn, error, fatal or a number; or at one of
    /// a range, both ends included: debug..info, ..warn
    #[arg(short, long, value_parser = Levels::parse, value_name = "LEVEL")]
    pub level: Option<Levels>,
    /// At this time or later: 2026-05-01T10:30:00Z, 10:30, yesterday, -15m
    #[arg(long, value_parser = Written::parse, allow_hyphen_values = true, value_name = "TIME")]
    since: Option<Written>,
    /// At this time or earlier
    #[arg(long, value_parser = Written::parse, allow_hyphen_values = true, value_name = "TIME")]
    until: Option<Written>,
    /// Time zone in which times are given and shown: Europe/Berlin, UTC, +02:00. By default that
    /// of TZ, or else of this machine
    #[arg(
        long,
        value_parser = when::zone,
        allow_hyphen_values = true,
        value_name = "ZONE",
        env = "LOGDEF_ZONE"
    )]
    zone: Option<TimeZone>,
    /// With a message that matches this regular expression
    #[arg(short, long, value_name = "REGEX")]
    pub grep: Option<Regex>,
    /// From this source file, or this line of it: wal.c:120, db/wal.c
    #[arg(long, value_parser = Site::parse, value_name = "FILE[:LINE]")]
    pub site: Vec<Site>,
    /// From this program or library: its path, or the last components of it
    #[arg(long, value_name = "PATH")]
    pub module: Vec<String>,
    /// From this thread: its number within the run, its tid, or its name
    #[arg(long, value_name = "THREAD")]
    pub thread: Vec<String>,
    /// From this process
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u64>,
    /// From this run: 0 for the latest, -1 for the one before, 1 for the first, or its
    /// 16 hexadecimal digits
    #[arg(long, allow_hyphen_values = true, value_name = "RUN")]
    pub run: Vec<String>,
    /// With an argument, key-value or key of the context for which this holds: 0>5, user!=root,
    /// 'ms in 5..10', 'ms>500 and (path~"/api" or not user=root)'. `logdef view --help` has an example
    /// of each form. Names are those that the program gives; of a printf format, the word before
    /// a conversion: `ms` in 'ms=%d' and 'ms: %d'. `template`, `module` and `target` are the call site's
    #[arg(short = 'w', long = "where", value_parser = Expression::parse, value_name = "CONDITION")]
    pub conditions: Vec<Expression>,
    /// Leave out records for which this condition holds
    #[arg(long, value_parser = Expression::parse, value_name = "CONDITION")]
    pub not: Vec<Expression>,
}

impl Filters {
    /// Whether any filter searches among the records of a run, process, thread or time.
    pub fn is_search(&self) -> bool {
        let is_narrow = self.level.is_some() || self.grep.is_some();
        let has_places = !(self.site.is_empty() && self.module.is_empty());
        is_narrow || has_places || !(self.conditions.is_empty() && self.not.is_empty())
    }

    /// All conditions on arguments.
    pub fn conditions(&self) -> Vec<Expression> {
        let unwanted = self.not.iter().cloned().map(Expression::negated);
        self.conditions.iter().cloned().chain(unwanted).collect()
    }

    /// The same of another log: of all of its runs, processes, threads and times.
    pub fn without_scope(&self) -> Filters {
        Filters {
            since: None,
            until: None,
            thread: Vec::new(),
            pid: Vec::new(),
            run: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether these filters leave no record out.
    #[cfg(feature = "browse")]
    pub fn is_everything(&self) -> bool {
        let lists = [&self.module, &self.thread, &self.run];
        lists.iter().all(|list| list.is_empty())
            && (self.level.is_none() && self.grep.is_none())
            && (self.since.is_none() && self.until.is_none())
            && (self.site.is_empty() && self.pid.is_empty())
            && (self.conditions.is_empty() && self.not.is_empty())
    }

    /// No filters.
    #[cfg(feature = "browse")]
    pub fn none() -> Filters {
        Filters {
            level: None,
            since: None,
            until: None,
            zone: None,
            grep: None,
            site: Vec::new(),
            module: Vec::new(),
            thread: Vec::new(),
            pid: Vec::new(),
            run: Vec::new(),
            conditions: Vec::new(),
            not: Vec::new(),
        }
    }

    /// The same in a time zone, unless one was given.
    #[cfg(feature = "browse")]
    pub fn or_in_zone(mut self, zone: TimeZone) -> Filters {
        self.zone.get_or_insert(zone);
        self
    }

    /// The time zone in which times are given and shown.
    pub fn zone(&self) -> TimeZone {
        self.zone.clone().unwrap_or_else(TimeZone::system)
    }

    /// Records of this time or later.
    pub fn since(&self) -> Option<Moment> {
        Some(self.since.as_ref()?.moment(&self.zone()))
    }

    /// Records of this time or earlier.
    pub fn until(&self) -> Option<Moment> {
        Some(self.until.as_ref()?.moment(&self.zone()))
    }

    /// What of a merge can be left out.
    pub fn merge_options(&self) -> MergeOptions {
        let mut options = MergeOptions::default();
        options.since = self.since().map_or(options.since, |since| since.0);
        options.until = self.until().map_or(options.until, |until| until.0);
        options
    }
}

/// Levels from one to another, both included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Levels {
    lowest: Option<Level>,
    highest: Option<Level>,
}

impl Levels {
    fn parse(text: &str) -> Result<Levels, String> {
        let Some((lowest, highest)) = text.split_once("..") else {
            let lowest = Some(level(text)?);
            return Ok(Levels {
                lowest,
                highest: None,
            });
        };
        let bound = |text: &str| (!text.is_empty()).then(|| level(text)).transpose();
        Ok(Levels {
            lowest: bound(lowest)?,
            highest: bound(highest)?,
        })
    }

    /// Those from one on.
    #[cfg(feature = "browse")]
    pub fn from(lowest: Level) -> Levels {
        Levels {
            lowest: Some(lowest),
            highest: None,
        }
    }

    /// Whether one of the levels between two, both included, is one of them.
    #[cfg(feature = "browse")]
    pub fn overlap(&self, lowest: Level, highest: Level) -> bool {
        self.lowest.is_none_or(|level| level <= highest)
            && self.highest.is_none_or(|level| level >= lowest)
    }

    /// Whether the level of a record is one of them; a record may have none.
    pub fn contain(&self, level: Option<Level>) -> bool {
        let reaches = |lowest| level.is_some_and(|level| level >= lowest);
        let exceeds = |highest| level.is_none_or(|level| level > highest);
        self.lowest.is_none_or(reaches) && !self.highest.is_some_and(exceeds)
    }
}

fn level(text: &str) -> Result<Level, String> {
    Level::parse(text).ok_or_else(|| {
        let names = Level::NAMED.map(|(_, name)| name.to_lowercase());
        format!("try {}, or a number", names.join(", "))
    })
}
