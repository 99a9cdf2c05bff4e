//! A program exits while the pipe that its log goes to is full and a call was dropped: no note of that waits for
//! the reader, which may be waiting for the end of the program.

mod common;

use logdef::logdef;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::thread::JoinHandleExt;
use std::time::Duration;

extern "C" fn log_one(_signal: i32) {
    logdef!(Info, "in the middle of a record");
}

#[test]
fn a_full_pipe_holds_up_no_exit() {
    common::in_child(|| {
        let (mut reader, writer) = std::io::pipe().unwrap();
        logdef::options().open_fd(OwnedFd::from(writer)).unwrap();
        let handler: extern "C" fn(i32) = log_one;
        // SAFETY: the handler does nothing but log, which may be done in handlers.
        unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        let text = "x".repeat(9000);
        let stuck = std::thread::spawn(move || {
            loop {
                logdef!(Info, "%s", text);
            }
        });
        loop {
            std::thread::sleep(Duration::from_millis(20));
            // SAFETY: the thread never ends.
            unsafe { libc::pthread_kill(stuck.as_pthread_t(), libc::SIGUSR1) };
            std::thread::sleep(Duration::from_millis(20));
            if logdef::state().dropped > 0 {
                break;
            }
            // The handler came between two records, and waits for the reader as they do.
            reader.read_exact(&mut [0; 4096]).unwrap();
        }
        // SAFETY: ends this process, in the way that is tested or by the signal.
        unsafe {
            libc::alarm(30);
            libc::exit(0);
        }
    });
}
