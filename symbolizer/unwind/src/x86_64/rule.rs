//! How to get from one stack frame to its caller's, in 32 bits. Pure.

/// The base of the canonical frame address (CFA), and the kinds of stack frame
/// that have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// CFA = base + offset, return address in the word below it.
    Frame {
        base: Base,
        /// Bytes: a multiple of 8 below 512 KiB (below 256 KiB in both directions
        /// for [`Base::AtRbp`]).
        offset: i32,
        saved_rbp: SavedRbp,
    },
    /// The kernel's frame between a handler and what it interrupted: all
    /// registers lie in the `ucontext` at the stack pointer.
    SignalTrampoline,
    /// The outermost function of a thread.
    Outermost,
    /// Anything that does not fit above: evaluate the call frame information
    /// anew, with all the registers it asks for.
    Evaluate,
    /// There is no call frame information for this address.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// rsp + offset
    Rsp,
    /// rbp + offset
    Rbp,
    /// The word at rbp + offset: functions that realign their stack.
    AtRbp,
}

/// Where the caller's rbp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SavedRbp {
    /// Still in rbp.
    Same,
    /// At CFA + offset, a multiple of 8 from -8 KiB to 8 KiB - 8.
    AtCfa(i32),
    /// At rbp + offset, likewise.
    AtRbp(i32),
}

// Bits of the packed form, from the lowest:
//   0..3    kind
//   3..5    where rbp is
//   5..21   CFA offset / 8
//   21..32  rbp offset / 8, signed
pub(crate) const FROM_RSP: u32 = 1;
pub(crate) const FROM_RBP: u32 = 2;
pub(crate) const FROM_WORD_AT_RBP: u32 = 3;
const SIGNAL_TRAMPOLINE: u32 = 4;
const OUTERMOST: u32 = 5;
const EVALUATE: u32 = 6;
const UNKNOWN: u32 = 7;

pub(crate) const SAME: u32 = 0;
pub(crate) const SAVED_AT_CFA: u32 = 1;
const SAVED_AT_RBP: u32 = 2;

/// A [`Rule`] in one word. Zero is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) u32);

impl Packed {
    #[inline]
    pub(crate) fn kind(self) -> u32 {
        self.0 & 7
    }

    #[inline]
    pub(crate) fn saved(self) -> u32 {
        self.0 >> 3 & 3
    }

    /// CFA offset of the two kinds that add it to a register.
    #[inline]
    pub(crate) fn offset(self) -> usize {
        (self.0 >> 5 & 0xFFFF) as usize * 8
    }

    /// CFA offset of the kind that loads the CFA from there.
    #[inline]
    pub(crate) fn signed_offset(self) -> isize {
        (self.0 >> 5) as i16 as isize * 8
    }

    /// Offset of the saved rbp from its base.
    #[inline]
    pub(crate) fn saved_offset(self) -> isize {
        (self.0 as i32 >> 21) as isize * 8
    }

    pub(crate) fn unpack(self) -> Option<Rule> {
        let base = match self.kind() {
            FROM_RSP => Base::Rsp,
            FROM_RBP => Base::Rbp,
            FROM_WORD_AT_RBP => Base::AtRbp,
            SIGNAL_TRAMPOLINE => return Some(Rule::SignalTrampoline),
            OUTERMOST => return Some(Rule::Outermost),
            EVALUATE => return Some(Rule::Evaluate),
            UNKNOWN => return Some(Rule::Unknown),
            _ => return None,
        };
        let offset = match base {
            Base::AtRbp => self.signed_offset() as i32,
            _ => self.offset() as i32,
        };
        let saved_offset = self.saved_offset() as i32;
        let saved_rbp = match self.saved() {
            SAME => SavedRbp::Same,
            SAVED_AT_CFA => SavedRbp::AtCfa(saved_offset),
            SAVED_AT_RBP => SavedRbp::AtRbp(saved_offset),
            _ => return None,
        };
        Some(Rule::Frame {
            base,
            offset,
            saved_rbp,
        })
    }
}

