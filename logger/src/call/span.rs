//! Spans of time that name their own end, so that it may come anywhere: guards, and
//! the numbers they have.

use core::sync::atomic::{AtomicU64, Ordering};

/// A span of time that [`logdef_span!`](crate::logdef_span) began; its end is logged when
/// this is dropped, on any thread.
///
/// Signal safety: dropping it is async-signal-safe.
#[derive(Debug)]
#[must_use = "the span ends when this is dropped"]
pub struct Span {
    /// The function that logs the end, and the span's number; `None` if the beginning was not
    /// logged.
    end: Option<(fn(u64), u64)>,
}

impl Span {
    pub(crate) fn new(end: Option<(fn(u64), u64)>) -> Span {
        Span { end }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some((end, id)) = self.end {
            end(id);
        }
    }
}

static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A number for a span, given once in this process. The highest bit keeps it apart
/// from numbers that programs choose, the next ones from those of other copies of the
/// logger in the process.
pub fn next_span() -> u64 {
    const COUNT_BITS: u32 = 40;
    let count = BEGUN.fetch_add(1, Ordering::Relaxed);
    let copy = (&raw const BEGUN).addr() as u64 >> 3;
    1 << 63 | copy << COUNT_BITS & !(1 << 63) | count & ((1 << COUNT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_may_be_sent_and_its_number_is_its_own() {
        fn is_send<T: Send + Sync + Unpin + 'static>() {}
        is_send::<Span>();
        let (one, two) = (next_span(), next_span());
        assert!(one != two && one >> 63 == 1 && two >> 63 == 1);
    }
}
