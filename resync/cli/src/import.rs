//! `import`: a log made of what another program wrote.

use crate::args::{Import, ImportFrom};
use crate::failure::Failure;
use crate::{destination, log, losses};
use logdef_resync::import::fxt;
use logdef_resync::{Error, Input};
use std::io::Write;
use std::process::ExitCode;

pub fn run(args: &Import) -> Result<ExitCode, Failure> {
    let input = Input::open(&args.file).map_err(|error| log::unreadable(&error))?;
    let whole = destination::write(&args.output, |out| match args.from {
        ImportFrom::Fxt => of_trace(args, &input, out),
    })?;
    Ok(log::status(args.strict, whole))
}

/// Whether all of the trace could be read.
fn of_trace(args: &Import, input: &Input, out: &mut dyn Write) -> Result<bool, Failure> {
    let imported = fxt::import(input, out).map_err(|error| failed(args, error))?;
    if imported.written.records == 0 && imported.gaps > 0 {
        return Err(Failure::Unreadable(format!(
            "{}: no trace: `logdef fxt check` says more",
            input.name()
        )));
    }
    let records = losses::count(imported.written.records, "record");
    log::note(&format!("{}: {records}", args.output.display()));
    if imported.left_out > 0 {
        let left_out = losses::count(imported.left_out, "trace record");
        log::say(&format!(
            "{left_out} left out, which have no place in a log"
        ));
    }
    if imported.gaps > 0 {
        let (gaps, bytes) = (imported.gaps, imported.gap_bytes);
        log::say(&format!(
            "{}: {bytes} bytes in {} could not be read: `logdef fxt check` says which",
            input.name(),
            losses::count(gaps, "place"),
        ));
    }
    Ok(imported.gaps == 0)
}

fn failed(args: &Import, error: Error) -> Failure {
    Failure::rewriting(&args.output, error)
}
