//! Call frame information of loaded modules: from a code address to its
//! [`Rule`], or, where a rule does not suffice, from all registers of a stack
//! frame to all registers of its caller. The slow side of the walk: about a
//! microsecond per address. All storage is on the stack (some 4 KiB, 6 on aarch64). Which
//! registers there are, and what fits in a rule, is the processor's business.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, Encoding, EndianSlice, Evaluation,
    EvaluationResult, EvaluationStorage, Expression, FrameDescriptionEntry, NativeEndian, Piece,
    Reader, ReaderOffset, Register, RegisterRule, UnwindContext, UnwindContextStorage,
    UnwindExpression, UnwindSection, UnwindTableRow, Value,
};

use crate::modules::{self, Module};
use crate::processor::registers::{self, PC, Registers, SP};
use crate::processor::rule::Rule;
use crate::processor::without_signature;
use crate::stack::Window;

/// The longest expression that is evaluated, in steps.
const MAX_STEPS: u32 = 256;

pub(crate) type Bytes = EndianSlice<'static, NativeEndian>;
pub(crate) type Row = UnwindTableRow<usize, OnStack>;

/// The rule for `pc`, and whether it may be remembered.
///
/// `exact` says that `pc` was interrupted and is no return address. A return
/// address is looked up by the byte before it, which is sure to belong to the call.
pub(crate) fn rule(pc: usize, exact: bool) -> (Rule, bool) {
    let look_up = if exact { pc } else { pc.wrapping_sub(1) };
    let Some(module) = modules::find(look_up) else {
        // A library may come to be loaded here.
        return (Rule::Unknown, false);
    };
    if is_signal_trampoline(&module, pc) {
        return (Rule::SignalTrampoline, true);
    }
    let rule = match Code::find(&module, look_up) {
        Some(code) => code.with_row(look_up, |row| code.rule(row)),
        None => None,
    };
    (rule.unwrap_or(Rule::Unknown), true)
}

/// The caller's registers, from all that is known of the callee's.
pub(crate) enum Step {
    /// PC and SP are known; `exact` says that the caller was interrupted.
    Caller { registers: Registers, exact: bool },
    /// The outermost function.
    Outermost,
    /// A register that the rules ask for is not known, a word of the stack
    /// cannot be read, or there are no rules.
    Stuck,
}

/// Evaluates the call frame information of `registers[PC]` in full.
pub(crate) fn step(registers: &Registers, exact: bool, window: &mut Window) -> Step {
    try_step(registers, exact, window).unwrap_or(Step::Stuck)
}

fn try_step(registers: &Registers, exact: bool, window: &mut Window) -> Option<Step> {
    let pc = registers.value(PC)?;
    let look_up = if exact { pc } else { pc.wrapping_sub(1) };
    let module = modules::find(look_up)?;
    if is_signal_trampoline(&module, pc) {
        return Some(Step::Caller {
            registers: Registers::load_context(window, registers.value(SP)?)?,
            exact: true,
        });
    }
    let code = Code::find(&module, look_up)?;
    code.with_row(look_up, |row| code.caller(row, registers, window))
}

/// Whether the kernel returns through `pc`, by the bytes there: C libraries
/// other than glibc have no call frame information for it.
fn is_signal_trampoline(module: &Module, pc: usize) -> bool {
    module.bytes_from(pc).is_some_and(|code| {
        registers::TRAMPOLINES
            .iter()
            .any(|trampoline| code.starts_with(trampoline))
    })
}

/// The description of the function at one address.
pub(crate) struct Code {
    section: EhFrame<Bytes>,
    bases: BaseAddresses,
    pub(crate) entry: FrameDescriptionEntry<Bytes>,
}

