//! `view`: records in the order of time.
//!
//! A log whose chunks say where the next one is shows its first record at once: see
//! [`early`]. So does an archive whose logs lack nothing: see [`ordered`]. Any other is read to its
//! end first.

pub(crate) mod early;
mod follow;
#[cfg(feature = "archive")]
mod ordered;
mod reach;

use crate::args::{Filters, Images, Links, Source};
use crate::choose::filter::Filter;
use crate::choose::sieve::Sieve;
use crate::choose::viewer::Viewer;
use crate::failure::{Failure, NO_MATCH};
use crate::log::{self, Inputs, Log};
use crate::show::clock::TimeForm;
use crate::show::losses;
use crate::show::printer::Form;
use crate::show::text::{Backtrace, Look};
use logdef_resync::{BackgroundMerge, Event, LocatedImages, Merge, MergedSoFar, Resolver};
use logdef_wire::Tag;
use reach::Reach;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// `view`: which records to show, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct View {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    /// How to show records
    #[arg(
        short,
        long,
        value_enum,
        default_value = "short",
        value_name = "FORM",
        env = "LOGDEF_OUTPUT",
        help_heading = "Appearance"
    )]
    pub output: Form,
    /// How to show times in `short` and `full`
    #[arg(
        long,
        value_enum,
        default_value = "local",
        value_name = "FORM",
        env = "LOGDEF_TIME",
        help_heading = "Appearance"
    )]
    pub time: TimeForm,
    /// How to show backtraces in `short` and `full`
    #[arg(
        long,
        value_enum,
        default_value = "short",
        value_name = "FORM",
        env = "LOGDEF_BACKTRACE",
        help_heading = "Appearance"
    )]
    pub backtrace: Backtrace,
    /// Mark formats and file names that are not in the log: rebuilt from the image, or missing
    #[arg(long, help_heading = "Appearance")]
    pub provenance: bool,
    /// Show the key-values of each record's context after it, in braces
    #[arg(long, help_heading = "Appearance")]
    pub with_context: bool,
    /// Show before each message the target of its call site, or else the module
    #[arg(long, help_heading = "Appearance")]
    pub with_target: bool,
    #[command(flatten)]
    pub links: Links,
    /// Show consecutive records from the same call site as one line and a count
    #[arg(long, help_heading = "Appearance")]
    pub fold: bool,
    /// Show N records after each match
    #[arg(short = 'A', long, value_name = "N", help_heading = "Context")]
    pub after: Option<usize>,
    /// Show N records before each match
    #[arg(short = 'B', long, value_name = "N", help_heading = "Context")]
    pub before: Option<usize>,
    /// Show N records before and after each match
    #[arg(short = 'C', long, value_name = "N", help_heading = "Context")]
    pub context: Option<usize>,
    /// Stop after N matching records. The log's notes before the last of these are shown too, and not counted
    #[arg(short = 'n', long, value_name = "N", help_heading = "Context")]
    pub head: Option<u64>,
    /// Show only the last N matching records. With --follow, start with them (10 by default,
    /// 262144 at most).
    /// A log of more than 256 MiB is read from its end where possible, and damage before
    /// that is not reported; --strict reads all of it
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "head",
        help_heading = "Context"
    )]
    pub tail: Option<usize>,
    /// Show only records that earlier views with this file did not show, and note in the file how far
    /// this one came: the last call of each thread. The file is created if it does not exist
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["tail", "suspects"],
        help_heading = "Context"
    )]
    pub cursor_file: Option<PathBuf>,
    /// Exit with status 1 if no record matches, as grep does
    #[arg(long, help_heading = "Context")]
    pub exit_status: bool,
    /// Keep running: show records as they are written, through rotations and restarts. One that comes
    /// after later ones of its thread is marked as late
    #[arg(short, long, conflicts_with = "fold", help_heading = "Context")]
    pub follow: bool,
    /// Show records of longer logs while they are read: for tests.
    #[arg(long, value_name = "BYTES", hide = true)]
    pub early_from: Option<u64>,
}

/// How far a view came by a quicker way.
pub enum Outcome {
    /// It is not such a log, or not such a question.
    NotBegun,
    /// All was shown, and nothing was wrong. Says whether a record was wanted.
    Done { has_matched: bool },
    /// So much was shown; the rest needs a recovery, or all the rest does that was not
    /// looked into.
    Begun(Box<Viewer>, Shown),
}

pub enum Shown {
    /// What a merge from a survey gave.
    Lanes(MergedSoFar),
    /// As many of the first records.
    First(u64),
}

/// Whether an event is before the end of the first records, some of which are left to be skipped.
fn is_skipped(event: &Event<'_>, records: &mut u64) -> bool {
    if *records == 0 {
        return false;
    }
    if let Event::Frame(frame) = event
        && frame.tag() == Tag::DATA
    {
        *records -= 1;
    }
    true
}

