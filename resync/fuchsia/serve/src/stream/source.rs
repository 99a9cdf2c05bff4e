//! The source: buffers in sealed memory, a thread for the connections of its retrievers.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use logdef_fuchsia::stream::{
    Action, BufferHeader, BufferIndex, Koid, Message, Reservation, RetrieverId, Source, Totals,
};
use logdef_fuchsia::structured::{Header, add_dropped};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::net::SocketType;
use rustix::thread::futex;

use crate::Clock;
use crate::memory::WritableMemory;
use crate::socket::{accept, bind_unix, receive_packet, send_packet, would_block};

/// Waiting retrievers are woken after this many bytes, or at the first record after a pause.
const WAKE_BYTES: usize = 4096;
/// They look by themselves after this long: see [`RECHECK`](super::retriever::RECHECK).
const WAKE_PAUSE: Duration = super::retriever::RECHECK;

/// How a source behaves.
#[derive(Clone, Debug)]
pub struct StreamSettings {
    /// How many buffers, at least 2.
    pub buffers: usize,
    /// Bytes for records in each buffer, rounded up to whole words.
    pub capacity: usize,
    /// How long after OnBufferDone a retriever may hold a buffer that the source needs; without a limit a
    /// retriever that stands still stops the others' records too.
    pub deadline: Option<Duration>,
    /// How long a write may wait for a buffer before its record is dropped.
    pub wait: Duration,
    /// The clock of the timestamps, which the buffers name.
    pub clock: Clock,
    /// How many retrievers may be connected.
    pub retrievers: usize,
}

impl Default for StreamSettings {
    /// Two buffers of 1 MiB, a deadline of one second, no waiting, the monotonic clock, 64 retrievers.
    fn default() -> Self {
        Self {
            buffers: 2,
            capacity: 1 << 20,
            deadline: Some(Duration::from_secs(1)),
            wait: Duration::ZERO,
            clock: Clock::default(),
            retrievers: 64,
        }
    }
}

/// A source of records, shared by all threads that write.
#[derive(Debug)]
pub struct StreamSource {
    shared: Arc<Shared>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// A retriever retired a buffer or went.
    retired: Condvar,
    /// Ends the thread.
    stop: OwnedFd,
    settings: StreamSettings,
    start: Instant,
}

#[derive(Debug)]
struct State {
    source: Source,
    memory: Vec<WritableMemory>,
    connections: BTreeMap<RetrieverId, OwnedFd>,
    next_retriever: u64,
    /// Records dropped since the last that was written.
    dropped: u64,
    /// Bytes committed since retrievers were last woken, and when that was.
    unwoken: usize,
    woken: Duration,
}

/// Why a record was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// No buffer was free; the record is counted.
    Dropped,
    /// The record is larger than a buffer.
    TooLarge,
    /// These bytes are not exactly one record.
    NotARecord,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dropped => "no buffer is free",
            Self::TooLarge => "record is larger than a buffer",
            Self::NotARecord => "not exactly one record",
        })
    }
}

impl std::error::Error for WriteError {}

