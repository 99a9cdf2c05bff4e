//! `recover` and `merge`: clean files made of what survives.

use crate::args::Rewrite;
use crate::destination;
use crate::failure::Failure;
use crate::log::{self, Log};
use logdef_resync::rewrite::{self, Rewritten};
use std::path::Path;
use std::process::ExitCode;

pub fn recover(args: &Rewrite) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let mut images = log::images(&args.images);
    let rewritten = destination::write(&args.output, |mut out| {
        let rewritten = rewrite::recover(&log.inputs, &log.recovery, &mut images, &mut out);
        rewritten.map_err(|error| Failure::rewriting(&args.output, error))
    })?;
    log.report();
    say(&args.output, &rewritten);
    Ok(log.status(&args.source))
}

pub fn merge(args: &Rewrite) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let rewritten = destination::write(&args.output, |mut out| {
        let rewritten = rewrite::merge(&log.inputs, &log.recovery, &mut out);
        rewritten.map_err(|error| Failure::rewriting(&args.output, error))
    })?;
    log.report();
    say(&args.output, &rewritten);
    Ok(log.status(&args.source))
}

fn say(path: &Path, rewritten: &Rewritten) {
    log::note(&format!(
        "{}: {} frames, {} bytes; {} logdefs rebuilt, {} frames left out",
        path.display(),
        rewritten.frames,
        rewritten.bytes,
        rewritten.rebuilt,
        rewritten.left_out
    ));
}