impl Code {
    fn find(module: &Module, address: usize) -> Option<Self> {
        let header_at = module.eh_frame_hdr()?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at as u64);
        let header = EhFrameHdr::from(bytes_from(module, header_at)?)
            .parse(&bases, 8)
            .ok()?;
        let section_at = header.eh_frame_ptr().direct().ok()?;
        let bases = bases.set_eh_frame(section_at);
        let mut section = EhFrame::from(bytes_from(module, section_at as usize)?);
        section.set_vendor(registers::VENDOR);
        let entry = match header.table() {
            Some(table) => {
                let entry_at = table.lookup(address as u64, &bases).ok()?.direct().ok()?;
                let offset = usize::try_from(entry_at.checked_sub(section_at)?).ok()?;
                let entry = section
                    .fde_from_offset(&bases, offset.into(), EhFrame::cie_from_offset)
                    .ok()?;
                entry.contains(address as u64).then_some(entry)?
            }
            None => section
                .fde_for_address(&bases, address as u64, EhFrame::cie_from_offset)
                .ok()?,
        };
        Some(Self {
            section,
            bases,
            entry,
        })
    }

    /// Calls `use_row` with the row of the table that holds at `address`. Not
    /// inlined: only evaluation is to need the stack that it takes.
    #[inline(never)]
    fn with_row<T>(&self, address: usize, use_row: impl FnOnce(&Row) -> Option<T>) -> Option<T> {
        let mut context = UnwindContext::<usize, OnStack>::new_in();
        let row = self
            .entry
            .unwind_info_for_address(&self.section, &self.bases, &mut context, address as u64)
            .ok()?;
        use_row(row)
    }

    pub(crate) fn return_address(&self, row: &Row) -> Option<RegisterRule<usize>> {
        row.register(self.entry.cie().return_address_register())
    }

    fn caller(&self, row: &Row, callee: &Registers, window: &mut Window) -> Option<Step> {
        let return_address = self.return_address(row);
        if return_address == Some(RegisterRule::Undefined) {
            return Some(Step::Outermost);
        }
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => callee
                .value(register.0.into())?
                .wrapping_add_signed(*offset as isize),
            CfaRule::Expression(expression) => self.evaluate(expression, None, callee, window)?,
        };
        let mut caller = callee.callee_saved();
        caller.set(SP, cfa);
        for &(register, ref rule) in row.registers() {
            let number = usize::from(register.0);
            if number >= registers::COUNT || register == self.return_address_column() {
                continue;
            }
            if let Some(value) = self.recover(rule, number, cfa, callee, window) {
                caller.set(number, value);
            } else {
                caller.forget(number);
            }
        }
        let column = self.return_address_column().0.into();
        let rule = return_address.unwrap_or(RegisterRule::SameValue);
        let pc = self.recover(&rule, column, cfa, callee, window)?;
        caller.set(PC, without_signature(pc));
        caller.value(SP)?;
        Some(Step::Caller {
            registers: caller,
            exact: self.entry.is_signal_trampoline(),
        })
    }

    /// The caller's value of register `number`.
    fn recover(
        &self,
        rule: &RegisterRule<usize>,
        number: usize,
        cfa: usize,
        callee: &Registers,
        window: &mut Window,
    ) -> Option<usize> {
        match rule {
            RegisterRule::SameValue => callee.value(number),
            RegisterRule::Offset(offset) => window.load(cfa.wrapping_add_signed(*offset as isize)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset as isize)),
            RegisterRule::Register(other) => callee.value(other.0.into()),
            RegisterRule::Expression(expression) => {
                let address = self.evaluate(expression, Some(cfa), callee, window)?;
                window.load(address)
            }
            RegisterRule::ValExpression(expression) => {
                self.evaluate(expression, Some(cfa), callee, window)
            }
            RegisterRule::Constant(value) => Some(*value as usize),
            _ => None,
        }
    }

    fn return_address_column(&self) -> Register {
        self.entry.cie().return_address_register()
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.entry.cie().encoding()
    }

    pub(crate) fn bytecode(
        &self,
        expression: &UnwindExpression<usize>,
    ) -> Option<Expression<Bytes>> {
        expression.get(&self.section).ok()
    }

    fn evaluate(
        &self,
        expression: &UnwindExpression<usize>,
        initial: Option<usize>,
        callee: &Registers,
        window: &mut Window,
    ) -> Option<usize> {
        let bytecode = self.bytecode(expression)?.0;
        let mut evaluation = Evaluation::<_, OnStack>::new_in(bytecode, self.encoding());
        evaluation.set_max_iterations(MAX_STEPS);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial as u64);
        }
        let mut result = evaluation.evaluate().ok()?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = callee.value(register.0.into())?;
                    evaluation.resume_with_register(Value::Generic(value as u64))
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let word = window.load(address as usize)? as u64;
                    let bits = u32::from(size) * 8;
                    let mask = u64::MAX.checked_shr(64u32.saturating_sub(bits))?;
                    evaluation.resume_with_memory(Value::Generic(word & mask))
                }
                _ => return None,
            }
            .ok()?;
        }
        match evaluation.as_result() {
            [
                Piece {
                    size_in_bits: None,
                    location: gimli::Location::Address { address },
                    ..
                },
            ] => Some(*address as usize),
            _ => None,
        }
    }
}

