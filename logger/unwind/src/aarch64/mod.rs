//! The walk on aarch64: the chain of frame records that the procedure call
//! standard asks for, and nearly all code keeps. Every address but the first is
//! a guess, since a function without a record of its own hides its caller.
//! Async-signal-safe: no lock, no allocation, no load that can fault.

use core::arch::{asm, naked_asm};

use crate::cache::{self, Epoch};
use crate::capture::{FrameKind, StackFrame};
use crate::stack::Window;

const WORD: usize = size_of::<usize>();

/// The farthest that one frame record may lie from the next, as long as both
/// are on one stack.
const MAX_FRAME: usize = 16 << 20;

/// No code lies below.
const NULL_PAGE: usize = 4096;

/// Beside every address there is room for a tag; the lower half only says that
/// the entry is in use.
const IN_USE: u64 = 1;

/// The registers that a walk needs, as they were at the call of
/// [`with_registers`].
#[repr(C)]
pub(crate) struct AtCall {
    frame_record: usize,
    return_address: usize,
    sp: usize,
}

/// Calls `then(registers, data)` with the caller's registers as they will be on
/// return, so that a walk starts in the caller.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn with_registers(
    data: *mut (),
    then: unsafe extern "C" fn(&AtCall, *mut ()),
) {
    naked_asm!(
        ".cfi_startproc",
        "mov x9, sp",
        "stp x29, x30, [sp, #-48]!",
        ".cfi_def_cfa_offset 48",
        ".cfi_offset x29, -48",
        ".cfi_offset x30, -40",
        "stp x29, x30, [sp, #16]",
        "str x9, [sp, #32]",
        "mov x29, sp",
        "mov x9, x1",
        "mov x1, x0",
        "add x0, sp, #16",
        "blr x9",
        "ldp x29, x30, [sp], #48",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}

/// Visits the stack frames from the caller of [`with_registers`] outwards until
/// `visit` returns false.
pub(crate) fn walk_from_call(at_call: &AtCall, visit: impl FnMut(StackFrame) -> bool) {
    walk(
        at_call.return_address,
        FrameKind::Return,
        at_call.frame_record,
        at_call.sp,
        visit,
    );
}

/// Likewise from interrupted code, given its registers. The link register comes
/// second: in a function that has no frame record yet it is the only trace of
/// the caller, in any other it repeats an address.
pub(crate) fn walk_from_context(
    context: &libc::ucontext_t,
    mut visit: impl FnMut(StackFrame) -> bool,
) {
    let registers = &context.uc_mcontext;
    let pc = StackFrame {
        address: registers.pc as usize,
        kind: FrameKind::Exact,
        tag: 0,
        epoch: Epoch::current(),
    };
    if visit(pc) {
        walk(
            registers.regs[30] as usize,
            FrameKind::Guessed,
            registers.regs[29] as usize,
            registers.sp as usize,
            visit,
        );
    }
}

/// Stores `tag` for the address of `frame`.
pub(crate) fn set_tag(frame: &StackFrame, tag: u32) {
    let is_exact = frame.kind == FrameKind::Exact;
    if let Some(key) = frame.epoch.key(frame.address, is_exact) {
        cache::store(key, IN_USE | u64::from(tag) << 32);
    }
}

fn walk(
    mut pc: usize,
    mut kind: FrameKind,
    mut record: usize,
    mut sp: usize,
    mut visit: impl FnMut(StackFrame) -> bool,
) {
    let epoch = Epoch::current();
    let mut window = Window::here();
    loop {
        pc = without_signature(pc);
        if pc < NULL_PAGE {
            return;
        }
        let word = epoch.key(pc, false).and_then(cache::look_up).unwrap_or(0);
        let frame = StackFrame {
            address: pc,
            kind,
            tag: (word >> 32) as u32,
            epoch,
        };
        if !visit(frame) {
            return;
        }
        let is_above = record
            .checked_sub(sp)
            .is_some_and(|distance| distance <= MAX_FRAME);
        if !is_above || !record.is_multiple_of(WORD) {
            return;
        }
        let (Some(caller), Some(return_address)) =
            (window.load(record), window.load(record.wrapping_add(WORD)))
        else {
            return;
        };
        sp = record.wrapping_add(2 * WORD);
        (pc, record) = (return_address, caller);
        kind = FrameKind::Guessed;
    }
}

/// The address without its pointer authentication code.
fn without_signature(address: usize) -> usize {
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
