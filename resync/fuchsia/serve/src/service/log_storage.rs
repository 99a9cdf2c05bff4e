//! Storage in the log of this process: each record is a log call, so that `logdef`
//! shows, follows, checks and exports the storage like any log.
//!
//! A stored record is a line for people, at the level of its severity, with the
//! record itself attached:
//!
//! | argument | shown | |
//! |---|---|---|
//! | 0 | yes | moniker |
//! | 1 | yes | process, as the kernel says |
//! | 2 | yes | place, tags, message and keys, cut at 4 KiB |
//! | 3 | no | the record as it was sent |
//! | 4 | no | component URL, or nothing |
//! | 5 | no | format of the record: 0 structured, 1 legacy |
//! | 6 | no | records lost before it that it does not count itself |
//!
//! It is stored when the call returns: from then on the end of the process cannot
//! take it back. A process has one log, so one storage of this kind.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use logdef::{Level, logdef_attach};
use logdef_fuchsia::legacy::Packet;
use logdef_fuchsia::structured::{MAX_DATAGRAM_BYTES, Profile, Record, Severity, Value};

use super::replay::{self, Recovered};
use super::storage::{Format, Storage, Stored};

/// The line is for people, who have the record itself if they want more.
const MAX_LINE: usize = 4 << 10;
/// Files of the storage at a time.
const FILES: u64 = 8;
const SMALLEST_FILE: u64 = 1 << 20;

/// Storage whose records are calls of this process's log, which `logdef` reads like any
/// other.
#[derive(Debug)]
pub struct LogStorage {
    path: PathBuf,
    limit: u64,
    line: String,
    /// Bytes since the files were last counted.
    uncounted: u64,
}

impl LogStorage {
    /// Gives every record that is stored at `path` to `each`, oldest first, and opens the log of the
    /// process there: files `path.000001`, `path.000002`, …, of which the oldest go when all together have
    /// more than about `limit` bytes, and a link `path` to the newest.
    ///
    /// # Errors
    /// If the files cannot be read or made, or the process has a log already.
    pub fn open(
        path: impl Into<PathBuf>,
        limit: u64,
        each: impl FnMut(Stored<'_>),
    ) -> io::Result<(Self, Recovered)> {
        let path = path.into();
        let recovered = Self::replay(&path, each)?;
        let storage = Self {
            path,
            limit,
            line: String::new(),
            uncounted: 0,
        };
        storage.remove_old()?;
        logdef::options()
            // All of it, whatever the environment says of other logs.
            .filter(logdef::Filter::default())
            .level(Level::TRACE)
            .backtrace_level(Level(u8::MAX))
            .max_string(MAX_DATAGRAM_BYTES)
            .rotate((limit / FILES).max(SMALLEST_FILE))
            .open(&storage.path)?;
        Ok((storage, recovered))
    }

    /// Gives every record that is stored at `path` to `each`, oldest first.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub fn replay(path: &Path, mut each: impl FnMut(Stored<'_>)) -> io::Result<Recovered> {
        let mut recovered = Recovered::default();
        for (file, _) in files(path)? {
            recovered += replay::replay(&file, &mut each)?;
        }
        Ok(recovered)
    }

    /// Removes the oldest files while there are too many bytes; never the newest, which is written to.
    fn remove_old(&self) -> io::Result<()> {
        let files = files(&self.path)?;
        let mut total: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        let newest = files.len().saturating_sub(1);
        for (file, bytes) in &files[..newest] {
            if total <= self.limit {
                break;
            }
            fs::remove_file(file)?;
            total -= bytes;
        }
        Ok(())
    }
}

