//! `export`: records in the forms that other tools read.

use crate::args::{Export, FxtForm, Target};
use crate::failure::Failure;
use crate::folded::Folded;
use crate::log::{self, Log};
use crate::{chosen, destination, losses};
use logdef_resync::export::fxt::{Exporter, Forms, Options};
use std::io::Write;
use std::process::ExitCode;

/// Records beyond which trace viewers get slow.
const MANY: u64 = 2_000_000;

pub fn run(args: &Export) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let records = destination::write(&args.output, |out| match args.to {
        Target::Fxt => fxt(args, &log, out),
        Target::Folded => folded(args, &log, out),
    })?;
    log.report();
    log::note(&format!(
        "{}: {}",
        args.output.display(),
        losses::count(records, "record")
    ));
    if records > MANY && matches!(args.to, Target::Fxt) {
        log::say(&format!("trace viewers are slow beyond {MANY} records"));
    }
    Ok(log.status(&args.source))
}

fn fxt(args: &Export, log: &Log, out: &mut dyn Write) -> Result<u64, Failure> {
    let mut options = Options::default();
    options.break_ties = args.break_ties;
    let wants = |form| args.forms.contains(&form) || args.forms.contains(&FxtForm::All);
    options.forms = Forms {
        log: wants(FxtForm::Log),
        instant: wants(FxtForm::Instant),
        perfetto: wants(FxtForm::Perfetto),
    };
    let failed = |error| Failure::output(&args.output, error);
    let mut exporter = Exporter::new(out, options).map_err(failed)?;
    chosen::for_each(log, &args.filters, &args.images, |data, place, resolver| {
        let stack = resolver.backtrace(data, place);
        let record = resolver.resolve(data, place);
        exporter.record(&record, &stack).map_err(failed)
    })?;
    let records = exporter.records();
    exporter.finish().map_err(failed)?;
    Ok(records)
}

fn folded(args: &Export, log: &Log, out: &mut dyn Write) -> Result<u64, Failure> {
    let mut folded = Folded::default();
    let mut records = 0;
    chosen::for_each(log, &args.filters, &args.images, |data, place, resolver| {
        let stack = resolver.backtrace(data, place);
        folded.add(&resolver.resolve(data, place), &stack);
        records += 1;
        Ok(())
    })?;
    let written = folded.write(out);
    written.map_err(|error| Failure::output(&args.output, error))?;
    Ok(records)
}
