//! What a merge is asked to give, and what becomes of each item of a lane.

use crate::merge::sieve::Sieve;
use crate::merge::{Identity, MergeOptions};
use crate::recover::tables::Place;
use logdef_wire::Record;
use logdef_wire::record::Glance;

/// What becomes of an item of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checked {
    /// It is given; what must be known of it if it is a data record.
    Take(Option<Timed>),
    /// It is a data record that the sieve keeps back.
    Sift(Timed),
    Skip,
    /// It is not what the survey took for granted.
    Broken,
}

impl Checked {
    #[inline]
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, Checked::Take(_))
    }
}

/// What a data record is merged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub(crate) time: u64,
    pub(crate) identity: Identity,
}

impl Timed {
    #[inline(always)]
    pub(crate) fn of(glance: &Glance) -> Timed {
        Timed {
            time: glance.time.unwrap_or(0),
            identity: glance.run.zip(glance.sequence),
        }
    }
}

/// What a merge gives: its options, and a sieve if it has one.
#[derive(Debug)]
pub(crate) struct Wanted<'i> {
    pub(crate) options: MergeOptions,
    pub(crate) sieve: Option<Box<dyn Sieve + 'i>>,
}

impl Wanted<'_> {
    /// What becomes of a data record that nothing else is wrong with.
    #[inline(always)]
    pub(crate) fn checked(&mut self, body: &[u8], glance: &Glance) -> Checked {
        let timed = Timed::of(glance);
        let sieve = self.sieve.as_mut();
        if sieve.is_none_or(|sieve| sieve.passes(body, glance)) {
            Checked::Take(Some(timed))
        } else {
            Checked::Sift(timed)
        }
    }

    /// Lets the sieve learn from another record.
    pub(crate) fn learn(&mut self, body: &[u8], input: u32, offset: u64) {
        if let Some(sieve) = &mut self.sieve
            && let Ok(record) = Record::decode(body)
        {
            sieve.learn(&record, Place { input, offset });
        }
    }
}
