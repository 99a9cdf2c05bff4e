//! `import`: a log made of what another program wrote.

use crate::destination;
use crate::failure::Failure;
use crate::log;
use crate::show::losses;
use clap::ValueEnum;
use logdef_resync::import::diagnostics;
use logdef_resync::import::fxt::{self, Imported};
use logdef_resync::{Error, Input};
use std::path::PathBuf;
use std::process::ExitCode;

/// `import`: what to read, and where to write.
#[derive(Debug, clap::Args)]
pub struct Import {
    /// File to read, plain or compressed by gzip, zstd, xz or bzip2; `-`, or none, is standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub file: PathBuf,
    /// Form of the file
    #[arg(long, value_enum, value_name = "FORM")]
    pub from: ImportFrom,
    /// Exit with status 3 if anything is missing, dropped or damaged, here or where the file comes from
    #[arg(long)]
    pub strict: bool,
    /// File to write; `-` is standard output
    #[arg(
        short = 'O',
        long = "out",
        short_alias = 'o',
        alias = "output",
        value_name = "FILE"
    )]
    pub output: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ImportFrom {
    /// The Fuchsia trace format: log records, instants, spans and counters. Times are
    /// the trace's: since boot in traces of Fuchsia
    Fxt,
    /// Structured log records of Fuchsia, one after another
    Fuchsia,
    /// Log data of Fuchsia's diagnostics services, or of `logdef stream -o json`
    DiagnosticsJson,
}

impl Import {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let input = log::open(&self.file)?;
        let whole = destination::write(&self.output, |out| {
            let imported = match self.from {
                ImportFrom::Fxt => fxt::import(&input, out),
                ImportFrom::Fuchsia => diagnostics::import_records(&input, out),
                ImportFrom::DiagnosticsJson => diagnostics::import_json(&input, out),
            };
            report(self, &input, imported.map_err(|error| failed(self, error))?)
        })?;
        Ok(log::status(self.strict, whole, false))
    }
}

/// Whether nothing is missing: all could be read, and the source says that it lacks nothing.
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
        log::say(&format!("{left_out} left out, which a log cannot hold"));
    }
    if imported.untimed > 0 {
        let untimed = losses::count(imported.untimed, "record");
        log::say(&format!(
            "{untimed} imported without a time: theirs is before 1970 or after 2554"
        ));
    }
    if imported.gaps > 0 {
        let places = losses::count(imported.gaps, "place");
        log::say(&format!(
            "{name}: {} bytes in {places} could not be read{hint}",
            imported.gap_bytes
        ));
    }
    if let Some(why) = input.broken_off() {
        log::note(&losses::broken_off(name, input.len(), why));
    }
    let lost = &imported.written.lost;
    if !lost.is_clean() {
        log::note(&lost.to_string());
    }
    Ok(lost.is_clean() && imported.gaps == 0)
}

fn failed(args: &Import, error: Error) -> Failure {
    Failure::rewriting(&args.output, error)
}
