//! Every death and every reader: the lines that take room and store frames, run
//! with memory that can be stopped and looked at anywhere. Here is what logs; what
//! it meets is in the two below.

mod deaths;
mod readers;

use super::{Claim, Memory, Place, Word, claim, give_back, put, put_frame, take};
use crate::sink::Put;
use logdef_wire::frame;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

/// Frames for which a chunk has room: what is before its last bytes, calls here do
/// not get to see.
const FRAMES: usize = 5;
const ROOM: usize = FRAMES * FRAME;
/// All frames are of this length.
const FRAME: usize = frame::HEADER_LEN + BODY;
const BODY: usize = 8;
/// What opens a chunk.
const OPENING: u8 = 0;
/// What records refer to, once in a chunk: those of the program, and the handler's.
const DEFINITIONS: std::ops::RangeInclusive<u8> = 1..=2;

/// The record that a signal handler logs.
const BY_HANDLER: u8 = 0x12;

/// A frame whose body starts with a name; what follows is different for each.
fn frame_of(name: u8) -> [u8; FRAME] {
    let mut bytes = [name; FRAME];
    let body = &mut bytes[frame::HEADER_LEN..];
    body[1] = 0x80;
    let (header, len) = frame::header(body);
    bytes[..len].copy_from_slice(&header[..len]);
    bytes
}

/// What a record refers to.
fn definition_of(record: u8) -> u8 {
    match record {
        BY_HANDLER => 2,
        _ => 1,
    }
}

/// The part of a header that is stored first, and where.
const LENGTH: std::ops::Range<usize> = frame::RESERVED_OFFSET..frame::HEADER_LEN;

/// A thread that logs, in memory of one kind or another.
trait Thread: Word + Sized {
    type Room: Memory;

    fn place(&self) -> Place;
    fn set_place(&self, place: Place);
    /// The chunks that hold the two definitions.
    fn defined(&self) -> &[Cell<u32>; 2];
    fn claim(&self) -> Option<Claim>;
    /// Memory of a chunk, from an offset on.
    fn room(&self, chunk: u32, offset: usize) -> Self::Room;
    /// The call that logs a record returns.
    fn returned(&self, record: u8);

    /// A log call, as `emit` and `logdefs` make it.
    fn call(&self, record: u8) {
        let definition = definition_of(record);
        let defined = &self.defined()[definition as usize - 1];
        for attempt in 0..4 {
            let place = self.place();
            let put = match place.size() {
                0 => Put::Full,
                _ if defined.get() == place.chunk() => self.put_record(record, Some(place.chunk())),
                _ => {
                    let frames = [frame_of(definition), frame_of(record)].concat();
                    let chunk = (attempt < 2).then_some(place.chunk());
                    let put = self.put(&frames, chunk);
                    if let Put::Done(chunk) = put {
                        defined.set(chunk);
                    }
                    put
                }
            };
            match put {
                Put::Done(_) => return self.returned(record),
                Put::Full => self.enter(),
                Put::Moved | Put::Dropped => {}
            }
        }
        panic!("record {record} found no chunk");
    }

    fn put(&self, frames: &[u8], chunk: Option<u32>) -> Put {
        match take(self, frames.len() as u64, chunk) {
            Ok(place) => {
                // SAFETY: these memories have bounds.
                unsafe { put(&self.room_at(place), frames) };
                Put::Done(place.chunk())
            }
            Err(refusal) => refusal,
        }
    }

    fn put_record(&self, record: u8, chunk: Option<u32>) -> Put {
        let frame = frame_of(record);
        let (_, body) = super::split(&frame).unwrap();
        match take(self, frame.len() as u64, chunk) {
            Ok(place) => {
                // SAFETY: these memories have bounds.
                unsafe { put_frame(&self.room_at(place), 0, frame::checksum(body), body) };
                Put::Done(place.chunk())
            }
            Err(refusal) => refusal,
        }
    }

    fn room_at(&self, place: Place) -> Self::Room {
        let start = place.size() as usize - ROOM;
        self.room(place.chunk(), place.used() as usize - start)
    }

    fn enter(&self) {
        let claim = self.claim().unwrap();
        let start = claim.size() - ROOM as u64;
        // SAFETY: these memories have bounds.
        unsafe { put(&self.room(claim.chunk, 0), &frame_of(OPENING)) };
        self.set_place(Place::new(claim, start + FRAME as u64));
    }
}

/// A signal that comes before the step that is counted down to.
struct Alarm {
    steps: Cell<Option<usize>>,
}

impl Alarm {
    fn off() -> Alarm {
        Alarm {
            steps: Cell::new(None),
        }
    }

    fn after(steps: usize) -> Alarm {
        Alarm {
            steps: Cell::new(Some(steps)),
        }
    }

    /// Whether the signal comes now.
    fn rings(&self) -> bool {
        let steps = self.steps.get();
        self.steps.set(steps.and_then(|steps| steps.checked_sub(1)));
        steps == Some(0)
    }

    /// Whether it has come.
    fn rang(&self) -> bool {
        self.steps.get().is_none()
    }
}
