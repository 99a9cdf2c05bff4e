//! Threads of loom write and read a log: it tries the orders in which they can take
//! turns, and every value that the memory model lets them read.

use super::*;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64};
use loom::thread;
use std::ops::Range;
use std::rc::Rc;

/// The parts of a frame that are seen at once: loom tries all mixtures of old
/// and new ones.
const PARTS: [Range<usize>; 4] = [0..1, 1..6, LENGTH, frame::HEADER_LEN..FRAME];

/// Room for a frame that threads share.
#[derive(Default)]
struct Slot {
    parts: [AtomicU64; PARTS.len()],
    /// What its writer has stored so far.
    bytes: RefCell<[u8; FRAME]>,
}

impl Slot {
    fn load(&self, part: usize, order: Ordering) -> Vec<u8> {
        let bytes = self.parts[part].load(order).to_le_bytes();
        bytes[..PARTS[part].len()].to_vec()
    }

    /// The name of the frame, if it was published.
    fn read(&self) -> Option<u8> {
        let mut bytes = self.load(0, Acquire);
        if bytes == [0] {
            return None;
        }
        (1..PARTS.len()).for_each(|part| bytes.extend(self.load(part, Relaxed)));
        let found = frame::decode(&bytes).expect("half a frame");
        assert_eq!(bytes, frame_of(found.body[0]));
        Some(found.body[0])
    }

    fn store(&self, offset: usize, bytes: &[u8], order: Ordering) {
        let stored = offset..offset + bytes.len();
        let mut all = self.bytes.borrow_mut();
        for (part, range) in self.parts.iter().zip(PARTS) {
            let (from, to) = (stored.start.max(range.start), stored.end.min(range.end));
            // The same once more is nothing to see.
            if from < to && all[from..to] != bytes[from - offset..to - offset] {
                all[from..to].copy_from_slice(&bytes[from - offset..to - offset]);
                let mut word = [0; 8];
                word[..range.len()].copy_from_slice(&all[range]);
                part.store(u64::from_le_bytes(word), order);
            }
        }
    }
}

/// The log, as far as threads share it.
struct Log {
    claimed: AtomicU64,
    chunks: Vec<[Slot; FRAMES]>,
    /// Whether a record's call has returned, by the record's last four bits.
    returned: [AtomicBool; 4],
}

impl Log {
    /// A log of this many chunks.
    fn new(chunks: usize) -> Arc<Log> {
        Arc::new(Log {
            claimed: AtomicU64::new(0),
            chunks: (0..chunks).map(|_| Default::default()).collect(),
            returned: Default::default(),
        })
    }

    /// Reads the log while it is written: asks what has returned, and then finds
    /// that, and nothing that is not whole.
    fn read(&self, records: &[u8]) {
        let mut returned = records.to_vec();
        returned.retain(|record| self.returned[*record as usize & 0xf].load(Acquire));
        let frames = self.chunks.iter().flat_map(|chunk| read_chunk(chunk));
        let found: Vec<_> = frames.collect();
        for record in returned {
            assert!(
                found.contains(&record),
                "{record:#x} returned and is not seen"
            );
        }
    }
}

/// The names of the frames of a chunk that were published. Comes back to those
/// that were not yet, as a reader must who meets a record before what it refers
/// to.
fn read_chunk(chunk: &[Slot]) -> Vec<u8> {
    let mut names = Vec::new();
    let mut late = Vec::new();
    let mut owed = false;
    for slot in chunk {
        let name = slot.read();
        if name.is_none() {
            let length = slot.load(2, Relaxed);
            // What is not known yet is not of a call that published already.
            let unknown = length == [0; 4] && !owed;
            assert!(unknown || length == frame_of(0)[LENGTH], "{length:x?}");
            late.push(slot);
        }
        owed = name.is_some_and(|name| DEFINITIONS.contains(&name));
        if let Some(record) = name.filter(|name| name > DEFINITIONS.end()) {
            let definition = Some(definition_of(record));
            let is_there = names.contains(&definition);
            let comes = || late.iter().any(|slot| slot.read() == definition);
            assert!(is_there || comes(), "{record:#x} lacks its definition");
        }
        names.push(name);
    }
    names.into_iter().flatten().collect()
}

/// A thread of the log.
struct Writer {
    log: Arc<Log>,
    place: AtomicU64,
    defined: [Cell<u32>; 2],
    alarm: Alarm,
}

impl Writer {
    /// A thread without a chunk.
    fn new(log: &Arc<Log>, alarm: Alarm) -> Rc<Writer> {
        Rc::new(Writer {
            log: log.clone(),
            place: AtomicU64::new(0),
            defined: [const { Cell::new(u32::MAX) }; 2],
            alarm,
        })
    }

    /// A thread in a chunk of which `used` frames are used.
    fn within(log: &Arc<Log>, used: usize, alarm: Alarm) -> Rc<Writer> {
        let writer = Writer::new(log, Alarm::off());
        let claim = writer.claim().unwrap();
        let used = claim.size() as usize - ROOM + used * FRAME;
        writer.set_place(Place::new(claim, used as u64));
        writer.alarm.steps.set(alarm.steps.get());
        writer
    }

    fn step(self: &Rc<Self>) {
        if self.alarm.rings() {
            self.call(BY_HANDLER);
        }
    }
}

impl Word for AtomicU64 {
    fn own_add(&self, _: u64) -> u64 {
        unreachable!("no thread's own")
    }

