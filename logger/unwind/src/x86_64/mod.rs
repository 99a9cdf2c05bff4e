//! The walk on x86_64: remembered rules while they last, call frame information
//! for addresses seen for the first time, a marked guess where there is none.
//! Async-signal-safe throughout: no lock, no allocation, no load that can
//! fault.

pub(crate) mod registers;
pub(crate) mod rule;
mod short;

pub(crate) use registers::{AtCall, Registers, with_registers};

use crate::cache::{self, Epoch};
use crate::capture::{FrameKind, StackFrame};
use crate::cfi::{self, Step};
use crate::modules;
use crate::origin::Origin;
use crate::stack::{Mapped, Window};
use registers::{PC, RBP, SP};
use rule::{Base, Packed, Rule};

const WORD: usize = size_of::<usize>();

/// The farthest that a guess looks for a saved frame pointer.
const MAX_GUESSED_FRAME: usize = 1 << 20;

/// No code lies below: an address there was a null pointer plus something.
const NULL_PAGE: usize = 4096;

/// Visits the stack frames from the caller of [`with_registers`] outwards until
/// `visit` returns false.
#[inline]
pub(crate) fn walk_from_call(at_call: &AtCall, visit: impl FnMut(StackFrame) -> bool) {
    let start = Position {
        pc: at_call.rip,
        sp: at_call.rsp,
        fp: at_call.rbp,
        is_exact: false,
        is_guessed: false,
        steps: 0,
    };
    let walk = Walk {
        window: Window::here(),
        epoch: Epoch::current(),
        origin: Origin::Call(at_call),
    };
    walk.run(start, visit);
}

/// Walks from interrupted code, given its registers.
pub(crate) fn walk_from_context(context: &libc::ucontext_t, visit: impl FnMut(StackFrame) -> bool) {
    let mut walk = Walk {
        window: Window::here(),
        epoch: Epoch::current(),
        origin: Origin::Lost,
    };
    if let Some(start) = walk.start_at(Registers::from_context(context), true, false) {
        walk.run(start, visit);
    }
}

/// Stores `tag` beside the rule of `frame`.
pub(crate) fn set_tag(frame: &StackFrame, tag: u32) {
    let is_exact = frame.kind == FrameKind::Exact;
    let Some(key) = frame.epoch.key(frame.address, is_exact) else {
        return;
    };
    if let Some(word) = cache::look_up(key) {
        cache::store(key, word & 0xFFFF_FFFF | u64::from(tag) << 32);
    }
}

/// The stack frame that a walk has come to.
#[derive(Clone, Copy)]
struct Position {
    pc: usize,
    sp: usize,
    fp: usize,
    /// Whether `pc` was interrupted and is no return address.
    is_exact: bool,
    /// Whether this or an inner stack frame was guessed.
    is_guessed: bool,
    /// Stack frames since the walk's origin.
    steps: usize,
}

/// What a walk needs besides its position.
struct Walk<'call> {
    window: Window,
    epoch: Epoch,
    origin: Origin<'call>,
}

impl Position {
    #[inline]
    fn kind(&self) -> FrameKind {
        if self.is_exact {
            FrameKind::Exact
        } else if self.is_guessed {
            FrameKind::Guessed
        } else {
            FrameKind::Return
        }
    }

    /// The caller's position, unless there is no caller.
    #[inline]
    fn caller(self, pc: usize, sp: usize, fp: usize) -> Option<Self> {
        let caller = Self {
            pc,
            sp,
            fp,
            is_exact: false,
            steps: self.steps + 1,
            ..self
        };
        (pc != 0).then_some(caller)
    }
}

