//! By what the items of a lane are given or left out: by what a recovery found out of all, or by what a
//! survey took for granted. Knows one item at a time, and not their order.

use crate::merge::MergeOptions;
use crate::merge::survey_contract::SurveyContract;
use crate::merge::wanted::{Checked, Sifts, Timed, Wanted};
use crate::read::gap::{Gap, GapKind};
use crate::read::item::{FrameItem, Items};
use crate::recover::lane::ThreadKey;
use crate::recover::recovery::Recovery;
use crate::recover::tables::Place;
use logdef_wire::record::{Glance, Peek};
use logdef_wire::{Record, Sequence};

/// What becomes of a data record whose fields stand as writers put them.
#[inline(always)]
fn check_quickly(
    recovery: &Recovery,
    place: Place,
    body: &[u8],
    wanted: &mut Wanted<'_>,
    is_bare: bool,
) -> Option<Checked> {
    let mut peek = Peek::default();
    let rest = wanted.fronts.look(&mut peek.glance, body)?;
    let is_kept_back = rest.is_arguments(body) && wanted.keeps_back(&peek.glance, body);
    if !is_kept_back && !peek.look_at_rest(rest, body) {
        return None;
    }
    let standing = recovery.standing_of_run(place, peek.glance.run);
    Some(if recovery.leaves_out(standing) {
        Checked::Skip
    } else if is_kept_back {
        Checked::Sift(Timed::of(&peek.glance))
    } else {
        wanted.checked(body, &peek, is_bare)
    })
}

/// By what a lane's items are given or left out.
#[derive(Debug)]
pub(crate) enum Rule<'i> {
    Recovery(&'i Recovery),
    Survey(SurveyContract),
}

impl Rule<'_> {
    pub(crate) fn check_gap(&self, input: u32, gap: &Gap, options: MergeOptions) -> Checked {
        let recovery = match self {
            Rule::Survey(contract) => return contract.check_gap(gap),
            Rule::Recovery(recovery) => recovery,
        };
        // What the walk took for padding may be a lost block, and the other way round.
        let report = recovery.accounts()[input as usize].gap_at(gap.offset);
        if options.gaps && report.is_some_and(|report| report.gap.kind != GapKind::Padding) {
            Checked::Take(None)
        } else {
            Checked::Skip
        }
    }

    /// Passes over records of a thread, up to `most`, that are kept back as others with the same front were
    /// before them. Returns how many; sequence and time of each go to `see`.
    #[inline]
    pub(crate) fn pass_over(
        &mut self,
        items: &mut Items<'_>,
        (input, thread): (u32, ThreadKey),
        wanted: &mut Wanted<'_>,
        most: usize,
        mut see: impl FnMut(Sequence, u64),
    ) -> usize {
        items.pass_over(most, |offset, body, checksum| {
            let Some((sequence, time)) = wanted.keeps_back_again(thread, body, checksum) else {
                return false;
            };
            let is_as_planned = match self {
                Rule::Survey(contract) => contract.continues_with(sequence),
                Rule::Recovery(recovery) => {
                    let standing =
                        recovery.standing_of_run(Place { input, offset }, Some(thread.0));
                    !recovery.leaves_out(standing)
                }
            };
            if is_as_planned {
                see(sequence, time);
            }
            is_as_planned
        })
    }

    /// Checks a record of an input by its unmasked body.
    #[inline(always)]
    pub(crate) fn check_frame(
        &mut self,
        input: u32,
        frame: &FrameItem<'_>,
        body: &[u8],
        wanted: &mut Wanted<'_>,
        sifts: Sifts,
    ) -> Checked {
        let is_sifted = sifts != Sifts::Later;
        let is_bare = sifts == Sifts::Bare;
        let place = Place {
            input,
            offset: frame.offset,
        };
        let recovery = match self {
            Rule::Survey(contract) => {
                return contract.check_frame(frame, body, place, wanted, is_bare);
            }
            Rule::Recovery(recovery) => recovery,
        };
        // Of nearly all records one look shows what they are merged by and what the sieve asks.
        if is_sifted
            && wanted.sieve.is_some()
            && let Some(checked) = check_quickly(recovery, place, body, wanted, is_bare)
        {
            return checked;
        }
        let data = Glance::of(body);
        // Malformed records are given only where all frames are.
        if data.is_none() && !wanted.options.all_frames {
            return Checked::Skip;
        }
        if recovery.leaves_out(recovery.standing(place, body)) {
            return Checked::Skip;
        }
        match &data {
            Some(glance) if is_sifted && !wanted.passes(body) => Checked::Sift(Timed::of(glance)),
            Some(glance) => Checked::Take(Some(Timed::of(glance))),
            None => {
                if let Ok(record) = Record::decode(body) {
                    wanted.learn(&record, place);
                }
                Checked::Take(None)
            }
        }
    }

    /// A masked record that cannot be unmasked.
    pub(crate) fn check_masked(&self) -> Checked {
        match self {
            Rule::Survey(_) => Checked::Broken,
            Rule::Recovery(_) => Checked::Skip,
        }
    }
}
