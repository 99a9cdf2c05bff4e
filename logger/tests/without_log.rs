//! The observer and captures have the records of calls that no file takes: before a log is
//! open, when what is kept for it is full, and after it was closed.

use logdef::{Level, Observed, Observer, is_possible, logdef, testing};
use std::sync::atomic::{AtomicU64, Ordering};

struct Count(AtomicU64);

static OBSERVED: Count = Count(AtomicU64::new(0));

impl Observer for Count {
    fn observe(&self, _: &Observed<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn records_are_seen_without_an_open_log() {
    logdef!(Info, "before the capture");
    let logged = testing::capture();
    logdef::set_observer(Some((Level::INFO, &OBSERVED)));
    // More than are kept for a log.
    for number in 0..300 {
        logdef!(Info, "{number}");
    }
    assert_eq!(logged.messages().len(), 300);
    assert_eq!(OBSERVED.0.load(Ordering::Relaxed), 300);

    let directory = tempfile::tempdir().unwrap();
    logdef::open(directory.path().join("log")).unwrap();
    assert_eq!(
        logged.messages().len(),
        300,
        "what was kept is not captured again"
    );
    assert_eq!(
        OBSERVED.0.load(Ordering::Relaxed),
        301,
        "one was not observed yet"
    );
    logdef!(Info, "in the log");
    logdef::close();
    assert!(is_possible(Level::INFO));
    logdef!(Info, "after the log");
    assert_eq!(logged.messages()[300..], ["in the log", "after the log"]);
    assert_eq!(OBSERVED.0.load(Ordering::Relaxed), 303);

    drop(logged);
    logdef::set_observer(None);
    assert!(!is_possible(Level::INFO), "nobody would have it");
}
