//! Opening the log of the process.

use crate::api::choose;
use crate::api::control::{close, sync};
use crate::copies::request::{OpenRequest, Target};
use crate::copies::serve::elect_leader;
use crate::options::Options;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Opens the log of the process at `path` with the [default options](Options).
///
/// Signal safety: not async-signal-safe.
///
/// # Errors
///
/// As for [`Options::open`].
pub fn open(path: impl AsRef<Path>) -> io::Result<Log> {
    options().open(path)
}

/// Returns the default options, for [`Options::open`].
///
/// Signal safety: not async-signal-safe.
pub fn options() -> Options {
    Options::default()
}

/// The process's log, open. It is a name for it and no guard: dropping it changes nothing, since static
/// destructors and threads that outlive `main` may still log, so it need not be kept and can be copied.
/// When one copy has closed the log, others stand for no log, or for the one that is opened next.
#[derive(Clone, Copy, Debug)]
pub struct Log(());

impl Log {
    /// Waits until what was logged is on stable storage, as [`sync`] does.
    ///
    /// Signal safety: not async-signal-safe.
    ///
    /// # Errors
    ///
    /// As for [`sync`].
    pub fn sync(&self) -> io::Result<()> {
        sync()
    }

    /// Ends the log, as [`close`] does.
    ///
    /// Signal safety: not async-signal-safe.
    pub fn close(self) {
        close();
    }
}

impl Options {
    /// Opens the log at `path`.
    ///
    /// A mapped log is a new file of mode 0600; a file of that name from an
    /// earlier run is renamed to `path.000001` or the next free number. An
    /// appended log may be a file, which is added to, a pipe or a character
    /// device. A link at `path` is followed once, and the log is made where it leads.
    /// `/dev/stdout`, `/dev/stderr`, `/dev/fd/N` and `/proc/self/fd/N` are the streams
    /// that the process has.
    ///
    /// Signal safety: not async-signal-safe.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`), or the file cannot
    /// be made, reserved or mapped.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<Log> {
        self.open_target(Target::Path(path.as_ref()))
    }

    /// Opens the log on a descriptor that is open already: a file, a pipe or a
    /// socket. The log appends to it.
    ///
    /// Signal safety: not async-signal-safe.
    ///
    /// # Errors
    ///
    /// If the process has a log already (`AlreadyExists`).
    pub fn open_fd(self, fd: OwnedFd) -> io::Result<Log> {
        self.open_target(Target::Descriptor(fd))
    }

    fn open_target(self, target: Target<'_>) -> io::Result<Log> {
        elect_leader();
        let filter = self.filter.as_ref().map(ToString::to_string);
        choose::open(&OpenRequest::new(&self, filter.as_deref(), target))?;
        // Each copy of the Rust runtime has its own hook.
        if self.panic_notes {
            install_panic_hook();
        }
        Ok(Log(()))
    }
}

/// Leaves a note when a thread panics, before the hook that was there.
fn install_panic_hook() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        choose::note_panic(&info.to_string());
        before(info);
    }));
}
