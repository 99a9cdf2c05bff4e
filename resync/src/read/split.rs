//! Splitting an input into parts that are read independently, each frame in
//! exactly one part: the one its first byte is in. Knows where to start reading
//! a part, nothing of what is read.

use crate::read::freeze::freeze_one;
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use logdef_wire::frame;
use std::ops::Range;

/// The items of one part of an input: all frames whose first byte is in `range`,
/// whatever the range. Reading all parts of any partition gives the same records
/// as reading the whole.
///
/// A frame that reaches into the range was begun in an earlier part. To know of
/// it, the bytes before the range are searched as far back as a frame can start;
/// no frame of ours has another one in its body, so the search cannot be misled.
///
/// ```
/// use logdef_resync::{Input, Item, split};
///
/// let frame = [0xc1, 0xce, 0xac, 0x61, 0x91, 0xdf, 0xc1, 0xa2, 0x00, 0x80];
/// let input = Input::from_bytes("two", frame.repeat(2));
/// // Cut inside the first frame: it is the first part's.
/// let mut frames = Vec::new();
/// for range in [0..5, 5..20] {
///     let mut part = split::part(&input, range)?;
///     while let Some(item) = part.next()? {
///         if let Item::Frame(frame) = item {
///             frames.push(frame.offset);
///         }
///     }
/// }
/// assert_eq!(frames, [0, 10]);
/// # Ok::<(), logdef_resync::Error>(())
/// ```
pub fn part(input: &Input, range: Range<u64>) -> Result<Items<'_>, Error> {
    // A frame that starts before the part may reach into it.
    let from = range.start.saturating_sub(frame::MAX_FRAME);
    let mut at = from;
    let mut items = Items::range(input, from..range.start);
    while let Some(item) = items.next()? {
        if let Item::Frame(frame) = item {
            at = frame.end();
        }
    }
    let start = range.start.max(at);
    Ok(Items::range(input, start..range.end.max(start)))
}

/// Cuts an input into `count` ranges of about equal length; a file that a program is writing as it is now: see
/// [`freeze`](crate::freeze).
pub fn ranges(input: &Input, count: usize) -> Vec<Range<u64>> {
    freeze_one(input);
    let count = count.max(1) as u64;
    let len = input.len();
    let cut = |index: u64| (len as u128 * index as u128 / count as u128) as u64;
    (0..count).map(|index| cut(index)..cut(index + 1)).collect()
}
