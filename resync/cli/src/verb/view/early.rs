//! `view` of a log that says where its chunks are: records are shown while it is
//! read, once, and tables fill as logdefs come by. The output is that of a view after
//! a recovery, but that what comes before `--since` or after `--until` is checked when
//! the rest was shown, and what comes before `--tail` is not. Whatever is not as it should be (a damaged byte, another run, a logdef
//! that is missing) ends this, before the next record is shown; the rest is then for a
//! recovery to find.

use crate::choose::filter::Filter;
use crate::choose::sieve::Sieve;
use crate::choose::viewer::Viewer;
use crate::failure::Failure;
use crate::log::{self, Inputs};
use crate::verb::view::reach::Reach;
use crate::verb::view::{Outcome, Shown, View};
use logdef_resync::{
    BackgroundMerge, Batch, Event, Glance, Images, LocatedImages, Merge, MergedSoFar, Place,
    Resolver, Survey, Tables,
};
use logdef_wire::{Record, Tag};
use std::ops::ControlFlow;

/// Bytes of a log that are read before the first record is shown: that takes a moment,
/// and then nothing that is shown can turn out wrong.
const MOMENT: u64 = 16 << 20;
/// Bytes that are read first where chunks would be left out by the times in their heads:
/// where a clock was set back, those do not say what the chunks hold.
const MOMENTS: u64 = 256 << 20;

pub fn run(args: &View, inputs: &Inputs, images: &mut LocatedImages) -> Result<Outcome, Failure> {
    let ([input], false) = (&inputs.opened[..], inputs.lacks_some) else {
        return Ok(Outcome::NotBegun);
    };
    if input.broken_off().is_some() {
        return Ok(Outcome::NotBegun);
    }
    let wanted = args.filters.merge_options();
    let leaves_out = args.tail.is_some() || wanted.since > 0 || wanted.until < u64::MAX;
    let first = if leaves_out { MOMENTS } else { MOMENT };
    if input.len() <= args.early_from.unwrap_or(first) {
        return Ok(Outcome::NotBegun);
    }
    // Runs are counted over the whole log, and so is what the exit status stands for.
    if !args.filters.run.is_empty() || args.source.strict {
        return Ok(Outcome::NotBegun);
    }
    let Some(mut survey) = Survey::of(input)? else {
        return Ok(Outcome::NotBegun);
    };
    // Chunks are left out by the times in their heads. The first matches that are shown must
    // be the first, and no later check could take them back.
    let leaves_out_before = args.head.is_some() && survey.bytes_before(wanted.since) > 0;
    if leaves_out_before || leaves_out && survey.has_clock_set_back() {
        return Ok(Outcome::NotBegun);
    }
    let tables = survey.into_tables();
    let filter = Filter::new(&args.filters, &tables)?;
    let mut early = Early {
        tables,
        viewer: Viewer::new(args, filter)?,
        given: MergedSoFar::nothing(&survey),
        until: wanted.until,
    };
    early.viewer.leave_unknown();
    let mut options = wanted;
    let mut reach = Reach::new(args);
    let ended = loop {
        options.since = reach.since(wanted.since, |bytes| {
            survey.since_of_last(bytes, wanted.until)
        });
        let mut merge = Merge::from_survey(input, &survey, options);
        if !early.viewer.wants_all() {
            merge = merge.through(Sieve::learning(early.viewer.filter()));
        }
        let ended = BackgroundMerge::run(merge, log::cores(), |ahead| early.show(ahead, images))?;
        if ended == Ended::Astray || reach.is_enough(&mut early.viewer)? {
            break ended;
        }
    };
    let Early {
        tables,
        mut viewer,
        given,
        ..
    } = early;
    let is_checked = match ended {
        Ended::Astray | Ended::BehindWanted => false,
        Ended::BehindAll if args.tail.is_none() => survey.bytes_before(wanted.since) == 0,
        Ended::BehindAll | Ended::Enough => true,
    };
    match args.tail {
        Some(tail) if !is_checked => viewer.begin_tail(tail),
        Some(_) => viewer.end_tail(&mut Resolver::new(&tables, &mut *images))?,
        None => {}
    }
    if !is_checked {
        viewer.accept_unknown();
        // Of a tail, nothing was shown yet.
        let given = match args.tail {
            Some(_) => MergedSoFar::nothing(&survey),
            None => given,
        };
        return Ok(Outcome::Begun(Box::new(viewer), Shown::Lanes(given)));
    }
    viewer.end()?;
    for complaint in images.complaints() {
        log::say(&complaint);
    }
    Ok(Outcome::Done {
        has_matched: viewer.has_matched(),
    })
}

