//! How to get from one stack frame to its caller's, in 32 bits. Pure.

/// Where a function's caller is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The canonical frame address (CFA) is base + `offset`, with the return
    /// address in the word below it.
    Frame {
        base: Base,
        /// Bytes: a multiple of 8 below 512 KiB.
        offset: u32,
        /// The caller's rbp is at CFA + this, a multiple of 8 from -8 KiB to
        /// 8 KiB - 8; or still in rbp.
        saved_rbp: Option<i32>,
    },
    /// A function that realigned its stack: the CFA is the word at rbp +
    /// `cfa_at`, a multiple of 8 from -256 KiB to 256 KiB - 8.
    Realigned {
        cfa_at: i32,
        /// The caller's rbp is at rbp + this, with limits as above; or still
        /// in rbp.
        saved_rbp: Option<i32>,
    },
    /// The kernel's frame between a handler and what it interrupted: all
    /// registers lie in the `ucontext` at the stack pointer.
    SignalTrampoline,
    /// The outermost function of a thread.
    Outermost,
    /// Anything that does not fit above: evaluate the call frame information
    /// again, with all the registers it asks for.
    Evaluate,
    /// There is no call frame information for this address.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Rsp,
    Rbp,
}

// The packed form. The bits are arranged for the walk, which waits for the
// offset before it can load the next return address:
//   0..16   offset / 8
//   16      the base is rbp
//   17      rbp was saved
//   18..21  0 for `Frame`, else one of the numbers below
//   21..32  offset of the saved rbp / 8, signed; -1 if it was not saved
const BASE_IS_RBP: u32 = 1 << 16;
const RBP_IS_SAVED: u32 = 1 << 17;
const KIND_SHIFT: u32 = 18;
const SAVED_SHIFT: u32 = 21;

const REALIGNED: u32 = 1;
const SIGNAL_TRAMPOLINE: u32 = 2;
const OUTERMOST: u32 = 3;
const EVALUATE: u32 = 4;
const UNKNOWN: u32 = 5;

/// A [`Rule`] in one word, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) u32);

impl Packed {
    /// Whether this is [`Rule::Frame`], to which the next four methods apply.
    #[inline]
    pub(crate) fn is_frame(self) -> bool {
        self.kind() == 0
    }

    #[inline]
    pub(crate) fn base_is_rbp(self) -> bool {
        self.0 & BASE_IS_RBP != 0
    }

    #[inline]
    pub(crate) fn offset(self) -> usize {
        usize::from(self.0 as u16) * 8
    }

    #[inline]
    pub(crate) fn saves_rbp(self) -> bool {
        self.0 & RBP_IS_SAVED != 0
    }

    /// Where rbp was saved, in bytes from the CFA. If it was not, the place of
    /// the return address, which can always be loaded.
    #[inline]
    pub(crate) fn saved_offset(self) -> isize {
        (self.0 as i32 >> SAVED_SHIFT) as isize * 8
    }

    #[inline]
    fn kind(self) -> u32 {
        self.0 >> KIND_SHIFT & 7
    }

    pub(crate) fn unpack(self) -> Option<Rule> {
        let saved_rbp = self.saves_rbp().then_some(self.saved_offset() as i32);
        Some(match self.kind() {
            0 => Rule::Frame {
                base: if self.base_is_rbp() {
                    Base::Rbp
                } else {
                    Base::Rsp
                },
                offset: self.offset() as u32,
                saved_rbp,
            },
            REALIGNED => Rule::Realigned {
                cfa_at: i32::from(self.0 as i16) * 8,
                saved_rbp,
            },
            SIGNAL_TRAMPOLINE => Rule::SignalTrampoline,
            OUTERMOST => Rule::Outermost,
            EVALUATE => Rule::Evaluate,
            UNKNOWN => Rule::Unknown,
            _ => return None,
        })
    }
}

impl Rule {
    /// The rule in one word; what does not fit becomes [`Rule::Evaluate`].
    pub(crate) fn pack(self) -> Packed {
        Packed(self.try_pack().unwrap_or(EVALUATE << KIND_SHIFT))
    }

