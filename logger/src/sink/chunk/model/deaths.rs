//! What a thread stores is recorded, with a signal handler that logs put between any
//! two steps, and all that a death can leave of it is read: what stands between two
//! barriers may have been stored in any order, four bytes at a time. (What the
//! compiler makes of it, the kill after every instruction shows: `logdef-samples`,
//! `step`.)

use super::*;
use std::rc::Rc;

/// A file of this many chunks.
const CHUNKS: usize = 3;

#[derive(Clone, Debug)]
enum Event {
    /// Bytes are stored at an offset of the file.
    Store(usize, Vec<u8>),
    /// The same, and all that was stored before is there with them.
    Release(usize, u8),
    Barrier,
    Returned(u8),
}

/// What a thread does, one step after the other.
struct Recorder {
    events: RefCell<Vec<Event>>,
    alarm: Alarm,
    place: Cell<u64>,
    defined: [Cell<u32>; 2],
    claimed: Cell<u64>,
}

impl Recorder {
    fn step(self: &Rc<Self>) {
        if self.alarm.rings() {
            self.call(BY_HANDLER);
        }
    }

    fn record(self: &Rc<Self>, event: Event) {
        self.step();
        self.events.borrow_mut().push(event);
    }
}

impl Word for Rc<Recorder> {
    fn own_add(&self, add: u64) -> u64 {
        self.step();
        self.place.replace(self.place.get() + add)
    }

    fn update(&self, _: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        unreachable!("a place is its thread's own")
    }
}

impl Thread for Rc<Recorder> {
    type Room = Room;

    fn place(&self) -> Place {
        self.step();
        Place(self.place.get())
    }

    fn set_place(&self, place: Place) {
        self.step();
        self.place.set(place.0);
    }

    fn defined(&self) -> &[Cell<u32>; 2] {
        self.step();
        &self.defined
    }

    fn claim(&self) -> Option<Claim> {
        self.step();
        let chunk = self.claimed.replace(self.claimed.get() + 1) as u32;
        Some(Claim { chunk, units: 1 })
    }

    fn room(&self, chunk: u32, offset: usize) -> Room {
        Room {
            recorder: self.clone(),
            at: (chunk as usize - 1) * ROOM + offset,
        }
    }

    fn returned(&self, record: u8) {
        self.record(Event::Returned(record));
    }
}

struct Room {
    recorder: Rc<Recorder>,
    at: usize,
}

impl Memory for Room {
    unsafe fn store(&self, offset: usize, bytes: &[u8]) {
        for (n, piece) in bytes.chunks(4).enumerate() {
            let at = self.at + offset + n * 4;
            self.recorder.record(Event::Store(at, piece.to_vec()));
        }
    }

    unsafe fn publish(&self, offset: usize, byte: u8, order: Ordering) {
        let at = self.at + offset;
        self.recorder.record(match order {
            Release => Event::Release(at, byte),
            _ => Event::Store(at, vec![byte]),
        });
    }

    fn barrier(&self) {
        self.recorder.record(Event::Barrier);
    }
}

/// What a death leaves.
#[derive(Clone)]
struct Remains {
    bytes: [u8; CHUNKS * ROOM],
    returned: Vec<u8>,
}

