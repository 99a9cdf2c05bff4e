//! What the handler of a fatal signal sees: the function that crashed and all its
//! callers, on the stack of the program and on one of its own.

mod compiled;

use compiled::Library;
use logdef_unwind::{FrameKind, StackFrame};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

const PAGE: usize = 64 << 10;

/// What the handler saw: within it, and of the context it was given.
static SEEN: Mutex<[Vec<StackFrame>; 2]> = Mutex::new([Vec::new(), Vec::new()]);

extern "C" fn on_crash(_: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let mut frames = [StackFrame::default(); 64];
    let len = logdef_unwind::capture_frames(&mut frames, 0);
    // The test raises the signal where nothing is interrupted half-way.
    let mut seen = SEEN.lock().unwrap();
    let from = frames[..len]
        .iter()
        .position(|it| it.kind == FrameKind::Exact);
    seen[0] = from.map_or(Vec::new(), |from| frames[from..len].to_vec());
    // SAFETY: the kernel passes the interrupted context.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let len = logdef_unwind::capture_interrupted(context, &mut frames);
    seen[1] = frames[..len].to_vec();
    // SAFETY: the address is that of the page which the test protected.
    unsafe { libc::mprotect((*info).si_addr(), PAGE, libc::PROT_READ) };
}

/// Crashes in `leaf`, three calls deep, with these flags for the handler.
fn crash(library: &Library, flags: i32) {
    // SAFETY: a fresh mapping, a handler of the right form, and a function that is
    // declared so in `tests/native/crash.c`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_crash as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        let mut before = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, &action, &mut before);
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(null_mut(), PAGE, libc::PROT_NONE, kind, -1, 0);
        let outer: extern "C" fn(*const i32) -> i32 =
            std::mem::transmute(library.address(c"outer"));
        assert_eq!(outer(page.cast()), 3);
        libc::munmap(page, PAGE);
        libc::sigaction(libc::SIGSEGV, &before, null_mut());
    }
}

/// Which of the functions an address is in.
fn function<'n>(library: &Library, names: &[&'n CStr], address: usize) -> Option<&'n CStr> {
    let starts = names.iter().map(|name| (library.address(name), *name));
    let before = starts.filter(|(start, _)| (*start..start + 0x100).contains(&address));
    before.max().map(|(_, name)| name)
}

fn assert_seen(library: &Library, how: &str) {
    let names = [c"leaf", c"mid", c"outer"];
    for (frames, view) in SEEN.lock().unwrap().iter().zip(["within", "interrupted"]) {
        let seen: Vec<_> = frames
            .iter()
            .take(3)
            .map(|frame| function(library, &names, frame.address))
            .collect();
        assert_eq!(seen, names.map(Some), "{how}, {view}: {frames:#x?}");
        let test = frames.get(3).expect("the test itself");
        assert_eq!(test.kind, FrameKind::Return, "{how}, {view}");
        assert!(frames.len() > 4, "{how}, {view}: {frames:#x?}");
    }
}

/// Gives this thread an alternate stack with room for a handler that was not optimized.
fn set_alternate_stack() {
    const SIZE: usize = 1 << 20;
    let stack = Box::leak(vec![0u8; SIZE].into_boxed_slice());
    let alternate = libc::stack_t {
        ss_sp: stack.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: SIZE,
    };
    // SAFETY: the memory is never freed.
    assert_eq!(unsafe { libc::sigaltstack(&alternate, null_mut()) }, 0);
}

#[test]
fn the_function_that_crashed_and_its_callers_are_seen_from_every_stack() {
    logdef_unwind::warm_up();
    set_alternate_stack();
    let mut options = vec![
        vec!["-O0"],
        vec!["-O2", "-fomit-frame-pointer"],
        vec!["-O2", "-fno-omit-frame-pointer"],
    ];
    if cfg!(target_arch = "aarch64") {
        options.push(vec!["-O2", "-mbranch-protection=standard"]);
        options.push(vec![
            "-O2",
            "-fomit-frame-pointer",
            "-mbranch-protection=pac-ret+leaf",
        ]);
    }
    for options in &options {
        let library = Library::of("gcc", "crash.c", options);
        // Twice: by evaluation, and from the cache.
        for _ in 0..2 {
            crash(&library, 0);
            assert_seen(&library, &format!("{options:?}"));
            crash(&library, libc::SA_ONSTACK);
            assert_seen(&library, &format!("{options:?}, on a stack of its own"));
        }
    }
}
