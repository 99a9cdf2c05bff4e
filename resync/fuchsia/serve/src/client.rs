//! Logging to the service: one call for a record, which never waits.
//!
//! ```no_run
//! use logdef_fuchsia::structured::Severity;
//! use logdef_serve::client::Client;
//!
//! let log = Client::connect("/run/user/1000/logdef")?;
//! log.write(Severity::INFO, "listening", &[("port", 8080_u64.into()), ("tls", true.into())]);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use logdef_fuchsia::structured::{MAX_RECORD_BYTES, RecordWriter, Severity, Value, fit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send};

use crate::Clock;
use crate::receive::peer;
use crate::service::{Request, SYNC};
use crate::socket::{connect_unix, send_packet, try_connect_unix};

/// A connection to a log service, for all threads of a program.
///
/// A record that cannot be sent at once, because the service is behind or gone, is dropped and counted; the
/// count goes with the next record that is sent. A connection that broke is made again.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    connection: Mutex<Option<OwnedFd>>,
    wait: Duration,
    clock: Clock,
    dropped: AtomicU64,
    cut: AtomicU64,
}

/// What a service has of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Records stored: they survive the end of the service.
    pub stored: u64,
    /// Packets that the service rejected.
    pub invalid: u64,
    /// Records this client reported as dropped.
    pub dropped: u64,
}

impl Client {
    /// Connects to the service in `directory`.
    ///
    /// # Errors
    /// If there is none, or it is of another user.
    pub fn connect(directory: impl AsRef<Path>) -> io::Result<Self> {
        let path = directory.as_ref().join("log");
        let connection = connect_unix(&path, SocketType::SEQPACKET)?;
        refuse_strangers(&connection)?;
        Ok(Self {
            path,
            connection: Mutex::new(Some(connection)),
            wait: Duration::ZERO,
            clock: Clock::default(),
            dropped: AtomicU64::new(0),
            cut: AtomicU64::new(0),
        })
    }

    /// Waits for a service that is behind, up to `wait` for each record, before it drops it.
    pub fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Takes timestamps from `clock`.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sends a record with process, thread, message and `arguments`. What passes the limits of a record is cut
    /// or left out as [`fit`] does, and counted: see [`cut`](Self::cut).
    pub fn write(&self, severity: Severity, message: &str, arguments: &[(&str, Value<'_>)]) {
        let mut small = [0; 1024];
        let mut large = Vec::new();
        let texts = arguments.iter().map(|(name, value)| match value {
            Value::Text(text) => name.len() + text.len() + 24,
            _ => name.len() + 24,
        });
        let buffer = if texts.sum::<usize>() + message.len() + 200 <= small.len() {
            &mut small[..]
        } else {
            large.resize(MAX_RECORD_BYTES, 0);
            &mut large[..]
        };
        let now = self.clock.now();
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let own = [
            ("pid", u64::from(std::process::id()).into()),
            ("tid", tid().into()),
            ("num_dropped", dropped.into()),
            ("message", message.into()),
        ];
        // A count of none is not said.
        let own = own
            .iter()
            .filter(|(name, _)| dropped > 0 || *name != "num_dropped");
        let all = || own.clone().chain(arguments);
        let Ok(mut writer) = RecordWriter::new(buffer, now, severity) else {
            return;
        };
        let fits = all().all(|(name, value)| writer.argument(name, value.clone()).is_ok());
        let record = if fits {
            writer.finish()
        } else {
            large.resize(MAX_RECORD_BYTES, 0);
            let all: Vec<_> = all().cloned().collect();
            let Ok((record, _)) = fit(&mut large, now, severity, &all) else {
                return;
            };
            self.cut.fetch_add(1, Ordering::Relaxed);
            record
        };
        if self.send(record).is_err() {
            self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
        }
    }

    /// Records so far of which something was cut or left out, as it passed the limits of a record.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// Records dropped since the last that was sent.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until the service has stored all that this client sent, and says what it has.
    ///
    /// # Errors
    /// If the service is gone or could not store it.
    pub fn sync(&self) -> io::Result<Synced> {
        let connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let connection = connection.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        // This may wait, unlike a record.
        retry_on_intr(|| send(connection, &SYNC, SendFlags::NOSIGNAL))?;
        let mut answer = [0; 32];
        let (length, _) = retry_on_intr(|| recv(connection, &mut answer[..], RecvFlags::empty()))?;
        if length != answer.len() || answer[..8] != SYNC {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let count =
            |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| answer[8 * index + byte]));
        Ok(Synced {
            stored: count(1),
            invalid: count(2),
            dropped: count(3),
        })
    }

    fn send(&self, record: &[u8]) -> io::Result<()> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*connection {
            let mut sent = send_packet(open.as_fd(), record, None);
            if would_block(&sent) && !self.wait.is_zero() && wait_until_writable(open, self.wait)? {
                sent = send_packet(open.as_fd(), record, None);
            }
            if sent.is_ok() || would_block(&sent) {
                return sent;
            }
            *connection = None;
        }
        let again = try_connect_unix(&self.path, SocketType::SEQPACKET)?;
        refuse_strangers(&again)?;
        let sent = send_packet(again.as_fd(), record, None);
        *connection = Some(again);
        sent
    }
}

fn tid() -> u64 {
    rustix::thread::gettid().as_raw_nonzero().get() as u64
}

/// Refuses a service of another user: it would get what is logged, and could answer anything. Root may use
/// the service of any user.
fn refuse_strangers(socket: impl AsFd) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let theirs = peer(socket)?.uid;
    if [0, own].contains(&theirs) || own == 0 {
        return Ok(());
    }
    let message = format!("the service there is of user {theirs}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

fn would_block(sent: &io::Result<()>) -> bool {
    sent.as_ref().is_err_and(crate::socket::would_block)
}

fn wait_until_writable(socket: &OwnedFd, time: Duration) -> io::Result<bool> {
    let mut events = [PollFd::new(socket, PollFlags::OUT)];
    let time = Timespec::try_from(time).ok();
    Ok(retry_on_intr(|| poll(&mut events, time.as_ref()))? > 0)
}

/// Asks the service in `directory`; the answer is JSON arrays, one after the other, until the end.
///
/// # Errors
/// If there is none, or it is of another user.
pub fn ask(directory: impl AsRef<Path>, request: &Request) -> io::Result<BufReader<UnixStream>> {
    let mut stream = UnixStream::connect(directory.as_ref().join("stream"))?;
    refuse_strangers(&stream)?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(BufReader::new(stream))
}