struct Early {
    tables: Tables,
    viewer: Viewer,
    given: MergedSoFar,
    /// Nothing after this time is wanted.
    until: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ended {
    /// All that is wanted was shown.
    Enough,
    /// The merge has no more.
    BehindAll,
    /// Likely no more of it is wanted. It is checked faster than it is merged.
    BehindWanted,
    Astray,
}

impl Early {
    fn show(
        &mut self,
        ahead: &mut BackgroundMerge<'_>,
        images: &mut LocatedImages,
    ) -> Result<Ended, Failure> {
        let mut next = ahead.next()?;
        while let Some(batch) = next {
            learn(&mut self.tables, batch);
            if !self.tables.is_whole() {
                return Ok(Ended::Astray);
            }
            // Tables that change have another resolver. They seldom do.
            let mut resolver = Resolver::new(&self.tables, &mut *images);
            let mut batch = batch;
            next = loop {
                for event in batch.events() {
                    let Event::Frame(frame) = event else { continue };
                    resolver.see(&frame);
                    let (viewer, tables) = (&mut self.viewer, &self.tables);
                    let goes_on = viewer.frame(frame.place, frame.body, tables, &mut resolver)?;
                    if viewer.has_met_unknown() {
                        return Ok(Ended::Astray);
                    }
                    self.given.add(&frame);
                    if goes_on == ControlFlow::Break(()) {
                        return Ok(Ended::Enough);
                    }
                }
                self.viewer.batch_ends()?;
                if is_after(batch, self.until) {
                    return Ok(Ended::BehindWanted);
                }
                match ahead.next()? {
                    Some(next) if knows(&self.tables, next) => batch = next,
                    next => break next,
                }
            };
        }
        Ok(if ahead.contradicts_survey() {
            Ended::Astray
        } else {
            Ended::BehindAll
        })
    }
}

/// Whether a batch has data records, all of after a time.
fn is_after(batch: &Batch<'_>, until: u64) -> bool {
    let frames = batch.events().filter_map(|event| match event {
        Event::Frame(frame) if frame.tag() == Tag::DATA => Glance::of(frame.body),
        _ => None,
    });
    let mut times = frames.map(|glance| glance.time.unwrap_or(0)).peekable();
    until < u64::MAX && times.peek().is_some() && times.all(|time| time > until)
}

/// Takes in the logdefs of a batch.
pub(crate) fn learn(tables: &mut Tables, batch: &Batch<'_>) {
    for (record, place) in logdefs(batch) {
        if !tables.knows(&record, place) {
            tables.add(&record, place);
        }
    }
}

/// Whether all logdefs of a batch are known.
pub(crate) fn knows(tables: &Tables, batch: &Batch<'_>) -> bool {
    logdefs(batch).all(|(record, place)| tables.knows(&record, place))
}

fn logdefs<'b>(batch: &'b Batch<'_>) -> impl Iterator<Item = (Record<'b>, Place)> {
    batch.events().filter_map(|event| match event {
        Event::Frame(frame) if frame.tag() != Tag::DATA => Some((frame.record()?, frame.place)),
        _ => None,
    })
}
