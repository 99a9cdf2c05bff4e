//! Records as text in a log of this process, so that `logdef view` shows them beside all other logs.

use std::io;
use std::path::Path;

use logdef::logdef;
use logdef_fuchsia::diagnostics::Text;
use logdef_fuchsia::structured::Severity;

use super::storage::{Storage, Stored};

/// Longer text is cut, visibly; no record has more.
const MAX_TEXT: usize = 64 << 10;

/// Storage in the log of this process.
///
/// A record survives the end of the process as soon as it was appended. It is text from then on: to give
/// records back to a restarted service, keep them in an [`AppendFile`](super::AppendFile) too; a pair of
/// storages is a storage.
#[derive(Debug)]
pub struct LogFile(logdef::Log);

impl LogFile {
    /// Opens the log of the process at `path`, to keep about the newest `bytes`.
    ///
    /// # Errors
    /// If it cannot be opened, or the process has one.
    pub fn open(path: impl AsRef<Path>, bytes: u64) -> io::Result<Self> {
        let options = logdef::options()
            .backtrace_depth(0)
            .max_string(MAX_TEXT)
            .flight_recorder(bytes);
        options.open(path).map(Self)
    }
}

impl Storage for LogFile {
    fn append(&mut self, stored: &Stored<'_>) -> io::Result<()> {
        let data = stored.to_data(0);
        let text = Text::new(&data).to_string();
        match data.metadata.severity {
            Severity::TRACE => logdef!(Trace, "%s", text),
            Severity::DEBUG => logdef!(Debug, "%s", text),
            Severity::INFO => logdef!(Info, "%s", text),
            Severity::WARN => logdef!(Warn, "%s", text),
            Severity::ERROR => logdef!(Error, "%s", text),
            _ => logdef!(Fatal, "%s", text),
        }
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        // A record is in the file when the call that logged it has returned.
        Ok(())
    }
}