impl Walk<'_> {
    #[inline]
    fn run(mut self, start: Position, mut visit: impl FnMut(StackFrame) -> bool) {
        // All that the common step needs is in variables of its own, for
        // the sake of registers; only the other steps look into `self`.
        let mut position = start;
        let mut mapped = self.window.mapped();
        loop {
            let key = self.epoch.key(position.pc, position.is_exact);
            let word = match key.and_then(cache::look_up) {
                Some(word) => word,
                None => learn(position, self.epoch),
            };
            let frame = StackFrame {
                address: position.pc,
                kind: position.kind(),
                tag: (word >> 32) as u32,
                epoch: self.epoch,
            };
            if !visit(frame) {
                return;
            }
            let rule = Packed(word as u32);
            let caller = match step_in(mapped, position, rule) {
                Some(caller) => caller,
                None => {
                    let caller = self.step(position, rule);
                    mapped = self.window.mapped();
                    caller
                }
            };
            match caller {
                Some(caller) => position = caller,
                None => return,
            }
        }
    }

    /// The caller's position; `None` when it cannot be found.
    #[inline(never)]
    fn step(&mut self, position: Position, rule: Packed) -> Option<Position> {
        let mut fp = position.fp;
        match rule.unpack()? {
            Rule::Frame {
                base,
                offset,
                saved_rbp,
            } => {
                let base = match base {
                    Base::Rsp => position.sp,
                    Base::Rbp => position.fp,
                };
                let cfa = base.wrapping_add(offset as usize);
                let pc = self.window.load(cfa.wrapping_sub(WORD))?;
                if let Some(offset) = saved_rbp {
                    fp = self.window.load(cfa.wrapping_add_signed(offset as isize))?;
                }
                position.caller(pc, cfa, fp)
            }
            Rule::Realigned { cfa_at, saved_rbp } => {
                let cfa = self.window.load(fp.wrapping_add_signed(cfa_at as isize))?;
                let pc = self.window.load(cfa.wrapping_sub(WORD))?;
                if let Some(offset) = saved_rbp {
                    fp = self.window.load(fp.wrapping_add_signed(offset as isize))?;
                }
                position.caller(pc, cfa, fp)
            }
            Rule::SignalTrampoline => {
                let registers = Registers::load_context(&mut self.window, position.sp)?;
                self.start_at(registers, true, position.is_guessed)
            }
            Rule::Outermost => None,
            Rule::Evaluate => self.evaluate(position),
            Rule::Unknown => self.guess(position),
        }
    }

    /// A position of which all registers are known that can be.
    fn start_at(
        &mut self,
        registers: Registers,
        is_exact: bool,
        is_guessed: bool,
    ) -> Option<Position> {
        let position = Position {
            pc: registers.value(PC)?,
            sp: registers.value(SP)?,
            fp: registers.value(RBP).unwrap_or(0),
            is_exact,
            is_guessed,
            steps: 0,
        };
        self.origin = Origin::Registers {
            registers,
            is_exact,
        };
        (position.pc != 0 || is_exact).then_some(position)
    }

    /// The caller by the full rules of this one function. Not inlined, since
    /// evaluation needs a good deal of stack.
    #[inline(never)]
    fn evaluate(&mut self, position: Position) -> Option<Position> {
        let mut at_hand = Registers::unknown();
        at_hand.set(PC, position.pc);
        at_hand.set(SP, position.sp);
        at_hand.set(RBP, position.fp);
        let step = cfi::step(&at_hand, position.is_exact, &mut self.window);
        if let Step::Caller {
            registers,
            exact: false,
        } = step
            && let (Some(pc), Some(sp), Some(fp)) = (
                registers.value(PC),
                registers.value(SP),
                registers.value(RBP),
            )
        {
            return position.caller(pc, sp, fp);
        }
        let registers = self.all_registers(position)?;
        match cfi::step(&registers, position.is_exact, &mut self.window) {
            Step::Caller { registers, exact } => {
                self.start_at(registers, exact, position.is_guessed)
            }
            Step::Outermost | Step::Stuck => None,
        }
    }

    /// All registers at `position`, by evaluating everything from the origin on.
    fn all_registers(&mut self, position: Position) -> Option<Registers> {
        let (registers, is_exact) = self
            .origin
            .registers_after(position.steps, &mut self.window)?;
        let is_here = registers.value(PC) == Some(position.pc)
            && registers.value(SP) == Some(position.sp)
            && is_exact == position.is_exact;
        is_here.then_some(registers)
    }

    /// The caller of code without call frame information.
    #[cold]
    fn guess(&mut self, position: Position) -> Option<Position> {
        let Position { pc, sp, fp, .. } = position;
        self.origin = Origin::Lost;
        if position.is_exact
            && let Some(word) = self.window.load(sp)
            && is_code(word)
        {
            // A call through a bad pointer: the call itself was all that happened.
            let caller = Position {
                is_guessed: position.is_guessed || pc >= NULL_PAGE,
                ..position
            };
            return caller.caller(word, sp.wrapping_add(WORD), fp);
        }
        let distance = fp.checked_sub(sp)?;
        if distance > MAX_GUESSED_FRAME || !fp.is_multiple_of(WORD) {
            return None;
        }
        let return_address = self.window.load(fp.checked_add(WORD)?)?;
        let caller_fp = self.window.load(fp)?;
        let is_plausible =
            is_code(return_address) || return_address >= NULL_PAGE && modules::find(pc).is_none();
        let caller = Position {
            is_guessed: true,
            ..position
        };
        let sp = fp.checked_add(2 * WORD)?;
        is_plausible.then_some(caller.caller(return_address, sp, caller_fp)?)
    }
}

/// The common step: a plain rule, and all that it loads is known to be mapped.
/// The outer `None` says that it was not, the inner one that there is no caller.
#[inline(always)]
fn step_in(mapped: Mapped, position: Position, rule: Packed) -> Option<Option<Position>> {
    if !rule.is_frame() {
        return None;
    }
    let base = if rule.base_is_rbp() {
        position.fp
    } else {
        position.sp
    };
    let cfa = base.wrapping_add(rule.offset());
    let pc = mapped.load(cfa.wrapping_sub(WORD))?;
    // Loaded whether needed or not: cheaper than a branch that depends on the
    // function.
    let saved = mapped.load(cfa.wrapping_add_signed(rule.saved_offset()))?;
    let fp = if rule.saves_rbp() { saved } else { position.fp };
    Some(position.caller(pc, cfa, fp))
}

#[cold]
#[inline(never)]
fn learn(position: Position, epoch: Epoch) -> u64 {
    let (rule, is_lasting) = cfi::rule(position.pc, position.is_exact);
    let word = u64::from(rule.pack().0);
    if is_lasting && let Some(key) = epoch.key(position.pc, position.is_exact) {
        cache::store(key, word);
    }
    word
}

/// Whether `address` lies in the code of a loaded module.
fn is_code(address: usize) -> bool {
    modules::find(address)
        .and_then(|module| module.segment_containing(address))
        .is_some_and(|segment| segment.executable)
}

/// A return address is what it is here; other processors sign theirs.
pub(crate) fn without_signature(address: usize) -> usize {
    address
}
