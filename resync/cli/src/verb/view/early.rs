//! `view` of a log that tells where its chunks are: records are shown while it is
//! read, once, and tables fill as logdefs come by. The output is that of a view after
//! a recovery. Whatever is not as it should be (a damaged byte, another run, a logdef
//! that is missing) ends this, before the next record is shown; the rest is then for a
//! recovery to find.

use crate::args::View;
use crate::choose::filter::Filter;
use crate::choose::viewer::Viewer;
use crate::failure::Failure;
use crate::log::{self, Inputs};
use logdef_resync::{
    Ahead, Batch, Event, Given, Images, LocatedImages, Merge, MergeOptions, Place, Resolver,
    Survey, Tables,
};
use logdef_wire::{Record, Tag};
use std::ops::ControlFlow;

/// How far it came.
pub enum Outcome {
    /// It is not such a log, or not such a question.
    NotBegun,
    /// All was shown, and nothing was wrong.
    Done,
    /// So much was shown, and the rest needs a recovery.
    Astray(Box<Viewer>, Given),
}

pub fn run(args: &View, inputs: &Inputs, images: &mut LocatedImages) -> Result<Outcome, Failure> {
    let ([input], false) = (&inputs.opened[..], inputs.lacks_some) else {
        return Ok(Outcome::NotBegun);
    };
    // Runs are counted over the whole log, and so is what the exit status stands for.
    let asks_for_all = !args.filters.run.is_empty() || args.source.strict && args.head.is_some();
    if asks_for_all || args.tail.is_some() {
        return Ok(Outcome::NotBegun);
    }
    let Some(mut survey) = Survey::of(input)? else {
        return Ok(Outcome::NotBegun);
    };
    // What is not wanted is checked faster than it is merged.
    let unwanted = (args.filters.since).map_or(0, |since| survey.bytes_before(since.0));
    if unwanted > input.len() / 2 {
        return Ok(Outcome::NotBegun);
    }
    let tables = survey.into_tables();
    let filter = Filter::new(&args.filters, &tables)?;
    let mut early = Early {
        tables,
        viewer: Viewer::new(args, filter)?,
        given: Given::nothing(&survey),
    };
    early.viewer.leave_unknown();
    let merge = Merge::along(input, &survey, MergeOptions::default());
    let ended = Ahead::run(merge, log::cores(), |ahead| early.show(ahead, images))?;
    let Early {
        mut viewer, given, ..
    } = early;
    if ended == Ended::Astray {
        viewer.accept_unknown();
        return Ok(Outcome::Astray(Box::new(viewer), given));
    }
    viewer.flush()?;
    for complaint in images.complaints() {
        log::say(&complaint);
    }
    Ok(Outcome::Done)
}

struct Early {
    tables: Tables,
    viewer: Viewer,
    given: Given,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ended {
    Well,
    Astray,
}

impl Early {
    fn show(
        &mut self,
        ahead: &mut Ahead<'_>,
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
                    let (viewer, tables) = (&mut self.viewer, &self.tables);
                    let goes_on = viewer.frame(frame.place, frame.body, tables, &mut resolver)?;
                    if viewer.has_met_unknown() {
                        return Ok(Ended::Astray);
                    }
                    self.given.add(&frame);
                    if goes_on == ControlFlow::Break(()) {
                        return Ok(Ended::Well);
                    }
                }
                self.viewer.batch_ends()?;
                match ahead.next()? {
                    Some(next) if knows(&self.tables, next) => batch = next,
                    next => break next,
                }
            };
        }
        Ok(match ahead.is_astray() {
            true => Ended::Astray,
            false => Ended::Well,
        })
    }
}

/// Takes in the logdefs of a batch.
fn learn(tables: &mut Tables, batch: &Batch<'_>) {
    for (record, place) in logdefs(batch) {
        if !tables.knows(&record, place) {
            tables.add(&record, place);
        }
    }
}

/// Whether all logdefs of a batch are known.
fn knows(tables: &Tables, batch: &Batch<'_>) -> bool {
    logdefs(batch).all(|(record, place)| tables.knows(&record, place))
}

fn logdefs<'b>(batch: &'b Batch<'_>) -> impl Iterator<Item = (Record<'b>, Place)> {
    batch.events().filter_map(|event| match event {
        Event::Frame(frame) if frame.tag() != Tag::DATA => Some((frame.record()?, frame.place)),
        _ => None,
    })
}
