//! The service itself: one thread, one loop over what the sockets have.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use logdef_fuchsia::legacy::{Packet, RunningDrops};
use logdef_fuchsia::structured::{Record, RecordWriter, Severity, Value};
use rustix::event::{Timespec, epoll};
use rustix::net::SocketType;

use super::component::Component;
use super::readers::{Progress, Reader};
use super::ring::{ComponentId, Ring};
use super::statistics::{Connections, inspect};
use super::storage::{Format, Storage, Stored};
use super::{OnInvalid, SYNC, Settings};
use crate::receive::{Credentials, Received, Receiver, peer};
use crate::socket::{accept, bind_unix, send_packet, would_block};

/// What a sender of datagrams was found to be is believed this long: numbers of processes come again.
const BELIEVED: Duration = Duration::from_secs(1);
/// Senders of datagrams remembered.
const MAX_SENDERS: usize = 1024;
/// How long the end of the service may take what writers have sent already.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// A log service, ready to [`run`](Self::run).
pub struct Service<S> {
    settings: Settings,
    storage: S,
    /// Appended since the last commit.
    uncommitted: u64,
    /// Could not be stored.
    not_stored: u64,
    ring: Ring,
    epoll: OwnedFd,
    sockets: BTreeMap<u64, Socket>,
    next_token: u64,
    receiver: Option<Receiver>,
    senders: BTreeMap<u32, Sender>,
    /// Connections that asked for an answer once all is stored.
    syncs: Vec<u64>,
    connections: Connections,
    writers: usize,
    readers: usize,
    stop: Stop,
    own: ComponentId,
}

/// What the loop waits for.
enum Socket {
    Stop(UnixStream),
    Writers(OwnedFd, Format),
    Readers(OwnedFd),
    Datagrams(OwnedFd, Format),
    Writer(Writer),
    Reader(Reader),
}

/// A connection that writes.
struct Writer {
    socket: OwnedFd,
    format: Format,
    component: ComponentId,
    drops: RunningDrops,
    stored: u64,
    invalid: u64,
    dropped: u64,
}

/// A process that sends datagrams.
struct Sender {
    component: ComponentId,
    drops: RunningDrops,
    found: Instant,
}

/// Ends a service, from any thread or from signals.
#[derive(Clone, Debug)]
pub struct Stop(Arc<UnixStream>);

impl Stop {
    /// Makes the service take what was sent, store it, and return.
    pub fn stop(&self) {
        // A full pipe has a stop in it already.
        let _ = (&*self.0).write(&[1]);
    }

    /// Does the same when the process gets SIGTERM or SIGINT.
    ///
    /// # Errors
    /// If the handlers cannot be installed.
    pub fn on_signals(&self) -> io::Result<()> {
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::low_level::pipe::register(signal, self.0.try_clone()?)?;
        }
        Ok(())
    }
}

