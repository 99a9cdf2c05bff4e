//! Looks with short reads whether anything was written to a range of zeros.

use super::pending::Pending;
use crate::read::input::Input;
use logdef_wire::frame;
use std::ops::Range;

/// Bytes that are read at a time.
const STEP: u64 = 64 << 10;
/// Where a frame's length stands in it.
const LENGTH_AT: u64 = 6;

/// Where the first frame begins that was written to a range. The room for notes of the file's
/// first chunk ends at `room_end`.
pub(super) fn first_written(
    input: &Input,
    start: u64,
    pending: Pending,
    room_end: Option<u64>,
) -> Option<u64> {
    let head = |at: u64| {
        let end = at.saturating_add(frame::HEADER_LEN as u64);
        first_byte(input, at..end.min(pending.end)).map(|_| at)
    };
    if let Some(first) = head(start) {
        return Some(first);
    }
    let found = if pending.is_rest {
        let room_end = room_end.filter(|end| *end > start)?;
        head(room_end)?
    } else {
        first_byte(input, start..pending.end)?
    };
    // Where frames are being written that moment, one before it, or its length, may have
    // come after that part was read.
    head(start).or_else(|| {
        let first = first_byte(input, start..found + 1)?;
        Some(frame_of(input, first).max(start))
    })
}

/// Where the first byte of a range is that is not zero, or cannot be read: a failure of the
/// medium is a gap for the items to find. Holes are not read.
fn first_byte(input: &Input, range: Range<u64>) -> Option<u64> {
    let len = range.end.saturating_sub(range.start).min(STEP);
    let mut buffer = vec![0; len as usize];
    let mut at = range.start;
    while at < range.end {
        let wanted = (range.end - at).min(buffer.len() as u64) as usize;
        let read = match input.read_at(&mut buffer[..wanted], at) {
            Ok(0) => return None,
            Ok(read) => read,
            Err(_) => return Some(at),
        };
        if let Some(found) = buffer[..read].iter().position(|byte| *byte != 0) {
            return Some(at + found as u64);
        }
        at += read as u64;
        if at < range.end {
            at = input.behind_hole(at);
        }
    }
    None
}

/// Where the frame begins that has its first byte at an offset: of one that is being written,
/// the length is stored first.
fn frame_of(input: &Input, first: u64) -> u64 {
    let mut head = [0; 2];
    match input.read_at(&mut head, first) {
        Ok(2) if head != [0xc1, 0xce] => first.saturating_sub(LENGTH_AT),
        _ => first,
    }
}
