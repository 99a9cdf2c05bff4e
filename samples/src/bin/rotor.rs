//! Threads, fast and slow, and forked children that log into files which are rotated all
//! the time.
//!
//! ```text
//! rotor LOG FILE_SIZE RECORDS FAST SLOW CHILDREN [SINK]
//! ```
//!
//! Each of the FAST threads logs RECORDS records. The SLOW ones log one for a hundred of
//! those, so that they stay in their chunk of an old file while others move to new ones. None logs a
//! second one before all have logged one: a thread that begins when another has ended continues
//! in its chunk. On the way CHILDREN are forked one after another, each of which logs a little. SINK
//! is `mapped`, the default, or `auto`.

use logdef::{Sink, logdef};
use std::process::ExitCode;
use std::sync::{Arc, Barrier};
use std::time::Duration;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (args, sink) = match &args[..] {
        [args @ .., sink] if sink == "auto" => (args, Sink::Auto),
        [args @ .., sink] if sink == "mapped" => (args, Sink::Mapped),
        args => (args, Sink::Mapped),
    };
    let [log, numbers @ ..] = args else {
        return usage();
    };
    let numbers: Result<Vec<u64>, _> = numbers.iter().map(|number| number.parse()).collect();
    let Ok(&[file_size, records, fast, slow, children]) = numbers.as_deref() else {
        return usage();
    };
    let options = logdef::options().sink(sink).rotate(file_size);
    options.open(log).expect("a log");
    let begun = Arc::new(Barrier::new((fast + slow) as usize));
    let threads: Vec<_> = (0..fast + slow)
        .map(|thread| {
            let begun = begun.clone();
            std::thread::spawn(move || log_in_thread(thread, records, thread < fast, &begun))
        })
        .collect();
    for child in 0..children {
        log_in_child(child);
        std::thread::sleep(Duration::from_millis(5));
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: rotor LOG FILE_SIZE RECORDS FAST SLOW CHILDREN [SINK]");
    ExitCode::from(2)
}

fn log_in_thread(thread: u64, records: u64, is_fast: bool, begun: &Barrier) {
    for record in 0..records {
        if record == 1 {
            begun.wait();
        }
        if is_fast {
            logdef!(Info, "thread %lu, record %lu of a fast one", thread, record);
            if record % 1000 == 0 {
                std::thread::yield_now();
            }
        } else if record % 100 == 0 {
            logdef!(Warn, "thread %lu, record %lu of a slow one", thread, record);
            std::thread::sleep(Duration::from_micros(300));
        }
    }
}

fn log_in_child(child: u64) {
    // SAFETY: the child calls the logger, which allows it after a fork, and ends without
    // running what the parent registered.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            for record in 0..20_u64 {
                logdef!(Info, "child %lu, record %lu", child, record);
            }
            libc::_exit(0);
        }
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}
