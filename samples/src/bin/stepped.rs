//! Makes a few log calls and walks through the last of them one instruction at
//! a time, by the CPU's trap flag: after each, a handler looks at the log's
//! files, or kills the process.
//!
//! ```text
//! stepped LOG FILE_SIZE TEXT CALLS look SIGHTS
//! stepped LOG FILE_SIZE TEXT CALLS kill INSTRUCTIONS
//! stepped LOG FILE_SIZE TEXT count
//! ```
//!
//! FILE_SIZE is that of the log's files, 0 for one file; TEXT the length of a
//! string argument; CALLS how many calls there are before the last. `look` writes
//! to SIGHTS what [`logdef_samples::sights`] reads. `count` says how many calls
//! it takes until the log has a second file.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    walk::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    panic!("instructions are only counted on x86_64");
}

#[cfg(target_arch = "x86_64")]
mod walk {
    use logdef::{Sink, logdef};
    use logdef_samples::sights::FILES;
    use std::arch::asm;
    use std::cell::UnsafeCell;
    use std::ffi::{CString, c_int};
    use std::path::PathBuf;
    use std::process::ExitCode;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

    pub fn main() -> ExitCode {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let [log, file_size, text, rest @ ..] = &args[..] else {
            eprintln!("usage: stepped LOG FILE_SIZE TEXT count|CALLS look|kill TO");
            return ExitCode::from(2);
        };
        let mut options = logdef::options().sink(Sink::Mapped);
        let file_size: u64 = file_size.parse().expect("a size");
        if file_size > 0 {
            options = options.rotate(file_size);
        }
        if let Err(error) = options.open(log) {
            eprintln!("{log}: {error}");
            return ExitCode::FAILURE;
        }
        // The digest of this program is out of the way, and there is a record
        // in the file before this thread's first.
        std::thread::spawn(|| logdef!(Info, "the first record of the program"))
            .join()
            .expect("it only logs");
        let text = "x".repeat(text.parse().expect("a length"));
        let [calls, what, to] = rest else {
            let first = newest(log);
            let mut calls = 0;
            while newest(log) == first {
                call(calls, &text);
                calls += 1;
            }
            println!("{}", calls - 1);
            return ExitCode::SUCCESS;
        };
        let calls = calls.parse().expect("a number of calls");
        for count in 0..calls {
            call(count, &text);
        }
        match &**what {
            "kill" => KILL_AT.store(to.parse().expect("a number"), Ordering::Relaxed),
            _ => look_at(log, to),
        }
        step_through(|| call(calls, &text));
        println!("{}", STEPS.load(Ordering::Relaxed));
        ExitCode::SUCCESS
    }

    #[inline(never)]
    fn call(count: u32, text: &str) {
        logdef!(Info, "record %u: %f %s", count, 0.5, text);
    }

    fn newest(log: &str) -> Option<PathBuf> {
        std::fs::read_link(log).ok()
    }

    static STEPS: AtomicU64 = AtomicU64::new(0);
    static KILL_AT: AtomicU64 = AtomicU64::new(u64::MAX);

    fn step_through(call: impl FnOnce()) {
        // SAFETY: the handler makes system calls and touches what is its own;
        // the flag is set after the red zone is stepped over, and cleared again.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = trapped as *const () as usize;
            libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut());
            asm!(
                "sub rsp, 128",
                "pushfq",
                "or qword ptr [rsp], 0x100",
                "popfq",
                "add rsp, 128"
            );
        }
        call();
        // SAFETY: clears the trap flag; the red zone is stepped over.
        unsafe {
            asm!(
                "sub rsp, 128",
                "pushfq",
                "and qword ptr [rsp], ~0x100",
                "popfq",
                "add rsp, 128"
            );
        }
    }

    extern "C" fn trapped(_: c_int) {
        let step = STEPS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the thread's own errno, which the interrupted code may be
        // about to read; `look` is not entered again before it returned.
        unsafe {
            let errno = *libc::__errno_location();
            if step == KILL_AT.load(Ordering::Relaxed) {
                libc::kill(libc::getpid(), libc::SIGKILL);
            }
            if let Some(names) = NAMES.get() {
                look(names, step);
            }
            *libc::__errno_location() = errno;
        }
    }

    /// The log's files, by name.
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    static SIGHTS: AtomicI32 = AtomicI32::new(-1);

    const LARGEST: usize = 1 << 20;

    /// What each file was when it was looked at last, and one it is read into.
    struct Last(UnsafeCell<[([u8; LARGEST], usize); FILES.len() + 1]>);

    // SAFETY: used in the handler alone, of one thread.
    unsafe impl Sync for Last {}

    static LAST: Last = Last(UnsafeCell::new([([0; LARGEST], 0); FILES.len() + 1]));

    fn look_at(log: &str, sights: &str) {
        let names = FILES.map(|suffix| CString::new(format!("{log}{suffix}")).expect("no NUL"));
        NAMES.set(names.to_vec()).expect("once");
        let file = std::fs::File::create(sights).expect("a file for sights");
        SIGHTS.store(std::os::fd::IntoRawFd::into_raw_fd(file), Ordering::Relaxed);
    }

    /// Writes down each file that is not what it was.
    ///
    /// # Safety
    ///
    /// One at a time.
    unsafe fn look(names: &[CString], step: u64) {
        // SAFETY: one call at a time uses the memory (contract above); the descriptors
        // are those just opened, and the buffers as long as said.
        unsafe {
            let [seen @ .., (now, _)] = &mut *LAST.0.get();
            for (nth, (name, (before, before_len))) in names.iter().zip(seen).enumerate() {
                // The path itself may be a link to a file that is looked at anyway.
                let fd = libc::open(name.as_ptr(), libc::O_RDONLY | libc::O_NOFOLLOW);
                if fd < 0 {
                    continue;
                }
                let len = libc::pread(fd, now.as_mut_ptr().cast(), LARGEST, 0) as usize;
                libc::close(fd);
                if (&now[..len], len) == (&before[..*before_len], *before_len) {
                    continue;
                }
                before[..len].copy_from_slice(&now[..len]);
                *before_len = len;
                let head = [step, nth as u64, len as u64];
                let to = SIGHTS.load(Ordering::Relaxed);
                let written = libc::write(to, head.as_ptr().cast(), size_of_val(&head))
                    + libc::write(to, now.as_ptr().cast(), len);
                if written as usize != size_of_val(&head) + len {
                    libc::abort();
                }
            }
        }
    }
}
