//! `recover` and `merge`: clean files made of what survives.

use crate::args::Rewrite;
use crate::failure::Failure;
use crate::log::{self, Log};
use logdef_resync::rewrite::{self, Rewritten};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

pub fn recover(args: &Rewrite) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let mut images = log::images(&args.images);
    let rewritten = write(&args.output, |out| {
        rewrite::recover(&log.inputs, &log.recovery, &mut images, out)
    })?;
    say(&args.output, &rewritten);
    Ok(log.status(&args.source))
}

pub fn merge(args: &Rewrite) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let rewritten = write(&args.output, |out| {
        rewrite::merge(&log.inputs, &log.recovery, out)
    })?;
    say(&args.output, &rewritten);
    Ok(log.status(&args.source))
}

fn write<T>(
    path: &Path,
    with: impl FnOnce(&mut Box<dyn Write>) -> Result<T, logdef_resync::Error>,
) -> Result<T, Failure> {
    let failed = |error| Failure::Output(path.display().to_string(), error);
    if path == Path::new("-") {
        let mut out: Box<dyn Write> = Box::new(BufWriter::new(io::stdout().lock()));
        let result = with(&mut out)?;
        out.flush()?;
        return Ok(result);
    }
    // Never over a file that is there: it may be one of the inputs.
    let file = File::create_new(path).map_err(failed)?;
    let mut out: Box<dyn Write> = Box::new(BufWriter::new(file));
    let result = with(&mut out)?;
    out.flush().map_err(failed)?;
    Ok(result)
}

fn say(path: &Path, rewritten: &Rewritten) {
    anstream::eprintln!(
        "{}: {} frames, {} bytes; {} logdefs rebuilt, {} frames left out",
        path.display(),
        rewritten.frames,
        rewritten.bytes,
        rewritten.rebuilt,
        rewritten.left_out
    );
}
