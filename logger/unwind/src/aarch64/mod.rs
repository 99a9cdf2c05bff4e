//! The walk on aarch64: remembered rules while they last, call frame information
//! for addresses seen for the first time, frame records where there is none.
//! Async-signal-safe throughout: no lock, no allocation, no load that can fault.

pub(crate) mod registers;
pub(crate) mod rule;
mod short;

use core::arch::asm;

pub(crate) use registers::{AtCall, Registers, with_registers};

use crate::cache::{self, Epoch};
use crate::capture::{FrameKind, StackFrame};
use crate::cfi::{self, Step};
use crate::modules;
use crate::origin::Origin;
use crate::stack::Window;
use registers::{FP, LR, PC, SP};
use rule::{Base, Packed, Rule, Saved};

const WORD: usize = size_of::<usize>();

/// The farthest that one frame record may lie from the next.
const MAX_FRAME: usize = 16 << 20;

/// No code lies below: an address there was a null pointer plus something.
const NULL_PAGE: usize = 4096;

/// Visits the stack frames from the caller of [`with_registers`] outwards until
/// `visit` returns false.
pub(crate) fn walk_from_call(at_call: &AtCall, visit: impl FnMut(StackFrame) -> bool) {
    let start = Position {
        pc: without_signature(at_call.pc),
        sp: at_call.sp,
        fp: at_call.fp(),
        link: None,
        is_exact: false,
        is_guessed: false,
        steps: 0,
    };
    Walk::new(Origin::Call(at_call)).run(start, visit);
}

/// Walks from interrupted code, given its registers.
pub(crate) fn walk_from_context(context: &libc::ucontext_t, visit: impl FnMut(StackFrame) -> bool) {
    let mut walk = Walk::new(Origin::Lost);
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

/// The address without its pointer authentication code.
pub(crate) fn without_signature(address: usize) -> usize {
    let stripped;
    // SAFETY: `xpaclri` changes x30 only, and does nothing on processors that
    // do not know it.
    unsafe {
        asm!(
            "mov x30, {address}",
            "hint #7",
            "mov {stripped}, x30",
            address = in(reg) address,
            stripped = lateout(reg) stripped,
            out("x30") _,
            options(nomem, nostack, preserves_flags),
        );
    }
    stripped
}

/// The stack frame that a walk has come to.
#[derive(Clone, Copy)]
struct Position {
    pc: usize,
    sp: usize,
    fp: usize,
    /// The link register, of code that was interrupted: in a function that calls no
    /// other, or has not saved it yet, it has the return address.
    link: Option<usize>,
    /// Whether `pc` was interrupted and is no return address.
    is_exact: bool,
    /// Whether this or an inner stack frame was guessed.
    is_guessed: bool,
    /// Stack frames since the walk's origin.
    steps: usize,
}

impl Position {
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
            pc: without_signature(pc),
            sp,
            fp,
            link: None,
            is_exact: false,
            steps: self.steps + 1,
            ..self
        };
        (pc != 0).then_some(caller)
    }
}

/// What a walk needs besides its position.
struct Walk<'call> {
    window: Window,
    epoch: Epoch,
    origin: Origin<'call>,
}

impl<'call> Walk<'call> {
    fn new(origin: Origin<'call>) -> Self {
        Self {
            window: Window::here(),
            epoch: Epoch::current(),
            origin,
        }
    }

    fn run(mut self, start: Position, mut visit: impl FnMut(StackFrame) -> bool) {
        let mut position = start;
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
            match self.step(position, Packed(word as u32)) {
                Some(caller) => position = caller,
                None => return,
            }
        }
    }

    /// The caller's position; `None` when it cannot be found.
    fn step(&mut self, position: Position, rule: Packed) -> Option<Position> {
        match rule.unpack()? {
            Rule::Frame {
                base,
                offset,
                saved,
            } => {
                let base = match base {
                    Base::Sp => position.sp,
                    Base::Fp => position.fp,
                };
                let cfa = base.wrapping_add(offset as usize);
                let at = |below: u32| cfa.wrapping_sub(below as usize);
                let (pc, fp) = match saved {
                    Saved::Nothing => (position.link?, position.fp),
                    Saved::ReturnAddress(below) => (self.window.load(at(below))?, position.fp),
                    Saved::Record(below) => {
                        let fp = self.window.load(at(below))?;
                        (self.window.load(at(below).wrapping_add(WORD))?, fp)
                    }
                };
                position.caller(pc, cfa, fp)
            }
            Rule::SignalTrampoline => self.interrupted(position),
            Rule::Outermost => None,
            Rule::Evaluate => self.evaluate(position),
            Rule::Unknown => self.guess(position),
        }
    }

    /// The code that the signal interrupted whose handler returns to `position`.
    #[cold]
    #[inline(never)]
    fn interrupted(&mut self, position: Position) -> Option<Position> {
        let registers = Registers::load_context(&mut self.window, position.sp)?;
        self.start_at(registers, true, position.is_guessed)
    }

    /// A position of which all registers are known that can be.
    #[inline]
    fn start_at(
        &mut self,
        registers: Registers,
        is_exact: bool,
        is_guessed: bool,
    ) -> Option<Position> {
        let position = Position {
            pc: registers.value(PC)?,
            sp: registers.value(SP)?,
            fp: registers.value(FP).unwrap_or(0),
            link: registers.value(LR),
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
        at_hand.set(FP, position.fp);
        if let Some(link) = position.link {
            at_hand.set(LR, link);
        }
        let step = cfi::step(&at_hand, position.is_exact, &mut self.window);
        if let Step::Caller {
            registers,
            exact: false,
        } = step
            && let (Some(pc), Some(sp), Some(fp)) = (
                registers.value(PC),
                registers.value(SP),
                registers.value(FP),
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

    /// The caller of code without call frame information: by the link register of
    /// code that was interrupted, else by the frame record that the procedure call
    /// standard asks for.
    #[cold]
    #[inline(never)]
    fn guess(&mut self, position: Position) -> Option<Position> {
        let Position { pc, sp, fp, .. } = position;
        if !position.is_exact && self.is_unlisted_trampoline(pc) {
            return self.interrupted(position);
        }
        self.origin = Origin::Lost;
        if let Some(link) = position.link.map(without_signature)
            && is_code(link)
        {
            // A call through a bad pointer: the call itself was all that happened.
            let caller = Position {
                is_guessed: position.is_guessed || pc >= NULL_PAGE,
                ..position
            };
            return caller.caller(link, sp, fp);
        }
        let distance = fp.checked_sub(sp)?;
        if distance > MAX_FRAME || !fp.is_multiple_of(WORD) {
            return None;
        }
        let return_address = self.window.load(fp.checked_add(WORD)?)?;
        let caller_fp = self.window.load(fp)?;
        let code = without_signature(return_address);
        let is_plausible = is_code(code) || code >= NULL_PAGE && modules::find(pc).is_none();
        let caller = Position {
            is_guessed: true,
            ..position
        };
        let sp = fp.checked_add(2 * WORD)?;
        is_plausible.then_some(caller.caller(return_address, sp, caller_fp)?)
    }

    /// Whether a signal trampoline is at `pc`, in no module: emulators put theirs
    /// on a page of its own.
    fn is_unlisted_trampoline(&mut self, pc: usize) -> bool {
        let [trampoline] = registers::TRAMPOLINES;
        let code = modules::find(pc).is_none().then(|| self.window.load(pc));
        code.flatten()
            .is_some_and(|code| code.to_ne_bytes() == trampoline)
    }
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
