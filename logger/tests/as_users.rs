//! What users do to a program that logs: take a core of it, lock its memory, look for
//! leaks, limit its addresses, confine it. This program is its own victim: called with
//! the name of one, it is that.

use common::skip;
use logdef::{Sink, logdef};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

mod common;

const VICTIM: &str = "LOGDEF_TEST_VICTIM";

fn log(numbers: std::ops::Range<u64>) {
    let text = "x".repeat(1000);
    for number in numbers {
        logdef!(Info, "%llu %s", number, text);
    }
}

fn numbers(directory: &Path) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        common::data(&std::fs::read(path).unwrap(), |data| {
            let number = data.args.unwrap().iter().next().unwrap();
            numbers.insert(number.as_uint().unwrap());
        });
    }
    numbers
}

/// A number that `/proc/self/status` has, in KiB.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Lets the process have no more of a resource.
fn limit(resource: libc::__rlimit_resource_t, bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: a valid struct.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const limit) }, 0);
}

fn wait(child: i32) {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}

const CALLS: u64 = 20_000;

/// Logs 20 MB, then waits until its standard input is closed.
fn core(log_at: &Path) {
    open(log_at);
    log(0..CALLS);
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn open(log_at: &Path) {
    logdef::options().sink(Sink::Mapped).open(log_at).unwrap();
}

/// Some threads log; what is locked is bounded by their number.
fn locked(log_at: &Path) {
    const THREADS: u64 = 8;
    const OF_EACH: u64 = CALLS / 2;
    // SAFETY: takes no pointer.
    let done = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    assert_eq!(done, 0);
    open(log_at);
    // Stacks and what the threads allocate for themselves are locked too.
    let of_threads = |each: &(dyn Fn(u64) + Sync)| measured(THREADS, each, || status("VmLck:"));
    let (few, many) = of_threads(&|part| log(part * OF_EACH..(part + 1) * OF_EACH));
    // A chunk of 2 MiB and the one before it for each, and no more for 10 MB of each.
    let most = few + THREADS * (5 << 10);
    assert!(many <= most, "{few}, then {many} KiB");
    assert_eq!(logdef::state().dropped, 0);
}

/// What `measure` says while `threads` threads have made their first calls, and when each has done
/// its part and still lives.
fn measured<T>(threads: u64, each: &(dyn Fn(u64) + Sync), measure: impl Fn() -> T) -> (T, T) {
    let [begun, begin, done, end] = [(); 4].map(|()| Barrier::new(threads as usize + 1));
    std::thread::scope(|scope| {
        for part in 0..threads {
            let (begun, begin, done, end) = (&begun, &begin, &done, &end);
            scope.spawn(move || {
                logdef!(Info, "%llu %s", part, "begins");
                begun.wait();
                begin.wait();
                each(part);
                done.wait();
                end.wait();
            });
        }
        begun.wait();
        let before = measure();
        begin.wait();
        done.wait();
        let after = measure();
        end.wait();
        (before, after)
    })
}

/// The log takes an eighth of the addresses that the process may have at most, whatever the number
/// of its threads, and half of them are there for the program.
fn limited(log_at: &Path, bytes: u64) {
    const THREADS: u64 = 30;
    limit(libc::RLIMIT_AS, bytes);
    // The C library takes 64 MiB of addresses for the memory of each of some threads.
    // SAFETY: takes no pointer.
    assert_eq!(unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) }, 1);
    open(log_at);
    let of_each = 4 * CALLS / THREADS;
    let each = |part| log(part * of_each..(part + 1) * of_each);
    let (_, (windows, half)) = measured(THREADS, &each, || {
        let mut half = Vec::<u8>::new();
        (mapped(log_at), half.try_reserve_exact(bytes as usize / 2))
    });
    assert!(windows <= bytes / 8, "{windows} bytes of addresses");
    half.unwrap();
    assert_eq!(logdef::state().dropped, 0);
}

/// Bytes of addresses that lead to a file.
fn mapped(file: &Path) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let of_file = maps
        .lines()
        .filter(|line| line.ends_with(file.to_str().unwrap()));
    let sizes = of_file.map(|line| {
        let (range, _) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        number(end) - number(start)
    });
    sizes.sum()
}

fn limited_to_1200_mb(log_at: &Path) {
    limited(log_at, 1_200_000_000);
}

fn limited_to_4400_mb(log_at: &Path) {
    limited(log_at, 4_400_000_000);
}

/// Little memory may be locked: the log takes an eighth of it.
fn little_locked(log_at: &Path) {
    limit(libc::RLIMIT_MEMLOCK, 8 << 20);
    open(log_at);
    log(0..10);
    // SAFETY: takes no pointer; for root the limit does not hold.
    let done = unsafe { libc::setuid(65534) | libc::mlockall(libc::MCL_FUTURE) };
    assert_eq!(done, 0);
    log(10..CALLS);
    assert!(status("VmLck:") <= 3 << 10, "{} KiB", status("VmLck:"));
    assert_eq!(logdef::state().dropped, 0);
}