impl<S: Storage> Service<S> {
    /// Opens the sockets, after `open` has opened the storage and given it all that was stored before.
    ///
    /// ```no_run
    /// use logdef_serve::service::{LogStorage, Service, Settings};
    ///
    /// let settings = Settings::new(Settings::default_directory());
    /// let path = settings.directory.join("records.log");
    /// let service = Service::bind(settings, |each| {
    ///     LogStorage::open(path, 1 << 30, each).map(|(storage, _)| storage)
    /// })?;
    /// service.stop_handle().on_signals()?;
    /// service.run()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the directory is not this user's, another service has it, or the storage cannot be opened.
    pub fn bind(
        settings: Settings,
        open: impl FnOnce(&mut dyn FnMut(Stored<'_>)) -> io::Result<S>,
    ) -> io::Result<Self> {
        own_directory(&settings.directory)?;
        let mut ring = Ring::new(settings.component_bytes, settings.total_bytes);
        let own = ring.component(&Component::service());
        // The sockets first: they say whether another service is at work here.
        let sockets = [
            ("log", SocketType::SEQPACKET),
            ("legacy", SocketType::SEQPACKET),
            ("log.dgram", SocketType::DGRAM),
            ("legacy.dgram", SocketType::DGRAM),
            ("stream", SocketType::STREAM),
        ]
        .map(|(name, kind)| bind_unix(&settings.directory.join(name), kind));
        let [log, legacy, log_dgram, legacy_dgram, stream] = sockets;
        let storage = open(&mut |stored: Stored<'_>| {
            let id = ring.component(&Component {
                moniker: stored.moniker.to_owned(),
                url: stored.url.map(str::to_owned),
                pid: stored.pid,
            });
            let drops = (stored.dropped, stored.dropped);
            ring.push(id, stored.format, drops, stored.record);
        })?;
        let (stop, stopped) = UnixStream::pair()?;
        stop.set_nonblocking(true)?;
        stopped.set_nonblocking(true)?;
        let mut service = Self {
            settings,
            storage,
            uncommitted: 0,
            not_stored: 0,
            ring,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            sockets: BTreeMap::new(),
            next_token: 0,
            receiver: Some(Receiver::new()),
            senders: BTreeMap::new(),
            syncs: Vec::new(),
            connections: Connections::default(),
            writers: 0,
            readers: 0,
            stop: Stop(Arc::new(stop)),
            own,
        };
        let sockets = [
            Socket::Stop(stopped),
            Socket::Writers(log?, Format::Structured),
            Socket::Writers(legacy?, Format::Legacy),
            Socket::Datagrams(log_dgram?, Format::Structured),
            Socket::Datagrams(legacy_dgram?, Format::Legacy),
            Socket::Readers(stream?),
        ];
        for socket in sockets {
            if let Socket::Writers(socket, _) | Socket::Datagrams(socket, _) = &socket {
                rustix::net::sockopt::set_socket_passcred(socket, true)?;
            }
            service.add(socket)?;
        }
        Ok(service)
    }

    /// What ends the service.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    /// If waiting for sockets fails, or what was taken last cannot be stored.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        let mut more = false;
        loop {
            events.clear();
            let at_once = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, buffer, more.then_some(&at_once)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut stopped = false;
            for event in &events {
                stopped |= self.event(event.data.u64(), event.flags);
            }
            self.commit();
            more = self.pump();
            if stopped {
                return self.finish();
            }
        }
    }

    /// Handles what a socket has; true if it is the end.
    fn event(&mut self, token: u64, flags: epoll::EventFlags) -> bool {
        match self.sockets.get_mut(&token) {
            None => {}
            Some(Socket::Stop(stream)) => {
                let _ = stream.read(&mut [0; 16]);
                return true;
            }
            Some(Socket::Writers(listener, format)) => {
                let format = *format;
                match accept(listener) {
                    Ok(Some(socket)) => self.welcome_writer(socket, format),
                    Ok(None) => {}
                    Err(_) => self.make_room(),
                }
            }
            Some(Socket::Readers(listener)) => match accept(listener) {
                Ok(Some(socket)) => self.welcome_reader(socket),
                Ok(None) => {}
                Err(_) => self.make_room(),
            },
            Some(Socket::Datagrams(..) | Socket::Writer(_)) => {
                self.receive(token);
            }
            Some(Socket::Reader(reader)) => {
                reader.blocked = false;
                let (ring, connections) = (&self.ring, self.connections);
                let (not_stored, clock) = (self.not_stored, self.settings.clock);
                let state = || {
                    let data = inspect(ring, connections, not_stored, clock);
                    serde_json::to_string(&[data]).unwrap_or_default() + "\n"
                };
                let broken = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
                if broken || reader.receive(ring, state).is_err() {
                    self.close(token);
                }
            }
        }
        false
    }

