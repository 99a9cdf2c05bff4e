//! The walk on x86_64: remembered rules while they last, call frame information
//! for addresses seen for the first time, a marked guess where there is none.
//! Async-signal-safe throughout: no lock, no allocation, no load that can
//! fault.

mod cfi;
mod registers;
mod rule;

pub(crate) use registers::{AtCall, Registers, with_registers};

use crate::cache::{self, Epoch, Key};
use crate::capture::{FrameKind, StackFrame};
use crate::modules;
use crate::stack::Window;
use cfi::Step;
use registers::{RBP, RIP, RSP};
use rule::{FROM_RBP, FROM_RSP, FROM_WORD_AT_RBP, Packed, Rule, SAME, SAVED_AT_CFA};

const WORD: usize = size_of::<usize>();

/// The farthest that a guess looks for a saved frame pointer.
const MAX_GUESSED_FRAME: usize = 1 << 20;

/// No code lies below: an address there was a null pointer plus something.
const NULL_PAGE: usize = 4096;

/// Visits the stack frames from the caller of [`with_registers`] outwards until
/// `visit` returns false.
pub(crate) fn walk_from_call(at_call: &AtCall, visit: impl FnMut(StackFrame) -> bool) {
    Walk {
        pc: at_call.rip,
        sp: at_call.rsp,
        fp: at_call.rbp,
        is_exact: false,
        is_guessed: false,
        window: Window::here(),
        epoch: Epoch::current(),
        origin: Origin::Call(at_call),
        origin_is_exact: false,
        steps: 0,
    }
    .run(visit);
}

/// Likewise from interrupted code, given its registers.
pub(crate) fn walk_from_context(context: &libc::ucontext_t, visit: impl FnMut(StackFrame) -> bool) {
    let registers = Registers::from_context(context);
    let word = |number| registers.value(number).unwrap_or(0);
    Walk {
        pc: word(RIP),
        sp: word(RSP),
        fp: word(RBP),
        is_exact: true,
        is_guessed: false,
        window: Window::here(),
        epoch: Epoch::current(),
        origin: Origin::Registers(registers),
        origin_is_exact: true,
        steps: 0,
    }
    .run(visit);
}

/// Stores `tag` beside the rule of `frame`.
pub(crate) fn set_tag(frame: &StackFrame, tag: u32) {
    let is_exact = frame.kind == FrameKind::Exact;
    let Some(key) = Epoch::current().key(frame.address, is_exact) else {
        return;
    };
    if let Some(word) = cache::look_up(key) {
        cache::store(key, word & 0xFFFF_FFFF | u64::from(tag) << 32);
    }
}

/// The stack frame that the walk has come to.
struct Walk<'call> {
    pc: usize,
    sp: usize,
    fp: usize,
    /// Whether `pc` was interrupted and is no return address.
    is_exact: bool,
    /// Whether this or an inner stack frame was guessed.
    is_guessed: bool,
    window: Window,
    epoch: Epoch,
    /// The last stack frame of which all that can be known was known: where to
    /// start again when a function asks for more than pc, sp and fp.
    origin: Origin<'call>,
    origin_is_exact: bool,
    /// Stack frames from the origin to here.
    steps: usize,
}

enum Origin<'call> {
    Call(&'call AtCall),
    Registers(Registers),
    Lost,
}

