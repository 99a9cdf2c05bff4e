//! Captures what is logged, for tests: without a file, and whether a log is open or not.
//!
//! ```
//! use logdef::{Level, logdef, testing};
//!
//! fn sign_in(user: &str) {
//!     logdef!(Warn, "{user} signed in after {} attempts", 3, ms = 2.5);
//! }
//!
//! // #[test]
//! fn a_slow_sign_in_is_logged() {
//!     let logged = testing::capture();
//!     sign_in("ada");
//!     assert_eq!(logged.messages(), ["ada signed in after 3 attempts"]);
//!     let record = &logged.records()[0];
//!     assert_eq!(record.level(), Level::WARN);
//!     assert_eq!(record["user"], "ada");
//!     assert_eq!(record["ms"], 2.5);
//!     assert_eq!(record.values()[0].1, 3);
//! }
//! # a_slow_sign_in_is_logged();
//! ```
//!
//! Tests that run at the same time capture at the same time: each has the records of its own
//! thread, by [`capture`]. Work that other threads do for a test is captured by
//! [`capture_all`], which also has what other tests log meanwhile.
//!
//! When a capture is dropped it prints its records: `cargo test` shows them if the test fails.
//!
//! Facades (`logdef-log`, `logdef-tracing`) are captured as the macros are. Levels and filters
//! hold as ever, those of `LOGDEF` in the environment too.
//!
//! Calls take another, slower way while anything is captured, and texts are cut at 4 KiB while no
//! log is open.

mod record;

use crate::api::choose;
use crate::captured::{self, Capture as Memory};
use crate::sys;
use core::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

#[doc(inline)]
pub use logdef_wire::OwnedValue as Value;
pub use record::Record;

/// Captures of this copy of the logger that have ended, to be used again.
static ENDED: Mutex<Vec<&'static Memory>> = Mutex::new(Vec::new());

/// Captures what the calling thread logs, until the value that is returned is dropped.
///
/// Signal safety: not async-signal-safe; what signal handlers of the thread log is captured.
///
/// # Panics
///
/// If there is no memory for it: 16 MiB of addresses, which take as much memory as is logged.
pub fn capture() -> Capture {
    Capture::of(sys::thread_self())
}

/// Captures what all threads log, until the value that is returned is dropped.
///
/// Signal safety: as [`capture`].
///
/// # Panics
///
/// As [`capture`].
pub fn capture_all() -> Capture {
    Capture::of(captured::ALL)
}

/// Captures records until it is dropped: see [`capture`] and [`capture_all`].
///
/// Signal safety: not async-signal-safe.
#[derive(Debug)]
#[must_use = "it captures until it is dropped"]
pub struct Capture {
    memory: &'static Memory,
    /// Stays on its thread, whose records it may want.
    not_send: PhantomData<*const ()>,
}

impl Capture {
    fn of(thread: u64) -> Capture {
        let used_before = lock().pop();
        let memory = used_before.map_or_else(Memory::new, Ok);
        let Ok(memory) = memory else {
            panic!("no memory to capture records in");
        };
        memory.want(thread);
        choose::begin_capture(memory);
        Capture {
            memory,
            not_send: PhantomData,
        }
    }

    /// The records so far, in the order in which their calls returned.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        let records = self.memory.records();
        records
            .iter()
            .filter_map(|bytes| Record::of(bytes))
            .collect()
    }

    /// The messages of the records so far.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        let records = self.records().into_iter();
        records.map(Record::into_message).collect()
    }

    /// How many records were not captured, since the memory for them was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.memory.lost()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let has_ended = self.memory.end();
        choose::end_capture(self.memory);
        for record in self.records() {
            println!("{record}");
        }
        if self.lost() > 0 {
            println!("logdef: {} more records were not captured", self.lost());
        }
        if has_ended {
            self.memory.clear();
            lock().push(self.memory);
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, Vec<&'static Memory>> {
    // A thread that panicked has left the list as it was.
    ENDED.lock().unwrap_or_else(PoisonError::into_inner)
}
