//! The slow, trusted answer: libgcc's unwinder, by way of the `backtrace`
//! crate.

#![allow(dead_code, reason = "each test program uses its part")]

use logdef_unwind::{FrameKind, StackFrame};

const MAX_DEPTH: usize = 512;

/// What libgcc says: (address, start of the function), innermost first,
/// without the zero that it ends with.
fn libgcc() -> Vec<(usize, usize)> {
    let mut frames = Vec::with_capacity(MAX_DEPTH);
    // SAFETY: only its own synchronization is lacking, and only for symbols.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            frames.push((frame.ip() as usize, frame.symbol_address() as usize));
            frames.len() < MAX_DEPTH
        });
    }
    frames.retain(|frame| frame.0 != 0);
    frames
}

/// Fails unless the calling function's callers are the same to us and to
/// libgcc, twice: by evaluation and from the cache.
#[inline(never)]
pub fn assert_same_as_libgcc() {
    for _ in 0..2 {
        let mut ours = [StackFrame::default(); MAX_DEPTH];
        let len = logdef_unwind::capture_frames(&mut ours, 1);
        let theirs = libgcc();
        compare(&ours[..len], &theirs);
    }
}

pub fn compare(ours: &[StackFrame], theirs: &[(usize, usize)]) {
    let their_tail = theirs.len().checked_sub(ours.len());
    let addresses = |frames: &[StackFrame]| -> Vec<usize> {
        frames.iter().map(|frame| frame.address).collect()
    };
    let same = their_tail.is_some_and(|tail| {
        // What remains is libgcc's own way into its caller: short.
        tail <= 8
            && theirs[tail..]
                .iter()
                .map(|frame| frame.0)
                .eq(addresses(ours))
    });
    assert!(same, "ours {ours:#x?}\ntheirs {theirs:#x?}");
    assert!(
        ours.iter().all(|frame| frame.kind != FrameKind::Guessed),
        "{ours:#x?}"
    );
}