/// The same for all that is mapped after the program's start: the memory of its threads did not fit, and
/// all calls were dropped without a count.
fn locked_from_the_start(log_at: &Path) {
    std::os::unix::fs::chown(log_at.parent().unwrap(), Some(65534), None).unwrap();
    limit(libc::RLIMIT_MEMLOCK, 8 << 20);
    // SAFETY: takes no pointer; for root the limit does not hold.
    let done = unsafe { libc::setuid(65534) | libc::mlockall(libc::MCL_FUTURE) };
    assert_eq!(done, 0);
    open(log_at);
    log(0..CALLS);
    assert_eq!(logdef::state().dropped, 0);
}

/// Where the memory of threads cannot be had, the log cannot be opened.
fn no_addresses(log_at: &Path) {
    let limited_to = |bytes| {
        let limit = libc::rlimit {
            rlim_cur: (status("VmSize:") << 10) + bytes,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: a valid struct.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    };
    limited_to(2 << 20);
    let opened = logdef::options().sink(Sink::Append).open(log_at);
    limited_to(100 << 20);
    assert!(opened.is_err());
    std::fs::remove_file(log_at).unwrap();
    open(log_at);
    log(0..CALLS);
    assert_eq!(logdef::state().dropped, 0);
}

/// Few addresses are left, as where the kernel promises no more than it has.
fn few_addresses(log_at: &Path) {
    limit(libc::RLIMIT_AS, (status("VmSize:") << 10) + (100 << 20));
    open(log_at);
    log(0..CALLS);
    assert_eq!(logdef::state().dropped, 0);
    assert!(Vec::<u8>::with_capacity(60 << 20).capacity() > 0);
}

/// The root changes, and a child is forked then.
fn confined(log_at: &Path) {
    open(log_at);
    log(0..100);
    let jail = log_at.parent().unwrap().join("jail");
    std::fs::create_dir(&jail).unwrap();
    std::os::unix::fs::chroot(&jail).unwrap();
    std::env::set_current_dir("/").unwrap();
    log(100..CALLS / 2);
    // SAFETY: the child logs and leaves.
    match unsafe { libc::fork() } {
        0 => {
            log(CALLS / 2..CALLS);
            let dropped = logdef::state().dropped;
            // SAFETY: leaves without running what the parent will run.
            unsafe { libc::_exit(i32::from(dropped > 0)) };
        }
        child => wait(child),
    }
}

/// A child has the memory of its parent, as one of `vfork` does, and logs in it.
fn in_common(log_at: &Path) {
    static IS_COMMON: AtomicBool = AtomicBool::new(false);
    extern "C" fn store(_: *mut libc::c_void) -> libc::c_int {
        IS_COMMON.store(true, Ordering::Relaxed);
        0
    }
    extern "C" fn child(_: *mut libc::c_void) -> libc::c_int {
        log(10..CALLS / 2);
        0
    }
    open(log_at);
    log(0..10);
    run_in_common(store);
    if IS_COMMON.load(Ordering::Relaxed) {
        run_in_common(child);
    } else {
        skip::skip("an emulator gives such a child a copy of the memory");
        log(10..CALLS / 2);
    }
    log(CALLS / 2..CALLS);
    assert_eq!(logdef::state().dropped, 0);
}

/// Runs a child that is to have the memory of its parent.
fn run_in_common(child: extern "C" fn(*mut libc::c_void) -> libc::c_int) {
    let mut stack = vec![0u8; 1 << 20];
    // SAFETY: the parent is stopped until the child has ended, as with `vfork`; the stack
    // is the child's alone.
    let child = unsafe {
        let top = stack.as_mut_ptr().add(stack.len() - 64).cast();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(child, top, flags, std::ptr::null_mut())
    };
    assert!(child > 0);
    wait(child);
}

fn leaks(log_at: &Path) {
    open(log_at);
    log(0..CALLS / 4);
}

type Victim = fn(&Path);
const VICTIMS: [(&str, Victim); 12] = [
    ("core", core),
    ("locked", locked),
    ("little_locked", little_locked),
    ("locked_from_the_start", locked_from_the_start),
    ("no_addresses", no_addresses),
    ("few_addresses", few_addresses),
    ("limited_to_1200_mb", limited_to_1200_mb),
    ("limited_to_4400_mb", limited_to_4400_mb),
    ("confined", confined),
    ("of_another_group", of_another_group),
    ("in_common", in_common),
    ("leaks", leaks),
];

/// The files are to be another group's, which the system does not allow: the rights that this
/// group would have had are no one's.
fn of_another_group(log_at: &Path) {
    use std::os::unix::fs::{MetadataExt, chown};

    chown(log_at.parent().unwrap(), Some(65534), None).unwrap();
    // SAFETY: takes no pointer.
    let done = unsafe { libc::setgid(65534) | libc::setuid(65534) };
    assert_eq!(done, 0);
    let options = logdef::options().sink(Sink::Mapped).file_mode(0o640);
    options.file_group(0).open(log_at).unwrap();
    log(0..CALLS);
    let file = log_at.metadata().unwrap();
    assert_eq!((file.mode() & 0o777, file.gid()), (0o600, 65534));
}

fn main() {
    if let Ok(name) = std::env::var(VICTIM) {
        let (_, victim) = VICTIMS.iter().find(|(one, _)| *one == name).unwrap();
        victim(Path::new(&std::env::args().next_back().unwrap()));
        return;
    }
    // SAFETY: has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    for name in [
        "few_addresses",
        "no_addresses",
        "limited_to_1200_mb",
        "limited_to_4400_mb",
        "in_common",
    ] {
        logs_all(name);
    }
    if is_root {
        for name in [
            "locked",
            "little_locked",
            "locked_from_the_start",
            "confined",
            "of_another_group",
        ] {
            logs_all(name);
        }
    } else {
        skip::skip("only root may lock memory, change its root or become another user");
    }
    a_core_holds_a_window_of_the_log_at_most();
    a_check_for_leaks_ends();
}

