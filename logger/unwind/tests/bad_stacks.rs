//! Stacks and contexts that no compiler made: the walk ends early, it never
//! faults and never runs on.

#![cfg(target_arch = "x86_64")]

use std::ffi::c_void;
use std::sync::Mutex;

use logdef_unwind::{FrameKind, StackFrame, capture_interrupted};

const PAGE: usize = 4096;
const WORDS: usize = PAGE / 8;

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() % limit
    }
}

/// One page of stack between two that cannot be touched.
fn island() -> &'static mut [usize] {
    // SAFETY: a fresh mapping, never unmapped; only its middle page is used.
    unsafe {
        let map = libc::mmap(
            std::ptr::null_mut(),
            3 * PAGE,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(map, libc::MAP_FAILED);
        let middle = map.cast::<u8>().add(PAGE);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        assert_eq!(libc::mprotect(middle.cast(), PAGE, access), 0);
        std::slice::from_raw_parts_mut(middle.cast(), WORDS)
    }
}

fn context(pc: usize, sp: usize, fp: usize) -> libc::ucontext_t {
    // SAFETY: all zeros are a valid context.
    let mut context: libc::ucontext_t = unsafe { std::mem::zeroed() };
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] = pc as i64;
    registers[libc::REG_RSP as usize] = sp as i64;
    registers[libc::REG_RBP as usize] = fp as i64;
    context
}

/// Code addresses of all sorts: from real return addresses to any place in the
/// text of the C library and of this program.
fn code_address(random: &mut Random, known: &[usize]) -> usize {
    match random.below(3) {
        0 => known[random.below(known.len())],
        1 => {
            let module = logdef_unwind::modules::find(known[random.below(known.len())]).unwrap();
            let code = module.segments().find(|segment| segment.executable);
            let code = code.unwrap();
            code.start + random.below(code.end - code.start)
        }
        _ => random.next() >> random.below(64),
    }
}

#[test]
fn random_stacks_of_plausible_words_never_fault() {
    let rounds = if std::env::var_os("LOGDEF_SLOW").is_some() {
        1_000_000
    } else {
        20_000
    };
    let mut known = vec![0; 64];
    let len = logdef_unwind::capture(&mut known, 0);
    known.truncate(len);
    known.push(libc::qsort as *const () as usize);
    let stack = island();
    let low = stack.as_ptr() as usize;
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let mut longest = 0;
    for round in 0..rounds {
        if round % 16 == 0 {
            for word in stack.iter_mut() {
                *word = match random.below(4) {
                    0 => low + random.below(WORDS) * 8,
                    1 => random.next() >> random.below(64),
                    _ => code_address(&mut random, &known),
                };
            }
        }
        let place = |random: &mut Random| match random.below(8) {
            0 => random.next() >> random.below(64),
            1 => low.wrapping_sub(PAGE).wrapping_add(random.below(3 * PAGE)),
            2 => low + PAGE - 8 * random.below(8),
            _ => low + random.below(WORDS) * 8,
        };
        let pc = code_address(&mut random, &known);
        let context = context(pc, place(&mut random), place(&mut random));
        let mut frames = [StackFrame::default(); 256];
        let len = capture_interrupted(&context, &mut frames);
        assert!(len >= 1);
        assert_eq!((frames[0].address, frames[0].kind), (pc, FrameKind::Exact));
        longest = longest.max(len);
    }
    assert!(longest > 4, "{longest}");
}

#[test]
fn a_chain_of_frame_pointers_that_runs_in_a_circle_ends() {
    let stack = island();
    let low = stack.as_ptr() as usize;
    for word in stack.iter_mut() {
        *word = low;
    }
    let mut frames = [StackFrame::default(); 4096];
    // 0x1000 is code of no module: frame pointers are all there is.
    let len = capture_interrupted(&context(0x1000, low, low), &mut frames);
    assert!(len < 100, "{len}");
}

static SEEN: Mutex<Vec<StackFrame>> = Mutex::new(Vec::new());

/// Captures where the fault was, then continues at the return address that
/// the test left in r15, with the stack pointer from r14.
extern "C" fn on_fault(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let mut frames = [StackFrame::default(); 64];
    let len = capture_interrupted(context, &mut frames);
    SEEN.lock().unwrap().extend_from_slice(&frames[..len]);
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] = registers[libc::REG_R15 as usize];
    registers[libc::REG_RSP as usize] = registers[libc::REG_R14 as usize];
}

/// Runs one of the functions below, whose fault is expected, and returns the
/// stack frames seen by the handler.
fn frames_at_fault(fault: unsafe extern "C" fn()) -> Vec<StackFrame> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let mut room = vec![0u8; 1 << 16];
    // SAFETY: the alternate stack outlives its use; the handler repairs the
    // context.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: room.as_mut_ptr().cast(),
            ss_flags: 0,
            ss_size: room.len(),
        };
        let mut old_stack: libc::stack_t = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        assert_eq!(libc::sigaltstack(&stack, &mut old_stack), 0);
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, &mut old), 0);
        fault();
        assert_eq!(
            libc::sigaction(libc::SIGSEGV, &old, std::ptr::null_mut()),
            0
        );
        assert_eq!(libc::sigaltstack(&old_stack, std::ptr::null_mut()), 0);
    }
    std::mem::take(&mut *SEEN.lock().unwrap())
}

