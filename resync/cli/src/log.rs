//! Opening what the command line names: inputs, their recovery, their images.

use crate::args::{Images, Source};
use crate::failure::{DAMAGED, Failure};
use logdef_resync::{Input, LocatedImages, Recovery};
use logdef_symbolizer::Locator;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The logs that a verb works on.
pub struct Log {
    pub inputs: Vec<Input>,
    pub recovery: Recovery,
}

impl Log {
    /// Opens the files, reads them once, and says on standard error which of
    /// them could not be read.
    pub fn open(source: &Source) -> Result<Log, Failure> {
        let inputs = inputs(source)?;
        let recovery = Recovery::of(&inputs)?;
        Ok(Log { inputs, recovery })
    }

    /// Fails if there is not one frame in all of it, but bytes.
    pub fn must_hold_records(&self) -> Result<(), Failure> {
        let accounts = self.recovery.accounts();
        let frames: u64 = accounts.iter().map(|account| account.frames.count).sum();
        let bytes: u64 = accounts.iter().map(|account| account.bytes).sum();
        if frames > 0 || bytes == 0 {
            return Ok(());
        }
        let names: Vec<_> = accounts.iter().map(|account| &*account.name).collect();
        Err(Failure::Unreadable(format!(
            "no log record in {}: is it a log of logdef?",
            names.join(", ")
        )))
    }

    /// The exit status of a verb that did its work.
    pub fn status(&self, source: &Source) -> ExitCode {
        if source.strict && !self.recovery.is_clean() {
            return ExitCode::from(DAMAGED);
        }
        ExitCode::SUCCESS
    }
}

/// Opens the inputs; those that cannot be opened are named, and only if none
/// is left it is a failure.
pub fn inputs(source: &Source) -> Result<Vec<Input>, Failure> {
    let dash = [PathBuf::from("-")];
    let files = match &source.files[..] {
        [] => &dash[..],
        files => files,
    };
    let mut inputs = Vec::new();
    let mut problems = Vec::new();
    for path in files {
        match Input::open(Path::new(path)) {
            Ok(input) => inputs.push(input),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if inputs.is_empty() {
        return Err(Failure::Unreadable(problems.join("; ")));
    }
    for problem in problems {
        anstream::eprintln!("logdef: {problem}");
    }
    Ok(inputs)
}

/// Images where the log says they are, and where the user says.
pub fn images(images: &Images) -> LocatedImages {
    LocatedImages::new(Locator::new(logdef_symbolizer::Options {
        use_logged_paths: !images.no_logged_paths,
        image_dirs: images.image_dir.clone(),
        debug_dirs: images.debug_dir.clone(),
        ..logdef_symbolizer::Options::default()
    }))
}
