//! The spans of a subscriber that are in the log, by the ids that it gives them. Its registry could
//! keep them as well, but takes an allocation for each span, and several locked instructions for each
//! look-up. A lock here is one span's, so that a forked child waits for none that another thread held.

use crate::in_span::InSpan;
use crate::sites::Site;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, TryLockError};
use std::time::Instant;
use tracing_core::span::Id;

/// What is kept of a span.
#[derive(Debug)]
pub(crate) struct Span {
    pub site: &'static Site,
    /// By which the log names it.
    pub number: u64,
    /// The innermost span around it that is in the log.
    pub parent: Option<Id>,
    pub busy_ns: u64,
    pub entered: Option<Instant>,
    pub fields: InSpan,
}

/// Places for spans, and more once these do not suffice.
pub(crate) struct Spans {
    places: Box<[Place]>,
    more: OnceLock<Box<Spans>>,
}

struct Place {
    /// The id of the span that is here, or `FREE`. Changed by those who have the lock for writing.
    id: AtomicU64,
    span: RwLock<Option<Span>>,
}

/// No span has this id.
const FREE: u64 = 0;
/// Places that are tried for one span.
const TRIES: usize = 8;
/// Places for the spans of most programs.
const FEW: usize = 128;

impl Default for Spans {
    fn default() -> Spans {
        Spans::new(FEW)
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").finish_non_exhaustive()
    }
}

impl Spans {
    fn new(len: usize) -> Spans {
        let empty = || Place {
            id: AtomicU64::new(FREE),
            span: RwLock::new(None),
        };
        Spans {
            places: (0..len).map(|_| empty()).collect(),
            more: OnceLock::new(),
        }
    }

    /// The places where a span may be.
    #[inline]
    fn tried(&self, id: &Id) -> impl Iterator<Item = &Place> {
        let start = (id.into_u64().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (start..start + TRIES).map(|at| &self.places[at & (self.places.len() - 1)])
    }

    #[inline]
    fn find(&self, id: &Id) -> Option<&Place> {
        let found = self.tried(id).find(|place| place.is_of(id));
        found.or_else(|| self.more.get()?.find(id))
    }

    /// Keeps a span that was made, and then fills it in where it is.
    #[inline]
    pub fn insert(&self, id: &Id, span: Span, fill: impl FnOnce(&mut Span)) {
        let mut free = self.tried(id).filter_map(|place| {
            if place.id.load(Ordering::Relaxed) != FREE {
                return None;
            }
            let lock = match place.span.try_write() {
                Ok(lock) => lock,
                Err(TryLockError::Poisoned(lock)) => lock.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            };
            (place.id.load(Ordering::Relaxed) == FREE).then_some((place, lock))
        });
        match free.next() {
            Some((place, mut lock)) => {
                fill(lock.insert(span));
                place.id.store(id.into_u64(), Ordering::Release);
            }
            None => self.insert_in_more(id, span, fill),
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_in_more(&self, id: &Id, span: Span, fill: impl FnOnce(&mut Span)) {
        let more = || Box::new(Spans::new(2 * self.places.len()));
        self.more.get_or_init(more).insert(id, span, fill);
    }

    /// Asks a span for something, if it is in the log.
    #[inline]
    pub fn ask<R>(&self, id: &Id, ask: impl FnOnce(&Span) -> R) -> Option<R> {
        let place = self.find(id)?;
        let span = place.span.read().unwrap_or_else(PoisonError::into_inner);
        span.as_ref().filter(|_| place.is_of(id)).map(ask)
    }

    /// Changes a span, if it is in the log.
    #[inline]
    pub fn change(&self, id: &Id, change: impl FnOnce(&mut Span)) {
        let Some(place) = self.find(id) else { return };
        let mut span = place.span.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(span) = span.as_mut().filter(|_| place.is_of(id)) {
            change(span);
        }
    }

    /// Forgets a span that has ended, and asks it for something last.
    #[inline]
    pub fn remove<R>(&self, id: &Id, ask: impl FnOnce(&Span) -> R) -> Option<R> {
        let place = self.find(id)?;
        let mut span = place.span.write().unwrap_or_else(PoisonError::into_inner);
        if !place.is_of(id) {
            return None;
        }
        let asked = span.as_ref().map(ask);
        *span = None;
        place.id.store(FREE, Ordering::Relaxed);
        asked
    }
}

impl Place {
    /// Whether the span with this id is here: for good, if the lock is held.
    #[inline]
    fn is_of(&self, id: &Id) -> bool {
        self.id.load(Ordering::Acquire) == id.into_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_core::Metadata;
    use tracing_core::callsite::DefaultCallsite;
    use tracing_core::field::FieldSet;
    use tracing_core::{Kind, Level, identify_callsite};

    static METADATA: Metadata<'static> = Metadata::new(
        "span",
        "spans",
        Level::INFO,
        None,
        None,
        None,
        FieldSet::new(&[], identify_callsite!(&CALLSITE)),
        Kind::SPAN,
    );
    static CALLSITE: DefaultCallsite = DefaultCallsite::new(&METADATA);

    fn span(number: u64) -> Span {
        Span {
            site: crate::sites::of(&METADATA),
            number,
            parent: None,
            busy_ns: 0,
            entered: None,
            fields: InSpan::new(None),
        }
    }

    #[test]
    fn many_more_spans_than_places_are_found_until_they_end() {
        const MANY: u64 = 20 * FEW as u64;
        let spans = Spans::default();
        let number = |id| spans.ask(&Id::from_u64(id), |span| span.number);
        for id in 1..=MANY {
            spans.insert(&Id::from_u64(id), span(id + 7), |_| ());
        }
        for id in 1..=MANY {
            assert_eq!(number(id), Some(id + 7));
        }
        for id in (1..=MANY).step_by(2) {
            let last = spans.remove(&Id::from_u64(id), |span| span.number);
            assert_eq!(last, Some(id + 7));
            assert_eq!(spans.remove(&Id::from_u64(id), |_| ()), None);
        }
        for id in 1..=MANY {
            assert_eq!(number(id), (id % 2 == 0).then_some(id + 7), "{id}");
        }
    }

    #[test]
    fn a_place_is_used_again_and_knows_its_span_only() {
        let spans = Spans::default();
        for id in 1..=50 * FEW as u64 {
            let own = Id::from_u64(id);
            spans.insert(&own, span(0), |span| span.number = id);
            spans.change(&own, |span| span.busy_ns = id);
            spans.change(&Id::from_u64(id + 1), |span| span.busy_ns = 0);
            let asked = spans.remove(&own, |span| (span.number, span.busy_ns));
            assert_eq!(asked, Some((id, id)));
        }
        assert!(spans.more.get().is_none(), "ended spans keep their places");
    }

    #[test]
    fn spans_that_threads_make_at_once_all_have_places() {
        let spans = Spans::default();
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let spans = &spans;
                scope.spawn(move || {
                    for round in 0..200 {
                        let ids = (0..20).map(|n| 1 + (thread * 200 + round) * 20 + n);
                        ids.clone()
                            .for_each(|id| spans.insert(&Id::from_u64(id), span(id), |_| ()));
                        for id in ids {
                            let last = spans.remove(&Id::from_u64(id), |span| span.number);
                            assert_eq!(last, Some(id));
                        }
                    }
                });
            }
        });
    }
}
