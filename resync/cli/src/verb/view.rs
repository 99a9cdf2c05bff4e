//! `view`: records in the order of time.
//!
//! A log whose chunks tell where the next one is shows its first record at once: see
//! [`early`]. Any other is read to its end first.

mod early;
mod follow;
mod reach;

use crate::args::View;
use crate::choose::filter::Filter;
use crate::choose::viewer::Viewer;
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::show::losses;
use logdef_resync::{Ahead, Event, Merge, Resolver};
use reach::Reach;
use std::process::ExitCode;

pub fn run(args: &View) -> Result<ExitCode, Failure> {
    if args.follow {
        return follow::run(args);
    }
    let inputs = log::inputs(&args.source)?;
    let mut images = log::images(&args.images);
    let begun = match early::run(args, &inputs, &mut images)? {
        early::Outcome::Done => return Ok(ExitCode::SUCCESS),
        early::Outcome::Begun(viewer, given) => Some((viewer, given)),
        early::Outcome::NotBegun => None,
    };
    let log = Log::of(inputs)?;
    log.must_hold_records()?;
    let tables = log.recovery.tables();
    let (mut viewer, given) = match begun {
        Some((viewer, given)) => (*viewer, Some(given)),
        None => (
            Viewer::new(args, Filter::new(&args.filters, tables)?)?,
            None,
        ),
    };
    let mut resolver = Resolver::new(tables, &mut images);
    let wanted = args.filters.merge_options();
    let mut options = wanted;
    // Notes are frames without a place in a thread.
    options.all_frames = viewer.printer.is_for_people();
    let mut reach = Reach::new(args);
    loop {
        let of_last = |bytes| log.recovery.since_of_last(bytes, wanted.until);
        options.since = reach.since(wanted.since, of_last);
        let mut merge = Merge::new(&log.inputs, &log.recovery, options);
        if let Some(given) = given.clone() {
            merge = merge.after(given);
        }
        let mut gaps = Vec::new();
        Ahead::run(merge, log::cores(), |ahead| {
            while let Some(batch) = ahead.next()? {
                for event in batch.events() {
                    match event {
                        Event::Gap(input, gap) => {
                            let name = &log.recovery.accounts()[input as usize].name;
                            let line = losses::gap(name, gap);
                            // The end may be merged more than once, with all gaps.
                            if args.tail.is_some() {
                                gaps.push(line);
                                continue;
                            }
                            viewer.flush()?;
                            log::note(&line);
                        }
                        Event::Frame(frame) => {
                            let goes_on =
                                viewer.frame(frame.place, frame.body, tables, &mut resolver)?;
                            if goes_on.is_break() {
                                return Ok(());
                            }
                        }
                    }
                }
                viewer.batch_ends()?;
            }
            Ok::<_, Failure>(())
        })?;
        if reach.is_enough(&mut viewer) {
            gaps.iter().for_each(|line| log::note(line));
            break;
        }
    }
    viewer.end_tail(&mut resolver)?;
    viewer.flush()?;
    for complaint in resolver.complaints() {
        log::say(&complaint);
    }
    log.report();
    Ok(log.status(&args.source))
}
