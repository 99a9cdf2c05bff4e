//! `view --follow`: records as they are written.

use crate::choose::filter::Filter;
use crate::choose::viewer::Viewer;
use crate::failure::{DAMAGED, Failure};
use crate::followed;
use crate::log;
use crate::output;
use crate::verb::view::View;
use logdef_resync::{News, Place, Resolver, Standings, Tables};
use std::process::ExitCode;
use std::time::Instant;

/// Records that are shown of those that were there before.
const BEFORE: usize = 10;
/// The most of these: they are put into the order of time, for which each takes memory.
const MOST_BEFORE: usize = 1 << 18;

pub fn run(args: &View) -> Result<ExitCode, Failure> {
    let before = records_before(args)?;
    if args.head == Some(0) {
        // No record has to come to end it.
        return Ok(ExitCode::SUCCESS);
    }
    let mut follow = followed::begin(&args.source)?;
    let mut tables = Tables::new(logdef_resync::Options::default().memory);
    let mut images = log::images(&args.images);
    let mut viewer = Viewer::new(args, Filter::new(&args.filters, &tables)?)?;
    if args.head.is_none() && args.cursor_file.is_none() {
        viewer.begin_tail_by_time(before);
    }
    let mut is_clean = true;
    let mut standings = Standings::default();
    loop {
        let mut arrived = Vec::new();
        let begun = Instant::now();
        let polled = follow.poll();
        let pause = followed::pause(polled.is_empty(), begun);
        viewer.hold_cursor(follow.lacks_some());
        for news in polled {
            match news {
                News::Frame {
                    file,
                    offset,
                    bytes,
                    standing,
                    is_late,
                } => {
                    let place = Place {
                        input: file,
                        offset,
                    };
                    followed::mark(&mut standings, place, standing, is_late);
                    let came = followed::record(place, &bytes, &mut tables);
                    is_clean &= came.as_ref().is_none_or(|came| !came.is_after_drops);
                    arrived.extend(came);
                }
                other => {
                    is_clean &= !followed::is_loss(&other);
                    // Lines about records come after those before them.
                    viewer.flush()?;
                    log::note(&followed::line(&follow, &other));
                }
            }
        }
        // Tables grow, so each round has a resolver of its own; images are kept.
        let mut resolver = Resolver::new(&tables, &mut images).marked_by(&standings);
        for record in arrived {
            let goes_on = viewer.frame(record.place, &record.body, &tables, &mut resolver)?;
            if goes_on.is_break() {
                viewer.end()?;
                return Ok(if args.source.strict && !is_clean {
                    ExitCode::from(DAMAGED)
                } else {
                    ExitCode::SUCCESS
                });
            }
        }
        if !follow.has_more() {
            viewer.end_tail(&mut resolver)?;
        }
        viewer.end()?;
        for complaint in resolver.complaints() {
            log::say(&complaint);
        }
        drop(resolver);
        if !follow.has_more() {
            // Records before a match wait for it.
            if args.before.or(args.context).is_none() {
                standings.clear();
            }
            output::pause(pause)?;
        }
    }
}

/// How many of the records are shown that were there before.
fn records_before(args: &View) -> Result<usize, Failure> {
    let before = args.tail.unwrap_or(BEFORE);
    if before > MOST_BEFORE {
        return Err(Failure::Usage(format!(
            "--follow starts with {MOST_BEFORE} records at most: give --tail fewer, or leave out --follow"
        )));
    }
    Ok(before)
}