    fn add(&mut self, socket: Socket) -> io::Result<()> {
        let token = self.next_token;
        let readable = epoll::EventFlags::IN;
        let (fd, flags) = match &socket {
            Socket::Stop(stream) => (stream.as_fd(), readable),
            Socket::Writers(fd, _) | Socket::Readers(fd) | Socket::Datagrams(fd, _) => {
                (fd.as_fd(), readable)
            }
            Socket::Writer(writer) => (writer.socket.as_fd(), readable),
            Socket::Reader(reader) => (
                reader.socket.as_fd(),
                readable | epoll::EventFlags::OUT | epoll::EventFlags::ET,
            ),
        };
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(token), flags)?;
        self.next_token += 1;
        self.sockets.insert(token, socket);
        Ok(())
    }

    fn close(&mut self, token: u64) {
        match self.sockets.remove(&token) {
            Some(Socket::Writer(_)) => {
                self.writers -= 1;
                self.connections.closed += 1;
            }
            Some(Socket::Reader(_)) => self.readers -= 1,
            _ => {}
        }
    }

    fn welcome_writer(&mut self, socket: OwnedFd, format: Format) {
        let Some(credentials) = self.admitted(&socket) else {
            return;
        };
        if self.writers >= self.settings.writers {
            self.make_room();
        }
        if self.writers >= self.settings.writers {
            self.connections.refused += 1;
            return;
        }
        // Kernels differ in whether a connection takes this over from its listener.
        let _ = rustix::net::sockopt::set_socket_passcred(&socket, true);
        let component = self.ring.component(&Component::of(credentials));
        let writer = Writer {
            socket,
            format,
            component,
            drops: RunningDrops::default(),
            stored: 0,
            invalid: 0,
            dropped: 0,
        };
        if self.add(Socket::Writer(writer)).is_ok() {
            self.writers += 1;
            self.connections.opened += 1;
        }
    }

    fn welcome_reader(&mut self, socket: OwnedFd) {
        if self.admitted(&socket).is_none() {
            return;
        }
        if self.readers >= self.settings.readers {
            let silent = self.sockets.iter().find(
                |(_, socket)| matches!(socket, Socket::Reader(reader) if !reader.has_asked()),
            );
            if let Some(token) = silent.map(|(token, _)| *token) {
                self.close(token);
            }
        }
        if self.readers >= self.settings.readers {
            self.connections.refused += 1;
        } else if self.add(Socket::Reader(Reader::new(socket))).is_ok() {
            self.readers += 1;
        }
    }

    /// Who is there, if it may be: this user and root.
    fn admitted(&mut self, socket: &OwnedFd) -> Option<Credentials> {
        let credentials = peer(socket).ok()?;
        if may_write(credentials) {
            return Some(credentials);
        }
        self.connections.refused += 1;
        None
    }

    /// Closes the connection that has been silent for longest, of those that never sent a record.
    fn make_room(&mut self) {
        let silent = self.sockets.iter().find(|(_, socket)| {
            matches!(socket, Socket::Writer(writer) if writer.stored == 0 && writer.invalid == 0)
        });
        match silent.map(|(token, _)| *token) {
            Some(token) => self.close(token),
            // Nobody to close, and the listener stays readable: do not spin.
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }

    /// Takes a batch of packets; false if there was none.
    fn receive(&mut self, token: u64) -> bool {
        let Some(mut receiver) = self.receiver.take() else {
            return false;
        };
        let socket = match self.sockets.get(&token) {
            Some(Socket::Writer(writer)) => Some(writer.socket.as_fd()),
            Some(Socket::Datagrams(socket, _)) => Some(socket.as_fd()),
            _ => None,
        };
        let mut any = false;
        match socket.map(|socket| receiver.receive(socket)) {
            Some(Ok(packets)) => {
                for packet in packets {
                    any = true;
                    if !self.packet(token, packet) {
                        break;
                    }
                }
            }
            // Said once of a writer that left without reading its answer; what it sent is still there.
            Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => any = true,
            Some(Err(error)) if !would_block(&error) => self.close(token),
            _ => {}
        }
        self.receiver = Some(receiver);
        any
    }

    /// Takes one packet; false if the connection has ended.
    fn packet(&mut self, token: u64, packet: Received<'_>) -> bool {
        let now = Instant::now;
        match self.sockets.get_mut(&token) {
            Some(Socket::Writer(writer)) => {
                if packet.sender.is_none() {
                    self.close(token);
                    return false;
                }
                if packet.bytes == SYNC {
                    self.syncs.push(token);
                    return true;
                }
                let (component, format) = (writer.component, writer.format);
                let judged = judge(&self.settings, format, &packet, &mut writer.drops);
                match judged {
                    Ok(lost) => {
                        writer.dropped += lost.0;
                        let is_stored = self.store(component, format, lost, packet.bytes);
                        if let Some(Socket::Writer(writer)) = self.sockets.get_mut(&token) {
                            writer.stored += u64::from(is_stored);
                        }
                        true
                    }
                    Err(error) => {
                        writer.invalid += 1;
                        self.note_invalid(component, &error);
                        let keep = self.settings.on_invalid == OnInvalid::Drop;
                        if !keep {
                            self.close(token);
                        }
                        keep
                    }
                }
            }
            Some(Socket::Datagrams(_, format)) => {
                let format = *format;
                let Some(credentials) = packet.sender.filter(|sender| may_write(*sender)) else {
                    self.connections.refused += 1;
                    return true;
                };
                let known = self.senders.get(&credentials.pid);
                if known.is_none_or(|sender| sender.found.elapsed() > BELIEVED) {
                    if self.senders.len() >= MAX_SENDERS {
                        self.senders.pop_first();
                    }
                    let component = self.ring.component(&Component::of(credentials));
                    let drops = known_drops(self.senders.get(&credentials.pid), component);
                    let sender = Sender {
                        component,
                        drops,
                        found: now(),
                    };
                    self.senders.insert(credentials.pid, sender);
                }
                let Some(sender) = self.senders.get_mut(&credentials.pid) else {
                    return true;
                };
                let component = sender.component;
                match judge(&self.settings, format, &packet, &mut sender.drops) {
                    Ok(lost) => {
                        self.store(component, format, lost, packet.bytes);
                    }
                    Err(error) => self.note_invalid(component, &error),
                }
                true
            }
            _ => false,
        }
    }

    /// Appends a record to the storage and keeps it for readers; whether it is stored.
    fn store(&mut self, id: ComponentId, format: Format, lost: (u64, u64), record: &[u8]) -> bool {
        let Some(kept) = self.ring.kept(id) else {
            return false;
        };
        let stored = Stored {
            format,
            pid: kept.component.pid,
            dropped: lost.1,
            moniker: &kept.component.moniker,
            url: kept.component.url.as_deref(),
            record,
        };
        let appended = self.storage.append(&stored);
        match &appended {
            Ok(()) => self.uncommitted += 1,
            Err(_) => self.not_stored += 1,
        }
        let is_stored = appended.is_ok();
        self.ring.push(id, format, lost, record);
        is_stored
    }

    /// Records that a writer sent something that is no record.
    fn note_invalid(&mut self, writer: ComponentId, error: &str) {
        self.ring.counts(writer).invalid += 1;
        let Some(kept) = self.ring.kept(writer) else {
            return;
        };
        let (moniker, pid) = (kept.component.moniker.clone(), kept.component.pid);
        let mut buffer = [0; 1024];
        let Ok(mut record) =
            RecordWriter::new(&mut buffer, self.settings.clock.now(), Severity::WARN)
        else {
            return;
        };
        // A name that is too long is left out; the rest fits.
        for (name, value) in [
            ("tag", Value::from("invalid")),
            ("message", format!("invalid record: {error}").into()),
            ("writer_pid", u64::from(pid).into()),
            ("writer", moniker.into()),
        ] {
            let _ = record.argument(name, value);
        }
        let record = record.finish().to_vec();
        self.store(self.own, Format::Structured, (0, 0), &record);
    }

    /// Commits what was appended, and answers those who asked.
    fn commit(&mut self) {
        let committed = self.storage.commit();
        if committed.is_err() {
            self.not_stored += self.uncommitted;
        }
        self.uncommitted = 0;
        for token in std::mem::take(&mut self.syncs) {
            let Some(Socket::Writer(writer)) = self.sockets.get(&token) else {
                continue;
            };
            let mut answer = SYNC.to_vec();
            for count in [writer.stored, writer.invalid, writer.dropped] {
                answer.extend_from_slice(&count.to_le_bytes());
            }
            // An answer that would be a lie, or that is not taken, is no answer.
            if committed.is_err() || send_packet(writer.socket.as_fd(), &answer, None).is_err() {
                self.close(token);
            }
        }
    }

    /// Lets every reader go on; true if one wants another turn at once.
    fn pump(&mut self) -> bool {
        if self.readers == 0 {
            return false;
        }
        let mut more = false;
        let mut finished = Vec::new();
        for (token, socket) in &mut self.sockets {
            if let Socket::Reader(reader) = socket
                && !reader.blocked
            {
                match reader.pump(&self.ring) {
                    Ok(Progress::Waits) => {}
                    Ok(Progress::More) => more = true,
                    Ok(Progress::Finished) | Err(_) => finished.push(*token),
                }
            }
        }
        for token in finished {
            self.close(token);
        }
        more
    }

    /// Takes what writers have sent already, stores it, and leaves.
    fn finish(mut self) -> io::Result<()> {
        for name in ["log", "legacy", "log.dgram", "legacy.dgram", "stream"] {
            let _ = fs::remove_file(self.settings.directory.join(name));
        }
        let end = Instant::now() + LAST_LOOK;
        let listeners: Vec<_> = self.sockets.keys().copied().collect();
        for token in listeners {
            while let Some(Socket::Writers(listener, format)) = self.sockets.get(&token) {
                let format = *format;
                match accept(listener) {
                    Ok(Some(socket)) => self.welcome_writer(socket, format),
                    _ => break,
                }
            }
        }
        let tokens: Vec<_> = self.sockets.keys().copied().collect();
        for token in tokens {
            while Instant::now() < end && self.receive(token) {}
        }
        self.storage.commit()?;
        self.uncommitted = 0;
        self.commit();
        self.pump();
        Ok(())
    }
}

