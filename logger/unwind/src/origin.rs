//! The last stack frame of which all was known that can be: where a walk starts again when
//! a function's call frame information asks for more than the walk carries along.

use crate::cfi::{self, Step};
use crate::processor::registers::{AtCall, Registers};
use crate::stack::Window;

pub(crate) enum Origin<'call> {
    Call(&'call AtCall),
    Registers {
        registers: Registers,
        is_exact: bool,
    },
    Lost,
}

impl Origin<'_> {
    /// All registers `steps` stack frames further out, and whether they are those of
    /// interrupted code.
    pub(crate) fn registers_after(
        &self,
        steps: usize,
        window: &mut Window,
    ) -> Option<(Registers, bool)> {
        let (mut registers, mut is_exact) = match self {
            Origin::Call(at_call) => (Registers::from(*at_call), false),
            Origin::Registers {
                registers,
                is_exact,
            } => (*registers, *is_exact),
            Origin::Lost => return None,
        };
        for _ in 0..steps {
            match cfi::step(&registers, is_exact, window) {
                Step::Caller {
                    registers: caller,
                    exact,
                } => (registers, is_exact) = (caller, exact),
                Step::Outermost | Step::Stuck => return None,
            }
        }
        Some((registers, is_exact))
    }
}
