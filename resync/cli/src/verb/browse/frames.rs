//! The record at a place, read again from its file: what stands near it is likely wanted next. Knows
//! nothing of what records mean.

use super::log::Inputs;
use logdef_resync::{Place, move_in_time, unmasked};
use logdef_wire::frame::{self, Header, LONG_HEADER_LEN};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes that are read at a time, and how many such pieces are kept.
const PIECE: u64 = 64 << 10;
const PIECES: usize = 128;

/// A piece, by its file and its number there.
type Key = (u32, u64);

/// The piece in which a place is.
fn key(place: Place) -> Key {
    (place.input, place.offset / PIECE)
}

/// Where a body was found: in the piece of its place, or copied from several.
enum Found {
    InPiece(Range<usize>),
    Copied(Range<usize>),
}

/// Reads frames anywhere.
pub struct Frames {
    inputs: Inputs,
    /// Each with when it was used last.
    pieces: HashMap<Key, (Vec<u8>, u64)>,
    used: u64,
    frame: Vec<u8>,
    scratch: Vec<u8>,
}

impl Frames {
    pub fn of(inputs: Inputs) -> Frames {
        Frames {
            inputs,
            pieces: HashMap::new(),
            used: 0,
            frame: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Forgets what was read.
    pub fn forget(&mut self) {
        self.pieces.clear();
    }

    /// The body of the frame at a place, unmasked; `None` if it is not there any more.
    pub fn body(&mut self, place: Place) -> Option<&[u8]> {
        let found = match self.find(place) {
            None => {
                // It may have been written since its surroundings were read.
                self.forget();
                self.find(place)
            }
            found => found,
        };
        let body = match found? {
            Found::InPiece(body) => &self.pieces.get(&key(place))?.0[body],
            Found::Copied(body) => &self.frame[body],
        };
        unmasked(body, &mut self.scratch)
    }

    /// Where the body of the frame at a place stands, if a whole one is there.
    fn find(&mut self, place: Place) -> Option<Found> {
        if self.inputs.times_moved(place.input) != 0 {
            return self.copy(place);
        }
        let at = (place.offset % PIECE) as usize;
        let piece = self.piece(key(place));
        match frame::decode(piece.get(at..).unwrap_or_default()) {
            Ok(frame) => Some(Found::InPiece(
                at + frame.len - frame.body.len()..at + frame.len,
            )),
            Err(_) => self.copy(place),
        }
    }

    /// The same of a frame that does not stand in one piece, or whose times are moved.
    fn copy(&mut self, place: Place) -> Option<Found> {
        let mut bytes = std::mem::take(&mut self.frame);
        bytes.clear();
        bytes.resize(LONG_HEADER_LEN, 0);
        let read = self.fill(place, &mut bytes);
        let header = Header::parse(&bytes[..read]);
        let len = header.filter(|header| header.body_len <= frame::MAX_BODY);
        bytes.resize(len.map_or(0, |header| header.frame_len()), 0);
        let read = self.fill(place, &mut bytes);
        bytes.truncate(read);
        self.frame = bytes;
        move_in_time(&mut self.frame, self.inputs.times_moved(place.input));
        let frame = frame::decode(&self.frame).ok()?;
        Some(Found::Copied(frame.len - frame.body.len()..frame.len))
    }

    /// Fills a buffer from a place on, as far as there are bytes.
    fn fill(&mut self, place: Place, buffer: &mut [u8]) -> usize {
        if buffer.len() as u64 > PIECE {
            let input = self.inputs.get(place.input);
            return input.map_or(0, |input| input.read_at(buffer, place.offset).unwrap_or(0));
        }
        let mut filled = 0;
        while filled < buffer.len() {
            let at = place.offset + filled as u64;
            let piece = self.piece((place.input, at / PIECE));
            let rest = piece.get((at % PIECE) as usize..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let len = rest.len().min(buffer.len() - filled);
            buffer[filled..filled + len].copy_from_slice(&rest[..len]);
            filled += len;
        }
        filled
    }

    fn piece(&mut self, key: Key) -> &[u8] {
        self.used += 1;
        let used = self.used;
        if !self.pieces.contains_key(&key) {
            let (input, number) = key;
            let mut piece = self.room();
            piece.resize(PIECE as usize, 0);
            let source = self.inputs.get(input);
            let read = source.and_then(|source| source.read_at(&mut piece, number * PIECE).ok());
            piece.truncate(read.unwrap_or(0));
            self.pieces.insert(key, (piece, used));
        }
        let piece = self.pieces.get_mut(&key);
        piece.map_or(&[], |(bytes, last)| {
            *last = used;
            &bytes[..]
        })
    }

    /// Memory for a piece: that of one that was not used for long, if there are enough.
    fn room(&mut self) -> Vec<u8> {
        if self.pieces.len() < PIECES {
            return Vec::new();
        }
        let oldest = self.pieces.iter().min_by_key(|(_, (_, used))| *used);
        let oldest = oldest.map(|(key, _)| *key);
        let removed = oldest.and_then(|key| self.pieces.remove(&key));
        removed.map_or_else(Vec::new, |(bytes, _)| bytes)
    }
}
