//! `archive`: logs as Parquet, to be kept and to be queried.

use crate::args::{Images, Source};
use crate::failure::Failure;
use crate::log::{self, Inputs, Log};
use crate::paths;
use crate::redact::Redact;
use crate::show::losses::count;
use clap::ValueEnum;
use logdef_archive::{Archive, Identity, Unit, Written};
use logdef_resync::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes of files that are read together and become one part.
const TOGETHER: u64 = 256 << 20;

/// `archive`: what to read, and where to keep it.
#[derive(Debug, clap::Args)]
pub struct ArchiveLogs {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub redact: Redact,
    /// Folder of the archive. If it exists, records that it lacks are added: files that did not change
    /// are not read again, and no record is stored twice
    #[arg(
        short = 'O',
        long = "out",
        short_alias = 'o',
        alias = "output",
        value_name = "FOLDER"
    )]
    pub output: PathBuf,
    /// Unit of the times. By default that of the archive; of a new one, nanoseconds
    #[arg(long, value_enum, value_name = "UNIT")]
    pub time: Option<TimeUnit>,
}

/// Units of time.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TimeUnit {
    /// Nanoseconds, as the log has them
    Ns,
    /// Microseconds, which take less space: times are rounded down
    Us,
}

impl ArchiveLogs {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let unit = self.time.map(|unit| match unit {
            TimeUnit::Ns => Unit::Nanoseconds,
            TimeUnit::Us => Unit::Microseconds,
        });
        if self.output == Path::new("-") {
            let why = "an archive is a folder of files: name one with -O";
            return Err(Failure::Usage(why.into()));
        }
        let mut archive =
            Archive::open(&self.output, unit).map_err(|error| self.cannot_open(&error))?;
        let mut seen = Seen::default();
        let result = self.add_all(&mut archive, &mut seen);
        if seen.parts == 0 {
            archive.remove_if_empty();
        }
        result?;
        seen.say(&self.output);
        Ok(log::status(
            self.source.strict,
            seen.is_clean,
            seen.lacks_some,
        ))
    }

    fn cannot_open(&self, error: &io::Error) -> Failure {
        let path = self.output.display();
        match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::AlreadyExists => {
                Failure::Usage(format!("{path}: {error}"))
            }
            io::ErrorKind::InvalidData | io::ErrorKind::Unsupported => {
                Failure::Unreadable(format!("cannot read {path}: {error}"))
            }
            // What the system says of a part names the part; of the folder it names nothing.
            kind if kind != io::ErrorKind::ResourceBusy && error.get_ref().is_some() => {
                Failure::Unreadable(format!("cannot read {path}/{error}"))
            }
            _ => Failure::Output(path.to_string(), io::Error::other(error.to_string())),
        }
    }

    /// Adds the files that the archive has not, some of them at a time.
    fn add_all(&self, archive: &mut Archive, seen: &mut Seen) -> Result<(), Failure> {
        let mut together = Vec::new();
        let mut bytes = 0;
        for path in paths::of(&self.source.files) {
            let path = match path {
                Ok(path) => path,
                Err(problem) => {
                    seen.problems.push(problem);
                    continue;
                }
            };
            let identity = Identity::of(&path);
            if identity.as_ref().is_some_and(|file| archive.has(file)) {
                seen.unchanged += 1;
                continue;
            }
            let size = path.metadata().map_or(0, |about| about.len());
            if !together.is_empty() && bytes + size > TOGETHER {
                self.add(archive, std::mem::take(&mut together), seen)?;
                bytes = 0;
            }
            bytes += size;
            together.push((path, identity));
        }
        if !together.is_empty() {
            self.add(archive, together, seen)?;
        }
        seen.lacks_some = !seen.problems.is_empty();
        let problems = std::mem::take(&mut seen.problems);
        if seen.files + seen.unchanged == 0 && !problems.is_empty() {
            return Err(Failure::Unreadable(problems.join("; ")));
        }
        problems.iter().for_each(|problem| log::say(problem));
        Ok(())
    }

    /// Adds some files as one part.
    fn add(
        &self,
        archive: &mut Archive,
        files: Vec<(PathBuf, Option<Identity>)>,
        seen: &mut Seen,
    ) -> Result<(), Failure> {
        let (mut opened, mut identities) = (Vec::new(), Vec::new());
        for (path, identity) in files {
            match log::open(&path) {
                Ok(input) => {
                    identities.push(identity.filter(|file| file.is_of(&input)));
                    opened.push(input);
                }
                Err(failure) => seen.problems.push(failure.to_string()),
            }
        }
        if opened.is_empty() {
            return Ok(());
        }
        let log = Log::of(Inputs {
            opened,
            lacks_some: false,
            suspects: self.source.suspects,
        })?;
        log.must_hold_records()?;
        let log = log.redacted(&self.redact, &self.images)?;
        seen.files += log.inputs.len();
        let mut frames = log.recovery.accounts().iter().map(|it| it.frames.count);
        if frames.all(|count| count == 0) {
            return Ok(());
        }
        let mut images = log.images(&self.images);
        let written = archive
            .add(&log.inputs, &identities, &log.recovery, &mut *images)
            .map_err(|error| self.failed(&error))?;
        log.report();
        seen.add(&written, log.recovery.is_clean());
        Ok(())
    }

    fn failed(&self, error: &Error) -> Failure {
        if error.name() != "output" {
            return Failure::Unreadable(error.to_string());
        }
        let cause = match error.cause().raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::other(error.cause().to_string()),
        };
        Failure::output(&self.output, cause)
    }
}

/// What was done.
struct Seen {
    parts: usize,
    files: usize,
    unchanged: usize,
    written: (u64, u64, u64),
    is_clean: bool,
    lacks_some: bool,
    problems: Vec<String>,
}

impl Default for Seen {
    fn default() -> Self {
        Seen {
            parts: 0,
            files: 0,
            unchanged: 0,
            written: (0, 0, 0),
            is_clean: true,
            lacks_some: false,
            problems: Vec::new(),
        }
    }
}

impl Seen {
    fn add(&mut self, written: &Written, is_clean: bool) {
        self.parts += 1;
        self.is_clean &= is_clean;
        self.written.0 += written.records;
        self.written.1 += written.whole;
        self.written.2 += written.known;
    }

    fn say(&self, path: &Path) {
        let (records, whole, known) = self.written;
        log::note(&format!(
            "{}: {}, {} of {} added; {whole} kept whole, {known} that were there left out, {} unchanged",
            path.display(),
            count(self.parts as u64, "part"),
            count(records, "record"),
            count(self.files as u64, "file"),
            count(self.unchanged as u64, "file"),
        ));
    }
}
