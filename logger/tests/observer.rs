//! The observer is called with what is logged, with its types; attached values are in the
//! record and not in its text.

use logdef::{Level, Observed, Observer, Value, logdef, logdef_attach};
use std::sync::Mutex;

struct Told(Mutex<Vec<String>>);

static TOLD: Told = Told(Mutex::new(Vec::new()));

impl Observer for Told {
    fn observe(&self, record: &Observed<'_>) {
        let arguments: Vec<_> = record.arguments().collect();
        let (level, line) = (record.level(), record.line());
        let message = String::from_utf8_lossy(record.message());
        assert!(record.file().ends_with(b"observer.rs"));
        assert!(record.time() > 1_700_000_000_000_000_000);
        self.0
            .lock()
            .unwrap()
            .push(format!("{level} {line} {message} {arguments:?}"));
    }
}

#[test]
fn the_observer_gets_records_of_its_levels_until_it_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    logdef::set_observer(Some((Level::INFO, &TOLD)));
    let line = line!();
    logdef!(Info, "%s is %d", "a", -5);
    logdef!(Debug, "below");
    logdef_attach!(Warn, "with %d", "%s%u", 1, &b"\xc1\x00raw"[..], 7_u64);
    logdef!(Fatal, "line\nfeed");
    logdef::set_observer(None);
    logdef!(Fatal, "not any more");
    let info = [Value::Raw(b"a"), Value::Int(-5)];
    let warn = [Value::Uint(1), Value::Raw(b"\xc1\x00raw"), Value::Uint(7)];
    assert_eq!(
        *TOLD.0.lock().unwrap(),
        [
            format!("INFO {} a is -5 {info:?}", line + 1),
            format!("WARN {} with 1 {warn:?}", line + 3),
            format!("FATAL {} line\\nfeed []", line + 4),
        ]
    );
    assert_eq!(logdef::unwritten(), 0);
    let bytes = std::fs::read(&path).unwrap();
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    // The format of the site has the shown part only.
    assert!(holds(b"with %d") && !holds(b"with %d%s"));
}
