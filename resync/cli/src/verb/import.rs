//! `import`: a log made of what another program wrote.

use crate::args::{Import, ImportFrom};
use crate::destination;
use crate::failure::Failure;
use crate::log;
use crate::show::losses;
use logdef_resync::import::diagnostics;
use logdef_resync::import::fxt::{self, Imported};
use logdef_resync::{Error, Input};
use std::process::ExitCode;

pub fn run(args: &Import) -> Result<ExitCode, Failure> {
    let input = Input::open(&args.file).map_err(|error| log::unreadable(&error))?;
    let whole = destination::write(&args.output, |out| {
        let imported = match args.from {
            ImportFrom::Fxt => fxt::import(&input, out),
            ImportFrom::Fuchsia => diagnostics::import_records(&input, out),
            ImportFrom::DiagnosticsJson => diagnostics::import_json(&input, out),
        };
        report(args, &input, imported.map_err(|error| failed(args, error))?)
    })?;
    Ok(log::status(args.strict, whole, false))
}

/// Whether all could be read.
fn report(args: &Import, input: &Input, imported: Imported) -> Result<bool, Failure> {
    let (what, hint) = match args.from {
        ImportFrom::Fxt => ("trace", ": `logdef fxt check` says more"),
        ImportFrom::Fuchsia => ("structured record", ""),
        ImportFrom::DiagnosticsJson => ("log data in JSON", ""),
    };
    let name = input.name();
    if imported.written.records == 0 && imported.gaps > 0 {
        return Err(Failure::Unreadable(format!("{name}: no {what}{hint}")));
    }
    let records = losses::count(imported.written.records, "record");
    log::note(&format!("{}: {records}", args.output.display()));
    if imported.left_out > 0 {
        let left_out = losses::count(imported.left_out, "record");
        log::say(&format!(
            "{left_out} left out, which have no place in a log"
        ));
    }
    if imported.gaps > 0 {
        let places = losses::count(imported.gaps, "place");
        log::say(&format!(
            "{name}: {} bytes in {places} could not be read{hint}",
            imported.gap_bytes
        ));
    }
    Ok(imported.gaps == 0)
}

fn failed(args: &Import, error: Error) -> Failure {
    Failure::rewriting(&args.output, error)
}