impl StreamSource {
    /// Creates the buffers and serves retrievers at `path`, a socket for this user only.
    ///
    /// # Errors
    /// If memory, socket or thread cannot be had, or another source serves there.
    pub fn bind(path: impl Into<PathBuf>, settings: StreamSettings) -> io::Result<Self> {
        let path = path.into();
        let capacity = settings.capacity.next_multiple_of(8);
        // Unique on this machine for as long as any two sources live.
        let koid = |index: usize| Koid(u64::from(std::process::id()) << 32 | index as u64);
        let mut memory = Vec::new();
        for index in 0..settings.buffers.max(2) {
            memory.push(new_buffer(koid(index), capacity, settings.clock.id())?);
        }
        let source = Source::new((0..memory.len()).map(koid), capacity, settings.deadline);
        let listener = bind_unix(&path, SocketType::SEQPACKET)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                source,
                memory,
                connections: BTreeMap::new(),
                next_retriever: FIRST_RETRIEVER,
                dropped: 0,
                unwoken: 0,
                woken: Duration::ZERO,
            }),
            retired: Condvar::new(),
            stop: eventfd(0, EventfdFlags::CLOEXEC)?,
            settings,
            start: Instant::now(),
        });
        let poller = Poller::new(listener, &shared.stop)?;
        let thread = std::thread::Builder::new()
            .name("stream source".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || poller.run(&shared)
            })?;
        Ok(Self {
            shared,
            path,
            thread: Some(thread),
        })
    }

    /// The path of the socket that retrievers connect to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one record, whole and no more.
    ///
    /// # Errors
    /// If it is not a record, is too large, or no buffer became free in time; then it is counted and the count
    /// travels with the next record.
    pub fn write(&self, record: &[u8]) -> Result<(), WriteError> {
        match Header::parse(record) {
            Ok(header) if header.words * 8 == record.len() => {}
            _ => return Err(WriteError::NotARecord),
        }
        let mut state = self.shared.lock();
        if state.dropped == 0 {
            return self.place(state, record).map(drop);
        }
        // Rare: the count of dropped records goes with this one, if it fits.
        let count = state.dropped;
        let mut counting = record.to_vec();
        if add_dropped(&mut counting, count).is_err() || counting.len() > self.capacity() {
            return self.place(state, record).map(drop);
        }
        // Taken before the lock is let go in a wait, so that no other record carries it too.
        state.dropped = 0;
        match self.place(state, &counting) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.shared.lock().dropped += count;
                Err(error)
            }
        }
    }

    /// The clock of its records.
    pub fn clock(&self) -> Clock {
        self.shared.settings.clock
    }

    /// What was counted so far.
    pub fn totals(&self) -> Totals {
        self.shared.lock().source.totals()
    }

    /// How many retrievers are connected.
    pub fn retrievers(&self) -> usize {
        self.shared.lock().source.retrievers()
    }

    fn capacity(&self) -> usize {
        self.shared.settings.capacity.next_multiple_of(8)
    }

    fn place<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        record: &[u8],
    ) -> Result<MutexGuard<'s, State>, WriteError> {
        let mut give_up = None;
        let slot = loop {
            if let Some(slot) = state.source.reserve_here(record.len()) {
                break slot;
            }
            let now = self.shared.start.elapsed();
            let reservation = state.source.reserve(record.len(), now);
            state.act();
            match reservation {
                Reservation::Slot(slot) => break slot,
                Reservation::TooLarge => return Err(WriteError::TooLarge),
                Reservation::Full(retry) => {
                    let give_up = *give_up.get_or_insert(now + self.shared.settings.wait);
                    if now >= give_up {
                        state.drop_record();
                        return Err(WriteError::Dropped);
                    }
                    let until = retry.map_or(give_up, |retry| retry.min(give_up));
                    let pause = until.saturating_sub(now);
                    let waited = self.shared.retired.wait_timeout(state, pause);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        let end = slot.offset + record.len();
        let memory = &mut state.memory[slot.buffer.0];
        memory.write(BufferHeader::BYTES + slot.offset, record);
        let committed = memory.u64_at(BufferHeader::COMMITTED);
        committed.store(end as u64, Ordering::Release);
        state.source.commit(slot, record.len());
        if state.source.retrievers() > 0 {
            state.wake_sometimes(slot.buffer, record.len(), &self.shared.start);
        }
        Ok(state)
    }
}

impl Drop for StreamSource {
    /// Disconnects the retrievers, which can read to the end of what they hold.
    fn drop(&mut self) {
        let stopped = rustix::io::write(&self.shared.stop, &1_u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (stopped, self.thread.take()) {
            let _ = thread.join();
        }
        let mut state = self.shared.lock();
        state.connections.clear();
        for memory in &state.memory {
            wake(memory.u32_at(BufferHeader::FUTEX));
        }
        drop(state);
        let _ = fs::remove_file(&self.path);
    }
}

fn new_buffer(koid: Koid, capacity: usize, clock: u32) -> io::Result<WritableMemory> {
    let mut memory = WritableMemory::create("log stream", BufferHeader::BYTES + capacity)?;
    let header = BufferHeader {
        koid,
        filling: 0,
        committed: 0,
        done: false,
        dropped: 0,
        clock,
    };
    memory.write(0, &header.to_bytes());
    Ok(memory)
}

fn wake(word: &std::sync::atomic::AtomicU32) {
    word.fetch_add(1, Ordering::Release);
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing here panics half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Performs all actions of the source.
    fn act(&mut self) {
        while let Some(action) = self.source.next_action() {
            match action {
                Action::Start { buffer, filling } => self.start(buffer, filling),
                Action::MarkDone(buffer) => {
                    let memory = &self.memory[buffer.0];
                    let flags = memory.u32_at(BufferHeader::FLAGS);
                    flags.store(BufferHeader::DONE, Ordering::Release);
                    if self.source.retrievers() > 0 {
                        wake(memory.u32_at(BufferHeader::FUTEX));
                    }
                }
                Action::SendInit(to, buffer) => self.send(to, Message::OnBufferInit, Some(buffer)),
                Action::SendDone(to, koid) => self.send(to, Message::OnBufferDone(koid), None),
                Action::Close(retriever, _) => {
                    let _ = self.connections.remove(&retriever);
                }
            }
        }
    }

    fn start(&mut self, buffer: BufferIndex, filling: u64) {
        let memory = &mut self.memory[buffer.0];
        let end = memory
            .u64_at(BufferHeader::COMMITTED)
            .load(Ordering::Relaxed) as usize;
        // The new filling is seen no later than anything below: a retriever that was given up and
        // still copies finds out by looking at it last.
        memory
            .u64_at(BufferHeader::FILLING)
            .store(filling, Ordering::Relaxed);
        fence(Ordering::Release);
        memory
            .u64_at(BufferHeader::COMMITTED)
            .store(0, Ordering::Release);
        memory
            .u32_at(BufferHeader::FLAGS)
            .store(0, Ordering::Relaxed);
        memory.zero(BufferHeader::BYTES..BufferHeader::BYTES + end);
    }

    /// Sends a message; a retriever that does not take it is gone or does not read, and is disconnected.
    fn send(&mut self, to: RetrieverId, message: Message, buffer: Option<BufferIndex>) {
        let Some(connection) = self.connections.get(&to) else {
            return;
        };
        let descriptor = buffer.map(|buffer| self.memory[buffer.0].file());
        if send_packet(connection.as_fd(), &message.to_bytes(), descriptor).is_err() {
            self.disconnect(to);
        }
    }

    fn disconnect(&mut self, retriever: RetrieverId) {
        self.connections.remove(&retriever);
        self.source.disconnect(retriever);
    }

    fn drop_record(&mut self) {
        self.dropped += 1;
        self.source.drop_record();
        let dropped = self.source.totals().dropped;
        for memory in &self.memory {
            memory
                .u64_at(BufferHeader::DROPPED)
                .store(dropped, Ordering::Relaxed);
        }
    }

    /// A system call for each record would cost more than all the rest.
    fn wake_sometimes(&mut self, buffer: BufferIndex, bytes: usize, start: &Instant) {
        self.unwoken += bytes;
        let now = start.elapsed();
        if self.unwoken >= WAKE_BYTES || now >= self.woken + WAKE_PAUSE {
            self.unwoken = 0;
            self.woken = now;
            wake(self.memory[buffer.0].u32_at(BufferHeader::FUTEX));
        }
    }

    /// Takes all messages of a retriever.
    fn receive(&mut self, retriever: RetrieverId) {
        // One byte more than a message: a longer packet is not a message.
        let mut bytes = [0; Message::BYTES + 1];
        while let Some(connection) = self.connections.get(&retriever) {
            match receive_packet(connection.as_fd(), &mut bytes) {
                Ok(Some(packet)) => {
                    let message = Message::parse(&bytes[..packet.length], packet.descriptors.len());
                    match message {
                        Ok(Message::RetireBuffer(koid)) => self.source.retire(retriever, koid),
                        _ => self.disconnect(retriever),
                    }
                    self.act();
                }
                Err(error) if would_block(&error) => break,
                Ok(None) | Err(_) => self.disconnect(retriever),
            }
        }
    }
}

/// What the thread waits for: the listener, the end, and every connection by the number of its retriever.
#[derive(Debug)]
struct Poller {
    epoll: OwnedFd,
    listener: OwnedFd,
}

const LISTENER: u64 = 0;
const STOP: u64 = 1;
const FIRST_RETRIEVER: u64 = 2;

impl Poller {
    fn new(listener: OwnedFd, stop: &OwnedFd) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let readable = epoll::EventFlags::IN;
        epoll::add(
            &epoll,
            &listener,
            epoll::EventData::new_u64(LISTENER),
            readable,
        )?;
        epoll::add(&epoll, stop, epoll::EventData::new_u64(STOP), readable)?;
        Ok(Self { epoll, listener })
    }

    fn run(&self, shared: &Shared) {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, buffer, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => self.accept(shared),
                    retriever => shared.lock().receive(RetrieverId(retriever)),
                }
            }
            shared.retired.notify_all();
        }
    }

    fn accept(&self, shared: &Shared) {
        loop {
            let connection = match accept(&self.listener) {
                Ok(Some(connection)) => connection,
                Ok(None) => return,
                // Out of descriptors: the listener stays readable, so do not spin.
                Err(_) => return std::thread::sleep(Duration::from_millis(10)),
            };
            let mut state = shared.lock();
            if state.connections.len() >= shared.settings.retrievers {
                continue;
            }
            let id = state.next_retriever;
            state.next_retriever += 1;
            let data = epoll::EventData::new_u64(id);
            if epoll::add(&self.epoll, &connection, data, epoll::EventFlags::IN).is_err() {
                continue;
            }
            state.connections.insert(RetrieverId(id), connection);
            let now = shared.start.elapsed();
            state.source.connect(RetrieverId(id), now);
            state.act();
        }
    }
}