fn victim(name: &str, wrapper: &[&str], log_at: &Path) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut words: Vec<_> = wrapper.iter().map(std::ffi::OsString::from).collect();
    words.push(program.into_os_string());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(log_at).env(VICTIM, name);
    command
}

fn logs_all(name: &str) {
    println!("{name}");
    let directory = tempfile::tempdir().unwrap();
    let done = victim(name, &[], &directory.path().join("log")).status();
    assert!(done.unwrap().success(), "{name}");
    let _ = std::fs::remove_dir(directory.path().join("jail"));
    let found = numbers(directory.path());
    assert!((0..CALLS).all(|number| found.contains(&number)), "{name}");
}

fn is_here(tool: &str) -> bool {
    let asked = Command::new(tool).arg("--version").output();
    let here = asked.is_ok_and(|output| output.status.success());
    if !here {
        skip::skip(format!("{tool} is not here"));
    }
    here
}

/// Whether other programs see this one in its process, and not an emulator that runs it.
fn is_seen() -> bool {
    let seen = std::fs::read_link("/proc/thread-self/exe").unwrap();
    let is_seen = seen == std::env::current_exe().unwrap();
    if !is_seen {
        skip::skip(format!("{} would be looked at", seen.display()));
    }
    is_seen
}

fn a_core_holds_a_window_of_the_log_at_most() {
    if !is_here("gdb") || !is_seen() {
        return;
    }
    println!("core");
    let directory = tempfile::tempdir().unwrap();
    let mut command = victim("core", &[], &directory.path().join("log"));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(common::line_of(&mut child), "ready");
    let to = directory.path().join("core");
    let mut gcore = Command::new("gcore");
    gcore
        .arg("-a")
        .arg("-o")
        .arg(&to)
        .arg(child.id().to_string());
    let taken = gcore.output().unwrap();
    let _ = writeln!(child.stdin.take().unwrap(), "end");
    assert!(child.wait().unwrap().success());
    if !taken.status.success() {
        skip::skip("gcore may not look at a process here");
        return;
    }
    let core = std::fs::read(format!("{}.{}", to.display(), child.id())).unwrap();
    assert!(core.len() < 64 << 20, "{} bytes", core.len());
    // Texts of the log stand in it for one chunk, 2 MiB, of 20.
    let text = [b'x'; 1000];
    let mut found = 0;
    let mut at = 0;
    while let Some(next) = memchr(&core[at..], &text) {
        found += 1;
        at += next + text.len();
    }
    assert!(found < 6_000, "{found} records in the core");
}

fn memchr(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at + text.len() <= bytes.len() {
        // From the end of where it may stand: most of the bytes are passed over.
        match bytes[at..at + text.len()]
            .iter()
            .rposition(|byte| *byte != b'x')
        {
            None => return Some(at),
            Some(other) => at += other + 1,
        }
    }
    None
}

fn a_check_for_leaks_ends() {
    if !is_here("valgrind") || !is_seen() {
        return;
    }
    println!("leaks");
    let directory = tempfile::tempdir().unwrap();
    let wrapper = ["timeout", "100", "valgrind", "-q", "--leak-check=full"];
    let mut command = victim("leaks", &wrapper, &directory.path().join("log"));
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert!(!said.contains("definitely lost"), "{said}");
    assert_eq!(numbers(directory.path()).len() as u64, CALLS / 4);
}
