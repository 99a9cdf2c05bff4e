//! `view` of an archive whose logs lack nothing: its records are shown as they come, without a log that
//! is made of them, kept and recovered before. The output is that of a view of that log.

use crate::archived;
use crate::choose::filter::Filter;
use crate::choose::sieve::Sieve;
use crate::choose::viewer::Viewer;
use crate::failure::Failure;
use crate::log;
use crate::paths;
use crate::show::printer::Form;
use crate::verb::view::{Outcome, Shown, View};
use logdef_archive::{Ordered, OrderedBatch};
use logdef_resync::{LocatedImages, Peek, Place, Resolver, Sieve as _, Tables};
use logdef_wire::Tag;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Batches that are ready and not looked at yet.
const READY: usize = 4;

pub fn run(args: &View, images: &mut LocatedImages) -> Result<Outcome, Failure> {
    let Some(ordered) = opened(args) else {
        return Ok(Outcome::NotBegun);
    };
    let tables = ordered.tables();
    let viewer = Viewer::new(args, Filter::new(&args.filters, &tables)?)?;
    let sieve = !viewer.wants_all();
    let mut show = Show {
        sieve: sieve.then(|| Sieve::new(viewer.filter(), &tables)),
        resolver: Resolver::new(&tables, images),
        tables: &tables,
        viewer,
        records: 0,
    };
    let ended = each_batch(ordered, log::cores(), |batch| show.batch(batch))?;
    let Show {
        mut viewer,
        mut resolver,
        records,
        ..
    } = show;
    if ended.is_err() {
        // Of a tail, nothing was shown yet.
        let shown = args.tail.map_or(records, |tail| {
            viewer.begin_tail(tail);
            0
        });
        return Ok(Outcome::Begun(Box::new(viewer), Shown::First(shown)));
    }
    viewer.end_tail(&mut resolver)?;
    viewer.end()?;
    for complaint in resolver.complaints() {
        log::say(&complaint);
    }
    Ok(Outcome::Done {
        has_matched: viewer.has_matched(),
    })
}

/// The parts that are asked about, if the answer needs no more than their records.
fn opened(args: &View) -> Option<Ordered> {
    let source = &args.source;
    // Runs are counted over the whole log, and only a stream of frames has offsets.
    let is_simple = args.filters.run.is_empty() && source.clock_offset.is_empty();
    if !is_simple || source.strict || args.output == Form::Full {
        return None;
    }
    let paths = paths::of(&source.files).into_iter();
    archived::ordered(&paths.collect::<Result<Vec<_>, _>>().ok()?)
}

/// What shows records, and what they refer to.
struct Show<'t> {
    sieve: Option<Sieve<'t>>,
    resolver: Resolver<'t>,
    tables: &'t Tables,
    viewer: Viewer,
    records: u64,
}

impl Show<'_> {
    fn batch(&mut self, batch: &OrderedBatch) -> Result<ControlFlow<()>, Failure> {
        for (place, body) in batch.frames() {
            if self.frame(place, body)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.viewer.batch_ends()?;
        Ok(ControlFlow::Continue(()))
    }

    fn frame(&mut self, place: Place, body: &[u8]) -> Result<ControlFlow<()>, Failure> {
        if body.first() == Some(&Tag::DATA.0) {
            self.records += 1;
            if let Some(sieve) = &mut self.sieve
                && Peek::of(body).is_some_and(|peek| !sieve.passes(body, &peek, false))
            {
                return Ok(ControlFlow::Continue(()));
            }
        }
        self.viewer
            .frame(place, body, self.tables, &mut self.resolver)
    }
}

/// Gives the batches of a part, until one is the last that is wanted. On another core, if there is one, they
/// are made while they are looked at.
fn each_batch(
    mut ordered: Ordered,
    cores: usize,
    mut with: impl FnMut(&OrderedBatch) -> Result<ControlFlow<()>, Failure>,
) -> Result<io::Result<()>, Failure> {
    if cores < 2 {
        let mut batch = OrderedBatch::default();
        loop {
            match ordered.fill(&mut batch) {
                Ok(goes_on) if with(&batch)?.is_continue() && goes_on => {}
                Ok(_) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            }
        }
    }
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(READY);
        let (back, spare) = sync_channel(READY + 2);
        scope.spawn(move || {
            let mut goes_on = true;
            while goes_on {
                let mut batch: OrderedBatch = spare.try_recv().unwrap_or_default();
                let filled = ordered.fill(&mut batch);
                goes_on = *filled.as_ref().unwrap_or(&false);
                goes_on &= sender.send(filled.map(|_| batch)).is_ok();
            }
        });
        // When it is dropped the channel has no receiver, and the sender ends.
        for filled in receiver {
            let batch = match filled {
                Ok(batch) => batch,
                Err(error) => return Ok(Err(error)),
            };
            if with(&batch)?.is_break() {
                break;
            }
            let _ = back.try_send(batch);
        }
        Ok(Ok(()))
    })
}
