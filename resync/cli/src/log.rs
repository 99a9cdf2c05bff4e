//! Opening what the command line names: inputs, their recovery, their images.

use crate::args::{Images, Source};
use crate::clock_offset::{self, ClockOffset};
use crate::failure::{DAMAGED, Failure, UNREADABLE};
use crate::paths;
use crate::progress::Progress;
use crate::redact::Redact;
use crate::show::escape;
use crate::show::losses;
use logdef_resync::rewrite::{self, RedactedImages, Redaction};
use logdef_resync::{Input, LocatedImages, Recovery};
use logdef_symbolizer::Locator;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

/// The logs that a verb works on.
pub struct Log {
    pub inputs: Vec<Input>,
    pub recovery: Recovery,
    /// What was taken out of them.
    redaction: Option<Redaction>,
    /// Whether some input that was named could not be opened.
    pub lacks_some: bool,
}

/// Inputs that were opened.
pub struct Inputs {
    pub opened: Vec<Input>,
    /// Whether there are others, that could not be.
    pub lacks_some: bool,
    /// Whether suspect frames are wanted too.
    pub suspects: bool,
}

impl Log {
    /// Opens the files, reads them once, and says on standard error which of
    /// them could not be read.
    pub fn open(source: &Source) -> Result<Log, Failure> {
        Log::of(inputs(source)?)
    }

    /// Reads inputs that were opened.
    pub fn of(inputs: Inputs) -> Result<Log, Failure> {
        let Inputs {
            opened: inputs,
            lacks_some,
            suspects,
        } = inputs;
        let total = inputs.iter().map(Input::len).sum();
        let mut progress = Progress::new(total);
        let mut options = logdef_resync::Options::default();
        options.trust_suspects = suspects;
        let recovery = Recovery::with(&inputs, &options, |done| progress.reached(done))?;
        Ok(Log {
            inputs,
            recovery,
            redaction: None,
            lacks_some,
        })
    }

    /// What is left of it where it goes to other people.
    pub fn redacted(self, redact: &Redact, images: &Images) -> Result<Log, Failure> {
        let Some(redaction) = redact.of_records() else {
            return Ok(self);
        };
        let mut options = logdef_resync::Options::default();
        options.trust_suspects = self.recovery.trusts_suspects();
        let images = self::images(images);
        let inputs = rewrite::redacted(self.inputs, &self.recovery, &redaction, images)?;
        Ok(Log {
            recovery: Recovery::with(&inputs, &options, |_| ())?,
            inputs,
            redaction: Some(redaction),
            lacks_some: self.lacks_some,
        })
    }

    /// Looks for images where the user says.
    pub fn images(&self, images: &Images) -> Box<dyn logdef_resync::Images + '_> {
        let images = self::images(images);
        match &self.redaction {
            Some(redaction) => Box::new(RedactedImages::new(images, redaction)),
            None => Box::new(images),
        }
    }

    /// Fails if there is not one frame in all of it, but bytes that are not zero: a log that was just begun
    /// has only zeros.
    pub fn must_hold_records(&self) -> Result<(), Failure> {
        let accounts = self.recovery.accounts();
        let frames: u64 = accounts.iter().map(|account| account.frames.count).sum();
        let bytes: u64 = accounts.iter().map(|account| account.bytes).sum();
        let padding: u64 = accounts.iter().map(|account| account.padding.bytes).sum();
        if frames > 0 || bytes == padding {
            return Ok(());
        }
        let names: Vec<_> = accounts.iter().map(|account| &*account.name).collect();
        Err(Failure::Unreadable(format!(
            "{}: no frame in {bytes} bytes: is this a logdef log? `logdef dump` shows the bytes",
            names.join(", ")
        )))
    }

    /// The inputs that were cut before all of them had been read, a line each.
    pub fn cuts(&self) -> impl Iterator<Item = String> {
        let inputs = self.inputs.iter();
        inputs.filter_map(|input| {
            let (name, from) = (input.name(), input.gone_from()?);
            Some(format!(
                "{name}: cut while it was read: its bytes from {from:#x} on are gone"
            ))
        })
    }

    /// Reports what is missing, dropped or damaged, in a few lines on standard error.
    pub fn report(&self) {
        self.cuts().for_each(|line| note(&line));
        for account in self.recovery.accounts() {
            for line in losses::of(account) {
                note(&line);
            }
        }
        for conflict in self.recovery.tables().conflicts() {
            note(&losses::conflict(conflict));
        }
        let found = self.recovery.losses();
        if !found.is_clean() {
            note(&found.to_string());
        }
    }

    /// Whether nothing is missing, dropped or damaged, and nothing was cut while the log was read: that is
    /// said on standard error.
    pub fn is_clean(&self) -> bool {
        let cut = self.recovery.check_whole(&self.inputs);
        if let Err(error) = &cut {
            say(&error.to_string());
        }
        self.recovery.is_clean() && cut.is_ok()
    }

    /// The exit status of a verb that did its work.
    pub fn status(&self, source: &Source) -> ExitCode {
        status(source.strict, self.is_clean(), self.lacks_some)
    }
}

