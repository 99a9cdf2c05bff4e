//! Forked children continue their parent's files: by `fork` after any instruction of a
//! call, by a raw `clone`, at any generation, and after the program gave up its rights. Of a log that is
//! appended to, or goes through a pipe, too.

#![cfg(target_arch = "x86_64")]

mod common;

use logdef::{Level, Sink, logdef};
use logdef_wire::Record;
use std::arch::asm;
use std::collections::{BTreeMap, HashSet};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Waits for a child and says how it ended; 0 is well.
fn wait(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child, "it is there");
    status
}

/// Ends a child at once.
fn leave() -> ! {
    // SAFETY: leaves without running what the parent will run.
    unsafe { libc::_exit(0) }
}

/// What the files of a log hold: how often each first argument was logged, by the
/// record's level; how many runs there are, and files.
#[derive(Debug, Default)]
struct Found {
    numbers: BTreeMap<(Level, u64), u32>,
    /// Of these, the sequences and times of those of the process that opened the log.
    parents: BTreeMap<u64, Vec<(u64, u64)>>,
    runs: HashSet<u64>,
    families: HashSet<u64>,
    files: usize,
    dropped: u64,
}

fn read(directory: &Path) -> Found {
    let mut found = Found::default();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        found.files += 1;
        common::records(&std::fs::read(&path).unwrap(), |record| match record {
            Record::Preamble(preamble) => {
                found.families.insert(preamble.family.unwrap().0);
            }
            Record::Data(data) => {
                let number = data.args.unwrap().iter().next().unwrap();
                let key = (data.level.unwrap(), number.as_uint().unwrap());
                *found.numbers.entry(key).or_default() += 1;
                found.runs.insert(data.run.unwrap().0);
                if found.families.contains(&data.run.unwrap().0) {
                    let made = (data.sequence.unwrap().0, data.time.unwrap());
                    found.parents.entry(key.1).or_default().push(made);
                }
                found.dropped += data.dropped.unwrap_or(0);
            }
            _ => {}
        });
    }
    found
}

/// After how many instructions a child is forked.
static STRIDE: AtomicU64 = AtomicU64::new(0);
static STEPS: AtomicU64 = AtomicU64::new(0);
static FORKS: AtomicU64 = AtomicU64::new(0);
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether an instruction is one of those that the kernel gives programs to read its clock with.
/// They begin again whenever a tick comes in between, and so would never end if a child were forked
/// after each of them.
fn reads_the_kernels_clock(instruction: u64) -> bool {
    const MOST: u64 = 16 << 10;
    // SAFETY: takes no pointer.
    let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    (vdso..vdso + MOST).contains(&instruction)
}

/// Forks after some of the instructions that it is called after, but where the call
/// blocks signals: no handler can come there.
extern "C" fn trapped(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the context of what was interrupted.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    if reads_the_kernels_clock(context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64) {
        return;
    }
    let stride = STRIDE.load(Ordering::Relaxed);
    let step = STEPS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: a set that the kernel filled.
    let blocked = unsafe { libc::sigismember(&context.uc_sigmask, libc::SIGALRM) == 1 };
    if blocked || !step.is_multiple_of(stride) {
        return;
    }
    let nth = FORKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the child returns into the call, logs and leaves; every second is made as
    // by a program with a C library of its own: no fork handler runs.
    let child = unsafe {
        match nth % 2 {
            0 => libc::fork(),
            _ => libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32,
        }
    };
    match child {
        0 => {
            IS_CHILD.store(true, Ordering::Relaxed);
            // It continues without being stepped.
            context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !0x100;
            // Some log in the handler already.
            if nth % 4 >= 2 {
                logdef!(Warn, "child %lu logs in the handler", nth);
            }
        }
        child => assert_eq!(wait(child), 0, "after instruction {step}"),
    }
}

#[inline(never)]
fn call(number: u64) {
    static TEXT: [u8; 700] = [b'x'; 700];
    let text = str::from_utf8(&TEXT).unwrap();
    logdef!(Info, "%lu is stepped through: %f, %s", number, 0.5, text);
}

