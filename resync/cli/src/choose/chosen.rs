//! Every record that the filters choose, for verbs that show none.

use crate::args::{Filters, Images};
use crate::choose::filter::Filter;
use crate::choose::sieve::Sieve;
use crate::failure::Failure;
use crate::log::{self, Log};
use logdef_resync::{BackgroundMerge, Event, Glance, Merge, Place, Resolver, Tables};
use logdef_wire::record::{Data, Note};
use logdef_wire::{Record, Tag};

/// What the log holds at a place.
pub enum Found<'f> {
    Record {
        data: &'f Data<'f>,
        /// The record as it stands in its frame.
        body: &'f [u8],
    },
    /// What the log says about itself.
    Note(&'f Note<'f>),
}

/// Gives the records by time.
pub fn for_each(
    log: &Log,
    filters: &Filters,
    images: &Images,
    mut with: impl FnMut(&Data<'_>, Place, &mut Resolver<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let tables = log.recovery.tables();
    let mut images = log.images(images);
    let mut resolver = Resolver::new(tables, &mut *images).judged_by(&log.recovery);
    let records_only = |found: Found<'_>, place, resolver: &mut Resolver<'_>| match found {
        Found::Record { data, .. } => with(data, place, resolver),
        Found::Note(_) => Ok(()),
    };
    find(log, filters, false, &mut resolver, records_only)?;
    for complaint in resolver.complaints() {
        log::say(&complaint);
    }
    Ok(())
}

/// Gives the records by time, and the notes of the runs, processes and times that were chosen.
pub fn for_each_found(
    log: &Log,
    filters: &Filters,
    resolver: &mut Resolver<'_>,
    with: impl FnMut(Found<'_>, Place, &mut Resolver<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    find(log, filters, true, resolver, with)
}

fn find(
    log: &Log,
    filters: &Filters,
    wants_notes: bool,
    resolver: &mut Resolver<'_>,
    mut with: impl FnMut(Found<'_>, Place, &mut Resolver<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let tables = log.recovery.tables();
    let filter = Filter::new(filters, tables)?;
    let mut options = filters.merge_options();
    options.gaps = false;
    // Notes are frames without a place in a thread.
    options.all_frames = wants_notes;
    let mut merge = Merge::new(&log.inputs, &log.recovery, options);
    if filter.is_search() {
        merge = merge.through(Sieve::new(&filter, tables));
    }
    let mut message = Vec::new();
    BackgroundMerge::run(merge, log::cores(), |ahead| {
        while let Some(batch) = ahead.next()? {
            for event in batch.events() {
                let Event::Frame(frame) = event else { continue };
                let place = frame.place;
                resolver.see(&frame);
                if frame.tag() == Tag::NOTE && wants_notes {
                    let Some(Record::Note(note)) = frame.record() else {
                        continue;
                    };
                    let glance = Glance {
                        run: note.run,
                        time: note.time,
                        ..Glance::default()
                    };
                    if filter.is_in_scope(&glance, place, tables) {
                        with(Found::Note(&note), place, resolver)?;
                    }
                }
                if frame.tag() != Tag::DATA {
                    continue;
                }
                if !filter.is_everything() {
                    let glance = Glance::of(frame.body).unwrap_or_default();
                    if !is_in_scope(&filter, &glance, place, tables) {
                        continue;
                    }
                }
                let Some(Record::Data(data)) = frame.record() else {
                    continue;
                };
                if !is_match(&filter, &data, place, resolver, &mut message) {
                    continue;
                }
                let (data, body) = (&data, frame.body);
                with(Found::Record { data, body }, place, resolver)?;
            }
        }
        Ok::<_, Failure>(())
    })
}

/// Whether the numbers of a record may be those of one that is chosen.
pub fn is_in_scope(filter: &Filter, glance: &Glance, place: Place, tables: &Tables) -> bool {
    filter.is_everything() || filter.is_in_scope(glance, place, tables) && filter.may_match(glance)
}

/// Whether the texts of a record are those of one that is chosen.
pub fn is_match(
    filter: &Filter,
    data: &Data<'_>,
    place: Place,
    resolver: &mut Resolver<'_>,
    message: &mut Vec<u8>,
) -> bool {
    !filter.is_search()
        || filter.may_hold(data) && filter.matches(&resolver.resolve(data, place), message)
}
