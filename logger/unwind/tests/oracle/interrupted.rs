//! Compares what a signal interrupted as we and as libgcc see it from within
//! the handler. Allocates nothing: it may have interrupted the allocator.

#![allow(dead_code, reason = "each test program uses its part")]

use logdef_unwind::{FrameKind, StackFrame};

/// Stack frames that are compared at most.
const MAX_DEPTH: usize = 200;
/// libgcc's own way into the handler comes on top.
const MAX_THEIRS: usize = MAX_DEPTH + 16;

/// How a point of a program was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All stack frames are the same.
    Same,
    /// Those that we are sure of are; then we guessed, and libgcc stopped, for
    /// want of call frame information. Or both came to an address in no module: led by
    /// wrong call frame information, or in a library that is being loaded.
    SameUntilGuessed,
    /// In libgcc's own unwinder, which it cannot look at itself: about to jump
    /// into a handler, it overwrites the saved registers of its own stack frames,
    /// and would follow them into the void.
    InLibgcc,
    Different(&'static str),
}

/// What either saw.
pub struct Views {
    ours: [StackFrame; MAX_DEPTH],
    theirs: [usize; MAX_THEIRS],
}

impl Views {
    /// Our last stack frame before the first guess.
    pub fn last_sure(&self) -> usize {
        sure(&self.ours).last().map_or(0, |frame| frame.address)
    }

    /// Prints both backtraces.
    pub fn print(&self) {
        for frame in self.ours.iter().take_while(|frame| frame.address != 0) {
            eprintln!("ours {frame:x?} {}", describe(frame.address));
        }
        for address in self.theirs.iter().take_while(|address| **address != 0) {
            eprintln!("theirs {address:#x} {}", describe(*address));
        }
    }
}

/// Compares, given what the handler that calls this was given.
#[inline(never)]
pub fn compare(context: &libc::ucontext_t) -> (Verdict, Views) {
    let mut views = Views {
        ours: [StackFrame::default(); MAX_DEPTH],
        theirs: [0; MAX_THEIRS],
    };
    let len = logdef_unwind::capture_frames(&mut views.ours, 1);
    let mut interrupted = [StackFrame::default(); MAX_DEPTH];
    let interrupted_len = logdef_unwind::capture_interrupted(context, &mut interrupted);
    let interrupted = &interrupted[..interrupted_len];
    let innermost = &interrupted[..interrupted.len().min(4)];
    if innermost.iter().any(|frame| is_in_libgcc(frame.address)) {
        return (Verdict::InLibgcc, views);
    }
    let seen = sure(&views.ours[..len]);
    let ours = in_modules(seen);
    let mut their_len = 0;
    let mut handler = None;
    // SAFETY: nothing but addresses is asked for, and it is stopped before it follows wrong
    // call frame information, and reads an address that is not mapped.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            if !frame.ip().is_null() {
                let address = frame.ip() as usize;
                views.theirs[their_len] = address;
                if handler.is_none() && ours.first().is_some_and(|frame| frame.address == address) {
                    handler = Some(their_len);
                }
                their_len += 1;
            }
            let is_led_astray = ours.len() < len
                && handler.is_some_and(|handler| their_len - handler == ours.len());
            their_len < MAX_THEIRS && !is_led_astray
        });
    }

    // It may be the first that is in no module: the loader lists a library when it has run
    // the resolvers of that library's indirect functions.
    let exact = seen.iter().position(|frame| frame.kind == FrameKind::Exact);
    let Some(exact) = exact.filter(|exact| *exact <= ours.len()) else {
        return (Verdict::Different("no interrupted frame"), views);
    };
    // What comes before the handler is libgcc's own way into it.
    let theirs = &views.theirs[..their_len];
    let mut theirs = handler.map_or(&theirs[..0], |handler| &theirs[handler..]);
    if len == MAX_DEPTH {
        theirs = &theirs[..theirs.len().min(len)];
    }
    let addresses = ours.iter().map(|frame| frame.address);
    let verdict = if !addresses.eq(theirs.iter().copied()) {
        Verdict::Different("not as libgcc")
    } else if !sure(interrupted).starts_with(&ours[exact..]) {
        Verdict::Different("not as from the context")
    } else if ours.len() < len {
        Verdict::SameUntilGuessed
    } else {
        Verdict::Same
    };
    (verdict, views)
}

/// The stack frames before the first guess.
fn sure(frames: &[StackFrame]) -> &[StackFrame] {
    let guess = frames
        .iter()
        .position(|frame| frame.kind == FrameKind::Guessed);
    &frames[..guess.unwrap_or(frames.len())]
}

/// The stack frames before the first one that is in no module's code.
fn in_modules(frames: &[StackFrame]) -> &[StackFrame] {
    let outside = frames
        .iter()
        .position(|frame| logdef_unwind::modules::find(frame.address).is_none());
    &frames[..outside.unwrap_or(frames.len())]
}

fn is_in_libgcc(address: usize) -> bool {
    logdef_unwind::modules::find(address).is_some_and(|module| {
        let name = module.name().to_bytes();
        name.windows(8).any(|part| part == b"libgcc_s")
    })
}

/// Module and link-time address.
pub fn describe(address: usize) -> String {
    logdef_unwind::modules::find(address).map_or_else(String::new, |module| {
        format!("{:?} {:#x}", module.name(), address - module.load_bias())
    })
}