/// The exit status of a verb that did its work, on what could be opened.
pub fn status(strict: bool, is_clean: bool, lacks_some: bool) -> ExitCode {
    match (strict && !is_clean, lacks_some) {
        (true, _) => ExitCode::from(DAMAGED),
        (false, true) => ExitCode::from(UNREADABLE),
        (false, false) => ExitCode::SUCCESS,
    }
}

/// Cores to work on.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Opens the inputs; those that cannot be opened are named, and only if none
/// is left it is a failure.
pub fn inputs(source: &Source) -> Result<Inputs, Failure> {
    let mut inputs = Vec::new();
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for path in paths::of(&source.files) {
        let input = path.and_then(|path| {
            let input = open(&path).map_err(|failure| failure.to_string())?;
            found.push(path);
            Ok(input)
        });
        match input {
            Ok(input) => inputs.push(input),
            Err(problem) => problems.push(problem),
        }
    }
    if inputs.is_empty() {
        return Err(Failure::Unreadable(problems.join("; ")));
    }
    let offsets = &source.clock_offset;
    clock_offset::must_be_of(offsets, &found).map_err(Failure::Usage)?;
    let moved = inputs.into_iter().zip(&found);
    let moved = moved.map(|(input, path)| in_right_time(input, path, offsets));
    let inputs = moved.collect::<Result<_, _>>()?;
    let lacks_some = !problems.is_empty();
    for problem in problems {
        say(&problem);
    }
    Ok(Inputs {
        opened: inputs,
        lacks_some,
        suspects: source.suspects,
    })
}

/// An input with its times moved, if that was asked for.
fn in_right_time(input: Input, path: &Path, offsets: &[ClockOffset]) -> Result<Input, Failure> {
    let moved = clock_offset::moved(input, path, offsets);
    let (input, left) = moved.map_err(|error| unreadable(&error))?;
    if left > 0 {
        let (name, left) = (input.name(), losses::count(left, "record"));
        say(&format!(
            "{name}: {left} not moved: another writer put their times in fewer than eight bytes"
        ));
    }
    Ok(input)
}

/// How much of a stream is kept.
static OF_STREAMS: OnceLock<u64> = OnceLock::new();

/// Sets how much is kept of each stream from here on.
pub fn keep_of_streams(most: u64) {
    let _ = OF_STREAMS.set(most);
}

fn most_of_streams() -> u64 {
    OF_STREAMS.get().copied().unwrap_or(u64::MAX)
}

pub fn open(path: &Path) -> Result<Input, Failure> {
    let most = most_of_streams();
    let input = match crate::archived::open(path, most) {
        Some(part) => {
            part.map_err(|cause| logdef_resync::Error::new(path.display().to_string(), cause))
        }
        None => Input::open_up_to(path, most),
    };
    input.map(checked).map_err(|error| unreadable(&error))
}

pub fn stream(name: &str, reader: impl Read) -> io::Result<Input> {
    Input::from_reader_up_to(name, reader, most_of_streams()).map(checked)
}

/// Says what to do about a stream that was not kept whole.
fn checked(input: Input) -> Input {
    if input.broken_off().is_some() && input.len() == most_of_streams() {
        say(&format!(
            "{}: only this much was read, since a stream may have no end: --spool SIZE reads more",
            input.name()
        ));
    }
    input
}

/// Why an input could not be opened.
fn unreadable(error: &logdef_resync::Error) -> Failure {
    let cause = error.cause();
    // A text of its own says which file of a part it is about.
    let has_text = cause.get_ref().is_some();
    let cause = match cause.kind() {
        io::ErrorKind::NotFound if !has_text => "no such file".into(),
        io::ErrorKind::PermissionDenied if !has_text => "no permission to read it".into(),
        _ => cause.to_string(),
    };
    Failure::Unreadable(format!("cannot read {}: {cause}", error.name()))
}

/// A line on standard error that is about the command.
pub fn say(line: &str) {
    note(&format!("logdef: {line}"));
}

/// A line on standard error that is about a log. Names of files, of programs
/// and what decoders quote can hold anything.
pub fn note(line: &str) {
    let mut out = Vec::new();
    escape::push(line.as_bytes(), &mut out);
    out.push(b'\n');
    // An error cannot be reported when standard error is closed.
    let _ = anstream::stderr().write_all(&out);
}

/// Images where the log says they are, and where the user says.
pub fn images(images: &Images) -> LocatedImages {
    LocatedImages::new(locator(images))
}

/// Looks where the user says.
pub fn locator(images: &Images) -> Locator {
    let options = logdef_symbolizer::Options {
        use_logged_paths: !images.no_logged_paths,
        image_dirs: images.image_dir.clone(),
        debug_dirs: images.debug_dir.clone(),
        ..logdef_symbolizer::Options::default()
    };
    let options = options.with_installed_debug_files();
    #[cfg(feature = "debuginfod")]
    if images.debuginfod {
        match logdef_symbolizer::Debuginfod::from_env() {
            Some(servers) => return Locator::with_fetch(options, Box::new(servers)),
            None => say("DEBUGINFOD_URLS names no server"),
        }
    }
    Locator::new(options)
}
