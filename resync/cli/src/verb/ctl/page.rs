//! A control page: found beside a log, checked before it is believed, read, and asked through.
//! Anybody who can write to the directory can put anything there under a page's name; nothing
//! else than a page is opened for more than a look.

use logdef_wire::control::{Block, Request, SIZE, State, Taken};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A page that was opened.
pub struct Page {
    pub path: PathBuf,
    pub file: File,
    /// Its owner, as seen from here: a container may have other numbers.
    pub user: u32,
    bytes: Vec<u8>,
}

/// How long another `logdef ctl` may be writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a page that is being written to is read again.
const TRIES: u32 = 50;

impl Page {
    /// Opens a page, if that is what stands there. The error is a line.
    pub fn open(path: &Path) -> Result<Page, String> {
        let wrong = |why: &str| format!("{}: {why}", path.display());
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
        let file = options.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => wrong(&foreign(path)),
            io::ErrorKind::NotFound => wrong("no such control page"),
            _ => wrong(&format!("not a control page: {error}")),
        })?;
        let metadata = file.metadata().map_err(|error| wrong(&error.to_string()))?;
        if let Some(why) = unlike(&metadata) {
            return Err(wrong(&format!("not a control page: {why}")));
        }
        let mut page = Page {
            path: path.to_owned(),
            file,
            user: metadata.uid(),
            bytes: Vec::new(),
        };
        page.read().map_err(|error| wrong(&error.to_string()))?;
        // The process may be in the middle of writing it.
        for _ in 0..TRIES {
            if page.state().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
            page.read().map_err(|error| wrong(&error.to_string()))?;
        }
        match page.state() {
            None => Err(wrong(
                "damaged: the state that the process writes there is incomplete. The log is not affected",
            )),
            Some(_) => Ok(page),
        }
    }

    /// Reads the page again.
    pub fn read(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; SIZE];
        let mut len = 0;
        while len < SIZE {
            match self.file.read_at(&mut bytes[len..], len as u64)? {
                0 => break,
                more => len += more,
            }
        }
        bytes.truncate(len);
        self.bytes = bytes;
        Ok(())
    }

    /// What the process says of itself; `None` while it is being written.
    pub fn state(&self) -> Option<State<'_>> {
        State::decode(&self.bytes)
    }

    /// Up to which request the process has come.
    pub fn taken(&self) -> Taken {
        Taken::decode(&self.bytes).unwrap_or_default()
    }

    /// What was asked for last; nothing if that was not written whole.
    pub fn request(&self) -> Request<'_> {
        Request::decode(&self.bytes).unwrap_or_default()
    }

    /// Writes a request: the bytes that `make` makes of the last one and a number that is
    /// higher than all before. Returns that number.
    pub fn ask(&mut self, make: impl FnOnce(Request<'_>, u64) -> Vec<u8>) -> io::Result<u64> {
        let deadline = Instant::now() + PATIENCE;
        // Others who ask; the process itself never waits for this.
        while flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > deadline {
                return Err(io::Error::other("another logdef ctl is writing to it"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.read()?;
        let (request, taken) = (self.request(), self.taken());
        let known = [request.set, request.sync, request.rotate, request.note];
        let done = [taken.set, taken.sync, taken.rotate, taken.note];
        let number = known
            .into_iter()
            .chain(done)
            .max()
            .unwrap_or(0)
            .wrapping_add(1)
            .max(1);
        let request = make(request, number);
        self.file.write_all_at(&request, Request::AT as u64)?;
        let _ = flock(&self.file, FlockOperation::Unlock);
        self.read()?;
        Ok(number)
    }

    /// The name of the log that the page is beside.
    pub fn log(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().as_bytes();
        let name = name.strip_prefix(b".").unwrap_or(name);
        let name = name.strip_suffix(END).unwrap_or(name);
        let base = self.path.with_file_name(OsStr::from_bytes(name));
        // The second page of a log has a number.
        let unnumbered = base.with_extension("");
        let is_numbered = base
            .extension()
            .is_some_and(|end| end.as_bytes().iter().all(u8::is_ascii_digit));
        if is_numbered && !base.exists() && unnumbered.exists() {
            unnumbered
        } else {
            base
        }
    }
}

const END: &[u8] = b".ctl";

/// Why a file cannot be a page.
fn unlike(metadata: &Metadata) -> Option<String> {
    let mode = metadata.mode() & 0o7777;
    if !metadata.is_file() {
        Some("not a regular file".into())
    } else if mode != 0o600 {
        Some(format!("its mode is {mode:o} and must be 600"))
    } else if metadata.nlink() != 1 {
        Some(format!(
            "it has {} names (hard links), and must have one",
            metadata.nlink()
        ))
    } else if metadata.len() != SIZE as u64 {
        Some(format!(
            "it has {} bytes and must have {SIZE}",
            metadata.len()
        ))
    } else {
        None
    }
}

/// Why a page cannot be opened.
fn foreign(path: &Path) -> String {
    match path.symlink_metadata() {
        Ok(metadata) => format!(
            "belongs to user {}: only that user and root may control the process",
            metadata.uid()
        ),
        Err(error) => error.to_string(),
    }
}

/// Whether this is the name of a page, and perhaps of that log.
fn is_page_of(name: &OsStr, log: Option<&OsStr>) -> bool {
    let name = name.as_bytes();
    let Some(name) = name
        .strip_prefix(b".")
        .and_then(|name| name.strip_suffix(END))
    else {
        return false;
    };
    let Some(log) = log else { return true };
    match name.strip_prefix(log.as_bytes()) {
        Some([]) => true,
        Some([b'.', number @ ..]) => !number.is_empty() && number.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// The pages that a word stands for: all of a directory, those of a log, or one by its own
/// name.
pub fn paths(word: &Path) -> Result<Vec<PathBuf>, String> {
    if word.is_dir() {
        return pages_in(word, None);
    }
    let name = word.file_name().unwrap_or_default();
    if is_page_of(name, None) {
        return Ok(vec![word.to_owned()]);
    }
    let pages = pages_in(&directory_of(word), Some(name))?;
    if !pages.is_empty() {
        return Ok(pages);
    }
    // A link to where the log is, or one of the files of a rotated one.
    let led = std::fs::read_link(word).map(|to| directory_of(word).join(to));
    let file = led.unwrap_or_else(|_| word.to_owned());
    let mut name = file.file_name().unwrap_or_default().to_owned();
    loop {
        let pages = pages_in(&directory_of(&file), Some(&name))?;
        let shorter = Path::new(&name).with_extension("");
        if !pages.is_empty() || shorter.as_os_str() == name {
            return Ok(pages);
        }
        name = shorter.into_os_string();
    }
}

fn directory_of(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or(Path::new(".")).to_owned()
}

fn pages_in(directory: &Path, log: Option<&OsStr>) -> Result<Vec<PathBuf>, String> {
    let cannot = |error: io::Error| format!("cannot read {}: {error}", directory.display());
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if is_page_of(&entry.file_name(), log) {
            let path = entry.path();
            pages.push(path.strip_prefix(".").map_or(path.clone(), Path::to_owned));
        }
    }
    pages.sort();
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_after_their_log() {
        let is = |name: &str, log: Option<&str>| is_page_of(OsStr::new(name), log.map(OsStr::new));
        assert!(is(".app.log.ctl", None) && is(".app.log.ctl", Some("app.log")));
        assert!(is(".app.log.2.ctl", Some("app.log")));
        for (name, log) in [
            ("app.log.ctl", "app.log"),
            (".app.log", "app.log"),
            (".app.log.x.ctl", "app.log"),
            (".app.log..ctl", "app.log"),
            (".app.logs.ctl", "app.log"),
            (".ctl", "app.log"),
        ] {
            assert!(!is(name, Some(log)), "{name}");
        }
    }
}
