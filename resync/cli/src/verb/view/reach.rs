//! How far back the end of a log is merged, where only its end is wanted: further
//! each time, until enough of it matches. Records that come last in a merge of the
//! end are those that come last in a merge of all.

use crate::choose::viewer::Viewer;
use crate::failure::Failure;
use crate::verb::view::View;

/// Bytes of lanes to begin with, and what a record likely takes.
const FIRST: u64 = 128 << 10;
const RECORD: u64 = 128;
/// How much more each time: all of it together costs little more than the last.
const MORE: u64 = 8;

/// How far back a merge reaches.
pub struct Reach {
    /// Where only the end is wanted, how many records and from how many bytes.
    tail: Option<(usize, u64)>,
    /// No lane is needed that ends before.
    since: u64,
}

impl Reach {
    pub fn new(args: &View) -> Reach {
        let bytes = |tail| FIRST.max((tail as u64).saturating_mul(RECORD));
        Reach {
            tail: args.tail.map(|tail| (tail, bytes(tail))),
            since: 0,
        }
    }

    /// The time to merge from, so that the bytes asked for are reached; not before
    /// `since`.
    pub fn since(&mut self, since: u64, of_last: impl Fn(u64) -> u64) -> u64 {
        let reached = self.tail.map_or(0, |(_, bytes)| of_last(bytes));
        self.since = if reached > since { reached } else { 0 };
        since.max(reached)
    }

    /// Whether that was enough. If not, the viewer starts again.
    pub fn is_enough(&mut self, viewer: &mut Viewer) -> Result<bool, Failure> {
        match &mut self.tail {
            Some((tail, bytes)) if self.since > 0 && !viewer.has_tail_since(self.since)? => {
                viewer.begin_tail(*tail);
                *bytes = bytes.saturating_mul(MORE);
                Ok(false)
            }
            _ => Ok(true),
        }
    }
}
