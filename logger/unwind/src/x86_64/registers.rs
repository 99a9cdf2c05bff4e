//! The general registers, by their DWARF numbers, and how to take them from the
//! processor and from a signal's `ucontext`.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::stack::Window;

pub(crate) const RBX: usize = 3;
pub(crate) const RBP: usize = 6;
/// The stack pointer, rsp.
pub(crate) const SP: usize = 7;
/// The program counter, rip: the column of the return address, not a register of
/// its own in DWARF.
pub(crate) const PC: usize = 16;
pub(crate) const COUNT: usize = 17;

/// Rules of one row: for all general registers, and one of the others.
pub(crate) const RULES: usize = COUNT + 1;

/// Whose instructions the call frame information may have.
pub(crate) const VENDOR: gimli::Vendor = gimli::Vendor::Default;

/// The code of every signal trampoline on x86_64 Linux: the number of
/// `rt_sigreturn` into rax, in either encoding, and `syscall`.
pub(crate) const TRAMPOLINES: [&[u8]; 2] = [
    b"\x48\xC7\xC0\x0F\x00\x00\x00\x0F\x05",
    b"\xB8\x0F\x00\x00\x00\x0F\x05",
];

/// The registers as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    words: [usize; COUNT],
    /// Bit `n` says whether `words[n]` is known.
    known: u32,
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

    /// What a function called next leaves to its caller: rbx, rbp, r12 to r15.
    pub(crate) fn callee_saved(&self) -> Self {
        let mask = 1 << RBX | 1 << RBP | 0xF << 12;
        Self {
            words: self.words,
            known: self.known & mask,
        }
    }

    /// The registers of the interrupted code.
    pub(crate) fn from_context(context: &libc::ucontext_t) -> Self {
        let mut registers = Self::unknown();
        for (dwarf, saved) in IN_CONTEXT {
            registers.set(dwarf, context.uc_mcontext.gregs[saved as usize] as usize);
        }
        registers
    }

    /// The registers in a `ucontext` that the kernel wrote at `address`.
    pub(crate) fn load_context(window: &mut Window, address: usize) -> Option<Self> {
        const SAVED: usize =
            offset_of!(libc::ucontext_t, uc_mcontext) + offset_of!(libc::mcontext_t, gregs);
        let mut registers = Self::unknown();
        for (dwarf, saved) in IN_CONTEXT {
            let at = address.checked_add(SAVED + saved as usize * size_of::<usize>())?;
            registers.set(dwarf, window.load(at)?);
        }
        Some(registers)
    }
}

/// DWARF numbers (System V ABI, figure 3.36) beside those of the kernel.
const IN_CONTEXT: [(usize, libc::c_int); COUNT] = [
    (0, libc::REG_RAX),
    (1, libc::REG_RDX),
    (2, libc::REG_RCX),
    (RBX, libc::REG_RBX),
    (4, libc::REG_RSI),
    (5, libc::REG_RDI),
    (RBP, libc::REG_RBP),
    (SP, libc::REG_RSP),
    (8, libc::REG_R8),
    (9, libc::REG_R9),
    (10, libc::REG_R10),
    (11, libc::REG_R11),
    (12, libc::REG_R12),
    (13, libc::REG_R13),
    (14, libc::REG_R14),
    (15, libc::REG_R15),
    (PC, libc::REG_RIP),
];

/// The registers that survive a call, as they were at the call of
/// [`with_registers`].
#[repr(C)]
pub(crate) struct AtCall {
    rbx: usize,
    pub(crate) rbp: usize,
    r12: usize,
    r13: usize,
    r14: usize,
    r15: usize,
    pub(crate) rsp: usize,
    pub(crate) rip: usize,
}

impl From<&AtCall> for Registers {
    fn from(at_call: &AtCall) -> Self {
        let mut registers = Registers::unknown();
        registers.set(RBX, at_call.rbx);
        registers.set(RBP, at_call.rbp);
        registers.set(12, at_call.r12);
        registers.set(13, at_call.r13);
        registers.set(14, at_call.r14);
        registers.set(15, at_call.r15);
        registers.set(SP, at_call.rsp);
        registers.set(PC, at_call.rip);
        registers
    }
}

/// Calls `then(registers, data)` with the caller's registers as they will be on
/// return, so that a walk starts in the caller and needs no rule for
/// itself.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn with_registers(
    data: *mut (),
    then: unsafe extern "C" fn(&AtCall, *mut ()),
) {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 72",
        ".cfi_adjust_cfa_offset 72",
        "mov [rsp], rbx",
        "mov [rsp + 8], rbp",
        "mov [rsp + 16], r12",
        "mov [rsp + 24], r13",
        "mov [rsp + 32], r14",
        "mov [rsp + 40], r15",
        "lea rax, [rsp + 80]",
        "mov [rsp + 48], rax",
        "mov rax, [rsp + 72]",
        "mov [rsp + 56], rax",
        "mov rax, rsi",
        "mov rsi, rdi",
        "mov rdi, rsp",
        "call rax",
        "add rsp, 72",
        ".cfi_adjust_cfa_offset -72",
        "ret",
        ".cfi_endproc",
    )
}
