//! Memory of the process's own, most of it never given back. Part of the room for
//! unsafe.

use super::errno::{Errno, checked};
use super::file::close;
use super::lift;
use super::signal::{KERNEL_SIGSET, without_sigxfsz};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;

/// Zeroed memory of the process's own that is never given back.
pub(crate) fn allocate(len: NonZeroUsize) -> Result<NonNull<u8>, Errno> {
    // SAFETY: without MAP_FIXED the kernel picks addresses that nothing uses.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            len.get(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    match NonNull::new(at.cast::<u8>()) {
        Some(at) if at.as_ptr().addr() != usize::MAX => Ok(at),
        _ => Err(Errno::last()),
    }
}

/// A type of which all zeros are a value.
///
/// # Safety
///
/// They are, and its alignment is at most that of a page.
pub(crate) unsafe trait Zeroed {}

// SAFETY: zero is an integer.
unsafe impl Zeroed for AtomicU64 {}

// SAFETY: its elements are zeroed, one after the other.
unsafe impl<T: Zeroed, const N: usize> Zeroed for [T; N] {}

/// A zeroed value in memory of its own that is never given back.
pub(crate) fn allocate_zeroed<T: Zeroed>() -> Result<&'static mut T, Errno> {
    let len = const { NonZeroUsize::new(size_of::<T>()).unwrap() };
    let at = allocate(len)?.cast::<T>();
    // SAFETY: fresh memory of this size, page aligned, whose zeros are a value by
    // `Zeroed`; it is lent here only.
    Ok(unsafe { &mut *at.as_ptr() })
}

/// Moves a value into memory of its own that is never given back.
pub(crate) fn allocate_for<T>(value: T) -> Result<&'static T, Errno> {
    const { assert!(align_of::<T>() <= 4096) };
    let len = const { NonZeroUsize::new(size_of::<T>()).unwrap() };
    let at = allocate(len)?.cast::<T>();
    // SAFETY: fresh memory of this size, page aligned; it is lent here only.
    unsafe {
        at.write(value);
        Ok(at.as_ref())
    }
}

/// What [`allocate_zeroed`] returns, but zeros again in a forked child. Kernels before 4.14
/// refuse, and qemu's emulation promises what it does not do: a fork handler looks.
pub(crate) fn allocate_wiped_on_fork<T: Zeroed + Sync>() -> Result<&'static T, Errno> {
    allocate_wiped_on_fork_to(size_of::<T>())
}

/// The same, where only the first `len` bytes are zeros for the child, whole pages;
/// it has a copy of the rest.
pub(crate) fn allocate_wiped_on_fork_to<T: Zeroed + Sync>(len: usize) -> Result<&'static T, Errno> {
    let at = allocate_zeroed::<T>()?;
    let start = ptr::from_mut(at).cast();
    // SAFETY: the range is the mapping just made, to which no other reference exists yet; zeros
    // are a value of `T`, whenever the kernel puts them there.
    let _ = unsafe { libc::madvise(start, len, libc::MADV_WIPEONFORK) };
    Ok(at)
}

/// The word at an address, if it can be read: the kernel is asked, which reads a
/// signal set there before it looks at what to do with it, and rejects that. Leaves
/// errno as it is. `EFAULT` if there is no memory; any other error if the kernel
/// does not say.
pub(crate) fn peek(address: usize) -> Result<usize, Errno> {
    let before = Errno::last();
    let at = ptr::with_exposed_provenance::<usize>(address);
    let none = ptr::null_mut::<libc::c_void>();
    // SAFETY: changes nothing: there is no operation -1.
    let asked = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, at, none, KERNEL_SIGSET) };
    let said = Errno::last();
    before.restore();
    match said {
        // SAFETY: it can be read, as the kernel just did, and any word will do.
        Errno(libc::EINVAL) if asked == -1 => Ok(unsafe { at.read_volatile() }),
        errno => Err(errno),
    }
}

/// Memory for the length of one call, in a signal handler too.
pub(crate) struct Temporary {
    at: NonNull<u8>,
    len: NonZeroUsize,
}

impl Temporary {
    /// Maps `len` zeroed bytes.
    pub fn new(len: NonZeroUsize) -> Result<Temporary, Errno> {
        allocate(len).map(|at| Temporary { at, len })
    }

    /// The memory, to be read.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the mapping is ours alone, of this length, and zeroed.
        unsafe { core::slice::from_raw_parts(self.at.as_ptr(), self.len.get()) }
    }

    /// The memory.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`.
        unsafe { core::slice::from_raw_parts_mut(self.at.as_ptr(), self.len.get()) }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and `as_slice` and `bytes` borrow from `self`.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len.get()) };
    }
}

/// Zeroed private memory under a name that stands in `/proc/self/maps`, never given
/// back.
pub(crate) fn allocate_named(name: &CStr, len: NonZeroUsize) -> Result<NonNull<u8>, Errno> {
    // SAFETY: the name ends in a NUL.
    let fd = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) };
    let fd = lift(checked(fd as isize)? as c_int)?;
    let sized = without_sigxfsz(|| {
        // SAFETY: takes no pointer.
        checked(unsafe { libc::ftruncate(fd, len.get() as libc::off_t) } as isize)
    });
    let mapped = sized.and_then(|_| {
        // SAFETY: without MAP_FIXED the kernel picks addresses that nothing uses.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len.get(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE,
                fd,
                0,
            )
        };
        match NonNull::new(at.cast::<u8>()) {
            Some(at) if at.as_ptr().addr() != usize::MAX => Ok(at),
            _ => Err(Errno::last()),
        }
    });
    close(fd);
    mapped
}

/// Makes memory that was allocated here unwritable.
pub(crate) fn protect(at: NonNull<u8>, len: NonZeroUsize) {
    // SAFETY: the caller made the memory by `allocate_named`, and nothing writes to it again.
    unsafe { libc::mprotect(at.as_ptr().cast(), len.get(), libc::PROT_READ) };
}