fn bytes_from(module: &Module, address: usize) -> Option<Bytes> {
    Some(EndianSlice::new(module.bytes_from(address)?, NativeEndian))
}

/// A register by its number in DWARF.
pub(crate) fn register(number: usize) -> Register {
    Register(number as u16)
}

/// Room for evaluation, on the stack.
pub(crate) struct OnStack;

impl<T: ReaderOffset> UnwindContextStorage<T> for OnStack {
    type Rules = [(Register, RegisterRule<T>); registers::RULES];
    // The present row, and two that were put by: compilers put by one.
    type Stack = [UnwindTableRow<T, Self>; 3];
}

impl<R: Reader> EvaluationStorage<R> for OnStack {
    type Stack = [Value; 16];
    type ExpressionStack = [(R, R); 1];
    type Result = [Piece<R>; 1];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluation_needs_little_stack() {
        // Aarch64 has twice as many registers.
        let rows = if cfg!(target_arch = "x86_64") { 2 } else { 4 };
        assert!(size_of::<UnwindContext<usize, OnStack>>() <= rows * 1024);
        assert!(size_of::<Evaluation<Bytes, OnStack>>() <= 1024);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_signal_trampoline_of_the_c_library_is_known_by_its_code() {
        // SAFETY: installs and removes a handler for a signal that is not sent meanwhile.
        let restorer = unsafe {
            let mut old = core::mem::zeroed::<KernelAction>();
            libc::signal(libc::SIGURG, handler as extern "C" fn(i32) as usize);
            let status = libc::syscall(
                libc::SYS_rt_sigaction,
                libc::SIGURG,
                core::ptr::null::<KernelAction>(),
                &raw mut old,
                8,
            );
            assert_eq!(status, 0);
            libc::signal(libc::SIGURG, libc::SIG_DFL);
            old.restorer
        };
        assert_eq!(rule(restorer, false), (Rule::SignalTrampoline, true));
        assert_ne!(rule(restorer + 32, false).0, Rule::SignalTrampoline);
    }

    #[test]
    fn nothing_is_known_of_data_and_of_unmapped_memory() {
        let heap = Box::new(0u64);
        assert_eq!(
            rule(&raw const *heap as usize, false),
            (Rule::Unknown, false)
        );
        assert_eq!(rule(0, true), (Rule::Unknown, false));
        assert_eq!(rule(0, false), (Rule::Unknown, false));
        assert_eq!(rule(usize::MAX, true), (Rule::Unknown, false));
    }

    #[cfg(target_arch = "x86_64")]
    #[repr(C)]
    struct KernelAction {
        handler: usize,
        flags: u64,
        restorer: usize,
        mask: u64,
    }

    #[cfg(target_arch = "x86_64")]
    extern "C" fn handler(_: i32) {}
}