impl Rule {
    /// The rule in one word; what does not fit becomes [`Rule::Evaluate`].
    pub(crate) fn pack(self) -> Packed {
        Packed(self.try_pack().unwrap_or(EVALUATE))
    }

    fn try_pack(self) -> Option<u32> {
        let (base, offset, saved_rbp) = match self {
            Rule::Frame {
                base,
                offset,
                saved_rbp,
            } => (base, offset, saved_rbp),
            Rule::SignalTrampoline => return Some(SIGNAL_TRAMPOLINE),
            Rule::Outermost => return Some(OUTERMOST),
            Rule::Evaluate => return Some(EVALUATE),
            Rule::Unknown => return Some(UNKNOWN),
        };
        let words = eighth(offset)?;
        let (kind, words) = match base {
            Base::Rsp => (FROM_RSP, u16::try_from(words).ok()?),
            Base::Rbp => (FROM_RBP, u16::try_from(words).ok()?),
            Base::AtRbp => (FROM_WORD_AT_RBP, i16::try_from(words).ok()? as u16),
        };
        let (saved, saved_words) = match saved_rbp {
            SavedRbp::Same => (SAME, 0),
            SavedRbp::AtCfa(offset) => (SAVED_AT_CFA, eighth(offset)?),
            SavedRbp::AtRbp(offset) => (SAVED_AT_RBP, eighth(offset)?),
        };
        if !(-1024..1024).contains(&saved_words) {
            return None;
        }
        Some(kind | saved << 3 | u32::from(words) << 5 | (saved_words as u32) << 21)
    }
}

fn eighth(offset: i32) -> Option<i32> {
    (offset % 8 == 0).then_some(offset / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(base: Base, offset: i32, saved_rbp: SavedRbp) -> Rule {
        Rule::Frame {
            base,
            offset,
            saved_rbp,
        }
    }

    #[test]
    fn the_rule_after_push_rbp_has_these_bits() {
        let rule = frame(Base::Rbp, 16, SavedRbp::AtCfa(-16));
        assert_eq!(rule.pack().0, 0xFFC0_0000 | 2 << 5 | 1 << 3 | 2);
        assert_eq!(rule.pack().offset(), 16);
        assert_eq!(rule.pack().saved_offset(), -16);
    }

    #[test]
    fn every_rule_that_fits_comes_back() {
        let bases = [Base::Rsp, Base::Rbp, Base::AtRbp];
        for base in bases {
            for offset in [0, 8, 16, 32_760 * 8, -8, -32_768 * 8, 65_535 * 8] {
                if (base == Base::AtRbp && offset > 32_767 * 8)
                    || (base != Base::AtRbp && offset < 0)
                {
                    continue;
                }
                for saved in [
                    SavedRbp::Same,
                    SavedRbp::AtCfa(-8192),
                    SavedRbp::AtCfa(8184),
                    SavedRbp::AtRbp(0),
                    SavedRbp::AtRbp(-16),
                ] {
                    let rule = frame(base, offset, saved);
                    assert_eq!(rule.pack().unpack(), Some(rule));
                }
            }
        }
        for rule in [
            Rule::SignalTrampoline,
            Rule::Outermost,
            Rule::Evaluate,
            Rule::Unknown,
        ] {
            assert_eq!(rule.pack().unpack(), Some(rule));
        }
        assert_eq!(Packed(0).unpack(), None);
    }

    #[test]
    fn what_does_not_fit_is_evaluated() {
        for rule in [
            frame(Base::Rsp, 12, SavedRbp::Same),
            frame(Base::Rsp, -8, SavedRbp::Same),
            frame(Base::Rsp, 65_536 * 8, SavedRbp::Same),
            frame(Base::Rbp, 16, SavedRbp::AtCfa(-8200)),
            frame(Base::Rbp, 16, SavedRbp::AtCfa(8192)),
            frame(Base::AtRbp, 32_768 * 8, SavedRbp::Same),
        ] {
            assert_eq!(rule.pack().unpack(), Some(Rule::Evaluate), "{rule:?}");
        }
    }
}
