//! A memory file that other processes may write to and none can cut short, in the place of
//! a page of the process's own; locks of single bytes of a file, which end with the process
//! and do not pass to its children; when the process started. Part of the room for unsafe.

use super::errno::{Errno, checked};
use super::signal::without_sigxfsz;
use super::{close, lift, open, page_size, read};
use crate::gate::GatePage;
use core::ffi::{CStr, c_int};
use core::ptr;

const NAME: &CStr = c"logdef-ctl";

/// Makes a memory file that holds a copy of the gate's page, and cannot be cut. Returns its
/// descriptor.
pub(crate) fn memory_file_of(page: &GatePage) -> Result<c_int, Errno> {
    // Kernels that know the first flag may demand it; those that do not refuse it.
    let sealable = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let make = |flags: libc::c_uint| {
        // SAFETY: the name ends in a NUL.
        checked(unsafe { libc::syscall(libc::SYS_memfd_create, NAME.as_ptr(), flags) } as isize)
    };
    let made = make(sealable | libc::MFD_NOEXEC_SEAL).or_else(|_| make(sealable))?;
    let fd = lift(made as c_int)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    let from = ptr::from_ref(page).cast::<u8>();
    let written = without_sigxfsz(|| {
        // SAFETY: the page is one, and only read.
        checked(unsafe { libc::syscall(libc::SYS_pwrite64, fd, from, GatePage::LEN, 0) } as isize)
    });
    let done = written.and_then(|_| {
        // SAFETY: takes no pointer.
        checked(unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_ADD_SEALS, seals) } as isize)
    });
    done.map(|_| fd).inspect_err(|_| close(fd))
}

/// Puts the memory file in the place of the gate's page. `false` where pages are larger than
/// that, or the kernel refuses.
pub(crate) fn map_over(page: &'static GatePage, fd: c_int) -> bool {
    if page_size() != GatePage::LEN as u64 {
        return false;
    }
    let at = ptr::from_ref(page).cast_mut().cast();
    // SAFETY: the range is a static of ours, page aligned and of one page, of which only the
    // first word is used, by atomic operations; the file holds a copy of it, is of this
    // length, and sealed against being cut, so that no access fails.
    let mapped = unsafe {
        libc::mmap(
            at,
            GatePage::LEN,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED,
            fd,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

/// Takes the lock of one byte of a file for this process. `false` if another has it.
pub(crate) fn lock_byte(fd: c_int, at: i64) -> bool {
    set_lock(fd, at, libc::F_WRLCK as libc::c_short)
}

/// Gives the lock of a byte back.
pub(crate) fn unlock_byte(fd: c_int, at: i64) {
    set_lock(fd, at, libc::F_UNLCK as libc::c_short);
}

fn set_lock(fd: c_int, at: i64, kind: libc::c_short) -> bool {
    // SAFETY: all zeros is a valid `flock`.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = kind;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = at as libc::off_t;
    lock.l_len = 1;
    // SAFETY: the lock is valid for reads.
    let set = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_SETLK, &raw const lock) };
    set == 0
}

/// Reads once, at an offset of a file.
pub(crate) fn read_at(fd: c_int, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let (to, len) = (into.as_mut_ptr(), into.len());
    // SAFETY: the slice is valid for its length.
    checked(unsafe { libc::syscall(libc::SYS_pread64, fd, to, len, offset) } as isize)
}

/// When the process started, in clock ticks since the boot; 0 if it cannot be found out.
pub(crate) fn process_start() -> u64 {
    let Ok(fd) = open(c"/proc/self/stat", libc::O_RDONLY, 0) else {
        return 0;
    };
    let mut stat = [0; 512];
    let len = read(fd, &mut stat).unwrap_or(0);
    close(fd);
    // The second field is a name in parentheses, which may hold anything.
    let behind = stat[..len].rsplit(|byte| *byte == b')').next();
    let text = core::str::from_utf8(behind.unwrap_or_default());
    let field = text
        .ok()
        .and_then(|text| text.split_ascii_whitespace().nth(19));
    field.and_then(|field| field.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_started_before_now() {
        let now = crate::sys::clock(libc::CLOCK_BOOTTIME);
        let started = process_start();
        // A tick is 10 ms in every kernel's interface.
        assert!(
            started > 0 && started * 10_000_000 <= now,
            "{started} {now}"
        );
    }

    #[test]
    fn a_memory_file_cannot_be_cut() {
        let fd = memory_file_of(crate::gate::page()).unwrap();
        // SAFETY: takes no pointer.
        let cut = unsafe { libc::ftruncate(fd, 0) };
        assert_eq!((cut, Errno::last()), (-1, Errno(libc::EPERM)));
        close(fd);
    }
}
