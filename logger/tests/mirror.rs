//! What the mirror shows on standard error, which a file stands in for.

use logdef::{Level, logdef, logdef_every_n};
use std::fs::File;
use std::os::fd::AsRawFd;

mod common;

#[test]
fn records_of_the_level_are_shown_as_lines() {
    let directory = tempfile::tempdir().unwrap();
    let shown = directory.path().join("stderr");
    let file = File::create(&shown).unwrap();
    // SAFETY: descriptors of this process, which nothing else uses meanwhile: the
    // only test of its program.
    let before = unsafe {
        let before = libc::dup(2);
        libc::dup2(file.as_raw_fd(), 2);
        before
    };
    let path = directory.path().join("log");
    logdef::options().mirror(Level::INFO).open(&path).unwrap();
    let line = line!() + 1;
    logdef!(Info, "accepted %s:%d in %.3f ms\n", "example.org", 443, 2.5);
    logdef!(Debug, "not shown");
    for _ in 0..3 {
        logdef_every_n!(2, Warn, "retried");
    }
    logdef!(Error, "broke\x1b[2J: %s", "\u{1b}[31m\n");
    // The header of a frame: the record is written masked.
    let pattern = b"\xc1\xce1234\xc1\xa5";
    logdef!(Info, "pattern %s", pattern.as_slice());
    logdef!(Info, "long %s", "x".repeat(6000));
    // SAFETY: the descriptor is this test's own, and nothing else runs.
    unsafe { libc::dup2(before, 2) };

    let shown = std::fs::read_to_string(&shown).unwrap();
    let lines: Vec<_> = shown.lines().collect();
    let ends = [
        format!("INFO  [0] mirror.rs:{line}: accepted example.org:443 in 2.500 ms"),
        format!("WARN  [0] mirror.rs:{}: retried", line + 3),
        format!("WARN  [0] mirror.rs:{}: retried {{skipped: 1}}", line + 3),
        format!(
            "ERROR [0] mirror.rs:{}: broke\\x1b[2J: \\x1b[31m\\n",
            line + 5
        ),
        format!(
            "INFO  [0] mirror.rs:{}: pattern \\xc1\\xce1234\\xc1\\xa5",
            line + 8
        ),
    ];
    assert_eq!(lines.len(), ends.len() + 1, "{shown}");
    for (line, end) in lines.iter().zip(&ends) {
        let (time, rest) = line.split_once(' ').unwrap();
        assert_eq!(rest, end);
        assert_eq!(time.len(), "12:34:56.000000".len(), "{time}");
    }
    assert!(lines[5].ends_with("xxx…[cut]"), "{}", lines[5]);
    let mut written = 0;
    common::records(&std::fs::read(&path).unwrap(), |record| {
        use logdef_wire::Record;
        written += u32::from(matches!(record, Record::Data(_) | Record::Masked(_)));
    });
    assert_eq!(written, 7, "the mirror takes nothing from the log");
}
