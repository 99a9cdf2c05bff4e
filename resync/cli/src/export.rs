//! `export`: records in the forms that other tools read.

use crate::args::{Export, FxtForm, Target};
use crate::destination;
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::losses;
use logdef_resync::export::fxt::{Exporter, Form, Options};
use logdef_resync::{Event, Merge, MergeOptions, Resolver};
use logdef_wire::Record;
use std::io::Write;
use std::process::ExitCode;

/// Records beyond which trace viewers get slow.
const MANY: u64 = 2_000_000;

pub fn run(args: &Export) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let records = destination::write(&args.output, |out| match args.to {
        Target::Fxt => fxt(args, &log, out),
    })?;
    log.report();
    log::note(&format!(
        "{}: {}",
        args.output.display(),
        losses::count(records, "record")
    ));
    if records > MANY {
        log::say(&format!("trace viewers are slow beyond {MANY} records"));
    }
    Ok(log.status(&args.source))
}

fn fxt(args: &Export, log: &Log, out: &mut dyn Write) -> Result<u64, Failure> {
    let mut options = Options::default();
    options.break_ties = args.break_ties;
    options.form = match args.form {
        FxtForm::Log => Form::Log,
        FxtForm::Instant => Form::Instant,
        FxtForm::All => Form::Both,
    };
    let failed = |error| Failure::output(&args.output, error);
    let mut exporter = Exporter::new(out, options).map_err(failed)?;
    let mut resolver = Resolver::new(log.recovery.tables(), log::images(&args.images));
    let mut merge = Merge::new(&log.inputs, &log.recovery, MergeOptions::default());
    while let Some(event) = merge.next()? {
        let Event::Frame(frame) = event else { continue };
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        let stack = resolver.backtrace(&data, frame.place);
        let resolved = resolver.resolve(&data, frame.place);
        exporter.record(&resolved, &stack).map_err(failed)?;
    }
    let records = exporter.records();
    exporter.finish().map_err(failed)?;
    for complaint in resolver.complaints() {
        log::say(&complaint);
    }
    Ok(records)
}
