//! Expressions of DWARF in call frame information: the frames of signals, of procedure linkage tables and
//! of functions that align their stack have them. `gimli` evaluates; what it asks for is answered here from
//! registers and memory. No other question is answered, and no expression runs for long.

use gimli::{EvaluationResult, Location, Reader, Value};

use crate::stack::{Memory, Registers};

/// Steps after which an expression is given up: those that compilers write take a dozen.
const STEPS: u32 = 10_000;

/// The number that an expression comes to. `start` stands on its stack at first.
pub(super) fn value<R: Reader>(
    expression: gimli::Expression<R>,
    encoding: gimli::Encoding,
    start: Option<u64>,
    registers: &Registers,
    memory: &dyn Memory,
) -> Option<u64> {
    let mut evaluation = expression.evaluation(encoding);
    evaluation.set_max_iterations(STEPS);
    if let Some(start) = start {
        evaluation.set_initial_value(start);
    }
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = registers.get(register.0)?;
                evaluation
                    .resume_with_register(Value::Generic(value))
                    .ok()?
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let mut bytes = [0; 8];
                memory.read(address, bytes.get_mut(..usize::from(size))?)?;
                let value = Value::Generic(u64::from_le_bytes(bytes));
                evaluation.resume_with_memory(value).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result() {
        [piece] => match piece.location {
            Location::Address { address } => Some(address),
            _ => None,
        },
        _ => None,
    }
}