impl Storage for LogStorage {
    fn append(&mut self, stored: &Stored<'_>) -> io::Result<()> {
        self.line.clear();
        let severity = write_line(stored, &mut self.line);
        let Stored {
            moniker,
            pid,
            record,
            url,
            dropped,
            ..
        } = *stored;
        let (line, format) = (&self.line, stored.format as u8);
        // A call site has one level.
        macro_rules! log {
            ($level:ident) => {
                logdef_attach!(
                    $level,
                    "%s[%u]: %s",
                    "%s%s%u%u",
                    moniker,
                    pid,
                    line,
                    record,
                    url,
                    format,
                    dropped
                )
            };
        }
        match severity.bucket() {
            Severity::TRACE => log!(Trace),
            Severity::DEBUG => log!(Debug),
            Severity::INFO => log!(Info),
            Severity::WARN => log!(Warn),
            Severity::ERROR => log!(Error),
            _ => log!(Fatal),
        }
        self.uncounted += (record.len() + line.len()) as u64;
        match logdef::unwritten() {
            0 => Ok(()),
            _ => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    /// All is stored already; what is too old is removed.
    fn commit(&mut self) -> io::Result<()> {
        if self.uncounted > (self.limit / FILES).max(SMALLEST_FILE) {
            self.uncounted = 0;
            // That too much is kept is no reason to refuse more.
            let _ = self.remove_old();
        }
        Ok(())
    }
}

/// The files of the storage at `path`, oldest first, and how many bytes each has on the disk.
fn files(path: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Vec::new());
    };
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let mut prefix = OsString::from(name);
    prefix.push(".");
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (file, metadata) = (entry.file_name(), entry.metadata()?);
        let number = file
            .as_encoded_bytes()
            .strip_prefix(prefix.as_encoded_bytes())
            .and_then(|number| str::from_utf8(number).ok()?.parse().ok());
        // Where it cannot be mapped the log is one file, under the path itself.
        let number: Option<u64> = number.or((file == name).then_some(u64::MAX));
        if let Some(number) = number.filter(|_| metadata.is_file()) {
            files.push((number, entry.path(), metadata.blocks() * 512));
        }
    }
    files.sort();
    Ok(files
        .into_iter()
        .map(|(_, path, bytes)| (path, bytes))
        .collect())
}

/// Appends what people see of a record, and returns its severity.
fn write_line(stored: &Stored<'_>, line: &mut String) -> Severity {
    let severity = match stored.format {
        Format::Structured => match Record::parse(stored.record, Profile::Lenient) {
            Ok((record, _)) => {
                write_record(&record, line);
                record.severity()
            }
            Err(error) => unreadable(&error.to_string(), line),
        },
        Format::Legacy => match Packet::parse(stored.record) {
            Ok(packet) => {
                for tag in packet.tags.iter() {
                    push(line, format_args!("[{tag}] "));
                }
                push(line, format_args!("{}", packet.message));
                packet.severity()
            }
            Err(error) => unreadable(&error.to_string(), line),
        },
    };
    if stored.dropped > 0 {
        push(line, format_args!(" [dropped={}]", stored.dropped));
    }
    if line.len() > MAX_LINE {
        let end = (0..=MAX_LINE).rev().find(|at| line.is_char_boundary(*at));
        line.truncate(end.unwrap_or(0));
        line.push('…');
    }
    severity
}

/// `[tag] [file(line)] message key=value [dropped=5]`
fn write_record(record: &Record<'_>, line: &mut String) {
    let (mut message, mut file, mut number) = (None, None, None);
    for argument in record.arguments() {
        match (argument.name, argument.value) {
            ("message", Value::Text(text)) => message = Some(text),
            ("file", Value::Text(text)) => file = Some(text),
            ("line", Value::UnsignedInt(value)) => number = Some(value),
            ("tag", Value::Text(tag)) => push(line, format_args!("[{tag}] ")),
            _ => {}
        }
    }
    match (file, number) {
        (Some(file), Some(number)) => push(line, format_args!("[{file}({number})] ")),
        (Some(file), None) => push(line, format_args!("[{file}] ")),
        (None, _) => {}
    }
    line.push_str(message.as_deref().unwrap_or("<missing message>"));
    for argument in record.arguments() {
        let name = argument.name;
        match (name, &argument.value) {
            ("message" | "tag" | "file", Value::Text(_)) => {}
            ("line" | "pid" | "tid", Value::UnsignedInt(_)) => {}
            ("num_dropped" | "dropped_logs", Value::UnsignedInt(count)) => {
                push(line, format_args!(" [dropped={count}]"));
            }
            (_, Value::SignedInt(value)) => push(line, format_args!(" {name}={value}")),
            (_, Value::UnsignedInt(value)) => push(line, format_args!(" {name}={value}")),
            (_, Value::Floating(value)) => push(line, format_args!(" {name}={value}")),
            (_, Value::Text(value)) => push(line, format_args!(" {name}={value}")),
            (_, Value::Boolean(value)) => push(line, format_args!(" {name}={value}")),
        }
    }
}

fn unreadable(error: &str, line: &mut String) -> Severity {
    push(line, format_args!("unreadable record: {error}"));
    Severity::WARN
}

fn push(line: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = line.write_fmt(text);
}
