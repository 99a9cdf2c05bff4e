//! The service itself: one thread, one loop over what the sockets have. Who may connect, what packets
//! hold, and how it ends stand in the files beside it.

mod accepting;
mod judging;
mod reading;
mod stopping;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use logdef_fuchsia::legacy::RunningDrops;
use rustix::event::{Timespec, epoll};
use rustix::net::SocketType;

use self::reading::Sender;
pub use self::stopping::Stop;
use super::component::Component;
use super::directory::own_directory;
use super::readers::{Progress, Reader};
use super::ring::{ComponentId, Ring};
use super::statistics::{Connections, inspect};
use super::storage::{Format, Storage, Stored};
use super::{SYNC, Settings};
use crate::receive::Receiver;
use crate::socket::{accept, bind_unix, has_left, send_packet};

/// The sockets of a service, in its directory.
const SOCKETS: [(&str, SocketType); 5] = [
    ("log", SocketType::SEQPACKET),
    ("legacy", SocketType::SEQPACKET),
    ("log.dgram", SocketType::DGRAM),
    ("legacy.dgram", SocketType::DGRAM),
    ("stream", SocketType::STREAM),
];

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
        let sockets = SOCKETS.map(|(name, kind)| bind_unix(&settings.directory.join(name), kind));
        let [log, legacy, log_dgram, legacy_dgram, stream] = sockets;
        let storage = open(&mut |stored| replayed(&mut ring, &stored))?;
        let (stop, stopped) = Stop::pair()?;
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
            stop,
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
            // The connection ends if the records are not stored or the answer is not taken. What a writer that has
            // left sent before is still to be read: the end comes after it.
            if committed.is_err()
                || send_packet(writer.socket.as_fd(), &answer, None).is_err_and(|e| !has_left(&e))
            {
                self.close(token);
            }
        }
    }

    /// Gives every reader a turn; true if one wants another at once.
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
}

/// Takes what an earlier service has stored.
fn replayed(ring: &mut Ring, stored: &Stored<'_>) {
    let id = ring.component(&Component {
        moniker: stored.moniker.to_owned(),
        url: stored.url.map(str::to_owned),
        pid: stored.pid,
    });
    let drops = (stored.dropped, stored.dropped);
    ring.push(id, stored.format, drops, stored.record);
}
