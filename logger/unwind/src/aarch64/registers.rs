//! The general registers, by their DWARF numbers, and how to take them from the
//! processor and from a signal's `ucontext`.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::stack::Window;

/// The frame pointer, x29.
pub(crate) const FP: usize = 29;
/// The link register, x30: the column of the return address.
pub(crate) const LR: usize = 30;
/// The stack pointer.
pub(crate) const SP: usize = 31;
/// The program counter, which has no number in DWARF.
pub(crate) const PC: usize = 32;
pub(crate) const COUNT: usize = 33;

/// Rules of one row: for the twelve general registers that a function saves for its
/// caller, the eight of floating point, whether the return address is signed, and
/// some to spare.
pub(crate) const RULES: usize = 32;

/// Whose instructions the call frame information may have: those that say whether
/// a return address is signed.
pub(crate) const VENDOR: gimli::Vendor = gimli::Vendor::AArch64;

/// The code of every signal trampoline on aarch64 Linux: `mov x8, #139`, the number
/// of `rt_sigreturn`, and `svc #0`.
pub(crate) const TRAMPOLINES: [&[u8]; 1] = [b"\x68\x11\x80\xD2\x01\x00\x00\xD4"];

/// The registers as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    words: [usize; COUNT],
    /// Bit `n` says whether `words[n]` is known.
    known: u64,
}

impl Registers {
    pub(crate) const fn unknown() -> Self {
        Self {
            words: [0; COUNT],
            known: 0,
        }
    }

    #[inline]
    pub(crate) fn value(&self, number: usize) -> Option<usize> {
        (number < COUNT && self.known >> number & 1 != 0).then(|| self.words[number])
    }

    #[inline]
    pub(crate) fn set(&mut self, number: usize, word: usize) {
        self.words[number] = word;
        self.known |= 1 << number;
    }

    pub(crate) fn forget(&mut self, number: usize) {
        self.known &= !(1 << number);
    }

    /// What a function called next leaves to its caller: x19 to x29.
    pub(crate) fn callee_saved(&self) -> Self {
        Self {
            words: self.words,
            known: self.known & 0x7FF << 19,
        }
    }

    /// The registers of the interrupted code.
    pub(crate) fn from_context(context: &libc::ucontext_t) -> Self {
        let saved = &context.uc_mcontext;
        let mut registers = Self::unknown();
        for (number, word) in saved.regs.iter().enumerate() {
            registers.set(number, *word as usize);
        }
        registers.set(SP, saved.sp as usize);
        registers.set(PC, saved.pc as usize);
        registers
    }

    /// The registers in the frame that the kernel wrote at `sp` for a handler: a
    /// `siginfo_t`, and after it a `ucontext`, whose registers are in the order of
    /// their numbers.
    pub(crate) fn load_context(window: &mut Window, sp: usize) -> Option<Self> {
        const SAVED: usize = size_of::<libc::siginfo_t>()
            + offset_of!(libc::ucontext_t, uc_mcontext)
            + offset_of!(libc::mcontext_t, regs);
        const _: () = assert!(
            offset_of!(libc::mcontext_t, sp) == offset_of!(libc::mcontext_t, regs) + SP * 8
                && offset_of!(libc::mcontext_t, pc) == offset_of!(libc::mcontext_t, regs) + PC * 8
        );
        let mut registers = Self::unknown();
        for number in 0..COUNT {
            let at = sp.checked_add(SAVED + number * size_of::<usize>())?;
            registers.set(number, window.load(at)?);
        }
        Some(registers)
    }
}

/// The registers that survive a call, as they were at the call of
/// [`with_registers`].
#[repr(C)]
pub(crate) struct AtCall {
    /// x19 to x29.
    saved: [usize; 11],
    pub(crate) sp: usize,
    pub(crate) pc: usize,
}

impl AtCall {
    pub(crate) fn fp(&self) -> usize {
        self.saved[FP - 19]
    }
}

impl From<&AtCall> for Registers {
    fn from(at_call: &AtCall) -> Self {
        let mut registers = Registers::unknown();
        for (index, word) in at_call.saved.iter().enumerate() {
            registers.set(19 + index, *word);
        }
        registers.set(SP, at_call.sp);
        registers.set(PC, at_call.pc);
        registers
    }
}

/// Calls `then(registers, data)` with the caller's registers as they will be on
/// return, so that a walk starts in the caller and needs no rule for itself.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn with_registers(
    data: *mut (),
    then: unsafe extern "C" fn(&AtCall, *mut ()),
) {
    naked_asm!(
        ".cfi_startproc",
        // A landing pad for indirect calls, where branches are checked.
        "hint #34",
        "sub sp, sp, #128",
        ".cfi_def_cfa_offset 128",
        "stp x19, x20, [sp]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "add x9, sp, #128",
        "stp x29, x9, [sp, #80]",
        "str x30, [sp, #96]",
        "stp x29, x30, [sp, #112]",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "add x29, sp, #112",
        "mov x9, x1",
        "mov x1, x0",
        "mov x0, sp",
        "blr x9",
        "ldp x29, x30, [sp, #112]",
        "add sp, sp, #128",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}