/// Steps through a call; children that are forked in it log when it returns, and leave.
fn step_through(number: u64) {
    // SAFETY: sets the trap flag, and clears it again after the call; the red zone is
    // stepped over.
    unsafe {
        asm!(
            "sub rsp, 128",
            "pushfq",
            "or qword ptr [rsp], 0x100",
            "popfq",
            "add rsp, 128"
        );
    }
    call(number);
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
    if IS_CHILD.load(Ordering::Relaxed) {
        let nth = FORKS.load(Ordering::Relaxed) - 1;
        for _ in 0..3 {
            logdef!(Error, "child %lu is out of the call", nth);
        }
        leave();
    }
}

/// Calls that are stepped through, or made as usual before that.
const CALLS: u64 = 27;

/// Steps through those of [`CALLS`] that are chosen, and forks a child after some of the instructions;
/// returns how many children that were.
fn fork_in_calls(is_stepped: impl Fn(u64) -> bool) -> u64 {
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    // A prime, so that the places of a loop are all met.
    let usual = if slow { 61 } else { 607 };
    let asked = std::env::var("LOGDEF_STRIDE").map(|stride| stride.parse().unwrap());
    STRIDE.store(asked.unwrap_or(usual), Ordering::Relaxed);
    STEPS.store(0, Ordering::Relaxed);
    FORKS.store(0, Ordering::Relaxed);
    // SAFETY: the handler forks and logs, which may be done in handlers.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = trapped as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut());
    }
    for number in 0..CALLS {
        if is_stepped(number) {
            step_through(number)
        } else {
            call(number)
        }
    }
    let forks = FORKS.load(Ordering::Relaxed);
    println!("{} steps, {forks} forks", STEPS.load(Ordering::Relaxed));
    assert!(forks > 10, "{forks}");
    forks
}

/// All records of the parent and of the children that it forked in its calls are there, once and whole, in one
/// file, and no process dropped one. A child may write what its parent writes too: `copies`, of the
/// same run, sequence and time, which readers know to be one record.
fn check_forked(directory: &Path, forks: u64, copies: bool) {
    let found = read(directory);
    for number in 0..CALLS {
        // A child that was forked before the call began makes it too.
        let mut made = found.parents.get(&number).cloned().unwrap_or_default();
        if copies {
            made.dedup();
        }
        assert_eq!(made.len(), 1, "{number}: {made:?}");
    }
    for nth in 0..forks {
        let after = found.numbers.get(&(Level::ERROR, nth));
        assert_eq!(after, Some(&3), "child {nth} of {forks}");
        let inside = found.numbers.get(&(Level::WARN, nth)).copied();
        assert_eq!(inside, (nth % 4 >= 2).then_some(1), "child {nth}");
    }
    assert_eq!(found.runs.len() as u64, 1 + forks);
    assert_eq!(
        (found.families.len(), found.files, found.dropped),
        (1, 1, 0)
    );
}

fn a_child_may_be_forked_after_any_instruction(directory: &Path) {
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    // Some that find everything as it was, one that takes another chunk, and, where there
    // is time, the first, which reads the program.
    let forks = fork_in_calls(|number| slow || number > 17);
    logdef::close();
    check_forked(directory, forks, false);
}

/// The calls of a log that is not mapped that are stepped through: they do the same as each other.
fn is_one_of_few(number: u64) -> bool {
    number > CALLS - 4
}

fn a_child_may_be_forked_in_a_call_that_appends() {
    let directory = tempfile::tempdir().unwrap();
    let options = logdef::options().sink(Sink::Append);
    let options = options.backtrace_level(Level::FATAL);
    options.open(directory.path().join("log")).unwrap();
    let forks = fork_in_calls(is_one_of_few);
    assert_eq!(logdef::state().dropped, 0);
    logdef::close();
    check_forked(directory.path(), forks, true);
}

