//! Logs that are open: found as the command finds them, and read once to know what is missing.
//! Knows neither Python nor Arrow.

use crate::paths;
use logdef_resync::{Error, Input, LocatedImages, Recovery};
use logdef_symbolizer::{Locator, Options};
use std::io;
use std::path::{Path, PathBuf};

/// Logs, and what was found out about them.
pub struct Opened {
    pub inputs: Vec<Input>,
    pub recovery: Recovery,
    /// Files that could not be opened, a line each.
    pub problems: Vec<String>,
}

/// Why there is nothing to read.
pub enum Failure {
    /// What the system says of a file.
    File(PathBuf, io::Error),
    /// There are files, and no log is in them.
    NoLog(String),
}

impl Opened {
    /// Opens files, folders, patterns and archives.
    pub fn of(words: &[PathBuf]) -> Result<Opened, Failure> {
        for word in words.iter().filter(|word| !paths::is_pattern(word)) {
            word.metadata()
                .map_err(|error| Failure::File(word.clone(), error))?;
        }
        let (mut inputs, mut problems) = (Vec::new(), Vec::new());
        for path in paths::of(words) {
            let opened = path.and_then(|path| open(&path).map_err(|error| error.to_string()));
            match opened {
                Ok(input) => inputs.push(input),
                Err(problem) => problems.push(problem),
            }
        }
        if inputs.is_empty() {
            return Err(Failure::NoLog(problems.join("; ")));
        }
        let recovery = Recovery::of(&inputs).map_err(failed)?;
        let accounts = recovery.accounts();
        let bytes: u64 = accounts.iter().map(|account| account.bytes).sum();
        if bytes > 0 && accounts.iter().all(|account| account.frames.count == 0) {
            let names: Vec<_> = inputs.iter().map(Input::name).collect();
            let names = names.join(", ");
            let why = format!("{names}: no frame in {bytes} bytes: is this a logdef log?");
            return Err(Failure::NoLog(why));
        }
        Ok(Opened {
            inputs,
            recovery,
            problems,
        })
    }

    /// What is missing, in a line; `None` of a log that is whole.
    pub fn damage(&self) -> Option<String> {
        let is_clean = self.recovery.is_clean() && self.problems.is_empty();
        if is_clean {
            return None;
        }
        let names = match &self.inputs[..] {
            [input] => input.name().to_owned(),
            [first, rest @ ..] => format!("{} and {} more", first.name(), rest.len()),
            [] => String::new(),
        };
        let verdict = self.recovery.losses().to_string();
        let lines = self.problems.iter().cloned();
        let verdict = (!self.recovery.is_clean()).then(|| format!("{names}: {verdict}"));
        let lines: Vec<_> = verdict.into_iter().chain(lines).collect();
        Some(lines.join("; "))
    }
}

fn open(path: &Path) -> Result<Input, Error> {
    if logdef_archive::is_part(path) {
        let part = logdef_archive::open(path, u64::MAX);
        return part.map_err(|cause| Error::new(path.display().to_string(), cause));
    }
    Input::open(path)
}

fn failed(error: Error) -> Failure {
    let cause = io::Error::new(error.cause().kind(), error.cause().to_string());
    Failure::File(PathBuf::from(error.name()), cause)
}

/// Where to look for the programs and libraries that logged.
#[derive(Clone, Debug)]
pub struct ImagePlaces {
    /// At the paths that the log names.
    pub use_logged: bool,
    /// Below these.
    pub folders: Vec<PathBuf>,
}

impl ImagePlaces {
    pub fn images(&self) -> LocatedImages {
        let options = Options {
            use_logged_paths: self.use_logged,
            image_dirs: self.folders.clone(),
            ..Options::default()
        };
        LocatedImages::new(Locator::new(options.with_installed_debug_files()))
    }
}
