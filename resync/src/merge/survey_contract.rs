//! What a survey took for granted of a chunk, checked frame by frame when the chunk is
//! merged: that it holds the next records of one thread of the run, and nothing else.

use crate::merge::wanted::{Checked, Timed, Wanted, peek};
use crate::read::gap::{Gap, GapKind};
use crate::read::item::FrameItem;
use crate::recover::lane::{Lane, ThreadKey};
use crate::recover::run_of::run_of;
use crate::recover::survey::Survey;
use crate::recover::tables::Place;
use logdef_wire::record::{NoteKind, Peek};
use logdef_wire::{Record, Run, Sequence, Tag};

/// What a survey assumed of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SurveyContract {
    run: Run,
    thread: Option<ThreadKey>,
    start: u64,
    end: u64,
    /// What its thread counts next.
    pub(crate) count: u64,
    pub(crate) is_broken: bool,
}

impl SurveyContract {
    /// Of the lane at an index of a survey.
    pub(crate) fn of(survey: &Survey, index: u32, lane: &Lane) -> SurveyContract {
        SurveyContract {
            run: survey.run,
            thread: lane.threads.first().map(|thread| thread.key),
            start: lane.start,
            end: lane.end,
            count: survey.begins[index as usize],
            is_broken: false,
        }
    }

    /// Zeros after the records are the chunk's unused end; nothing else may stand there.
    pub(crate) fn check_gap(&self, gap: &Gap) -> Checked {
        if gap.kind == GapKind::Padding {
            Checked::Skip
        } else {
            Checked::Broken
        }
    }

    /// Checks a record by its unmasked body.
    #[inline]
    pub(crate) fn check_frame(
        &mut self,
        frame: &FrameItem<'_>,
        body: &[u8],
        place: Place,
        wanted: &mut Wanted<'_>,
        is_bare: bool,
    ) -> Checked {
        // Nearly all are as this takes them.
        let mut quick = Peek::default();
        if let Some(rest) = wanted.fronts.look(&mut quick.glance, body) {
            if rest.is_arguments(body) && wanted.keeps_back(&quick.glance, body) {
                return if self.is_next(&quick) {
                    Checked::Sift(Timed::of(&quick.glance))
                } else {
                    Checked::Broken
                };
            }
            if quick.look_at_rest(rest, body) {
                return self.check_data(&quick, body, wanted, is_bare);
            }
        }
        // What was allowed once is allowed in each chunk of the run.
        if wanted.repeats_string(frame) {
            return Checked::Skip;
        }
        self.check_other(body, place, wanted)
    }

    /// Checks what is no such data record: a logdef, mostly, which each chunk has of all that it needs.
    fn check_other(&mut self, body: &[u8], place: Place, wanted: &mut Wanted<'_>) -> Checked {
        if body.first() == Some(&Tag::DATA.0) {
            return match peek(body) {
                Some(peek) => self.check_data(&peek, body, wanted, false),
                None => Checked::Broken,
            };
        }
        match Record::decode(body) {
            Ok(record) if self.allows(&record, place.offset) => {
                wanted.learn(&record, place);
                Checked::Take(None)
            }
            _ => Checked::Broken,
        }
    }

    #[inline(always)]
    fn check_data(
        &mut self,
        peek: &Peek<'_>,
        body: &[u8],
        wanted: &mut Wanted<'_>,
        is_bare: bool,
    ) -> Checked {
        if !self.is_next(peek) {
            return Checked::Broken;
        }
        wanted.checked(body, peek, is_bare)
    }

    /// The lane's frames end at an offset.
    pub(crate) fn check_end(&mut self, offset: u64) {
        self.is_broken |= offset > self.end;
    }

    /// Whether a data record is the next of the thread.
    #[inline]
    fn is_next(&mut self, peek: &Peek<'_>) -> bool {
        let Some((run, sequence)) = peek.glance.run.zip(peek.glance.sequence) else {
            return false;
        };
        let is_next = self.thread == Some((run, sequence.number()))
            && sequence.count() == self.count.saturating_add(peek.dropped);
        self.count = sequence.count() + 1;
        is_next
    }

    /// Whether a data record of the thread is the next, after no dropped ones. If not, nothing is changed.
    #[inline(always)]
    pub(crate) fn continues_with(&mut self, sequence: Sequence) -> bool {
        let continues = sequence.count() == self.count;
        self.count += u64::from(continues);
        continues
    }

    /// Whether another record may stand at an offset.
    fn allows(&self, record: &Record<'_>, offset: u64) -> bool {
        let opens = matches!(record, Record::Preamble(preamble) if preamble.chunk > Some(0));
        // What follows such a note is not as a survey gives it.
        let is_mark = matches!(record, Record::Note(note) if note.kind == Some(NoteKind::MARKED));
        run_of(record).is_none_or(|run| run == self.run)
            && opens == (offset == self.start)
            && !is_mark
    }
}