    fn update(&self, next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        self.fetch_update(Ordering::AcqRel, Relaxed, next)
    }
}

impl Word for Rc<Writer> {
    fn own_add(&self, add: u64) -> u64 {
        self.step();
        self.place.fetch_add(add, Relaxed)
    }

    fn update(&self, _: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        unreachable!("a place is its thread's own")
    }
}

impl Thread for Rc<Writer> {
    type Room = Room;

    fn place(&self) -> Place {
        self.step();
        Place(self.place.load(Relaxed))
    }

    fn set_place(&self, place: Place) {
        self.step();
        self.place.store(place.0, Relaxed);
    }

    fn defined(&self) -> &[Cell<u32>; 2] {
        self.step();
        &self.defined
    }

    fn claim(&self) -> Option<Claim> {
        self.step();
        let capacity = self.log.chunks.len() as u64;
        let chunk = claim(&self.log.claimed, 1, capacity, capacity)? as u32;
        Some(Claim { chunk, units: 1 })
    }

    fn room(&self, chunk: u32, offset: usize) -> Room {
        Room {
            thread: self.clone(),
            chunk: chunk as usize,
            at: offset,
        }
    }

    fn returned(&self, record: u8) {
        self.step();
        self.log.returned[record as usize & 0xf].store(true, Release);
    }
}

struct Room {
    thread: Rc<Writer>,
    chunk: usize,
    at: usize,
}

impl Room {
    fn store(&self, offset: usize, bytes: &[u8], order: Ordering) {
        self.thread.step();
        let at = self.at + offset;
        let slot = &self.thread.log.chunks[self.chunk][at / FRAME];
        slot.store(at % FRAME, bytes, order);
    }
}

impl Memory for Room {
    unsafe fn store(&self, offset: usize, bytes: &[u8]) {
        self.store(offset, bytes, Relaxed);
    }

    unsafe fn publish(&self, offset: usize, byte: u8, order: Ordering) {
        self.store(offset, &[byte], order);
    }

    /// Nothing is ordered between threads by this.
    fn barrier(&self) {}
}

/// Tries a program of several threads in every way; or, to save time, only those in
/// which a thread is made to wait at most `preemptions` times.
fn explore(preemptions: Option<usize>, program: impl Fn() + Send + Sync + 'static) {
    let mut all = loom::model::Builder::new();
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    all.preemption_bound = preemptions.map(|most| most + slow as usize);
    all.check(program);
}

#[test]
fn a_live_reader_sees_whole_frames_and_all_that_returned() {
    explore(None, || {
        let log = Log::new(1);
        let writer = Writer::within(&log, 0, Alarm::off());
        let reader = log.clone();
        let reader = thread::spawn(move || reader.read(&[0x10, 0x11]));
        writer.call(0x10);
        writer.call(0x11);
        reader.join().unwrap();
    });
}

/// A call that a signal interrupts before step `alarm`, in a chunk of which
/// `used` frames are used. Whether it has that step.
fn interrupted(alarm: usize, used: usize) -> bool {
    let rang = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let rings = rang.clone();
    explore(Some(1), move || {
        let log = Log::new(3);
        let writer = Writer::within(&log, used, Alarm::after(alarm));
        let reader = log.clone();
        let reader = thread::spawn(move || reader.read(&[0x10, BY_HANDLER]));
        writer.call(0x10);
        reader.join().unwrap();
        rings.store(writer.alarm.rang(), Relaxed);
    });
    rang.load(Relaxed)
}

#[test]
fn a_handler_that_logs_in_the_middle_of_a_call_is_nothing_to_a_live_reader() {
    let steps = (0..).take_while(|alarm| interrupted(*alarm, 0)).count();
    assert!(steps > 10, "{steps}");
}

#[test]
fn a_handler_that_takes_another_chunk_is_nothing_to_a_live_reader() {
    let steps = (0..).take_while(|alarm| interrupted(*alarm, 3)).count();
    assert!(steps > 10, "{steps}");
}

#[test]
fn threads_that_claim_at_once_get_chunks_of_their_own() {
    explore(None, || {
        let log = Log::new(2);
        let other = log.clone();
        let other = thread::spawn(move || Writer::new(&other, Alarm::off()).call(0x10));
        Writer::new(&log, Alarm::off()).call(0x11);
        other.join().unwrap();
        log.read(&[0x10, 0x11]);
    });
}

#[test]
fn what_is_given_back_is_nobodys() {
    explore(Some(2), || {
        let claimed = Arc::new(AtomicU64::new(0));
        let claims = |units: u64, keeps: bool| {
            let claimed = claimed.clone();
            thread::spawn(move || {
                let at = claim(&*claimed, units, 6, 6)?;
                if !keeps {
                    give_back(&*claimed, at, units);
                }
                keeps.then_some(at..at + units)
            })
        };
        let threads = [claims(1, true), claims(2, false), claims(2, true)];
        let mut kept: Vec<_> = threads
            .into_iter()
            .filter_map(|thread| thread.join().unwrap())
            .collect();
        assert_eq!(kept.len(), 2);
        // The rest, one by one.
        kept.extend(std::iter::from_fn(|| claim(&*claimed, 1, 6, 6)).map(|at| at..at + 1));
        kept.sort_by_key(|range| range.start);
        let disjoint = kept.windows(2).all(|two| two[0].end <= two[1].start);
        assert!(
            disjoint && kept.iter().all(|range| range.end <= 6),
            "{kept:?}"
        );
    });
}
