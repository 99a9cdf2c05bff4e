//! What a merge is asked to give, and what becomes of each item of a lane.

use crate::merge::sieve::Sieve;
use crate::merge::{Identity, MergeOptions};
use crate::read::item::FrameItem;
use crate::read::known_bodies::KnownBodies;
use crate::recover::lane::ThreadKey;
use crate::recover::tables::Place;
use logdef_wire::record::{Expected, Fronts, Glance, Peek};
use logdef_wire::{Record, Sequence, Tag};

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

/// When a sieve is asked about a data record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sifts {
    /// When the lane is sorted.
    Later,
    Now,
    /// Now, and the frame is known to hold none of the texts that it searches for.
    Bare,
}

impl Sifts {
    /// The same for a frame, which may be known to be bare.
    #[inline(always)]
    pub(crate) fn of(self, is_bare: bool) -> Sifts {
        if is_bare { Sifts::Bare } else { self }
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
    /// Whether the sieve searches for texts.
    pub(crate) searches: bool,
    /// How the records began that were looked at.
    pub(crate) fronts: Box<Fronts>,
    /// The strings that were given, where the sieve leaves out what repeats them.
    pub(crate) strings: KnownBodies,
}

impl Wanted<'_> {
    /// Whether it is remembered of fronts what became of their records: where a text is searched for, too few are
    /// alike.
    #[inline(always)]
    pub(crate) fn asks_fronts(&self) -> bool {
        self.sieve.is_some() && !self.searches
    }

    /// Whether a data record with arguments only is kept back whatever they are; others with its front are then,
    /// too.
    #[inline(always)]
    pub(crate) fn keeps_back(&mut self, front: &Glance, body: &[u8]) -> bool {
        let sieve = self.sieve.as_mut();
        let keeps_back = sieve.is_some_and(|sieve| !sieve.may_pass(front));
        if keeps_back {
            self.fronts.expect(body, Expected::KeptBack);
        }
        keeps_back
    }

    /// What becomes of a data record that nothing else is wrong with.
    #[inline(always)]
    pub(crate) fn checked(&mut self, body: &[u8], peek: &Peek<'_>, is_bare: bool) -> Checked {
        let timed = Timed::of(&peek.glance);
        let Some(sieve) = &mut self.sieve else {
            return Checked::Take(Some(timed));
        };
        let passes = sieve.passes(body, peek, is_bare);
        if self.asks_fronts() {
            let expected = if passes {
                Expected::Nothing
            } else {
                Expected::Alike
            };
            self.fronts.expect(body, expected);
        }
        if passes {
            Checked::Take(Some(timed))
        } else {
            Checked::Sift(timed)
        }
    }

    /// Sequence and time of a record of a thread that is kept back as another with the same front was before it: of
    /// its body, and the checksum in its header, which is right then. `None` means: use the general path.
    #[inline(always)]
    pub(crate) fn keeps_back_again(
        &mut self,
        thread: ThreadKey,
        body: &[u8],
        checksum: u32,
    ) -> Option<(Sequence, u64)> {
        let record = self.fronts.again(body, checksum)?;
        if (record.run()?, record.sequence.number()) != thread {
            return None;
        }
        if !record.is_kept_back {
            let peek = record.peek(body)?;
            if self.sieve.as_mut()?.passes(body, &peek, false) {
                return None;
            }
        }
        Some((record.sequence, record.time))
    }

    /// Whether a data record passes the sieve, if there is one, or is malformed.
    #[inline]
    pub(crate) fn passes(&mut self, body: &[u8]) -> bool {
        let Some(sieve) = &mut self.sieve else {
            return true;
        };
        peek(body).is_none_or(|peek| sieve.passes(body, &peek, false))
    }

    /// Whether a frame says of a string what one said that was given before, of which a `false` is no proof.
    pub(crate) fn repeats_string(&mut self, frame: &FrameItem<'_>) -> bool {
        self.sieve.is_some() && frame.tag() == Tag::STRING_LOGDEF && self.strings.meet(frame)
    }

    /// How many of some bytes lie before the first text that the sieve searches for.
    pub(crate) fn bare(&self, bytes: &[u8]) -> usize {
        let bare = self.sieve.as_ref().and_then(|sieve| sieve.bare(bytes));
        bare.unwrap_or(0)
    }

    /// Lets the sieve learn from another record.
    pub(crate) fn learn(&mut self, record: &Record<'_>, place: Place) {
        if let Some(sieve) = &mut self.sieve {
            sieve.learn(record, place);
        }
    }
}

/// What must be known of a data record to count it, and to sift it.
#[inline]
pub(crate) fn peek(body: &[u8]) -> Option<Peek<'_>> {
    Peek::of(body).or_else(|| match Record::decode(body) {
        Ok(Record::Data(data)) => Some(Peek::from(&data)),
        _ => None,
    })
}
