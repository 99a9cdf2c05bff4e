//! A chunk of the log: how it is claimed, how its thread takes room in it, and in
//! what order the bytes of frames are stored there. Knows neither files nor what is
//! in a body; what memory is, [`Word`] and [`Memory`] say, so that the model runs
//! these very lines with memory of its own.
//!
//! A thread's place in the log is one word: the number of its chunk, the
//! chunk's size, and how much of it is used.
//!
//! ```text
//!  63            32 31  28 27                 0
//! +----------------+------+-------------------+
//! |     chunk      | size |       used        |
//! +----------------+------+-------------------+
//! ```
//!
//! To reserve is to add to that word, in one instruction: a signal handler
//! comes before or after it. A call that has reserved past the end
//! takes another chunk, and what was left of the old one stays zeros. A size of
//! zero means no chunk.

use super::Put;
use crate::thread::own_add;
use core::sync::atomic::{AtomicU64, Ordering};
use logdef_wire::frame::{HEADER_LEN, RESERVED_OFFSET};

#[cfg(test)]
mod model;

/// Bytes in which chunks are measured, and of the smallest where pages are no larger.
pub(crate) const UNIT: u64 = 16 << 10;

/// Eight bytes of the process's memory.
pub(crate) trait Word {
    /// Adds to a word that only its own thread and that thread's signal handlers write, and
    /// returns what it held: a handler comes before or after.
    fn own_add(&self, add: u64) -> u64;

    /// Puts what `next` makes of it in its place, unless that is nothing; returns
    /// what it held. Any thread may.
    fn update(&self, next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64>;
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn own_add(&self, add: u64) -> u64 {
        own_add(self, add)
    }

    fn update(&self, next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        self.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next)
    }
}

/// Room for frames, from its first byte on: zeros that readers may be looking at.
///
/// # Safety
///
/// The methods may be called for bytes that lie within the room, by the one who
/// took it.
pub(crate) trait Memory {
    /// Stores bytes, in any order.
    unsafe fn store(&self, offset: usize, bytes: &[u8]);

    /// Stores one byte with an order.
    unsafe fn publish(&self, offset: usize, byte: u8, order: Ordering);

    /// What was stored is there before what is stored after this: for a signal
    /// handler of this thread, and if the thread is killed.
    fn barrier(&self);
}

/// A claimed range of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Claim {
    /// The chunk's name, which its thread gave it.
    pub chunk: u32,
    /// Of `UNIT` bytes.
    pub units: u64,
}

impl Claim {
    /// Bytes of the chunk.
    pub fn size(self) -> u64 {
        self.units * UNIT
    }
}

/// Claims units of a file that may have `capacity` of them; `claimed` counts those
/// that are gone. What is passed over stays a hole.
pub(crate) fn claim(claimed: &impl Word, units: u64, part: u64, capacity: u64) -> Option<u64> {
    let before = claimed.update(|claimed| {
        let end = next_place(claimed, units, part) + units;
        (end <= capacity).then_some(end)
    });
    before.ok().map(|claimed| next_place(claimed, units, part))
}

/// The first of some units that lie after those that are claimed, in one of the parts of the
/// file, of `part` units: a part is given up as a whole, and so no chunk may reach into the next.
/// It is a multiple of their number, because the page cache can use large folios only where they
/// are aligned; or else the part's first, where so large a chunk fits only there.
fn next_place(claimed: u64, units: u64, part: u64) -> u64 {
    let next_part = claimed.next_multiple_of(part);
    let places = [claimed, next_part].map(|at| at.next_multiple_of(units));
    let in_one_part = |at: &u64| at % part + units <= part;
    places.into_iter().find(in_one_part).unwrap_or(next_part)
}

/// Gives claimed units back, if no later claim was made.
pub(crate) fn give_back(claimed: &impl Word, at: u64, units: u64) {
    let _ = claimed.update(|claimed| (claimed == at + units).then_some(at));
}

/// A thread's place in the log.
#[derive(Clone, Copy)]
pub(crate) struct Place(pub u64);

const USED_BITS: u32 = 28;
const SIZE_BITS: u32 = 4;
const CHUNK_SHIFT: u32 = USED_BITS + SIZE_BITS;
/// A chunk of size class `n` has `UNIT / 2 << n` bytes.
const HALF_UNIT: u64 = UNIT / 2;

impl Place {
    /// In a chunk of which `used` bytes are used.
    pub fn new(claim: Claim, used: u64) -> Place {
        let size = (claim.units * 2).trailing_zeros() as u64;
        Place((claim.chunk as u64) << CHUNK_SHIFT | size << USED_BITS | used)
    }

    #[inline(always)]
    pub fn chunk(self) -> u32 {
        (self.0 >> CHUNK_SHIFT) as u32
    }

