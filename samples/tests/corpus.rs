//! Each log of the corpus reads as the text beside it.

use logdef_samples::corpus;
use logdef_samples::workshop::Workshop;
use std::fs;

#[test]
fn every_log_reads_as_its_text() {
    let workshop = Workshop::open();
    let mut logs = 0;
    for entry in fs::read_dir(corpus::folder()).unwrap() {
        let log = entry.unwrap().path();
        if log.extension().is_some_and(|extension| extension == "log") {
            let expected = fs::read_to_string(log.with_extension("txt")).unwrap();
            assert_eq!(corpus::text(workshop, &log), expected, "{}", log.display());
            logs += 1;
        }
    }
    assert_eq!(logs, 9);
}
