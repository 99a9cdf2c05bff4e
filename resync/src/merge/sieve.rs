//! What a merge leaves out before it orders anything: records that its reader would read and drop.
//! Knows nothing of why they are not wanted.

use crate::recover::tables::Place;
use logdef_wire::Record;
use logdef_wire::record::{Glance, Peek};
use std::fmt;

/// Decides on records as they stand in their frames, before they are merged.
pub trait Sieve: fmt::Debug + Send {
    /// Takes in a record that is no data, which stands before records that refer to it. Of a merge
    /// that leaves out all but data, none comes.
    fn learn(&mut self, record: &Record<'_>, place: Place);

    /// Whether a data record that has nothing but arguments after its [glance](logdef_wire::record::Glance)
    /// may be given, by that alone. Of those that may not, the arguments are not looked at: they are kept
    /// back though they may be malformed, and so are later ones whose fronts differ in sequence and time only.
    fn may_pass(&mut self, front: &Glance) -> bool {
        let _ = front;
        true
    }

    /// Whether a data record is given, by its body alone: wherever else the same bytes stand, the
    /// answer has to be the same. Where it `is_bare` the frame is known to hold none of the texts that the
    /// sieve [searches](Sieve::bare) for.
    fn passes(&mut self, body: &[u8], peek: &Peek<'_>, is_bare: bool) -> bool;

    /// The offset of the first text that it searches for in the bytes of many frames, or their length if no
    /// such text is there. `None` if it searches for no texts.
    fn bare(&self, bytes: &[u8]) -> Option<usize> {
        let _ = bytes;
        None
    }
}
