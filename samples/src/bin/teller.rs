//! Logs one numbered record after another and counts in a file of its own how many calls have
//! returned, so that a test knows what a log must hold whatever becomes of this process.
//!
//! ```text
//! teller LOG COUNT [records=N] [pause=MICROSECONDS] [name=NUMBER] [rotate=BYTES] [keep=FILES]
//!        [children=N] [mapped=1] [text=BYTES]
//! ```
//!
//! COUNT is a file of 8 bytes for that number. After N records (no limit by default), or SIGTERM, it
//! prints one line: calls that returned, calls that were dropped, the slowest one in ms, what
//! `sync` said, and the state of the log. SIGHUP opens the log again, as after a rename.

use logdef::{Options, Sink, logdef};
use std::fs::OpenOptions;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [log, count, more @ ..] = &args[..] else {
        eprintln!("usage: teller LOG COUNT [WORD=NUMBER ...]");
        return ExitCode::from(2);
    };
    let plan = Plan::of(more);
    let count = OpenOptions::new().read(true).write(true).open(count);
    let map = memmap2::MmapRaw::map_raw(&count.expect("the count")).expect("a map");
    assert!(map.len() >= 8);
    // SAFETY: maps are aligned to pages; this one holds a word, lives as long as `main`, and
    // its file is never truncated.
    let returned = unsafe { &*map.as_ptr().cast::<AtomicU64>() };
    heed_signals();
    if let Err(error) = plan.options.clone().open(log) {
        eprintln!("{log}: {error}");
        return ExitCode::FAILURE;
    }
    let slowest = plan.log_calls(returned);
    let state = logdef::state();
    let synced = logdef::sync();
    let after = logdef::state();
    println!(
        "returned={} dropped={} slowest_ms={} errno={} sync={} mapped={} why={:?} path={}",
        returned.load(Ordering::Acquire),
        after.dropped,
        slowest.as_millis(),
        state.errno.unwrap_or(0),
        synced.map_or_else(|error| error.raw_os_error().unwrap_or(-1), |()| 0),
        state.is_mapped,
        state.why.unwrap_or_default(),
        state.path.display(),
    );
    logdef::close();
    ExitCode::SUCCESS
}

/// What the arguments ask for.
struct Plan {
    options: Options,
    records: u64,
    pause: Duration,
    name: u64,
    children: u64,
    text: String,
}

impl Plan {
    fn of(words: &[String]) -> Plan {
        let mut plan = Plan {
            options: logdef::options(),
            records: u64::MAX,
            pause: Duration::ZERO,
            name: 0,
            children: 0,
            text: String::new(),
        };
        for word in words {
            let (word, number) = word.split_once('=').expect("a word and a number");
            let number: u64 = number.parse().expect("a number");
            match word {
                "records" => plan.records = number,
                "pause" => plan.pause = Duration::from_micros(number),
                "name" => plan.name = number,
                "rotate" => plan.options = plan.options.rotate(number),
                "keep" => plan.options = plan.options.keep(number as u32),
                "children" => plan.children = number,
                "mapped" => plan.options = plan.options.sink(Sink::Mapped),
                "text" => plan.text = "abcdefgh".repeat(number as usize / 8),
                _ => panic!("{word} is no word"),
            }
        }
        plan
    }

    /// Logs until it is enough. The time of the slowest call.
    fn log_calls(&self, returned: &AtomicU64) -> Duration {
        let mut slowest = Duration::ZERO;
        let each = self.records / self.children.max(1);
        for record in 0..self.records {
            if STOP.load(Ordering::Relaxed) {
                break;
            }
            if self.children > 0 && record % each == each / 2 {
                log_in_child(self.name, record);
            }
            let begun = Instant::now();
            logdef!(Info, "record %lu of %lu %s", record, self.name, &self.text);
            slowest = slowest.max(begun.elapsed());
            returned.store(record + 1, Ordering::Release);
            if !self.pause.is_zero() {
                std::thread::sleep(self.pause);
            }
        }
        slowest
    }
}

/// A forked child logs ten records, and is waited for.
fn log_in_child(name: u64, at: u64) {
    // SAFETY: the child calls the logger, which allows it after a fork, and ends without
    // running what the parent registered.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            for record in 0..10_u64 {
                logdef!(Info, "child record %lu at %lu of %lu", record, at, name);
            }
            libc::_exit(0);
        }
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}

extern "C" fn on_signal(signal: libc::c_int) {
    if signal == libc::SIGHUP {
        let _ = logdef::reopen();
    } else {
        STOP.store(true, Ordering::Relaxed);
    }
}

fn heed_signals() {
    for signal in [libc::SIGHUP, libc::SIGTERM] {
        let handler = on_signal as extern "C" fn(libc::c_int);
        // SAFETY: the handler stores a flag, or calls what may be called in a handler.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}
