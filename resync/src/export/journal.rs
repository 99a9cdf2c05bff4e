//! Entries for systemd's journal: the fields of one entry, for the native protocol
//! (one datagram each) and, with addresses, for the export format, which
//! `systemd-journal-remote` reads.
//!
//! | of the data | field |
//! |---|---|
//! | message | `MESSAGE` |
//! | severity | `PRIORITY`, from 7 for trace and debug to 2 for fatal |
//! | file, line, thread | `CODE_FILE`, `CODE_LINE`, `TID` |
//! | moniker, process | `SYSLOG_IDENTIFIER`, `SYSLOG_PID` |
//! | keys, in upper case | `LOGDEF_…`, so that none is taken for one of those |
//! | drop count, tags, raw severity | `LOGDEF_DROPPED_LOGS`, `LOGDEF_TAG`, `LOGDEF_RAW_SEVERITY` |
//! | time, in microseconds | `LOGDEF_TIMESTAMP`; in the export format the entry's own time |
//!
//! A record without a level has no `PRIORITY`, one without a time no `LOGDEF_TIMESTAMP`, and in the export
//! format, where each entry has a time, that of the entry before.
//!
//! A value with a line feed is written with its length; all become text.

use super::diagnostics::{is_timed, recorded};
use crate::recover::tables::RunInfo;
use logdef_fuchsia::diagnostics::LogsData;
use logdef_fuchsia::structured::Severity;
use std::fmt::Display;
use std::io::Write;

/// Names of fields are at most this long.
const MAX_NAME: usize = 64;
const PREFIX: &str = "LOGDEF_";

/// Appends an entry of the native protocol to `out`.
///
/// ```
/// use logdef_fuchsia::{diagnostics::LogsData, structured::Severity};
///
/// let mut data = LogsData::new("web", 72_000, Severity::WARN);
/// data.payload.as_mut().unwrap().message = Some("slow".into());
/// let mut out = Vec::new();
/// logdef_resync::export::journal::entry(&data, &mut out);
/// let entry = "MESSAGE=slow\nPRIORITY=4\nSYSLOG_IDENTIFIER=web\nLOGDEF_TIMESTAMP=72\n";
/// assert_eq!(out, entry.as_bytes());
/// ```
pub fn entry(data: &LogsData, out: &mut Vec<u8>) {
    let metadata = &data.metadata;
    let payload = data.payload.as_ref();
    let message = payload.and_then(|payload| payload.message.as_deref());
    push("MESSAGE", message.unwrap_or(""), out);
    push_some("PRIORITY", recorded(data).map(priority), out);
    push_some("CODE_FILE", metadata.file.as_deref(), out);
    push_some("CODE_LINE", metadata.line, out);
    push_some("TID", metadata.tid, out);
    let identifier = if data.moniker.is_empty() {
        metadata.tags.first().map(String::as_str)
    } else {
        Some(&*data.moniker)
    };
    push_some("SYSLOG_IDENTIFIER", identifier, out);
    push_some("SYSLOG_PID", metadata.pid, out);
    let time = is_timed(data).then_some(metadata.timestamp.div_euclid(1000));
    push_some("LOGDEF_TIMESTAMP", time, out);
    push_some("LOGDEF_RAW_SEVERITY", metadata.raw_severity, out);
    for error in &metadata.errors {
        push_some("LOGDEF_DROPPED_LOGS", error.count(), out);
    }
    for tag in &metadata.tags {
        push("LOGDEF_TAG", tag, out);
    }
    for (name, property) in payload.map_or(&[][..], |payload| &payload.keys) {
        push(&field_name(name), property, out);
    }
}

/// Appends an entry of the export format: with its times, the machine's fields, and the
/// empty line that ends it.
pub fn exported(data: &LogsData, run: Option<&RunInfo>, out: &mut Vec<u8>) {
    let realtime = data.metadata.timestamp.max(0) as u64;
    push("__REALTIME_TIMESTAMP", realtime / 1000, out);
    if let Some(run) = run {
        if let (Some(at), Some(monotonic)) = (run.realtime, run.monotonic) {
            // The clock may have been set since; not more can be known.
            let monotonic = (realtime + monotonic).saturating_sub(at);
            push("__MONOTONIC_TIMESTAMP", monotonic / 1000, out);
        }
        if let Some(boot) = &run.boot_id {
            let boot: Vec<u8> = boot.iter().copied().filter(u8::is_ascii_hexdigit).collect();
            push("_BOOT_ID", String::from_utf8_lossy(&boot), out);
        }
        let host = run.host.as_deref().map(String::from_utf8_lossy);
        push_some("_HOSTNAME", host, out);
        push_some("_PID", run.pid, out);
    }
    entry(data, out);
    out.push(b'\n');
}

