//! `export`: records in the forms that other tools read.

use crate::args::{Export, FxtForm, Target};
use crate::choose::chosen;
use crate::destination;
use crate::failure::Failure;
use crate::journal::Journal;
use crate::log::{self, Log};
use crate::show::folded::Folded;
use crate::show::losses;
use logdef_fuchsia::diagnostics::LogsData;
use logdef_resync::export::diagnostics::logs_data;
use logdef_resync::export::fxt::{Exporter, Forms, Options};
use logdef_resync::export::{diagnostics, fuchsia, journal, otlp};
use logdef_resync::{Resolved, RunInfo, StackEntry};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Records beyond which trace viewers get slow.
const MANY: u64 = 2_000_000;

pub fn run(args: &Export) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let records = match &args.output {
        Some(output) => to_file(args, &log, output)?,
        None => send(args, &log)?,
    };
    log.report();
    log::note(&format!(
        "{}: {}",
        args.output.as_ref().unwrap_or(&args.socket).display(),
        losses::count(records, "record")
    ));
    if records > MANY && args.to == Target::Fxt {
        log::say(&format!("trace viewers are slow beyond {MANY} records"));
    }
    Ok(log.status(&args.source))
}

fn to_file(args: &Export, log: &Log, output: &Path) -> Result<u64, Failure> {
    let failed = |error| Failure::output(output, error);
    destination::write(output, |out| match args.to {
        Target::Fxt => fxt(args, log, output, out),
        Target::Folded => folded(args, log, output, out),
        Target::Fuchsia => {
            let mut exporter = fuchsia::Exporter::new(out);
            let records = each(args, log, |data, _| exporter.write(data).map_err(failed))?;
            if exporter.cut() > 0 {
                let cut = losses::count(exporter.cut(), "record");
                log::say(&format!("{cut} had more than fits, and was cut"));
            }
            Ok(records)
        }
        Target::DiagnosticsJson => {
            let mut exporter = diagnostics::Exporter::new(out);
            let records = each(args, log, |data, _| exporter.write(data).map_err(failed))?;
            exporter.finish().map_err(failed)?;
            Ok(records)
        }
        Target::OtlpJson => {
            let mut exporter = otlp::Exporter::new(out);
            let records = each(args, log, |data, _| exporter.write(data).map_err(failed))?;
            exporter.finish().map_err(failed)?;
            Ok(records)
        }
        Target::Journald => {
            let mut entry = Vec::new();
            each(args, log, |data, run| {
                entry.clear();
                journal::exported(data, run, &mut entry);
                out.write_all(&entry).map_err(failed)
            })
        }
    })
}

/// Sends entries to the journal.
fn send(args: &Export, log: &Log) -> Result<u64, Failure> {
    let failed = |error| Failure::output(&args.socket, error);
    let journal = Journal::connect(&args.socket).map_err(failed)?;
    let mut entry = Vec::new();
    each(args, log, |data, _| {
        entry.clear();
        journal::entry(data, &mut entry);
        journal.send(&entry).map_err(failed)
    })
}

/// Gives each record as log data, and what is known of its run.
fn each(
    args: &Export,
    log: &Log,
    mut with: impl FnMut(&LogsData, Option<&RunInfo>) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    each_resolved(args, log, |record, stack| {
        with(&logs_data(record, stack), record.run)
    })
}

fn each_resolved(
    args: &Export,
    log: &Log,
    mut with: impl FnMut(&Resolved<'_>, &[StackEntry]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut records = 0;
    chosen::for_each(log, &args.filters, &args.images, |data, place, resolver| {
        let stack = resolver.backtrace(data, place);
        records += 1;
        with(&resolver.resolve(data, place), &stack)
    })?;
    Ok(records)
}

fn fxt(args: &Export, log: &Log, output: &Path, out: &mut dyn Write) -> Result<u64, Failure> {
    let mut options = Options::default();
    options.break_ties = args.break_ties;
    let wants = |form| args.forms.contains(&form) || args.forms.contains(&FxtForm::All);
    options.forms = Forms {
        log: wants(FxtForm::Log),
        instant: wants(FxtForm::Instant),
        perfetto: wants(FxtForm::Perfetto),
    };
    let failed = |error| Failure::output(output, error);
    let mut exporter = Exporter::new(out, options).map_err(failed)?;
    let records = each_resolved(args, log, |record, stack| {
        exporter.record(record, stack).map_err(failed)
    })?;
    exporter.finish().map_err(failed)?;
    Ok(records)
}

fn folded(args: &Export, log: &Log, output: &Path, out: &mut dyn Write) -> Result<u64, Failure> {
    let mut folded = Folded::default();
    let records = each_resolved(args, log, |record, stack| {
        folded.add(record, stack);
        Ok(())
    })?;
    let written = folded.write(out);
    written.map_err(|error| Failure::output(output, error))?;
    Ok(records)
}
