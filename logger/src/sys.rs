//! System calls with safe faces: files, memory, identity. A room for unsafe;
//! knows nothing of logs. All may be called in a signal
//! handler: none takes a lock or allocates, and none changes more of the
//! process than it says.
//!
//! What a log call may reach goes to the kernel directly: the C library's
//! functions of the same names are cancellation points, and a thread must not
//! be cancelled in the middle of a log call that promised not to unwind.

mod directory;
mod wait;

pub(crate) use directory::*;
pub(crate) use wait::*;

use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// An errno value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Errno(pub i32);

impl Errno {
    /// What the last failed call of this thread left.
    pub fn last() -> Errno {
        // SAFETY: the location is this thread's own and always valid.
        Errno(unsafe { *libc::__errno_location() })
    }

    /// Sets the thread's errno: a log call leaves it as it found it.
    pub fn restore(self) {
        // SAFETY: as in `last`.
        unsafe { *libc::__errno_location() = self.0 }
    }
}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        std::io::Error::from_raw_os_error(errno.0)
    }
}

fn checked(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::last())
}

/// Opens a file, close-on-exec, under a number that is high: never 0, 1 or 2.
pub(crate) fn open(path: &CStr, flags: c_int, mode: libc::mode_t) -> Result<c_int, Errno> {
    // SAFETY: the path ends in a NUL; open writes to none of our memory.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags | libc::O_CLOEXEC,
            mode as libc::c_uint,
        )
    };
    lift(checked(fd as isize)? as c_int)
}

/// Closes a descriptor.
pub(crate) fn close(fd: c_int) {
    // SAFETY: the caller owns the descriptor.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Writes once.
pub(crate) fn write(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for its length.
    checked(unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) } as isize)
}

/// Sends once, without SIGPIPE.
pub(crate) fn send(fd: c_int, bytes: &[u8], flags: c_int) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for its length.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            fd,
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL | flags,
            ptr::null::<u8>(),
            0,
        )
    };
    checked(sent as isize)
}

/// Reads once.
pub(crate) fn read(fd: c_int, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for its length.
    checked(unsafe { libc::syscall(libc::SYS_read, fd, into.as_mut_ptr(), into.len()) } as isize)
}

/// What `fstat` says.
pub(crate) fn stat(fd: c_int) -> Result<libc::stat, Errno> {
    // SAFETY: all zeros is a valid `stat`, and the call fills it.
    let mut stat = unsafe { core::mem::zeroed() };
    // SAFETY: `stat` is valid for writes.
    checked(unsafe { libc::fstat(fd, &mut stat) } as isize)?;
    Ok(stat)
}

/// Which file a descriptor leads to, and how large it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    /// Device and inode.
    pub file: (u64, u64),
    pub size: u64,
    /// How many names it has.
    pub names: u32,
}

/// Which file a descriptor leads to.
///
/// `fstat` looks at the times too, and what was looked at the kernel must change
/// at the next write: that would double the cost of writing.
pub(crate) fn identity(fd: c_int) -> Result<Identity, Errno> {
    // SAFETY: all zeros is a valid `statx`.
    let mut stat: libc::statx = unsafe { core::mem::zeroed() };
    let wanted = libc::STATX_INO | libc::STATX_SIZE | libc::STATX_NLINK;
    // SAFETY: the path ends in a NUL, and `stat` is valid for writes.
    let done = unsafe { libc::statx(fd, c"".as_ptr(), libc::AT_EMPTY_PATH, wanted, &mut stat) };
    checked(done as isize)?;
    let device = libc::makedev(stat.stx_dev_major, stat.stx_dev_minor);
    Ok(Identity {
        file: (device, stat.stx_ino),
        size: stat.stx_size,
        names: stat.stx_nlink,
    })
}

/// Lets other threads have the processor, if any wait for it.
pub(crate) fn let_others_run() {
    // SAFETY: has no preconditions.
    unsafe { libc::sched_yield() };
}

/// The magic number of the file system that holds a file.
pub(crate) fn file_system(fd: c_int) -> Result<i64, Errno> {
    // SAFETY: all zeros is a valid `statfs`, and the call fills it.
    let mut statfs: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: `statfs` is valid for writes.
    checked(unsafe { libc::fstatfs(fd, &mut statfs) } as isize)?;
    #[allow(clippy::unnecessary_cast, reason = "the type differs between targets")]
    Ok(statfs.f_type as i64)
}

/// Waits until a file's bytes and size are on stable storage.
pub(crate) fn sync_data(fd: c_int) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    checked(unsafe { libc::syscall(libc::SYS_fdatasync, fd) } as isize).map(drop)
}

