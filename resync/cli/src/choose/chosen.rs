//! Every record that the filters choose, for verbs that show none.

use crate::args::{Filters, Images};
use crate::choose::filter::Filter;
use crate::failure::Failure;
use crate::log::{self, Log};
use logdef_resync::{BackgroundMerge, Event, Glance, Merge, Place, Resolver};
use logdef_wire::record::Data;
use logdef_wire::{Record, Tag};

/// Gives the records by time.
pub fn for_each(
    log: &Log,
    filters: &Filters,
    images: &Images,
    mut with: impl FnMut(&Data<'_>, Place, &mut Resolver<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let tables = log.recovery.tables();
    let filter = Filter::new(filters, tables)?;
    let mut resolver = Resolver::new(tables, log::images(images)).judged_by(&log.recovery);
    let mut options = filters.merge_options();
    options.gaps = false;
    let merge = Merge::new(&log.inputs, &log.recovery, options);
    let mut message = Vec::new();
    BackgroundMerge::run(merge, log::cores(), |ahead| {
        while let Some(batch) = ahead.next()? {
            for event in batch.events() {
                let Event::Frame(frame) = event else { continue };
                if frame.tag() != Tag::DATA {
                    continue;
                }
                let place = frame.place;
                if !filter.is_everything() {
                    let glance = Glance::of(frame.body).unwrap_or_default();
                    if !filter.is_in_scope(&glance, place, tables) || !filter.may_match(&glance) {
                        continue;
                    }
                }
                let Some(Record::Data(data)) = frame.record() else {
                    continue;
                };
                if filter.is_search()
                    && !(filter.may_hold(&data)
                        && filter.matches(&resolver.resolve(&data, place), &mut message))
                {
                    continue;
                }
                with(&data, place, &mut resolver)?;
            }
        }
        Ok::<_, Failure>(())
    })?;
    for complaint in resolver.complaints() {
        log::say(&complaint);
    }
    Ok(())
}
