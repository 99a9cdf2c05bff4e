//! How to get from one stack frame to its caller's, in 32 bits. Pure.

/// Where a function's caller is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The canonical frame address (CFA) is base + `offset`.
    Frame {
        base: Base,
        /// Bytes: a multiple of 8 below 64 KiB.
        offset: u32,
        saved: Saved,
    },
    /// The kernel's frame between a handler and what it interrupted: all registers
    /// lie in the `ucontext` above the stack pointer.
    SignalTrampoline,
    /// The outermost function of a thread.
    Outermost,
    /// Anything that does not fit above: evaluate the call frame information, with
    /// all the registers it asks for.
    Evaluate,
    /// There is no call frame information for this address.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Sp,
    Fp,
}

/// Where the caller's frame pointer and the return address are. Offsets are bytes
/// below the CFA, multiples of 8 below 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// Both still in their registers: a function that calls no other.
    Nothing,
    /// The return address is in memory, the frame pointer in its register.
    ReturnAddress(u32),
    /// A frame record: the frame pointer, and the return address above it.
    Record(u32),
}

// The packed form:
//   0..13   offset / 8
//   13..26  offset of what is saved / 8
//   26      the base is the frame pointer
//   27..29  0 if nothing is saved, 1 for a return address, 2 for a record
//   29..32  0 for `Frame`, else one of the numbers below
const FIELD: u32 = (1 << 13) - 1;
const SAVED_SHIFT: u32 = 13;
const BASE_IS_FP: u32 = 1 << 26;
const SAVED_KIND_SHIFT: u32 = 27;
const KIND_SHIFT: u32 = 29;

const SIGNAL_TRAMPOLINE: u32 = 2;
const OUTERMOST: u32 = 3;
const EVALUATE: u32 = 4;
const UNKNOWN: u32 = 5;

/// A [`Rule`] in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) u32);

impl Packed {
    #[inline]
    pub(crate) fn unpack(self) -> Option<Rule> {
        Some(match self.0 >> KIND_SHIFT {
            0 => {
                let saved = (self.0 >> SAVED_SHIFT & FIELD) * 8;
                Rule::Frame {
                    base: match self.0 & BASE_IS_FP {
                        0 => Base::Sp,
                        _ => Base::Fp,
                    },
                    offset: (self.0 & FIELD) * 8,
                    saved: match self.0 >> SAVED_KIND_SHIFT & 3 {
                        0 => Saved::Nothing,
                        1 => Saved::ReturnAddress(saved),
                        2 => Saved::Record(saved),
                        _ => return None,
                    },
                }
            }
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
                saved,
            } => {
                let base = match base {
                    Base::Sp => 0,
                    Base::Fp => BASE_IS_FP,
                };
                let (kind, at) = match saved {
                    Saved::Nothing => (0, 0),
                    Saved::ReturnAddress(at) => (1, at),
                    Saved::Record(at) => (2, at),
                };
                let at = eighth(at)? << SAVED_SHIFT;
                return Some(base | kind << SAVED_KIND_SHIFT | at | eighth(offset)?);
            }
            Rule::SignalTrampoline => SIGNAL_TRAMPOLINE,
            Rule::Outermost => OUTERMOST,
            Rule::Evaluate => EVALUATE,
            Rule::Unknown => UNKNOWN,
        };
        Some(kind << KIND_SHIFT)
    }
}

fn eighth(bytes: u32) -> Option<u32> {
    (bytes.is_multiple_of(8) && bytes / 8 <= FIELD).then_some(bytes / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_packing() {
        for base in [Base::Sp, Base::Fp] {
            for offset in [0, 16, 48, 65_528] {
                for saved in [
                    Saved::Nothing,
                    Saved::ReturnAddress(16),
                    Saved::Record(65_528),
                ] {
                    let rule = Rule::Frame {
                        base,
                        offset,
                        saved,
                    };
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
    }

    #[test]
    fn what_does_not_fit_is_evaluated() {
        let frame = |offset, saved| Rule::Frame {
            base: Base::Sp,
            offset,
            saved,
        };
        for rule in [
            frame(12, Saved::Nothing),
            frame(65_536, Saved::Nothing),
            frame(16, Saved::Record(65_536)),
            frame(16, Saved::ReturnAddress(4)),
        ] {
            assert_eq!(rule.pack().unpack(), Some(Rule::Evaluate), "{rule:?}");
        }
    }
}
