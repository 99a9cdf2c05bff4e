//! The table of system calls in the logger's documentation, as numbers.

use libc::c_long;

/// The numbers of the system calls that some rows of the table name.
pub fn of(rows: &[&str]) -> Vec<c_long> {
    let names = rows.iter().flat_map(|row| cell(row));
    names.flat_map(numbers).copied().collect()
}

/// The names in a row of the table.
fn cell(row: &str) -> Vec<&'static str> {
    let start = format!("//! | {row} |");
    let lines = include_str!("../../src/lib.rs").lines();
    let cells: Vec<_> = lines.filter_map(|line| line.strip_prefix(&start)).collect();
    let [cell] = cells[..] else {
        panic!("{} rows for {row}", cells.len());
    };
    let parts: Vec<_> = cell.split('`').collect();
    // A link leads to a function of the logger.
    let named = parts.chunks_exact(2).filter(|part| !part[0].ends_with('['));
    named.map(|part| part[1]).collect()
}

fn numbers(name: &str) -> &'static [c_long] {
    match name.split('(').next().unwrap() {
        "clone3" => &[libc::SYS_clone3],
        "close" => &[libc::SYS_close],
        "dup3" => &[libc::SYS_dup3],
        "fallocate" => &[libc::SYS_fallocate],
        "fcntl" => &[libc::SYS_fcntl],
        "fdatasync" => &[libc::SYS_fdatasync],
        "flock" => &[libc::SYS_flock],
        "fstat" => &[libc::SYS_fstat, libc::SYS_newfstatat],
        "fstatfs" => &[libc::SYS_fstatfs],
        "fsync" => &[libc::SYS_fsync],
        "futex" => &[libc::SYS_futex],
        "getdents64" => &[libc::SYS_getdents64],
        "geteuid" => &[libc::SYS_geteuid],
        "getpid" => &[libc::SYS_getpid],
        "getrandom" => &[libc::SYS_getrandom],
        "getrusage" => &[libc::SYS_getrusage],
        "gettid" => &[libc::SYS_gettid],
        "ioctl" => &[libc::SYS_ioctl],
        "kill" => &[libc::SYS_kill],
        "lseek" => &[libc::SYS_lseek],
        "madvise" => &[libc::SYS_madvise],
        "mkdirat" => &[libc::SYS_mkdirat],
        "mmap" => &[libc::SYS_mmap],
        "mprotect" => &[libc::SYS_mprotect],
        "munmap" => &[libc::SYS_munmap],
        "openat" => &[libc::SYS_openat],
        "ppoll" => &[libc::SYS_ppoll],
        "prctl" => &[libc::SYS_prctl],
        "prlimit64" => &[libc::SYS_prlimit64],
        "process_vm_readv" => &[libc::SYS_process_vm_readv],
        "pwritev" => &[libc::SYS_pwritev],
        "read" => &[libc::SYS_read],
        #[cfg(target_arch = "aarch64")]
        "readlink" => &[libc::SYS_readlinkat],
        #[cfg(target_arch = "x86_64")]
        "readlink" => &[libc::SYS_readlink],
        "renameat" => &[libc::SYS_renameat],
        "renameat2" => &[libc::SYS_renameat2],
        "rseq" => &[libc::SYS_rseq],
        "rt_sigpending" => &[libc::SYS_rt_sigpending],
        "rt_sigprocmask" => &[libc::SYS_rt_sigprocmask],
        "rt_sigtimedwait" => &[libc::SYS_rt_sigtimedwait],
        "sched_getaffinity" => &[libc::SYS_sched_getaffinity],
        "sched_yield" => &[libc::SYS_sched_yield],
        "set_robust_list" => &[libc::SYS_set_robust_list],
        "sigaltstack" => &[libc::SYS_sigaltstack],
        "statx" => &[libc::SYS_statx],
        #[cfg(target_arch = "aarch64")]
        "symlink" => &[libc::SYS_symlinkat],
        #[cfg(target_arch = "x86_64")]
        "symlink" => &[libc::SYS_symlink],
        "truncate" => &[libc::SYS_truncate],
        "syncfs" => &[libc::SYS_syncfs],
        "uname" => &[libc::SYS_uname],
        #[cfg(target_arch = "aarch64")]
        "unlink" => &[libc::SYS_unlinkat],
        #[cfg(target_arch = "x86_64")]
        "unlink" => &[libc::SYS_unlink],
        "write" => &[libc::SYS_write],
        path if path.starts_with('/') => &[],
        other => panic!("no system call {other}"),
    }
}