    /// Bytes of the chunk; zero if there is no chunk.
    #[inline(always)]
    pub fn size(self) -> u64 {
        let class = self.0 >> USED_BITS & ((1 << SIZE_BITS) - 1);
        // Class 0 shifts out to nothing.
        (HALF_UNIT << class) & !HALF_UNIT
    }

    #[inline(always)]
    pub fn used(self) -> u64 {
        self.0 & ((1 << USED_BITS) - 1)
    }
}

/// Takes `len` bytes of the chunk in which the thread with this place writes, which
/// must be `chunk`, if one is given. They start after what the place says is used.
#[inline(always)]
pub(crate) fn take(place: &impl Word, len: u64, chunk: Option<u32>) -> Result<Place, Put> {
    let place = Place(place.own_add(len));
    if place.used() + len > place.size() {
        return Err(Put::Full);
    }
    if chunk.is_some_and(|chunk| chunk != place.chunk()) {
        // A signal handler logged since the caller looked: what this chunk
        // defines is another matter now. The reservation stays zeros.
        return Err(Put::Moved);
    }
    Ok(place)
}

/// Stores the frames of one call, each so that it is whole or not there
/// ([`put_frame`]).
///
/// # Safety
///
/// All of `room` up to `frames.len()` is the caller's, and `frames` is a sequence of
/// whole frames with short headers.
pub(crate) unsafe fn put(room: &impl Memory, frames: &[u8]) {
    let mut at = 0;
    // All lengths before everything else: no frame is lost between two that a
    // reader finds.
    while let Some((_, body)) = split(&frames[at..]) {
        // SAFETY: a whole frame within `frames`.
        unsafe { put_length(room, at, body.len()) };
        at += HEADER_LEN + body.len();
    }
    room.barrier();
    let mut at = 0;
    while let Some((checksum, body)) = split(&frames[at..]) {
        // SAFETY: the same frame, whose length was just put.
        unsafe { put_frame(room, at, checksum, body) };
        at += HEADER_LEN + body.len();
    }
}

/// Stores a frame.
///
/// Its length comes first: a reader that meets a frame which was never finished
/// knows where it ends. Its first byte comes last, with release order: a
/// reader that sees it sees all of the frame.
///
/// # Safety
///
/// From `at` on, `room` is the caller's for a frame with this body, which fits a
/// short header.
#[inline(always)]
pub(crate) unsafe fn put_frame(room: &impl Memory, at: usize, checksum: u32, body: &[u8]) {
    let [hi, _] = (body.len() as u16).to_be_bytes();
    let [a, b, c, d] = checksum.to_be_bytes();
    // SAFETY: all of it lies within the frame.
    unsafe {
        put_length(room, at, body.len());
        // A signal handler, or the kill, must find the length before the rest.
        room.barrier();
        room.store(at + HEADER_LEN, body);
        room.store(at + 1, &[0xce, a, b, c, d, 0xc1, 0xda, hi]);
        room.publish(at, 0xc1, Ordering::Release);
    }
    // The call must not return before the last store is made.
    room.barrier();
}

/// Stores the part of a frame's header from which its length is known.
///
/// # Safety
///
/// As for [`put_frame`].
#[inline(always)]
unsafe fn put_length(room: &impl Memory, at: usize, body_len: usize) {
    let [hi, lo] = (body_len as u16).to_be_bytes();
    // SAFETY: the caller vouches for room for a frame at `at`, and a header is ten bytes.
    unsafe { room.store(at + RESERVED_OFFSET, &[0xc1, 0xda, hi, lo]) };
}

/// The checksum and the body of the first of some frames.
fn split(frames: &[u8]) -> Option<(u32, &[u8])> {
    let (&[_, _, a, b, c, d, _, _, hi, lo], rest) = frames.split_first_chunk::<HEADER_LEN>()?;
    let len = u16::from_be_bytes([hi, lo]) as usize;
    Some((u32::from_be_bytes([a, b, c, d]), rest.get(..len)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chunk_reaches_into_another_part() {
        const PART: u64 = 62;
        let claimed = AtomicU64::new(0);
        let mut places = |units| claim(&claimed, units, PART, 4 * PART).unwrap();
        assert_eq!([8, 16, 16].map(&mut places), [0, 16, 32]);
        // What is left of the first part is too small for 16, and enough for 8.
        assert_eq!([8, 16, 1].map(&mut places), [48, 64, 80]);
        // One that is aligned in no part begins one.
        let large = AtomicU64::new(1);
        assert_eq!(claim(&large, 32, 40, 80), Some(40));
        assert_eq!(claim(&large, 32, 40, 80), None, "would end in a third part");
    }
}
