//! Mappings of files, memory that processes share, holes of files, and a time without
//! signals. A room for unsafe: the addresses that come in are those that [`map_file`] and
//! [`allocate_shared`] gave out.

use super::{Errno, checked};
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a page.
pub(crate) fn page_size() -> u64 {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: has no preconditions.
            let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let size = u64::try_from(size).unwrap_or(4096).max(4096);
            KNOWN.store(size, Ordering::Relaxed);
            size
        }
        size => size,
    }
}

/// Maps a range of a file to be read and written, where the kernel chooses.
pub(crate) fn map_file(fd: c_int, offset: u64, len: u64) -> Result<*mut u8, Errno> {
    let offset = libc::off_t::try_from(offset).map_err(|_| Errno(libc::EFBIG))?;
    // SAFETY: a new mapping takes the place of nothing.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            len as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            fd,
            offset,
        )
    };
    match at {
        libc::MAP_FAILED => Err(Errno::last()),
        at => Ok(at.cast()),
    }
}

/// Maps a range of the file whose start is mapped at `start` by [`map_file`], without a
/// descriptor. For a moment all that lies before the range is mapped too.
pub(crate) fn map_again(start: *mut u8, offset: u64, len: u64) -> Result<*mut u8, Errno> {
    let (offset, len) = (offset as usize, len as usize);
    // SAFETY: none of the bytes of the shared mapping is moved, so that it stays, and the
    // kernel maps the same file a second time where nothing is.
    let whole = unsafe { libc::mremap(start.cast(), 0, offset + len, libc::MREMAP_MAYMOVE) };
    if whole == libc::MAP_FAILED {
        return Err(Errno::last());
    }
    if offset > 0 {
        unmap(whole.cast(), offset);
    }
    Ok(whole.cast::<u8>().wrapping_add(offset))
}

/// Unmaps what [`map_file`] mapped and no thread touches any more.
pub(crate) fn unmap(at: *mut u8, len: usize) {
    // SAFETY: a mapping of `map_file` that is no longer used, as the doc demands of callers.
    unsafe { libc::munmap(at.cast(), len) };
}

/// `madvise` for mapped pages. No advice that we give changes the contents of memory,
/// except that of a file that was removed.
pub(crate) fn advise(at: *mut u8, len: usize, advice: c_int) -> Result<(), Errno> {
    // SAFETY: the range is one of our mappings; no advice that is used here unmaps it.
    checked(unsafe { libc::madvise(at.cast(), len, advice) } as isize).map(drop)
}

/// Makes pages of a mapping ready to be written without a fault. Where the kernel does not know how, or a
/// filter of system calls denies it, they come by faults. EFAULT if one is not there: the file was cut
/// short, or there is no block for a hole in it.
pub(crate) fn populate(at: *mut u8, len: usize) -> Result<(), Errno> {
    match advise(at, len, libc::MADV_POPULATE_WRITE) {
        Err(Errno(libc::EINVAL | libc::ENOSYS | libc::EPERM)) => Ok(()),
        populated => populated,
    }
}

/// Lets the kernel store a zero at the start of each page of a mapping that holds zeros, and
/// returns how many faults that took the thread. `None` if it was not done for all: the file was cut
/// short, where a store of the process's own would raise SIGBUS, or the system does not offer it.
pub(crate) fn store_zeros(at: *mut u8, len: usize) -> Option<u64> {
    const PAGES: usize = 64;
    static ZEROS: [u8; PAGES] = [0; PAGES];
    let page = page_size() as usize;
    let mut pages = (0..len).step_by(page);
    let before = minor_faults();
    loop {
        let mut stores = [const { slice(ptr::null_mut(), 0) }; PAGES];
        let mut count = 0;
        for (store, page) in stores.iter_mut().zip(&mut pages) {
            *store = slice(at.wrapping_add(page), 1);
            count += 1;
        }
        if count == 0 {
            return Some(minor_faults() - before);
        }
        let zeros = slice(ZEROS.as_ptr().cast_mut(), count);
        // SAFETY: reads `ZEROS`, and changes no byte of a mapping that holds zeros. An address
        // that cannot be written to is an error.
        let stored = unsafe {
            libc::process_vm_readv(
                libc::getpid(),
                stores.as_ptr(),
                count as u64,
                &raw const zeros,
                1,
                0,
            )
        };
        if stored != count as isize {
            return None;
        }
    }
}