/// Waits until the names in a directory are on stable storage.
pub(crate) fn sync_directory(path: &CStr) -> Result<(), Errno> {
    let fd = open(path, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    // SAFETY: touches none of our memory.
    let synced = checked(unsafe { libc::syscall(libc::SYS_fsync, fd) } as isize);
    close(fd);
    synced.map(drop)
}

/// Reads a symbolic link into `into`; what is longer is cut.
pub(crate) fn read_link<'b>(path: &CStr, into: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    // SAFETY: the path ends in a NUL, the buffer is valid for its length.
    let len =
        checked(unsafe { libc::readlink(path.as_ptr(), into.as_mut_ptr().cast(), into.len()) })?;
    Ok(&into[..len])
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

/// The process id.
pub(crate) fn process_id() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() as u32 }
}

/// The kernel's id of this thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// `pthread_self()`.
pub(crate) fn thread_self() -> u64 {
    // SAFETY: cannot fail.
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

/// Zeroed memory of the process's own that is never given back.
pub(crate) fn allocate(len: NonZeroUsize) -> Result<NonNull<u8>, Errno> {
    // SAFETY: a new mapping at an address of the kernel's choice harms nobody.
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

// SAFETY: its elements are zeroed, one behind the other.
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

/// What [`allocate_zeroed`] returns, but zeros again in a forked child, unless
/// [`wipe_on_fork_is_missing`].
pub(crate) fn allocate_wiped_on_fork<T: Zeroed + Sync>() -> Result<&'static T, Errno> {
    let at = allocate_zeroed::<T>()?;
    let (start, len) = (ptr::from_mut(at).cast(), size_of::<T>());
    // SAFETY: the range is the mapping just made, and lent to nobody else yet; zeros
    // are a value of `T`, whenever the kernel puts them there.
    if unsafe { libc::madvise(start, len, libc::MADV_WIPEONFORK) } != 0 {
        WIPE_ON_FORK_MISSING.store(true, Ordering::Relaxed);
    }
    Ok(at)
}

/// Set once the kernel was found not to wipe memory on fork.
static WIPE_ON_FORK_MISSING: AtomicBool = AtomicBool::new(false);

/// Whether the kernel cannot wipe memory on fork; then a fork handler does.
pub(crate) fn wipe_on_fork_is_missing() -> bool {
    WIPE_ON_FORK_MISSING.load(Ordering::Relaxed)
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

/// Bytes of a signal set as the kernel counts them.
const KERNEL_SIGSET: usize = 8;

/// Writes once to a pipe. If nobody reads it, the SIGPIPE that this raises is
/// taken away before it is delivered.
pub(crate) fn write_without_sigpipe(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    write_without(libc::SIGPIPE, libc::EPIPE, fd, bytes)
}

/// Writes once to a file. If that would make it larger than files may be, the
/// SIGXFSZ that this raises is taken away before it is delivered.
pub(crate) fn write_without_sigxfsz(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    match file_size_limit() {
        Some(_) => write_without(libc::SIGXFSZ, libc::EFBIG, fd, bytes),
        None => write(fd, bytes),
    }
}

/// Writes once, without the signal that goes with an error.
fn write_without(signal: c_int, error: c_int, fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the sets are valid, and filled before they are used; the mask is
    // put back as it was.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        let mut pending: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigpending(&mut pending);
        let was_pending = libc::sigismember(&pending, signal) == 1;
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
        let written = write(fd, bytes);
        if written == Err(Errno(error)) && !was_pending {
            let now = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            libc::syscall(
                libc::SYS_rt_sigtimedwait,
                &set,
                ptr::null_mut::<u8>(),
                &now,
                KERNEL_SIGSET,
            );
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        written
    }
}

/// The size that the process's files may have, if there is a limit: a file
/// that would grow beyond it brings SIGXFSZ.
pub(crate) fn file_size_limit() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for writes.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Gives a range of a file blocks, and the file that size at least.
pub(crate) fn reserve_blocks(fd: c_int, offset: u64, len: u64) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    let done = unsafe { libc::syscall(libc::SYS_fallocate, fd, 0, offset, len) };
    checked(done as isize).map(drop)
}

/// Writes zeros to a range of a file.
pub(crate) fn write_zeros(fd: c_int, offset: u64, len: u64) -> Result<(), Errno> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    const MOST: usize = 64;
    let (mut at, end) = (offset, offset + len);
    while at < end {
        let mut vectors = [libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        }; MOST];
        let mut count = 0;
        let mut left = end - at;
        for vector in &mut vectors {
            let len = left.min(ZEROS.len() as u64);
            if len == 0 {
                break;
            }
            vector.iov_base = ZEROS.as_ptr().cast_mut().cast();
            vector.iov_len = len as usize;
            left -= len;
            count += 1;
        }
        // SAFETY: the vectors lead to memory that is only read. The offset is
        // passed in two halves of the kernel's choosing; on 64-bit machines the
        // second is unused.
        let written =
            unsafe { libc::syscall(libc::SYS_pwritev, fd, vectors.as_ptr(), count, at, 0) };
        match checked(written as isize) {
            Ok(0) => return Err(Errno(libc::ENOSPC)),
            Ok(len) => at += len as u64,
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// The user by whose rights the process acts.
pub(crate) fn effective_user() -> libc::uid_t {
    // SAFETY: cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether the process has more rights than the user who started it.
pub(crate) fn has_borrowed_rights() -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Removes a name.
pub(crate) fn unlink(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the path ends in a NUL.
    checked(unsafe { libc::unlink(path.as_ptr()) } as isize).map(drop)
}

/// Gives a file another name, in place of what has it.
pub(crate) fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    checked(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Gives a file another name that nothing has yet.
pub(crate) fn rename_without_replacing(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    let renamed = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    checked(renamed as isize).map(drop)
}

/// Gives a file one more name that nothing has yet.
pub(crate) fn link(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    checked(unsafe { libc::link(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Makes a symbolic link at `at` to `target`.
pub(crate) fn symlink(target: &CStr, at: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    checked(unsafe { libc::symlink(target.as_ptr(), at.as_ptr()) } as isize).map(drop)
}

/// A handler of a signal, with what is known of it.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// The actions that signals had before [`handle_first`], by signal number. Set
/// once each, and never given back.
static BEFORE: [AtomicPtr<libc::sigaction>; 32] = [const { AtomicPtr::new(ptr::null_mut()) }; 32];

/// Handles a signal before whoever handles it now. Not for handlers.
pub(crate) fn handle_first(signal: c_int, handler: Handler) -> Result<(), Errno> {
    // SAFETY: zeros are a valid action, and the calls fill or read it; the
    // handler is a function of this program, which is never unloaded.
    unsafe {
        let mut before: libc::sigaction = core::mem::zeroed();
        checked(libc::sigaction(signal, ptr::null(), &mut before) as isize)?;
        let before = Box::into_raw(Box::new(before));
        BEFORE[signal as usize].store(before, Ordering::Release);
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        checked(libc::sigaction(signal, &action, ptr::null_mut()) as isize).map(drop)
    }
}

/// Gives a signal the action again that it had before [`handle_first`].
pub(crate) fn handle_as_before(signal: c_int) {
    let before = BEFORE[signal as usize].load(Ordering::Acquire);
    // SAFETY: null, which only asks, or set in `handle_first` to an action that
    // the program had.
    unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
}

/// Gives this thread a larger stack for handlers that ask for one of their own,
/// unless it is on that stack now.
pub(crate) fn set_signal_stack(at: *mut u8, len: usize) {
    // SAFETY: zeros are a valid answer buffer; the memory is the thread's own as
    // long as the thread lives, by the caller.
    unsafe {
        let mut now: libc::stack_t = core::mem::zeroed();
        let asked = libc::sigaltstack(ptr::null(), &mut now);
        let small = now.ss_flags & libc::SS_DISABLE != 0 || now.ss_size < len;
        if asked == 0 && small {
            let stack = libc::stack_t {
                ss_sp: at.cast(),
                ss_flags: 0,
                ss_size: len,
            };
            libc::sigaltstack(&stack, ptr::null_mut());
        }
    }
}

/// Bytes that are left of the alternate signal stack that this thread runs on; none if
/// it runs on its own.
pub(crate) fn signal_stack_left() -> Option<usize> {
    // SAFETY: zeros are a valid answer buffer, which the call fills.
    let now = unsafe {
        let mut now: libc::stack_t = core::mem::zeroed();
        let asked = libc::sigaltstack(ptr::null(), &mut now);
        (asked == 0 && now.ss_flags & libc::SS_ONSTACK != 0).then_some(now)?
    };
    let here = (&raw const now).addr();
    Some(here.saturating_sub(now.ss_sp.addr()))
}

/// Whether a signal comes again if its handler returns: an instruction that failed is
/// tried again, where what was sent has been received.
pub(crate) fn comes_again(signal: c_int, info: *mut libc::siginfo_t) -> bool {
    // SAFETY: as in `signal_details`.
    let code = unsafe { info.as_ref() }.map_or(0, |info| info.si_code);
    code > 0 && signal != libc::SIGABRT && signal != libc::SIGTRAP
}

/// Whether this thread is on its alternate signal stack.
pub(crate) fn is_on_signal_stack() -> bool {
    // SAFETY: zeros are a valid answer buffer, which the call fills.
    unsafe {
        let mut now: libc::stack_t = core::mem::zeroed();
        let asked = libc::sigaltstack(ptr::null(), &mut now);
        asked == 0 && now.ss_flags & libc::SS_ONSTACK != 0
    }
}

/// Sends a signal to this thread.
pub(crate) fn raise(signal: c_int) {
    // SAFETY: what it does is the point of it.
    unsafe { libc::raise(signal) };
}

/// The address that a fault concerns, and the registers of what it interrupted.
pub(crate) fn signal_details<'c>(
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) -> (usize, Option<&'c libc::ucontext_t>) {
    // SAFETY: the kernel passes valid pointers to a handler that was installed
    // with SA_SIGINFO, and they stay valid until it returns.
    unsafe {
        let address = info.as_ref().map_or(0, |info| info.si_addr().addr());
        (address, context.cast::<libc::ucontext_t>().as_ref())
    }
}

/// An address in the program itself, whatever image the logger is in: that of
/// its program headers.
pub(crate) fn main_program_address() -> usize {
    // SAFETY: reads what the kernel left for the process.
    unsafe { libc::getauxval(libc::AT_PHDR) as usize }
}

/// Whether a descriptor leads to a terminal.
pub(crate) fn is_terminal(fd: c_int) -> bool {
    // SAFETY: only asks.
    unsafe { libc::isatty(fd) == 1 }
}

/// Seconds that local time is ahead of UTC at a time of the Unix epoch. Not for
/// handlers: it may read files.
pub(crate) fn local_time_ahead(seconds: u64) -> i32 {
    // SAFETY: all zeros is a valid `tm`, which the call fills.
    let mut local: libc::tm = unsafe { core::mem::zeroed() };
    let time = seconds as libc::time_t;
    // SAFETY: both are valid.
    unsafe { libc::localtime_r(&time, &mut local) };
    local.tm_gmtoff as i32
}

/// Zeroed private memory under a name that stands in `/proc/self/maps`, never given
/// back.
pub(crate) fn allocate_named(name: &CStr, len: NonZeroUsize) -> Result<NonNull<u8>, Errno> {
    // SAFETY: the name ends in a NUL.
    let fd = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) };
    let fd = lift(checked(fd as isize)? as c_int)?;
    // SAFETY: touches none of our memory; a new private mapping harms nobody.
    let at = unsafe {
        let sized = libc::ftruncate(fd, len.get() as libc::off_t);
        match checked(sized as isize) {
            Ok(_) => libc::mmap(
                ptr::null_mut(),
                len.get(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE,
                fd,
                0,
            ),
            Err(_) => libc::MAP_FAILED,
        }
    };
    let errno = Errno::last();
    close(fd);
    match NonNull::new(at.cast::<u8>()) {
        Some(at) if at.as_ptr().addr() != usize::MAX => Ok(at),
        _ => Err(errno),
    }
}

/// Makes memory that was allocated here unwritable.
pub(crate) fn protect(at: NonNull<u8>, len: NonZeroUsize) {
    // SAFETY: by the caller, the memory is a mapping of its own.
    unsafe { libc::mprotect(at.as_ptr().cast(), len.get(), libc::PROT_READ) };
}

/// The start of the process's mapping of this name.
pub(crate) fn find_mapping(name: &[u8]) -> Option<*const u8> {
    let fd = open(c"/proc/self/maps", libc::O_RDONLY, 0).ok()?;
    // A line is an address and some words, and a name of at most a path.
    let mut buffer = [0; 8192];
    let (mut len, mut found) = (0, None);
    while found.is_none() {
        match read(fd, &mut buffer[len..]) {
            Ok(0) | Err(_) => break,
            Ok(read) => len += read,
        }
        let mut from = 0;
        while let Some(end) = buffer[from..len].iter().position(|byte| *byte == b'\n') {
            let line = &buffer[from..from + end];
            if line.ends_with(name) {
                let digits = line.split(|byte| *byte == b'-').next().unwrap_or_default();
                let start = core::str::from_utf8(digits).ok();
                found = start.and_then(|start| usize::from_str_radix(start, 16).ok());
            }
            from += end + 1;
        }
        buffer.copy_within(from..len, 0);
        len -= from;
        if len == buffer.len() {
            // No line is that long.
            break;
        }
    }
    close(fd);
    found.map(ptr::with_exposed_provenance)
}

/// What a program or a library exports to all under a name.
pub(crate) fn global_symbol(name: &CStr) -> Option<NonNull<libc::c_void>> {
    // SAFETY: the name ends in a NUL.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Keeps the library that holds an address in memory, whoever closes it. Does
/// nothing for the program itself.
pub(crate) fn keep_loaded(address: *const ()) {
    // SAFETY: all zeros is a valid `Dl_info`, which the call fills; the name it
    // finds is a C string for as long as the image is loaded, which it is while its
    // own code runs.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let known = libc::dladdr(address.cast(), &mut info) != 0 && !info.dli_fname.is_null();
        // The program headers stand in the first page of the program.
        let behind = main_program_address().wrapping_sub(info.dli_fbase.addr());
        if known && behind >= 4096 {
            let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
            libc::dlopen(info.dli_fname, flags);
        }
    }
}
