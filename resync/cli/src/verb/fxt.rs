//! `fxt`: traces in the Fuchsia trace format, of any writer.

use crate::args::Answer;
use crate::failure::Failure;
use crate::log;
use clap::Subcommand;
use logdef_fuchsia::fxt::{self, Format, Reader};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, StdinLock, Write};
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
        let dash = [PathBuf::from("-")];
        let paths = match &source.files[..] {
            [] => &dash[..],
            paths => paths,
        };
        let mut problems = Vec::new();
        let (mut is_clean, mut has_read_some) = (true, false);
        for path in paths {
            match self.verb.run(path, format)? {
                Ok(is_whole) => {
                    has_read_some = true;
                    is_clean &= is_whole;
                }
                Err(error) => problems.push(format!("cannot read {}: {error}", path.display())),
            }
        }
        if !has_read_some {
            return Err(Failure::Unreadable(problems.join("; ")));
        }
        for problem in &problems {
            log::say(problem);
        }
        Ok(log::status(true, is_clean, !problems.is_empty()))
    }
}

impl FxtVerb {
    /// Shows one trace: whether there is nothing wrong with it, or why it cannot be read.
    fn run(&self, path: &Path, format: Format) -> Result<io::Result<bool>, Failure> {
        // Traces may be more than a process may have open.
        let trace = match open(path) {
            Ok(trace) => trace,
            Err(error) => return Ok(Err(error)),
        };
        // The library's errors do not say whether input or output failed.
        let mut out = Guarded {
            out: BufWriter::new(io::stdout().lock()),
            error: None,
        };
        let done = match self {
            FxtVerb::Dump(_) => fxt::dump(trace, &mut out, format).map(|_| true),
            FxtVerb::Stat(_) => fxt::stat(trace, &mut out, format).map(|_| true),
            FxtVerb::Check(_) => {
                fxt::check(trace, &mut out, format).map(|checked| checked.is_clean())
            }
        };
        match out.error.take() {
            Some(error) => return Err(error.into()),
            None => out.flush()?,
        }
        Ok(done)
    }
}

/// A file, or standard input.
enum Trace {
    Stream(StdinLock<'static>),
    File(File),
}

fn open(path: &Path) -> io::Result<Reader<Trace>> {
    let trace = if path == Path::new("-") {
        Trace::Stream(io::stdin().lock())
    } else {
        Trace::File(File::open(path)?)
    };
    Ok(Reader::new(trace).over_holes(Trace::skip_hole))
}

impl Read for Trace {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Trace::Stream(stream) => stream.read(buffer),
            Trace::File(file) => file.read(buffer),
        }
    }
}

impl Trace {
    /// Passes over a hole of a file, in whole words.
    fn skip_hole(&mut self, most: u64) -> io::Result<u64> {
        let Trace::File(file) = self else {
            return Ok(0);
        };
        // What has no position has no holes.
        let Ok(here) = file.stream_position() else {
            return Ok(0);
        };
        let data = match rustix::fs::seek(&*file, SeekFrom::Data(here)) {
            Ok(data) => data,
            // The rest is a hole.
            Err(Errno::NXIO) => file.metadata()?.len(),
            Err(_) => here,
        };
        let skipped = data.saturating_sub(here).min(most) & !7;
        file.seek(io::SeekFrom::Start(here + skipped))?;
        Ok(skipped)
    }
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
