//! `export`: records in the forms that other tools read.

use crate::args::{Filters, Images, Source};
use crate::choose::chosen;
use crate::destination;
use crate::failure::Failure;
use crate::journal::Journal;
use crate::log::{self, Log};
use crate::redact::Redact;
use crate::show::folded::Folded;
use crate::show::losses;
use clap::ValueEnum;
use logdef_fuchsia::diagnostics::LogsData;
use logdef_resync::export::diagnostics::{Converter, to_monotonic};
use logdef_resync::export::fxt::{Exporter, Forms, Options};
use logdef_resync::export::{diagnostics, fuchsia, journal, lost, otlp};
use logdef_resync::{Resolved, RunInfo, StackEntry};
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

/// `export`: which records, in which form, to where.
#[derive(Debug, clap::Args)]
pub struct Export {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub redact: Redact,
    /// Form to write
    #[arg(
        short = 'o',
        long = "output",
        alias = "to",
        value_enum,
        value_name = "FORM"
    )]
    pub to: Target,
    /// fxt: what each record becomes; one or more forms. Spans and counters become durations,
    /// async events and counters in every form but `log`
    ///
    /// From a trace in the default forms, `logdef import` makes the same log again, except for: the numbers
    /// of runs and records; all facts about a run but its process id, and about an image but its path;
    /// notes; where contexts begin; functions of call sites. Of a record of more than 30 KiB it has the text only
    #[arg(
        long = "as",
        value_enum,
        value_delimiter = ',',
        default_values = ["log", "instant"],
        value_name = "FORM"
    )]
    pub forms: Vec<FxtForm>,
    /// fxt: make times on one thread differ by at least a nanosecond, as some viewers
    /// require. Always so with the form `perfetto`
    #[arg(long)]
    pub break_ties: bool,
    /// fuchsia and diagnostics-json: clock of the times. Readers of these formats, `logdef stream` too,
    /// expect the monotonic clock; otlp-json and journald always have Unix times
    #[arg(long, value_enum, value_name = "CLOCK", default_value = "monotonic")]
    pub clock: ExportClock,
    /// journald: socket to send entries to, if no file is named
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/systemd/journal/socket",
        conflicts_with = "output"
    )]
    pub socket: PathBuf,
    /// File to write; `-` is standard output. With journald, a file in its export format
    #[arg(
        short = 'O',
        long = "out",
        value_name = "FILE",
        required_if_eq_any([
            ("to", "fxt"),
            ("to", "folded"),
            ("to", "fuchsia"),
            ("to", "diagnostics-json"),
            ("to", "otlp-json"),
        ])
    )]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Target {
    /// The Fuchsia trace format: for Perfetto (ui.perfetto.dev) and Fuchsia's tools
    Fxt,
    /// Folded stacks, one line with a count for each backtrace and call site: for
    /// flame graphs
    Folded,
    /// Structured log records of Fuchsia, one after another
    Fuchsia,
    /// Log data as Fuchsia's diagnostics services return it, in JSON arrays
    DiagnosticsJson,
    /// Entries for systemd's journal: to its socket, or in its export format to a file
    Journald,
    /// OpenTelemetry's JSON, for its collector
    OtlpJson,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ExportClock {
    /// Nanoseconds of the monotonic clock of the machine that logged
    Monotonic,
    /// Nanoseconds since the Unix epoch
    Realtime,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum FxtForm {
    /// Log records, text only: Fuchsia's tools show them, trace2json makes them global
    /// marks, Perfetto drops them silently
    Log,
    /// Instant events: marks on the threads' tracks in Perfetto, in trace2json, and
    /// events in Fuchsia's tools, with level, place, arguments and backtrace in the
    /// details. Perfetto's log table stays empty
    Instant,
    /// Perfetto's own packets: marks, and rows in its log table with priority, place
    /// and, from Perfetto 55 on, call stack (version 52 drops it). Other tools see only
    /// spans and counters
    Perfetto,
    /// All of these: Perfetto shows two marks for each record
    All,
}

/// Records beyond which trace viewers get slow.
const MANY: u64 = 2_000_000;

impl Export {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let log = Log::open(&self.source)?.redacted(&self.redact, &self.images)?;
        log.must_hold_records()?;
        let records = match &self.output {
            Some(output) => to_file(self, &log, output)?,
            None => send(self, &log)?,
        };
        log.report();
        log::note(&format!(
            "{}: {}",
            self.output.as_ref().unwrap_or(&self.socket).display(),
            losses::count(records, "record")
        ));
        if records > MANY && self.to == Target::Fxt {
            log::say(&format!("trace viewers are slow beyond {MANY} records"));
        }
        Ok(log.status(&self.source))
    }
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
                log::say(&format!(
                    "{cut} cut: a structured record has 15 arguments and 32760 bytes at most"
                ));
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

/// Calls a function with each record as log data, and with its run, if a preamble describes it.
fn each(
    args: &Export,
    log: &Log,
    mut with: impl FnMut(&LogsData, Option<&RunInfo>) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut converter = Converter::default();
    let is_fuchsias = matches!(args.to, Target::Fuchsia | Target::DiagnosticsJson);
    let converts = is_fuchsias && args.clock == ExportClock::Monotonic;
    let mut unix = 0;
    let (mut last, mut said) = (None, lost::Said::default());
    let records = each_resolved(args, log, |record, stack| {
        let mut data = converter.logs_data(record, stack);
        if converts && !to_monotonic(&mut data, record.run) {
            unix += 1;
        }
        last = Some(data.metadata.timestamp);
        said.add(record);
        with(&data, record.run)
    })?;
    let lost = lost::record(&log.recovery.losses(), said, |lost| {
        let mut data = converter.logs_data(lost, &[]);
        // By the clock of the others.
        data.metadata.timestamp = last.unwrap_or(data.metadata.timestamp);
        with(&data, None)
    });
    lost.unwrap_or(Ok(()))?;
    if unix > 0 {
        let unix = losses::count(unix, "record");
        log::say(&format!(
            "{unix} with Unix times: the log does not say when their runs began by the monotonic clock"
        ));
    }
    Ok(records)
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
    exporter.lost(&log.recovery.losses()).map_err(failed)?;
    exporter.finish().map_err(failed)?;
    Ok(records)
}

fn folded(args: &Export, log: &Log, output: &Path, out: &mut dyn Write) -> Result<u64, Failure> {
    /// A record may have a line of its own.
    const STACKS: usize = 256 << 20;
    let mut folded = Folded::default();
    let records = each_resolved(args, log, |record, stack| {
        folded.add_bounded(record, stack, STACKS);
        Ok(())
    })?;
    if let Some(others) = folded.others() {
        log::note(&format!(
            "{} of stacks for which there was no room are counted as [other stacks]",
            losses::count(others, "record")
        ));
    }
    folded.lose(&log.recovery.losses());
    let written = folded.write(out);
    written.map_err(|error| Failure::output(output, error))?;
    Ok(records)
}
