//! Who and where the process is, and when: ids, names, clocks, random numbers. Part of
//! the room for unsafe.

use super::{Errno, checked};

/// Lets other threads have the processor, if any wait for it.
pub(crate) fn let_others_run() {
    // SAFETY: takes no pointer.
    unsafe { libc::sched_yield() };
}

/// Lets others run until something is so, this many times at most. Whether it is.
pub(crate) fn let_others_run_until(times: u32, mut is_so: impl FnMut() -> bool) -> bool {
    for _ in 0..times {
        if is_so() {
            return true;
        }
        let_others_run();
    }
    is_so()
}

/// Nanoseconds of a clock.
pub(crate) fn clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes; the vDSO takes no lock.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// A random number that is not zero.
pub(crate) fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is valid for its length; eight bytes come whole.
    let got = unsafe {
        libc::syscall(
            libc::SYS_getrandom,
            bytes.as_mut_ptr(),
            bytes.len(),
            libc::GRND_NONBLOCK,
        )
    };
    let number = u64::from_ne_bytes(bytes);
    if got == 8 && number != 0 {
        return number;
    }
    // Before the kernel's pool is ready: time, pid and an address of ours.
    let seed =
        clock(libc::CLOCK_MONOTONIC) ^ (process_id() as u64) << 40 ^ &raw const seed_at as u64;
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

#[allow(non_upper_case_globals, reason = "only its address is used")]
static seed_at: u8 = 0;

pub(crate) fn process_id() -> u32 {
    // SAFETY: takes no pointer.
    unsafe { libc::getpid() as u32 }
}

/// Whether there is a process or a thread with this id.
pub(crate) fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 is checked and not sent.
    let asked = checked(unsafe { libc::syscall(libc::SYS_kill, pid, 0) } as isize);
    asked != Err(Errno(libc::ESRCH))
}

/// The kernel's id of this thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: takes no pointer.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// `pthread_self()`.
pub(crate) fn thread_self() -> u64 {
    // SAFETY: takes no pointer.
    unsafe { libc::pthread_self() as u64 }
}

/// This thread's name: up to 15 bytes and zeros.
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// The host's name, cut to the buffer.
pub(crate) fn host_name(into: &mut [u8; 64]) -> &[u8] {
    // SAFETY: the buffer is valid for its length.
    unsafe { libc::gethostname(into.as_mut_ptr().cast(), into.len()) };
    until_nul(into)
}

/// The bytes before the first NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().position(|byte| *byte == 0);
    &bytes[..len.unwrap_or(bytes.len())]
}

/// The user by whose rights the process acts.
pub(crate) fn effective_user() -> libc::uid_t {
    // SAFETY: takes no pointer.
    unsafe { libc::geteuid() }
}

/// Whether the process has more rights than the user who started it.
pub(crate) fn has_borrowed_rights() -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Seconds that local time is ahead of UTC at a time of the Unix epoch. Not for
/// handlers: it may read files.
pub(crate) fn local_time_ahead(seconds: u64) -> i32 {
    // SAFETY: all zeros is a valid `tm`, which the call fills.
    let mut local: libc::tm = unsafe { core::mem::zeroed() };
    // The name of the type is deprecated where musl is to change it.
    let time = seconds as _;
    // SAFETY: both point to variables of this function, the one to be read, the other to be written.
    unsafe { libc::localtime_r(&time, &mut local) };
    local.tm_gmtoff as i32
}