impl View {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if self.follow {
            return follow::run(self);
        }
        let mut images = log::images(&self.images);
        #[cfg(feature = "archive")]
        match ordered::run(self, &mut images)? {
            Outcome::NotBegun => {}
            begun => return self.show_rest(begun, || log::inputs(&self.source), images),
        }
        self.run_on_with(log::inputs(&self.source)?, images)
    }

    /// Shows records of inputs that were opened.
    pub fn run_on(&self, inputs: Inputs) -> Result<ExitCode, Failure> {
        self.run_on_with(inputs, log::images(&self.images))
    }

    fn run_on_with(&self, inputs: Inputs, mut images: LocatedImages) -> Result<ExitCode, Failure> {
        let begun = early::run(self, &inputs, &mut images)?;
        self.show_rest(begun, || Ok(inputs), images)
    }

    /// Shows what is left of inputs when some of them was shown.
    fn show_rest(
        &self,
        begun: Outcome,
        inputs: impl FnOnce() -> Result<Inputs, Failure>,
        mut images: LocatedImages,
    ) -> Result<ExitCode, Failure> {
        let begun = match begun {
            Outcome::Done { has_matched } => return Ok(self.status(has_matched)),
            Outcome::Begun(viewer, shown) => Some((viewer, shown)),
            Outcome::NotBegun => None,
        };
        let log = Log::of(inputs()?)?;
        log.must_hold_records()?;
        let tables = log.recovery.tables();
        let (mut viewer, shown) = match begun {
            Some((viewer, shown)) => (*viewer, shown),
            None => (
                Viewer::new(self, Filter::new(&self.filters, tables)?)?,
                Shown::First(0),
            ),
        };
        viewer.hold_cursor(log.lacks_some);
        let mut resolver = Resolver::new(tables, &mut images).judged_by(&log.recovery);
        let wanted = self.filters.merge_options();
        let mut options = wanted;
        // Notes are frames without a place in a thread.
        options.all_frames = viewer.printer.is_for_people();
        let mut reach = Reach::new(self);
        loop {
            let of_last = |bytes| log.recovery.since_of_last(bytes, wanted.until);
            options.since = match shown {
                // None of those that are counted may be left out.
                Shown::First(1..) => 0,
                _ => reach.since(wanted.since, of_last),
            };
            let mut merge = Merge::new(&log.inputs, &log.recovery, options);
            let mut to_skip = 0;
            match &shown {
                Shown::Lanes(given) => merge = merge.after(given.clone())?,
                Shown::First(records) => to_skip = *records,
            }
            if !viewer.wants_all() && to_skip == 0 {
                merge = merge.through(Sieve::new(viewer.filter(), tables));
            }
            let mut gaps = Vec::new();
            BackgroundMerge::run(merge, log::cores(), |ahead| {
                while let Some(batch) = ahead.next()? {
                    let events = batch
                        .events()
                        .skip_while(|event| is_skipped(event, &mut to_skip));
                    let flow = self.show(events, &log, &mut viewer, &mut resolver, &mut gaps)?;
                    if flow.is_break() {
                        return Ok(());
                    }
                    viewer.batch_ends()?;
                }
                Ok::<_, Failure>(())
            })?;
            if reach.is_enough(&mut viewer)? {
                gaps.iter().for_each(|line| log::note(line));
                break;
            }
        }
        viewer.end_tail(&mut resolver)?;
        viewer.end()?;
        if viewer.late() > 0 {
            let late = viewer.late();
            log::note(&format!(
                "{late} of the records are shown after later ones: they were found after those had been shown"
            ));
        }
        for complaint in resolver.complaints() {
            log::say(&complaint);
        }
        log.report();
        match log.status(&self.source) {
            ExitCode::SUCCESS => Ok(self.status(viewer.has_matched())),
            status => Ok(status),
        }
    }

    /// How records for people look.
    pub fn look(&self, color: bool) -> Look {
        Look {
            color,
            time: self.time,
            zone: self.filters.zone(),
            backtrace: self.backtrace,
            provenance: self.provenance,
            with_context: self.with_context,
            with_target: self.with_target,
            links: self.links.wanted(color),
        }
    }

    /// The exit status if nothing failed.
    fn status(&self, has_matched: bool) -> ExitCode {
        if self.exit_status && !has_matched {
            ExitCode::from(NO_MATCH)
        } else {
            ExitCode::SUCCESS
        }
    }

    /// Shows the records of a batch and reports its gaps; of a tail, which may be merged
    /// more than once, they are kept in `gaps`.
    fn show<'e>(
        &self,
        events: impl Iterator<Item = Event<'e>>,
        log: &Log,
        viewer: &mut Viewer,
        resolver: &mut Resolver<'_>,
        gaps: &mut Vec<String>,
    ) -> Result<ControlFlow<()>, Failure> {
        for event in events {
            match event {
                Event::Gap(input, gap) => {
                    let name = &log.recovery.accounts()[input as usize].name;
                    let line = losses::gap(name, gap);
                    if self.tail.is_some() {
                        gaps.push(line);
                        continue;
                    }
                    viewer.flush()?;
                    log::note(&line);
                }
                Event::Frame(frame) => {
                    let tables = log.recovery.tables();
                    resolver.see(&frame);
                    if viewer
                        .frame(frame.place, frame.body, tables, resolver)?
                        .is_break()
                    {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                _ => {}
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
