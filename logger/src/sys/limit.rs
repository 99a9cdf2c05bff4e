//! Limits on what the process may have. Part of the room for unsafe.

use core::ffi::c_int;
use core::ptr;

/// A resource of which a process may have no more than it is granted.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// Bytes of addresses that are mapped.
    AddressSpace,
    /// Bytes of a file. One that would grow beyond brings SIGXFSZ.
    FileSize,
    /// Bytes of memory that stays in RAM.
    LockedMemory,
    /// The lowest number that no new descriptor gets.
    Descriptors,
}

impl Limit {
    /// What the process is granted; the largest number if there is no limit.
    pub(crate) fn or_any(self) -> u64 {
        self.granted().unwrap_or(u64::MAX)
    }

    /// What the process is granted, if there is a limit.
    pub(crate) fn granted(self) -> Option<u64> {
        // C libraries differ in the type of these.
        let resource = match self {
            Limit::AddressSpace => libc::RLIMIT_AS as c_int,
            Limit::FileSize => libc::RLIMIT_FSIZE as c_int,
            Limit::LockedMemory => libc::RLIMIT_MEMLOCK as c_int,
            Limit::Descriptors => libc::RLIMIT_NOFILE as c_int,
        };
        let mut limit = libc::rlimit64 {
            rlim_cur: 0,
            rlim_max: 0,
        };
        let keep = ptr::null::<libc::rlimit64>();
        let done =
            // SAFETY: sets nothing; `limit` is valid for writes.
            unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, keep, &raw mut limit) };
        (done == 0 && limit.rlim_cur != libc::RLIM64_INFINITY).then_some(limit.rlim_cur)
    }
}
