//! Records of the service in the log of the process: alone here, since a process has one log.

use logdef_fuchsia::structured::{RecordWriter, Severity};
use logdef_serve::service::{Format, LogFile, Storage, Stored};

#[test]
fn a_stored_record_is_in_the_log_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("service.log");
    let mut file = LogFile::open(&path, 1 << 20).unwrap();
    let mut buffer = [0; 256];
    for severity in Severity::NAMED {
        let mut record = RecordWriter::new(&mut buffer, 72_000, severity).unwrap();
        record.argument("message", "listening").unwrap();
        record.argument("port", 8080_u64).unwrap();
        let stored = Stored {
            format: Format::Structured,
            pid: 7,
            dropped: 0,
            moniker: "web",
            url: None,
            record: record.finish(),
        };
        file.append(&stored).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    for severity in Severity::NAMED {
        let line = format!("[00000.000072][7][][web] {severity}: listening port=8080");
        assert!(
            bytes
                .windows(line.len())
                .any(|window| window == line.as_bytes()),
            "{line}"
        );
    }
}