/// Whether a packet is a record, and what its writer says it lost: in all, and what of that is not in the
/// record itself.
fn judge(
    settings: &Settings,
    format: Format,
    packet: &Received<'_>,
    drops: &mut RunningDrops,
) -> Result<(u64, u64), String> {
    if packet.truncated {
        return Err("longer than 32768 bytes".to_owned());
    }
    match format {
        Format::Structured => {
            let (record, rest) =
                Record::parse(packet.bytes, settings.profile).map_err(|error| error.to_string())?;
            if !rest.is_empty() {
                return Err(format!("{} bytes behind the record", rest.len()));
            }
            let mut dropped = 0;
            for argument in record.arguments() {
                match (argument.name, argument.value) {
                    ("num_dropped" | "dropped_logs", Value::UnsignedInt(count)) if count > 0 => {
                        dropped = count;
                    }
                    _ => {}
                }
            }
            Ok((dropped, 0))
        }
        Format::Legacy => {
            let packet = Packet::parse(packet.bytes).map_err(|error| error.to_string())?;
            let dropped = drops.increase(packet.dropped_logs).into();
            Ok((dropped, dropped))
        }
    }
}

/// The running drops of a sender that was known before, if it is still the same.
fn known_drops(known: Option<&Sender>, component: ComponentId) -> RunningDrops {
    match known {
        Some(sender) if sender.component == component => sender.drops,
        _ => RunningDrops::default(),
    }
}

fn may_write(credentials: Credentials) -> bool {
    credentials.uid == 0 || credentials.uid == rustix::process::getuid().as_raw()
}

/// Makes sure that the directory is there and is this user's: in `/tmp` another could have made it.
fn own_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let owner = fs::metadata(directory)?.uid();
    if owner != rustix::process::getuid().as_raw() {
        let message = format!("{} belongs to user {owner}", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}