/// Records of up to 4 KiB, which a pipe takes whole.
fn a_child_may_be_forked_in_a_call_on_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let log = std::fs::File::create(directory.path().join("log")).unwrap();
    let mut copier = Command::new("cat")
        .stdin(reader)
        .stdout(log)
        .spawn()
        .unwrap();
    let options = logdef::options().backtrace_level(Level::FATAL);
    options.open_fd(OwnedFd::from(writer)).unwrap();
    let forks = fork_in_calls(is_one_of_few);
    assert_eq!(logdef::state().dropped, 0);
    logdef::close();
    assert!(copier.wait().unwrap().success());
    check_forked(directory.path(), forks, true);
}

/// In a forked child another thread logs before the one that forked, whose memory it must
/// not take: both log on side by side.
fn a_childs_threads_do_not_share_what_they_have(directory: &Path) {
    const CALLS: u64 = 30_000;
    logdef!(Info, "%lu of the parent", CALLS);
    for raw in [false, true] {
        let both = || {
            let (logged, has_logged) = std::sync::mpsc::channel();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    logdef!(Warn, "%lu of the child's new thread", 0);
                    logged.send(()).unwrap();
                    for number in 1..CALLS {
                        logdef!(Warn, "%lu of the child's new thread", number);
                    }
                });
                has_logged.recv().unwrap();
                for number in 0..CALLS {
                    logdef!(Error, "%lu of the thread that forked", number);
                }
            });
        };
        if raw {
            // SAFETY: the child starts a thread and logs; the C library does not learn of
            // it, and need not, since no other thread of the parent holds any of its locks.
            let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
            if child == 0 {
                both();
                leave();
            }
            assert_eq!(wait(child as i32), 0);
        } else {
            common::in_child(both);
        }
    }
    let found = read(directory);
    assert_eq!((found.runs.len(), found.dropped), (3, 0));
    for number in 0..CALLS {
        for level in [Level::WARN, Level::ERROR] {
            assert_eq!(found.numbers.get(&(level, number)), Some(&2), "{number}");
        }
    }
}

#[test]
fn children_continue_in_the_files_of_their_parent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let options = || {
        logdef::options()
            .sink(Sink::Mapped)
            .backtrace_level(Level::FATAL)
    };

    // A child of a child of a child, each of which ends when it has forked.
    options().open(&path).unwrap();
    fn generation(left: u64) {
        logdef!(Info, "%lu generations to come", left);
        if left > 0 {
            common::in_child(|| generation(left - 1));
        }
    }
    common::in_child(|| generation(50));
    logdef::close();
    let found = read(directory.path());
    assert_eq!(
        (found.numbers.len(), found.runs.len(), found.files),
        (51, 51, 1)
    );
    std::fs::remove_file(&path).unwrap();

    // Many children of a log of two files.
    options().rotate(256 << 10).keep(2).open(&path).unwrap();
    for child in 0..300 {
        common::in_child(|| {
            for _ in 0..10 {
                logdef!(Info, "%lu is a child", child);
            }
        });
    }
    logdef!(Info, "%lu is the parent", 300);
    logdef::close();
    let found = read(directory.path());
    assert!(found.files <= 2, "{}", found.files);
    assert_eq!(found.numbers.get(&(Level::INFO, 299)), Some(&10));
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }

    // Without the right to make a file.
    options().open(&path).unwrap();
    logdef!(Info, "%lu before", 0);
    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        common::in_child(|| {
            // SAFETY: gives up rights, in a child that only logs.
            assert_eq!(unsafe { libc::setuid(65534) }, 0);
            logdef!(Info, "%lu after setuid", 1);
            common::in_child(|| logdef!(Info, "%lu after setuid and fork", 2));
            logdef!(Info, "%lu after setuid", 3);
        });
        let found = read(directory.path());
        assert_eq!((found.numbers.len(), found.runs.len()), (4, 3));
    }
    logdef::close();
    std::fs::remove_file(&path).unwrap();

    options().open(&path).unwrap();
    a_childs_threads_do_not_share_what_they_have(directory.path());
    logdef::close();
    std::fs::remove_file(&path).unwrap();

    options().open(&path).unwrap();
    a_child_may_be_forked_after_any_instruction(directory.path());
    a_child_may_be_forked_in_a_call_that_appends();
    a_child_may_be_forked_in_a_call_on_a_pipe();
}
