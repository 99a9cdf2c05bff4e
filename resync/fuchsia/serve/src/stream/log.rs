//! The stream source as a sink of our logger: each log call becomes a structured
//! record in shared memory, beside the log of the process or in place of it.

use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use logdef::{Level, Observed, Observer};
use logdef_fuchsia::structured::{MAX_ARGUMENTS, RecordWriter, Severity, Value};

use super::{StreamSource, WriteError};
use crate::Clock;

/// A message is cut before at 4 KiB; texts of arguments are cut so that all fit.
const ROOM: usize = 16 << 10;
const MAX_TEXT: usize = 512;

/// Names of printf arguments, counted from 0.
const NAMES: [&str; MAX_ARGUMENTS] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14",
];

/// An observer of the logger that writes records into a stream.
///
/// ```
/// use logdef::{Level, logdef};
/// use logdef_serve::stream::{LogStream, StreamSettings, StreamSource};
///
/// let directory = tempfile::tempdir()?;
/// let source = StreamSource::bind(directory.path().join("stream"), StreamSettings::default())?;
/// // In the stream only. With a path of a file: in both.
/// logdef::open("/dev/null")?;
/// LogStream::install(Level::TRACE, source);
/// logdef!(Info, "accepted %s:%d", "example.org", 443);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A record has the arguments `pid`, `tid`, `file`, `line`, `message` (what printf makes of it) and `0`, `1`,
/// … with the types of the call's own; its time is that of the source's clock. Of what passes the limits
/// of records the last arguments are left out. Writing it takes a lock that other threads hold for less
/// than a microsecond, unless all buffers are full and the source's options say to wait: a
/// call in a signal handler that came in the middle of another call of its thread is
/// counted as [missed](Self::missed).
#[derive(Debug)]
pub struct LogStream {
    source: StreamSource,
    missed: AtomicU64,
}

impl LogStream {
    /// Writes what this process logs at `level` and above to `source` from now on, to the end of the
    /// process.
    pub fn install(level: Level, source: StreamSource) -> &'static Self {
        let stream = Box::leak(Box::new(Self {
            source,
            missed: AtomicU64::new(0),
        }));
        logdef::set_observer(Some((level, stream)));
        stream
    }

    /// The source, for its counts.
    pub fn source(&self) -> &StreamSource {
        &self.source
    }

    /// Calls that are not in the stream: of signal handlers that came in the middle of another call, and
    /// of those larger than a buffer.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

thread_local! {
    /// Whether this thread is writing: a signal handler that logs meanwhile must not, since its thread
    /// may hold the source's lock.
    static WRITING: Cell<bool> = const { Cell::new(false) };
}

impl Observer for LogStream {
    fn observe(&self, record: &Observed<'_>) {
        let mut buffer = [0; ROOM];
        let written = !WRITING.replace(true) && {
            let bytes = encode(record, self.source.clock(), &mut buffer);
            let written = bytes.is_some_and(|bytes| match self.source.write(bytes) {
                // What finds no buffer is counted by the source.
                Ok(()) | Err(WriteError::Dropped) => true,
                Err(WriteError::TooLarge | WriteError::NotARecord) => false,
            });
            WRITING.set(false);
            written
        };
        if !written {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The structured record of a log call.
fn encode<'b>(record: &Observed<'_>, clock: Clock, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let severity = Severity(record.level().0);
    let mut writer = RecordWriter::new(buffer, clock.now(), severity).ok()?;
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u64;
    // All of this fits.
    writer.argument("pid", u64::from(process::id())).ok()?;
    writer.argument("tid", tid).ok()?;
    let file = text(record.file());
    writer.argument("file", Value::Text(file.into())).ok()?;
    writer.argument("line", record.line()).ok()?;
    let message = str::from_utf8(record.message()).unwrap_or("");
    writer.argument("message", message).ok()?;
    for (name, argument) in NAMES.iter().zip(record.arguments()) {
        let value = match argument {
            logdef::Value::Bool(value) => Value::Boolean(value),
            logdef::Value::Uint(value) => match i64::try_from(value) {
                Ok(value) => Value::SignedInt(value),
                Err(_) => Value::UnsignedInt(value),
            },
            logdef::Value::Int(value) => Value::SignedInt(value),
            logdef::Value::Float(value) => Value::Floating(value),
            logdef::Value::Raw(bytes) => Value::Text(text(bytes).into()),
            _ => continue,
        };
        if writer.argument(name, value).is_err() {
            break;
        }
    }
    Some(writer.finish())
}

/// As much of the bytes as is text, and not too long.
fn text(bytes: &[u8]) -> &str {
    let bytes = &bytes[..bytes.len().min(MAX_TEXT)];
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}
