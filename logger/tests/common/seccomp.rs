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
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let code = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let mut program = vec![code(LOAD_NUMBER, 0, 0)];
    for (i, call) in calls.iter().enumerate() {
        let to_the_end = (calls.len() - i) as u8;
        program.push(code(JUMP_IF_EQUAL, to_the_end, *call as u32));
    }
    program.push(code(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    program.push(code(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
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