std::arch::global_asm!(
    // Saves what the C ABI wants saved, and gives the handler the place to continue at.
    ".macro logdef_test_fault name",
    "\\name:",
    ".cfi_startproc",
    "push r14",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset r14, 0",
    "push r15",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset r15, 0",
    "push rbp",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset rbp, 0",
    "mov r14, rsp",
    "lea r15, [rip + 7f]",
    ".endm",
    ".macro logdef_test_end",
    "7:",
    "pop rbp",
    ".cfi_adjust_cfa_offset -8",
    "pop r15",
    ".cfi_adjust_cfa_offset -8",
    "pop r14",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".endm",
    "logdef_test_fault logdef_test_null_call",
    "xor eax, eax",
    "call rax",
    "logdef_test_end",
    "logdef_test_fault logdef_test_wild_call",
    "mov eax, 0x1234567",
    "call rax",
    "logdef_test_end",
    // Pops a return address that is no address, with rbp and all above gone.
    "logdef_test_fault logdef_test_smashed",
    "mov rbp, 0x4141414141414141",
    "push rbp",
    "push rbp",
    "push rbp",
    "push rbp",
    "ret",
    "logdef_test_end",
);

unsafe extern "C" {
    fn logdef_test_null_call();
    fn logdef_test_wild_call();
    fn logdef_test_smashed();
}

fn is_in(function: unsafe extern "C" fn(), frame: &StackFrame) -> bool {
    (frame.address).wrapping_sub(function as usize) < 64
}

#[test]
fn a_call_through_a_null_pointer_shows_who_called() {
    let frames = frames_at_fault(logdef_test_null_call);
    assert_eq!((frames[0].address, frames[0].kind), (0, FrameKind::Exact));
    assert_eq!(frames[1].kind, FrameKind::Return);
    assert!(is_in(logdef_test_null_call, &frames[1]), "{frames:x?}");
    assert!(frames.len() > 8);
    assert!(
        frames[2..]
            .iter()
            .all(|frame| frame.kind == FrameKind::Return)
    );
}

#[test]
fn a_call_into_unmapped_memory_shows_who_called_as_a_guess() {
    let frames = frames_at_fault(logdef_test_wild_call);
    assert_eq!(frames[0].address, 0x1234567);
    assert_eq!(frames[1].kind, FrameKind::Guessed);
    assert!(is_in(logdef_test_wild_call, &frames[1]), "{frames:x?}");
    assert!(frames.len() > 8);
}

#[test]
fn a_return_address_that_was_overwritten_ends_the_walk() {
    let frames = frames_at_fault(logdef_test_smashed);
    // The processor faults at `ret` itself, before it leaves the function, whose
    // call frame information knows nothing of the four words pushed.
    assert!(is_in(logdef_test_smashed, &frames[0]), "{frames:x?}");
    assert_eq!(frames[1].address, 0x4141_4141_4141_4141);
    assert_eq!(frames.len(), 2, "{frames:x?}");
}

#[test]
fn code_without_frame_information_is_crossed_by_frame_pointer_and_marked() {
    // push rbp; mov rbp, rsp; call rdi; pop rbp; ret
    const CODE: &[u8] = b"\x55\x48\x89\xE5\xFF\xD7\x5D\xC3";
    // SAFETY: a fresh mapping, filled before it is made executable.
    let function: extern "C" fn(extern "C" fn()) = unsafe {
        let map = libc::mmap(
            std::ptr::null_mut(),
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(map, libc::MAP_FAILED);
        std::ptr::copy_nonoverlapping(CODE.as_ptr(), map.cast(), CODE.len());
        assert_eq!(
            libc::mprotect(map, PAGE, libc::PROT_READ | libc::PROT_EXEC),
            0
        );
        std::mem::transmute(map)
    };
    static FRAMES: Mutex<Vec<StackFrame>> = Mutex::new(Vec::new());
    extern "C" fn callee() {
        let mut frames = [StackFrame::default(); 64];
        let len = logdef_unwind::capture_frames(&mut frames, 0);
        *FRAMES.lock().unwrap() = frames[..len].to_vec();
    }
    function(callee);
    let frames = FRAMES.lock().unwrap();
    let generated = function as *const () as usize;
    let at = frames
        .iter()
        .position(|frame| frame.address == generated + 6)
        .unwrap();
    assert_eq!(frames[at].kind, FrameKind::Return);
    assert!(frames.len() > at + 5, "{frames:x?}");
    assert!(
        frames[at + 1..]
            .iter()
            .all(|frame| frame.kind == FrameKind::Guessed)
    );
    let caller = logdef_unwind::modules::find(frames[at + 1].address).unwrap();
    assert!(caller.is_main_program());
}