/// The number that syslog gives a severity.
fn priority(severity: Severity) -> u8 {
    match severity {
        Severity::TRACE | Severity::DEBUG => 7,
        Severity::INFO => 6,
        Severity::WARN => 4,
        Severity::ERROR => 3,
        _ => 2,
    }
}

/// A name that the journal accepts and does not use itself.
fn field_name(key: &str) -> String {
    let letter = |c: char| match c.to_ascii_uppercase() {
        c @ ('A'..='Z' | '0'..='9') => c,
        _ => '_',
    };
    let room = MAX_NAME - PREFIX.len();
    PREFIX
        .chars()
        .chain(key.chars().map(letter).take(room))
        .collect()
}

fn push_some(name: &str, value: Option<impl Display>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        push(name, value, out);
    }
}

/// `NAME=value`, or, if there are line feeds in the value, the name, its length
/// as a little-endian u64, and the value.
fn push(name: &str, value: impl Display, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    let equals = out.len();
    let _ = write!(out, "={value}");
    if out[equals..].contains(&b'\n') {
        let len = out.len() - equals - 1;
        let mut head = vec![b'\n'];
        head.extend_from_slice(&(len as u64).to_le_bytes());
        out.splice(equals..=equals, head);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_fuchsia::diagnostics::{LogError, LogsPayload, Property};

    #[test]
    fn a_time_just_before_1970_is_not_0() {
        let mut out = Vec::new();
        entry(&LogsData::new("web", -5, Severity::INFO), &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\nLOGDEF_TIMESTAMP=-1\n"), "{text}");
    }

    #[test]
    fn an_entry_has_all_that_the_data_has() {
        let mut data = LogsData::new("web", 1_700_000_000_123_456_789, Severity(0x2e));
        let metadata = &mut data.metadata;
        metadata.set_error(LogError::DroppedLogs { count: 3 });
        metadata.tags = vec!["web".into(), "main".into()];
        (metadata.pid, metadata.tid) = (Some(7), Some(8));
        (metadata.file, metadata.line) = (Some("a.c".into()), Some(9));
        data.payload = Some(LogsPayload {
            message: Some("two\nlines".into()),
            keys: vec![
                ("user-name".into(), Property::Text("root".into())),
                ("0".into(), Property::Double(2.5)),
            ],
        });
        let run = RunInfo {
            realtime: Some(1_700_000_000_000_000_000),
            monotonic: Some(5_000_000),
            boot_id: Some(b"0123-4567".to_vec()),
            ..RunInfo::default()
        };
        let mut out = Vec::new();
        exported(&data, Some(&run), &mut out);
        let expected = [
            &b"__REALTIME_TIMESTAMP=1700000000123456\n__MONOTONIC_TIMESTAMP=128456\n"[..],
            b"_BOOT_ID=01234567\nMESSAGE\n\x09\0\0\0\0\0\0\0two\nlines\nPRIORITY=6\n",
            b"CODE_FILE=a.c\nCODE_LINE=9\nTID=8\nSYSLOG_IDENTIFIER=web\nSYSLOG_PID=7\n",
            b"LOGDEF_TIMESTAMP=1700000000123456\nLOGDEF_RAW_SEVERITY=46\n",
            b"LOGDEF_DROPPED_LOGS=3\nLOGDEF_TAG=web\nLOGDEF_TAG=main\n",
            b"LOGDEF_USER_NAME=root\nLOGDEF_0=2.5\n\n",
        ]
        .concat();
        assert_eq!(out, expected, "{}", String::from_utf8_lossy(&out));
    }

    #[test]
    fn priorities_are_those_of_syslog() {
        let all = Severity::NAMED.map(priority);
        assert_eq!(all, [7, 7, 6, 4, 3, 2]);
    }

    #[test]
    fn names_are_short_and_of_few_letters() {
        assert_eq!(field_name("ключ.A1"), "LOGDEF______A1");
        assert_eq!(field_name(&"x".repeat(300)).len(), MAX_NAME);
    }
}
