//! From call frame information to a [`Rule`]: what compilers write for nearly
//! all functions fits in one.

use gimli::{CfaRule, Operation, RegisterRule, UnwindExpression};

use super::registers::{RBP, SP};
use super::rule::{Base, Rule};
use crate::cfi::{Code, Row, register};

impl Code {
    /// The rule of `row`, if there is a short one.
    pub(crate) fn rule(&self, row: &Row) -> Option<Rule> {
        match self.return_address(row) {
            Some(RegisterRule::Undefined) => return Some(Rule::Outermost),
            Some(RegisterRule::Offset(-8)) => {}
            _ => return Some(Rule::Evaluate),
        }
        if self.entry.is_signal_trampoline() || row.register(register(SP)).is_some() {
            return Some(Rule::Evaluate);
        }
        Some(self.frame(row).unwrap_or(Rule::Evaluate))
    }

    fn frame(&self, row: &Row) -> Option<Rule> {
        let saved = match row.register(register(RBP)) {
            None => RegisterRule::SameValue,
            Some(rule) => rule,
        };
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Some(Rule::Frame {
                base: match usize::from(register.0) {
                    SP => Base::Rsp,
                    RBP => Base::Rbp,
                    _ => return None,
                },
                offset: u32::try_from(*offset).ok()?,
                saved_rbp: match saved {
                    RegisterRule::SameValue => None,
                    RegisterRule::Offset(offset) => Some(i32::try_from(offset).ok()?),
                    _ => return None,
                },
            }),
            CfaRule::Expression(expression) => Some(Rule::Realigned {
                cfa_at: self.rbp_plus(expression, true)?,
                saved_rbp: match saved {
                    RegisterRule::SameValue => None,
                    RegisterRule::Expression(expression) => {
                        Some(self.rbp_plus(&expression, false)?)
                    }
                    _ => return None,
                },
            }),
        }
    }

    /// The offset in `DW_OP_breg6 offset`, followed by `DW_OP_deref` or not: what
    /// functions use that realign their stack.
    fn rbp_plus(&self, expression: &UnwindExpression<usize>, is_loaded: bool) -> Option<i32> {
        let mut operations = self.bytecode(expression)?.operations(self.encoding());
        let Some(Operation::RegisterOffset {
            register, offset, ..
        }) = operations.next().ok()?
        else {
            return None;
        };
        if is_loaded {
            let Some(Operation::Deref {
                size: 8,
                space: false,
                ..
            }) = operations.next().ok()?
            else {
                return None;
            };
        }
        let is_all = operations.next().ok()?.is_none();
        (usize::from(register.0) == RBP && is_all).then_some(i32::try_from(offset).ok()?)
    }
}