    fn try_pack(self) -> Option<u32> {
        let kind = match self {
            Rule::Frame {
                base,
                offset,
                saved_rbp,
            } => {
                let words = u16::try_from(eighth(i32::try_from(offset).ok()?)?).ok()?;
                let base = match base {
                    Base::Rsp => 0,
                    Base::Rbp => BASE_IS_RBP,
                };
                // A frame of no bytes would have no return address.
                return (words > 0).then_some(u32::from(words) | base | pack_saved(saved_rbp)?);
            }
            Rule::Realigned { cfa_at, saved_rbp } => {
                let words = i16::try_from(eighth(cfa_at)?).ok()?;
                return Some(
                    u32::from(words as u16) | pack_saved(saved_rbp)? | REALIGNED << KIND_SHIFT,
                );
            }
            Rule::SignalTrampoline => SIGNAL_TRAMPOLINE,
            Rule::Outermost => OUTERMOST,
            Rule::Evaluate => EVALUATE,
            Rule::Unknown => UNKNOWN,
        };
        Some(kind << KIND_SHIFT)
    }
}

fn pack_saved(saved_rbp: Option<i32>) -> Option<u32> {
    let Some(offset) = saved_rbp else {
        return Some(u32::MAX << SAVED_SHIFT);
    };
    let words = eighth(offset)?;
    (-1024..1024)
        .contains(&words)
        .then_some((words as u32) << SAVED_SHIFT | RBP_IS_SAVED)
}

fn eighth(offset: i32) -> Option<i32> {
    (offset % 8 == 0).then_some(offset / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(base: Base, offset: u32, saved_rbp: Option<i32>) -> Rule {
        Rule::Frame {
            base,
            offset,
            saved_rbp,
        }
    }

    #[test]
    fn the_rule_after_push_rbp_has_these_bits() {
        let packed = frame(Base::Rbp, 16, Some(-16)).pack();
        assert_eq!(packed.0, 0b111_1111_1110 << 21 | 1 << 17 | 1 << 16 | 2);
        assert!(packed.is_frame() && packed.base_is_rbp());
        assert_eq!(packed.offset(), 16);
        assert!(packed.saves_rbp());
        assert_eq!(packed.saved_offset(), -16);
    }

    #[test]
    fn every_rule_that_fits_comes_back() {
        for saved_rbp in [None, Some(-8192), Some(-16), Some(0), Some(8184)] {
            for base in [Base::Rsp, Base::Rbp] {
                for offset in [8, 16, 4096, 65_535 * 8] {
                    let rule = frame(base, offset, saved_rbp);
                    assert_eq!(rule.pack().unpack(), Some(rule));
                    assert!(rule.pack().is_frame());
                }
            }
            for cfa_at in [-32_768 * 8, -16, 0, 8, 32_767 * 8] {
                let rule = Rule::Realigned { cfa_at, saved_rbp };
                assert_eq!(rule.pack().unpack(), Some(rule));
                assert!(!rule.pack().is_frame());
            }
        }
        for rule in [
            Rule::SignalTrampoline,
            Rule::Outermost,
            Rule::Evaluate,
            Rule::Unknown,
        ] {
            assert_eq!(rule.pack().unpack(), Some(rule));
            assert!(!rule.pack().is_frame());
        }
    }

    #[test]
    fn what_does_not_fit_is_evaluated() {
        let realigned = |cfa_at, saved_rbp| Rule::Realigned { cfa_at, saved_rbp };
        for rule in [
            frame(Base::Rsp, 0, None),
            frame(Base::Rsp, 12, None),
            frame(Base::Rsp, 65_536 * 8, None),
            frame(Base::Rbp, u32::MAX - 7, None),
            frame(Base::Rbp, 16, Some(-8200)),
            frame(Base::Rbp, 16, Some(8192)),
            frame(Base::Rbp, 16, Some(-12)),
            realigned(32_768 * 8, None),
            realigned(-4, None),
            realigned(-8, Some(-8200)),
        ] {
            assert_eq!(rule.pack().unpack(), Some(Rule::Evaluate), "{rule:?}");
        }
    }
}
