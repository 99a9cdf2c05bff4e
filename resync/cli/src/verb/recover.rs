//! `recover` and `merge`: clean files made of what survives.

use crate::args::{Images, Source};
use crate::destination;
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::redact::Redact;
use logdef_resync::rewrite::{self, Rewritten};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `recover` and `merge`: what to read, and where to write.
#[derive(Debug, clap::Args)]
pub struct Rewrite {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub redact: Redact,
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

impl Rewrite {
    fn open(&self) -> Result<Log, Failure> {
        let log = Log::open(&self.source)?;
        log.must_hold_records()?;
        log.redacted(&self.redact, &self.images)
    }

    pub fn recover(&self) -> Result<ExitCode, Failure> {
        let log = self.open()?;
        let mut images = log.images(&self.images);
        let rewritten = destination::write(&self.output, |mut out| {
            let rewritten = rewrite::recover(&log.inputs, &log.recovery, &mut *images, &mut out);
            rewritten.map_err(|error| Failure::rewriting(&self.output, error))
        })?;
        log.report();
        say(&self.output, &rewritten);
        Ok(log.status(&self.source))
    }

    pub fn merge(&self) -> Result<ExitCode, Failure> {
        let log = self.open()?;
        let rewritten = destination::write(&self.output, |mut out| {
            let rewritten = rewrite::merge(&log.inputs, &log.recovery, &mut out);
            rewritten.map_err(|error| Failure::rewriting(&self.output, error))
        })?;
        log.report();
        say(&self.output, &rewritten);
        Ok(log.status(&self.source))
    }
}

fn say(path: &Path, rewritten: &Rewritten) {
    log::note(&format!(
        "{}: {} frames, {} bytes; {} logdefs rebuilt, {} frames left out",
        path.display(),
        rewritten.frames,
        rewritten.bytes,
        rewritten.rebuilt,
        rewritten.left_out
    ));
}
