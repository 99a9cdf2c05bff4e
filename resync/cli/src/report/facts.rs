//! What a report is made of, gathered in one pass over the records by time.

use crate::choose::chosen::Found;
use crate::count::Counts;
use crate::report::endings::Endings;
use crate::report::lanes::Lanes;
use crate::report::latest::Latest;
use crate::report::redact::Redact;
use crate::show::folded::Folded;
use logdef_resync::{Place, Recovery, Resolver};
use std::ops::RangeInclusive;

/// Bytes of the stacks that are counted one by one.
const STACKS: usize = 8 << 20;

pub struct Facts {
    pub counts: Counts,
    pub endings: Endings,
    pub latest: Latest,
    pub lanes: Lanes,
    pub stacks: Folded,
}

impl Facts {
    /// Nothing yet of a log that was recovered, of the times that are wanted.
    pub fn new(recovery: &Recovery, wanted: RangeInclusive<u64>, records: usize) -> Facts {
        let threads = recovery.threads().iter();
        let first = threads.clone().map(|thread| thread.first_time).min();
        let last = threads.map(|thread| thread.last_time).max();
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
        Facts {
            counts: Counts::default(),
            endings: Endings::default(),
            latest: Latest::new(records),
            lanes: Lanes::new(first.max(*wanted.start()), last.min(*wanted.end())),
            stacks: Folded::default(),
        }
    }

    pub fn add(
        &mut self,
        found: Found<'_>,
        place: Place,
        resolver: &mut Resolver<'_>,
        redact: &Redact,
    ) {
        let (data, body) = match found {
            Found::Record { data, body } => (data, body),
            Found::Note(note) => return self.endings.add(note, place, resolver, redact),
        };
        self.counts.add(data, place, resolver);
        self.latest.add(data, body, place);
        self.lanes
            .add(data, redact, || resolver.resolve(data, place));
        if data.backtrace.is_some() {
            let stack = resolver.backtrace(data, place);
            let resolved = resolver.resolve(data, place);
            self.stacks.add_bounded(&resolved, &stack, STACKS);
        }
    }
}