const fn slice(at: *mut u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: at.cast(),
        iov_len: len,
    }
}

/// Faults of the thread that needed no disk.
fn minor_faults() -> u64 {
    // SAFETY: all zeros is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_minflt as u64
}

/// Puts zeroed memory of the process's own in the place of a mapping.
#[must_use]
pub(crate) fn replace_by_memory(at: *mut u8, len: usize) -> bool {
    // SAFETY: the range is a mapping made by `map_file`, so nothing of the program's is replaced.
    let mapped = unsafe {
        libc::mmap(
            at.cast(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

/// Zeroed memory that the process shares with the children that it forks.
pub(crate) fn allocate_shared(len: usize) -> Result<*mut u8, Errno> {
    // SAFETY: a new mapping takes the place of nothing.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    match at {
        libc::MAP_FAILED => Err(Errno::last()),
        at => Ok(at.cast()),
    }
}

/// Takes the blocks of a range of a file away: it reads as zeros, and the file keeps its
/// size.
pub(crate) fn punch(fd: c_int, offset: u64, len: u64) -> Result<(), Errno> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: touches none of our memory.
    let done = unsafe { libc::syscall(libc::SYS_fallocate, fd, mode, offset, len) };
    checked(done as isize).map(drop)
}

/// While it is there, no signal handler runs in the calling thread, but those of signals
/// that an instruction raises.
pub(crate) struct SignalsBlocked {
    before: u64,
}

/// Signals that an instruction raises: to block them would end the process.
const RAISED: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
];

impl SignalsBlocked {
    pub fn new() -> SignalsBlocked {
        let raised = RAISED.iter().fold(0, |set, signal| set | 1 << (signal - 1));
        let mut before = 0;
        mask(!raised, Some(&mut before));
        SignalsBlocked { before }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        mask(self.before, None);
    }
}

/// Sets the thread's mask; by the kernel itself, since the C library leaves out the
/// signals of its own, with which it cancels threads.
fn mask(signals: u64, before: Option<&mut u64>) {
    let before = before.map_or(ptr::null_mut(), ptr::from_mut);
    let set = libc::SIG_SETMASK;
    let len = size_of::<u64>();
    // SAFETY: both sets are of the kernel's size, or null.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            set,
            &raw const signals,
            before,
            len,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU32;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_zero_is_stored_in_each_page_of_a_mapping_unless_one_is_not_there() {
        let page = page_size() as usize;
        // More than one system call takes.
        let pages = 150;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; pages * page]).unwrap();
        let base = map_file(file.as_raw_fd(), 0, (pages * page) as u64).unwrap();
        let Some(faults) = store_zeros(base, pages * page) else {
            // An emulator, perhaps.
            assert_eq!(Errno::last(), Errno(libc::ENOSYS));
            return;
        };
        assert!((1..=pages as u64).contains(&faults), "{faults}");
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        for (at, byte) in bytes.iter().enumerate() {
            assert_eq!(*byte, u8::from(at % page != 0), "at {at:#x}");
        }
        for left in [0, 64, pages - 1] {
            file.set_len((left * page) as u64).unwrap();
            assert_eq!(store_zeros(base, pages * page), None, "{left} pages");
        }
        unmap(base, pages * page);
    }

    static SEEN: AtomicU32 = AtomicU32::new(0);

    extern "C" fn on_signal(_: c_int) {
        SEEN.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn a_blocked_signal_comes_afterwards() {
        // SAFETY: the handler has the right form and counts.
        unsafe { libc::signal(libc::SIGCONT, on_signal as *const () as usize) };
        // Some parents block it in what they start: `perf record` does.
        mask(0, None);
        let blocked = SignalsBlocked::new();
        // SAFETY: the handler was set.
        unsafe { libc::raise(libc::SIGCONT) };
        assert_eq!(SEEN.load(Ordering::Relaxed), 0);
        drop(blocked);
        assert_eq!(SEEN.load(Ordering::Relaxed), 1);
    }
}
