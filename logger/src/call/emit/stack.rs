//! Memory on the stack of a call, in which a record is built if it is short. Knows nothing of
//! records.

/// Frames up to this length are built on the stack.
pub const STACK_FRAME: usize = 1024;

/// Stack memory as bytes to be written. Zeroing it would cost more than the
/// rest of a short record.
#[inline(always)]
pub fn writable(buffer: &mut [core::mem::MaybeUninit<u8>; STACK_FRAME]) -> &mut [u8] {
    // SAFETY: an `asm!` block that is passed a pointer and may write memory counts as
    // having initialized what the pointer leads to, with bytes of any value, which are
    // `u8`s. Miri cannot run it.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) buffer.as_mut_ptr(), options(nostack, preserves_flags));
        &mut *core::ptr::from_mut(buffer).cast::<[u8; STACK_FRAME]>()
    }
}
