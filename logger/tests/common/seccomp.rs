//! System calls that fail on order, for the calling thread and those it makes, for
//! good.

#![allow(dead_code, reason = "each test uses some of it")]

use crate::common::skip;
use libc::{sock_filter, sock_fprog};

/// Whether the kernel knows filters of system calls; says so if not, as where an emulator
/// makes the calls.
pub fn is_here() -> bool {
    // SAFETY: takes no pointer.
    let is_here = unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) } >= 0;
    if !is_here {
        skip::skip("no filters of system calls here");
    }
    is_here
}

/// Makes system calls fail with an errno.
pub fn fail(calls: &[libc::c_long], errno: i32) {
    filter(
        calls,
        libc::SECCOMP_RET_ERRNO | errno as u32,
        libc::SECCOMP_RET_ALLOW,
    );
}

/// Ends the process at these system calls.
pub fn end_at(calls: &[libc::c_long]) {
    filter(
        calls,
        libc::SECCOMP_RET_KILL_PROCESS,
        libc::SECCOMP_RET_ALLOW,
    );
}

/// Ends the process, with the number of the call on standard error, at any system call but these.
pub fn allow(calls: &[libc::c_long]) {
    let handler: extern "C" fn(i32, *const Trapped) = say_and_leave;
    // SAFETY: zeros are a valid `sigaction`, and the handler has the shape that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(
            libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()),
            0
        );
    }
    let needed = [
        libc::SYS_writev,
        libc::SYS_exit_group,
        // What the C library asks for more memory, and where there is no vDSO for the time.
        libc::SYS_brk,
        libc::SYS_mremap,
        libc::SYS_clock_gettime,
    ];
    filter(
        &[calls, &needed].concat(),
        libc::SECCOMP_RET_ALLOW,
        libc::SECCOMP_RET_TRAP,
    );
}

/// What the kernel says of a call that a filter trapped: `siginfo_t`, as far as it is needed.
#[repr(C)]
struct Trapped {
    signal: [i32; 4],
    address: usize,
    number: i32,
}

extern "C" fn say_and_leave(_signal: i32, trapped: *const Trapped) {
    let mut text = *b"system call 0000 is not on the list\n";
    // SAFETY: the kernel hands a `siginfo_t` of SIGSYS to the handler.
    let mut number = unsafe { (*trapped).number };
    for digit in text[12..16].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let text = libc::iovec {
        iov_base: text.as_mut_ptr().cast(),
        iov_len: text.len(),
    };
    // SAFETY: a buffer of this length; leaves at once.
    unsafe {
        libc::writev(2, &raw const text, 1);
        libc::_exit(1);
    }
}

/// Lets the kernel answer `listed` calls, and all others, in these ways.
fn filter(listed: &[libc::c_long], answer: u32, otherwise: u32) {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let code = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let mut program = vec![code(LOAD_NUMBER, 0, 0)];
    for (i, call) in listed.iter().enumerate() {
        let to_the_end = (listed.len() - i) as u8;
        program.push(code(JUMP_IF_EQUAL, to_the_end, *call as u32));
    }
    program.push(code(RETURN, 0, otherwise));
    program.push(code(RETURN, 0, answer));
    let program = sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program is valid while the call lasts.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
    };
    assert_eq!(installed, 0, "{}", std::io::Error::last_os_error());
}