impl Remains {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Store(at, bytes) => {
                self.bytes[*at..*at + bytes.len()].copy_from_slice(bytes);
            }
            Event::Release(at, byte) => self.bytes[*at] = *byte,
            Event::Barrier => {}
            Event::Returned(record) => self.returned.push(*record),
        }
    }

    /// Everything that can be left when the thread dies on its way through some
    /// events between two barriers.
    fn at_deaths_among(&self, events: &[Event], mut each: impl FnMut(&Remains)) {
        for chosen in 0u32..1 << events.len() {
            let mut remains = self.clone();
            let is_chosen = |n: usize| chosen >> n & 1 == 1;
            let released = events
                .iter()
                .enumerate()
                .rev()
                .find(|(n, event)| is_chosen(*n) && matches!(event, Event::Release(..)));
            let needed = (1 << released.map_or(0, |(n, _)| n)) - 1;
            if chosen & needed != needed {
                continue;
            }
            let events = events.iter().enumerate().filter(|(n, _)| is_chosen(*n));
            events.for_each(|(_, event)| remains.apply(event));
            each(&remains);
        }
    }

    /// Reads the memory that is left, by a plain reading of FORMAT.md, and compares it with
    /// the calls that returned.
    fn check(&self) {
        let mut found = Vec::new();
        for chunk in self.bytes.chunks(ROOM) {
            self.check_chunk(chunk, &mut found);
        }
        for record in &self.returned {
            assert!(found.contains(record), "{record:#x} returned and is lost");
        }
        let all = found.len();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), all, "a record twice");
    }

    fn check_chunk(&self, chunk: &[u8], found: &mut Vec<u8>) {
        let mut defined = Vec::new();
        // The definition before is of the same call.
        let mut owed = false;
        let mut at = 0;
        while at < chunk.len() {
            let rest = &chunk[at..];
            if let Ok(frame) = frame::decode(rest) {
                let name = frame.body[0];
                assert_eq!(rest[..FRAME], frame_of(name), "nobody wrote this");
                match name {
                    OPENING => assert_eq!(at, 0),
                    definition if DEFINITIONS.contains(&name) => defined.push(definition),
                    record => {
                        let defined = defined.contains(&definition_of(record));
                        assert!(defined, "record {record:#x} lacks its definition");
                        found.push(record);
                    }
                }
                owed = DEFINITIONS.contains(&name);
                at += FRAME;
            } else if rest[0] == 0 && rest.get(6..8) == Some(&[0xc1, 0xda]) {
                // Torn: the length leads on.
                assert_eq!(rest[8..10], [0, BODY as u8], "at {at}");
                owed = false;
                at += FRAME;
            } else {
                assert_eq!(rest[0], 0, "damage at {at}: {rest:x?}");
                assert!(!owed, "a frame is lost without a trace at {at}");
                at += 1;
            }
        }
    }
}

/// All that can be left by a thread that makes some calls and is interrupted
/// before step `alarm`. `None` if it ends before that step.
fn deaths_with_signal(alarm: usize, used: usize, records: &[u8]) -> Option<u64> {
    let first = Claim { chunk: 1, units: 1 };
    let used = first.size() - ROOM as u64 + used as u64;
    let thread = Rc::new(Recorder {
        events: RefCell::default(),
        alarm: Alarm::after(alarm),
        place: Cell::new(Place::new(first, used).0),
        defined: Default::default(),
        claimed: Cell::new(2),
    });
    records.iter().for_each(|record| thread.call(*record));
    if !thread.alarm.rang() {
        return None;
    }
    let mut remains = Remains {
        bytes: [0; CHUNKS * ROOM],
        returned: Vec::new(),
    };
    let mut deaths = 0;
    let events = thread.events.borrow();
    for events in events.split_inclusive(|event| matches!(event, Event::Barrier)) {
        remains.at_deaths_among(events, |remains| {
            remains.check();
            deaths += 1;
        });
        events.iter().for_each(|event| remains.apply(event));
    }
    remains.check();
    assert_eq!(remains.returned.len(), records.len() + 1);
    Some(deaths)
}

#[test]
fn whenever_a_thread_dies_what_returned_is_there_and_the_rest_is_torn() {
    let mut deaths = 0;
    // The chunk is full at the start, soon, or not at all.
    for used in (0..=ROOM).step_by(FRAME) {
        let signals = (0..).map_while(|alarm| deaths_with_signal(alarm, used, &[0x10, 0x11]));
        deaths += signals.sum::<u64>();
    }
    assert!(deaths > 10_000, "{deaths}");
}