impl Walk<'_> {
    #[inline]
    fn run(mut self, mut visit: impl FnMut(StackFrame) -> bool) {
        loop {
            let key = self.epoch.key(self.pc, self.is_exact);
            let word = match key.and_then(cache::look_up) {
                Some(word) => word,
                None => self.learn(key),
            };
            let frame = StackFrame {
                address: self.pc,
                kind: self.kind(),
                tag: (word >> 32) as u32,
            };
            if !visit(frame) || self.step(Packed(word as u32)).is_none() {
                return;
            }
        }
    }

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

    #[cold]
    #[inline(never)]
    fn learn(&self, key: Option<Key>) -> u64 {
        let (rule, is_lasting) = cfi::rule(self.pc, self.is_exact);
        let word = u64::from(rule.pack().0);
        if let Some(key) = key
            && is_lasting
        {
            cache::store(key, word);
        }
        word
    }

    /// Goes on to the caller; `None` when there is none to be found.
    #[inline]
    fn step(&mut self, rule: Packed) -> Option<()> {
        let base = match rule.kind() {
            FROM_RSP => self.sp,
            FROM_RBP => self.fp,
            _ => return self.step_otherwise(rule),
        };
        self.step_to(base.wrapping_add(rule.offset()), rule)
    }

    /// Goes on to the caller, whose stack pointer is `cfa`.
    #[inline]
    fn step_to(&mut self, cfa: usize, rule: Packed) -> Option<()> {
        let return_address = self.window.load(cfa.wrapping_sub(WORD))?;
        let saved = match rule.saved() {
            SAME => None,
            SAVED_AT_CFA => Some(cfa),
            _ => Some(self.fp),
        };
        if let Some(base) = saved {
            let address = base.wrapping_add_signed(rule.saved_offset());
            self.fp = self.window.load(address)?;
        }
        self.sp = cfa;
        self.pc = return_address;
        self.is_exact = false;
        self.steps += 1;
        (return_address != 0).then_some(())
    }

    #[inline(never)]
    fn step_otherwise(&mut self, rule: Packed) -> Option<()> {
        if rule.kind() == FROM_WORD_AT_RBP {
            let address = self.fp.wrapping_add_signed(rule.signed_offset());
            let cfa = self.window.load(address)?;
            return self.step_to(cfa, rule);
        }
        match rule.unpack()? {
            Rule::Frame { .. } | Rule::Outermost => None,
            Rule::SignalTrampoline => {
                let registers = Registers::load_context(&mut self.window, self.sp)?;
                self.restart_at(registers, true)
            }
            Rule::Evaluate => self.evaluate(),
            Rule::Unknown => self.guess(),
        }
    }

    /// Goes on to a caller of which all registers are known that can be.
    fn restart_at(&mut self, registers: Registers, is_exact: bool) -> Option<()> {
        self.pc = registers.value(RIP)?;
        self.sp = registers.value(RSP)?;
        self.fp = registers.value(RBP).unwrap_or(0);
        self.is_exact = is_exact;
        self.origin = Origin::Registers(registers);
        self.origin_is_exact = is_exact;
        self.steps = 0;
        (self.pc != 0 || is_exact).then_some(())
    }

    /// Goes on by the full rules of this one function.
    #[cold]
    #[inline(never)]
    fn evaluate(&mut self) -> Option<()> {
        let mut at_hand = Registers::unknown();
        at_hand.set(RIP, self.pc);
        at_hand.set(RSP, self.sp);
        at_hand.set(RBP, self.fp);
        let step = cfi::step(&at_hand, self.is_exact, &mut self.window);
        if let Step::Caller { registers, exact } = step
            && let (Some(pc), Some(sp), Some(fp)) = (
                registers.value(RIP),
                registers.value(RSP),
                registers.value(RBP),
            )
            && !exact
        {
            (self.pc, self.sp, self.fp) = (pc, sp, fp);
            self.is_exact = false;
            self.steps += 1;
            return (pc != 0).then_some(());
        }
        let registers = self.all_registers()?;
        match cfi::step(&registers, self.is_exact, &mut self.window) {
            Step::Caller { registers, exact } => self.restart_at(registers, exact),
            Step::Outermost | Step::Stuck => None,
        }
    }

    /// All registers of the present stack frame, by evaluating everything from
    /// the origin on.
    fn all_registers(&mut self) -> Option<Registers> {
        let mut registers = match &self.origin {
            Origin::Call(at_call) => Registers::from(*at_call),
            Origin::Registers(registers) => *registers,
            Origin::Lost => return None,
        };
        let mut is_exact = self.origin_is_exact;
        for _ in 0..self.steps {
            match cfi::step(&registers, is_exact, &mut self.window) {
                Step::Caller {
                    registers: caller,
                    exact,
                } => (registers, is_exact) = (caller, exact),
                Step::Outermost | Step::Stuck => return None,
            }
        }
        let arrived = registers.value(RIP) == Some(self.pc)
            && registers.value(RSP) == Some(self.sp)
            && is_exact == self.is_exact;
        arrived.then_some(registers)
    }

    /// Goes on from code without call frame information.
    #[cold]
    #[inline(never)]
    fn guess(&mut self) -> Option<()> {
        self.origin = Origin::Lost;
        if self.is_exact
            && let Some(word) = self.window.load(self.sp)
            && is_code(word)
        {
            // A call through a bad pointer: the call itself was all that happened.
            self.is_guessed |= self.pc >= NULL_PAGE;
            self.pc = word;
            self.sp = self.sp.wrapping_add(WORD);
            self.is_exact = false;
            return Some(());
        }
        let distance = self.fp.checked_sub(self.sp)?;
        if distance > MAX_GUESSED_FRAME || !self.fp.is_multiple_of(WORD) {
            return None;
        }
        let return_address = self.window.load(self.fp.checked_add(WORD)?)?;
        let caller = self.window.load(self.fp)?;
        if !is_code(return_address) && modules::find(self.pc).is_some() {
            return None;
        }
        self.is_guessed = true;
        self.is_exact = false;
        self.sp = self.fp.checked_add(2 * WORD)?;
        self.fp = caller;
        self.pc = return_address;
        (return_address >= NULL_PAGE).then_some(())
    }
}

/// Whether `address` lies in the code of a loaded module.
fn is_code(address: usize) -> bool {
    modules::find(address)
        .and_then(|module| module.segment_containing(address))
        .is_some_and(|segment| segment.executable)
}
