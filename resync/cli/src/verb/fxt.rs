//! `fxt`: traces in the Fuchsia trace format, of any writer.

use crate::args::Answer;
use crate::failure::{DAMAGED, Failure};
use crate::log;
use clap::Subcommand;
use logdef_fuchsia::fxt::{self, Format};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

/// `fxt`: what to do with which traces.
#[derive(Debug, clap::Args)]
pub struct Fxt {
    #[command(subcommand)]
    pub verb: FxtVerb,
}

#[derive(Debug, Subcommand)]
pub enum FxtVerb {
    /// Show every record, one line each
    Dump(FxtSource),
    /// Count records, warnings and gaps
    Stat(FxtSource),
    /// List what is wrong; exit with status 3 if anything is
    Check(FxtSource),
}

#[derive(Debug, clap::Args)]
pub struct FxtSource {
    /// Traces; `-`, or none, is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub answer: Answer,
}

impl Fxt {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (FxtVerb::Dump(source) | FxtVerb::Stat(source) | FxtVerb::Check(source)) = &self.verb;
        let format = if source.answer.is_json() {
            Format::Json
        } else {
            Format::Text
        };
        let mut status = ExitCode::SUCCESS;
        for (path, trace) in traces(source)? {
            // The library's errors do not say whether input or output failed.
            let mut out = Guarded {
                out: BufWriter::new(io::stdout().lock()),
                error: None,
            };
            let done = match &self.verb {
                FxtVerb::Dump(_) => fxt::dump(trace, &mut out, format).map(|_| true),
                FxtVerb::Stat(_) => fxt::stat(trace, &mut out, format).map(|_| true),
                FxtVerb::Check(_) => {
                    fxt::check(trace, &mut out, format).map(|checked| checked.is_clean())
                }
            };
            if let Some(error) = out.error.take() {
                return Err(error.into());
            }
            let is_clean =
                done.map_err(|error| Failure::Unreadable(format!("{}: {error}", path.display())))?;
            out.flush()?;
            if !is_clean {
                status = ExitCode::from(DAMAGED);
            }
        }
        Ok(status)
    }
}

type Trace<'p> = (&'p Path, Box<dyn Read>);

fn traces(source: &FxtSource) -> Result<Vec<Trace<'_>>, Failure> {
    let dash = Path::new("-");
    let paths: Vec<&Path> = match &source.files[..] {
        [] => vec![dash],
        files => files.iter().map(|path| &**path).collect(),
    };
    let mut traces: Vec<Trace<'_>> = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        if path == dash {
            traces.push((path, Box::new(io::stdin().lock())));
            continue;
        }
        match File::open(path) {
            Ok(file) => traces.push((path, Box::new(file))),
            Err(error) => problems.push(format!("cannot read {}: {error}", path.display())),
        }
    }
    if traces.is_empty() {
        return Err(Failure::Unreadable(problems.join("; ")));
    }
    for problem in problems {
        log::say(&problem);
    }
    Ok(traces)
}

/// An output that remembers that it failed.
struct Guarded<W> {
    out: W,
    error: Option<io::Error>,
}

impl<W: Write> Write for Guarded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.keep(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.keep(result)
    }
}

impl<W> Guarded<W> {
    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind.into()
        })
    }
}
