//! From call frame information to a [`Rule`]: what compilers write for nearly
//! all functions fits in one.

use gimli::{CfaRule, RegisterRule};

use super::registers::{FP, LR, SP};
use super::rule::{Base, Rule, Saved};
use crate::cfi::{Code, Row, register};

impl Code {
    /// The rule of `row`, if there is a short one.
    pub(crate) fn rule(&self, row: &Row) -> Option<Rule> {
        if self.return_address(row) == Some(RegisterRule::Undefined) {
            return Some(Rule::Outermost);
        }
        let is_plain = self.entry.cie().return_address_register() == register(LR)
            && !self.entry.is_signal_trampoline()
            && row.register(register(SP)).is_none();
        Some(if is_plain {
            frame(row).unwrap_or(Rule::Evaluate)
        } else {
            Rule::Evaluate
        })
    }
}

fn frame(row: &Row) -> Option<Rule> {
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
        return None;
    };
    Some(Rule::Frame {
        base: match usize::from(register.0) {
            SP => Base::Sp,
            FP => Base::Fp,
            _ => return None,
        },
        offset: u32::try_from(*offset).ok()?,
        saved: match (below_cfa(row, FP)?, below_cfa(row, LR)?) {
            (None, None) => Saved::Nothing,
            (None, Some(at)) => Saved::ReturnAddress(at),
            (Some(record), Some(at)) if record.checked_sub(8) == Some(at) => Saved::Record(record),
            _ => return None,
        },
    })
}

/// How many bytes below the CFA a register was saved, if it was. The outer `None`
/// says that it takes more to find it.
fn below_cfa(row: &Row, number: usize) -> Option<Option<u32>> {
    match row.register(register(number)) {
        None | Some(RegisterRule::SameValue) => Some(None),
        Some(RegisterRule::Offset(offset)) => {
            Some(Some(u32::try_from(offset.checked_neg()?).ok()?))
        }
        _ => None,
    }
}
