//! `report`: one page about a log, to send by mail.

use crate::args::{Filters, Images, Source};
use crate::choose::chosen;
use crate::choose::when::{Moment, Written};
use crate::count::Counts;
use crate::destination;
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::report::changes;
use crate::report::facts::Facts;
use crate::report::page::{Compared, Page};
use crate::report::redact::Redact;
use crate::show::map;
use logdef_resync::Resolver;
use logdef_wire::record::Data;
use regex::bytes::Regex;
use std::path::PathBuf;
use std::process::ExitCode;

/// `report`: the log, and what it is compared with.
#[derive(Debug, clap::Args)]
pub struct Report {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    /// Where to write the page; `-` is standard output
    #[arg(
        short = 'O',
        long = "out",
        short_alias = 'o',
        alias = "output",
        value_name = "OUT.html"
    )]
    pub output: PathBuf,
    /// Title of the page. By default the names of the files
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// How many of the last records to list; fewer if they take more than 500 KiB
    #[arg(long, default_value_t = 500, value_name = "N")]
    pub records: usize,
    /// Say which call sites changed since this log, of an earlier run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["against_run", "changed_at"])]
    pub against: Vec<PathBuf>,
    /// Say which call sites changed since this run of the same log: 1 for the first, -1 for the last
    /// but one, or its 16 hexadecimal digits
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "RUN",
        conflicts_with = "changed_at"
    )]
    pub against_run: Option<String>,
    /// Say which call sites changed at this time: the records from then on against those before
    #[arg(long, value_parser = Written::parse, allow_hyphen_values = true, value_name = "TIME")]
    pub changed_at: Option<Written>,
    /// Leave arguments, keys and texts of panics out; with an expression, replace what matches in
    /// messages, names and paths
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true)]
    pub redact: Option<Option<Regex>>,
}

impl Report {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let redact = Redact::of(self.redact.as_ref());
        let log = Log::open(&self.source)?;
        log.must_hold_records()?;
        let tables = log.recovery.tables();
        let mut resolver =
            Resolver::new(tables, log::images(&self.images)).judged_by(&log.recovery);
        let wanted = self.filters.merge_options();
        let mut facts = Facts::new(&log.recovery, wanted.since..=wanted.until, self.records);
        let add = |found: chosen::Found<'_>, place, resolver: &mut Resolver<'_>| {
            facts.add(found, place, resolver, &redact);
            Ok(())
        };
        chosen::for_each_found(&log, &self.filters, &mut resolver, add)?;
        let compared = self.compare(&log, &facts.counts)?;
        let map = map::worst_svg(&log, FILES, |name| redact.text(name))?;
        let page = Page {
            title: self.title(),
            log: &log,
            facts: &facts,
            redact: &redact,
            compared,
            map,
        };
        let page = page.html(&mut resolver);
        for complaint in resolver.complaints() {
            log::say(&complaint);
        }
        destination::write(&self.output, |out| {
            out.write_all(page.as_bytes())
                .map_err(|error| Failure::output(&self.output, error))
        })?;
        log.report();
        Ok(log.status(&self.source))
    }

    fn title(&self) -> String {
        let names = self.source.files.iter().take(3);
        let names: Vec<_> = names.map(|file| file.display().to_string()).collect();
        match (&self.title, names.is_empty()) {
            (Some(title), _) => title.clone(),
            (None, true) => "standard input".into(),
            (None, false) => names.join(", "),
        }
    }

    /// What the log is to be compared with, if with anything.
    fn compare(&self, log: &Log, now: &Counts) -> Result<Option<Compared>, Failure> {
        let mut filters = self.filters.clone();
        if let Some(run) = &self.against_run {
            filters.run = vec![run.clone()];
            let before = self.count(log, &filters)?;
            return Ok(Some(compared(format!("run {run}"), &before, now)));
        }
        if let Some(time) = &self.changed_at {
            let time = time.moment(&filters.zone());
            let is_before = |data: &Data<'_>| data.time.map(Moment) < Some(time);
            let (mut before, mut now) = (Counts::default(), Counts::default());
            chosen::for_each(log, &filters, &self.images, |data, place, resolver| {
                let counts = if is_before(data) {
                    &mut before
                } else {
                    &mut now
                };
                counts.add(data, place, resolver);
                Ok(())
            })?;
            return Ok(Some(compared("the records before".into(), &before, &now)));
        }
        if self.against.is_empty() {
            return Ok(None);
        }
        // Runs and times of this log are not those of the other.
        filters = filters.without_scope();
        let mut source = self.source.clone();
        source.files.clone_from(&self.against);
        source.clock_offset.clear();
        let other = Log::open(&source)?;
        let before = self.count(&other, &filters)?;
        let names = self.against.iter().map(|file| file.display().to_string());
        let names = names.collect::<Vec<_>>().join(", ");
        Ok(Some(compared(names, &before, now)))
    }

    fn count(&self, log: &Log, filters: &Filters) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        chosen::for_each(log, filters, &self.images, |data, place, resolver| {
            counts.add(data, place, resolver);
            Ok(())
        })?;
        Ok(counts)
    }
}

/// Files whose bytes are drawn: those with the most damage.
const FILES: usize = 3;

fn compared(with: String, before: &Counts, now: &Counts) -> Compared {
    Compared {
        with,
        before: before.records,
        changes: changes::between(before, now),
    }
}
