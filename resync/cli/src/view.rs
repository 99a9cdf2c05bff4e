//! `view`: records in the order of time.

use crate::args::View;
use crate::failure::Failure;
use crate::filter::Filter;
use crate::log::{self, Log};
use crate::viewer::Viewer;
use crate::{follow, losses};
use logdef_resync::{Event, Merge, MergeOptions, Resolver};
use std::process::ExitCode;

pub fn run(args: &View) -> Result<ExitCode, Failure> {
    if args.follow {
        return follow::run(args);
    }
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let tables = log.recovery.tables();
    let mut viewer = Viewer::new(args, Filter::new(&args.filters, tables)?)?;
    let mut resolver = Resolver::new(tables, log::images(&args.images));
    let mut options = MergeOptions::default();
    // Notes are frames without a place in a thread.
    options.all_frames = viewer.printer.is_for_people();
    let mut merge = Merge::new(&log.inputs, &log.recovery, options);
    let at_once = viewer.output.is_terminal();
    while let Some(event) = merge.next()? {
        match event {
            Event::Gap(input, gap) => {
                viewer.flush()?;
                let name = &log.recovery.accounts()[input as usize].name;
                log::note(&losses::gap(name, gap));
            }
            Event::Frame(frame) => {
                let goes_on = viewer.frame(frame.place, frame.body, tables, &mut resolver)?;
                if goes_on.is_break() {
                    break;
                }
            }
        }
        if at_once {
            viewer.output.flush()?;
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
