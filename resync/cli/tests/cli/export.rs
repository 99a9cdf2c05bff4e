//! `export`, and the traces it makes under `fxt`.

use crate::fixture::*;
use logdef_fuchsia::diagnostics::{LogsData, Property};
use logdef_fuchsia::structured::{Profile, Record, Severity};

#[test]
fn a_trace_has_every_record_and_is_strictly_right() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("app.fxt");
    let done = run(
        command()
            .args(["export", "--to", "fxt", "-o"])
            .arg(&trace)
            .arg(&log),
        b"",
    );
    assert_eq!((done.status, &*done.out), (0, ""), "{}", done.err);
    assert!(done.err.ends_with("app.fxt: 10 records\n"), "{}", done.err);

    let check = logdef("fxt check {}", &trace);
    assert_eq!((check.status, &*check.out), (0, ""), "{}", check.err);
    let dump = logdef("fxt dump {}", &trace).out;
    assert!(dump.contains("accepted alpha:0"), "{dump}");
    assert!(dump.contains("worker"), "{dump}");
    let stat = logdef("fxt stat --json {}", &trace).out;
    let last = stat.lines().last().unwrap();
    serde_json::from_str::<serde_json::Value>(last).unwrap();
}

#[test]
fn a_broken_trace_is_status_3_and_a_missing_one_4() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("app.fxt");
    logdef(
        &format!("export --to fxt -o {} {{}}", trace.display()),
        &log,
    );
    let mut bytes = std::fs::read(&trace).unwrap();
    bytes.truncate(bytes.len() - 3);
    let cut = files.put("cut.fxt", &bytes);
    let done = logdef("fxt check {}", &cut);
    assert_eq!(done.status, 3);
    assert!(!done.out.is_empty());
    let done = logdef("fxt dump {}.none", &cut);
    assert_eq!(done.status, 4);
    assert_eq!(done.err.lines().count(), 1);
}

#[test]
fn a_slice_of_a_log_can_be_exported() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("slice.fxt");
    let words = format!(
        "export --to fxt --thread main --grep alpha -o {} {{}}",
        trace.display()
    );
    assert!(logdef(&words, &log).err.ends_with("slice.fxt: 4 records\n"));
}

#[test]
fn folded_stacks_count_records_by_backtrace_and_site() {
    let log = example();
    let done = on(&log, "export --to folded -o - {}");
    assert_eq!(
        done.lines(),
        [
            "DEBUG src/net.c:20 4",
            "ERROR db/wal.c:30 1",
            "INFO src/net.c:10 5",
        ]
    );
}

/// What an export of the example writes to standard output.
fn exported(form: &str) -> Vec<u8> {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let done = command()
        .args(["export", "--to", form, "-o", "-"])
        .arg(&log)
        .output()
        .unwrap();
    assert!(done.status.success());
    done.stdout
}

#[test]
fn structured_records_are_strictly_right_and_say_what_the_log_says() {
    let bytes = exported("fuchsia");
    let mut rest = &bytes[..];
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (record, behind) = Record::parse(rest, Profile::Strict).unwrap();
        records.push(record);
        rest = behind;
    }
    assert_eq!(records.len(), 10);
    let first = records
        .iter()
        .find(|record| record.arguments().any(|argument| argument.name == "0"))
        .unwrap();
    let value = |name: &str| {
        let mut arguments = first.arguments();
        arguments
            .find(|argument| argument.name == name)
            .map(|argument| argument.value)
    };
    assert_eq!(value("message"), Some("accepted alpha:0".into()));
    assert_eq!(value("0"), Some("alpha".into()));
    assert_eq!(value("1"), Some(0_i64.into()));
    assert_eq!(value("file"), Some("src/net.c".into()));
    assert_eq!(value("line"), Some(10_u64.into()));
    assert_eq!(value("tid"), Some(1000_u64.into()));
}

#[test]
fn diagnostics_data_are_arrays_of_log_data() {
    let bytes = exported("diagnostics-json");
    let arrays = serde_json::Deserializer::from_slice(&bytes).into_iter::<Vec<LogsData>>();
    let data: Vec<_> = arrays.flat_map(Result::unwrap).collect();
    assert_eq!(data.len(), 10);
    let worst = data
        .iter()
        .find(|data| data.metadata.severity == Severity::ERROR)
        .unwrap();
    assert_eq!(worst.moniker, "example");
    let file = worst.metadata.file.as_deref();
    assert_eq!((file, worst.metadata.line), (Some("db/wal.c"), Some(30)));
}

/// A log of a record without a time and a level, after one with both.
fn without_time_and_level() -> Log {
    let mut log = Log::of(RUN, 7, EPOCH);
    let data = |text: &'static [u8], count, time| logdef_wire::record::Data {
        front: logdef_wire::record::Glance {
            run: Some(RUN),
            sequence: Some(logdef_wire::Sequence::new(
                logdef_wire::ThreadNumber(0),
                count,
            )),
            time,
            ..logdef_wire::record::Glance::default()
        },
        format_text: Some(text),
        ..logdef_wire::record::Data::default()
    };
    let mut first = data(b"first", 0, Some(EPOCH + 3));
    first.level = Some(logdef_wire::Level::WARN);
    log.record(&logdef_wire::Record::Data(first));
    log.record(&logdef_wire::Record::Data(data(b"second", 1, None)));
    log
}

#[test]
fn what_a_record_does_not_say_is_not_made_up() {
    let files = Files::new();
    let log = files.put("app.log", &without_time_and_level().bytes);
    let export = |form: &str| {
        let out = files.path().join(form);
        let done = logdef(
            &format!("export --to {form} -o {} {{}}", out.display()),
            &log,
        );
        assert_eq!(done.status, 0, "{}", done.err);
        std::fs::read_to_string(out).unwrap()
    };
    let data: Vec<LogsData> = serde_json::from_str(&export("diagnostics-json")).unwrap();
    // The monotonic clock, as for `logdef stream`: the run began at five seconds of it.
    let times: Vec<_> = data.iter().map(|data| data.metadata.timestamp).collect();
    assert_eq!(times, [5_000_000_003; 2]);
    let severities: Vec<_> = data
        .iter()
        .map(|data| data.metadata.recorded_severity().0)
        .collect();
    assert_eq!(severities, [Severity::WARN.0, 0]);
    let keys = &data[1].payload.as_ref().unwrap().keys;
    assert_eq!(
        keys[0],
        ("time".to_owned(), Property::Text("unknown".to_owned()))
    );
    let journal = export("journald");
    let entries: Vec<_> = journal.split("\n\n").collect();
    assert!(entries[0].contains("\nPRIORITY=4") && entries[0].contains("\nLOGDEF_TIMESTAMP="));
    assert!(!entries[1].contains("PRIORITY") && !entries[1].contains("LOGDEF_TIMESTAMP"));
    let otlp = export("otlp-json");
    assert_eq!(otlp.matches("timeUnixNano").count(), 1);
    assert_eq!(otlp.matches("severityNumber").count(), 1);
}

/// The example with a record destroyed, one dropped, and one left out.
fn with_losses() -> Log {
    let mut log = example();
    let at = log.frames[11].start + 20;
    log.bytes[at] ^= 1;
    let data = logdef_wire::record::Data {
        front: logdef_wire::record::Glance {
            run: Some(RUN),
            sequence: Some(logdef_wire::Sequence::new(logdef_wire::ThreadNumber(0), 13)),
            time: Some(EPOCH + 20 * SECOND),
            ..logdef_wire::record::Glance::default()
        },
        format_text: Some(b"after the losses"),
        dropped: Some(3),
        ..logdef_wire::record::Data::default()
    };
    log.record(&logdef_wire::Record::Data(data));
    log
}

#[test]
fn an_export_of_a_damaged_log_says_so_and_its_import_is_not_clean() {
    let files = Files::new();
    let log = files.put("app.log", &with_losses().bytes);
    let verdict = |log: &std::path::Path| {
        let check = logdef("check {}", log);
        assert_eq!(check.status, 3, "{}", check.out);
        let verdict = check
            .out
            .lines()
            .find(|line| line.starts_with("not clean: "));
        verdict.expect(&check.out).to_owned()
    };
    let lost = verdict(&log);
    assert!(lost.contains("missing, 3 records dropped, "), "{lost}");
    for (form, said) in [
        ("fxt", "not clean: "),
        ("fxt --as log", "not clean: "),
        ("fxt --as instant", "damaged_bytes"),
        ("fuchsia", "damaged_bytes"),
        ("diagnostics-json", r#""damaged_bytes":"#),
        (
            "otlp-json",
            r#"{"key":"damaged_bytes","value":{"intValue":"#,
        ),
        ("journald", "\nLOGDEF_MISSING="),
        ("folded", "missing] "),
    ] {
        for (strict, status) in [("", 0), ("--strict", 3)] {
            let words = format!("export --to {form} {strict} -o - {{}}")
                .replace("{}", log.to_str().unwrap());
            let done = command().args(words.split_whitespace()).output().unwrap();
            let err = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(status), "{words}: {err}");
            assert!(err.contains(&lost), "{words}: {err}");
            let out = String::from_utf8_lossy(&done.stdout);
            assert!(out.contains(said), "{words}: {out}");
            let source = files.put("exported", &done.stdout);
            let from = form.split(' ').next().unwrap();
            if !["fxt", "fuchsia", "diagnostics-json"].contains(&from) {
                continue;
            }
            let back = files.path().join("back.log");
            let words = format!("import --from {from} -o {} {{}}", back.display());
            let done = logdef(&words, &source);
            assert_eq!(done.status, 0, "{words}: {}", done.err);
            // What says so is no record.
            assert!(done.err.contains("back.log: 10 records\n"), "{}", done.err);
            // A note of damage does not know whether more is missing.
            assert_eq!(
                verdict(&back).replace("at least ", ""),
                lost.replace("at least ", ""),
                "{form}"
            );
            std::fs::remove_file(&back).unwrap();
        }
    }
}

#[test]
fn times_can_be_unix_times() {
    let files = Files::new();
    let log = files.put("app.log", &without_time_and_level().bytes);
    let out = files.path().join("out");
    let words = format!(
        "export --to diagnostics-json --clock realtime -o {} {{}}",
        out.display()
    );
    assert_eq!(logdef(&words, &log).status, 0);
    let data: Vec<LogsData> = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    assert_eq!(data[0].metadata.timestamp, (EPOCH + 3) as i64);
}

#[test]
fn opentelemetry_gets_lines_of_json() {
    let bytes = exported("otlp-json");
    let mut records = 0;
    for line in str::from_utf8(&bytes).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let scope = &line["resourceLogs"][0]["scopeLogs"][0];
        records += scope["logRecords"].as_array().unwrap().len();
    }
    assert_eq!(records, 10);
}

#[test]
fn the_journal_gets_an_entry_each_in_its_export_format() {
    let text = String::from_utf8(exported("journald")).unwrap();
    assert_eq!(text.matches("\n\n").count(), 10);
    assert!(text.contains("MESSAGE=accepted alpha:0\nPRIORITY=6\nCODE_FILE=src/net.c\n"));
}

#[test]
fn the_journal_gets_datagrams_and_what_is_too_large_in_a_sealed_file() {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    use std::io::{IoSliceMut, Read, Seek};

    let files = Files::new();
    let mut log = Log::of(RUN, 7, EPOCH);
    log.site(RUN, 0, "a.c", &vec![b'x'; 300_000]);
    log.site(RUN, 1, "a.c", b"short");
    log.data(RUN, 0, EPOCH, &ACCEPTED, |_| 0);
    log.data(RUN, 0, EPOCH + 1, &TOOK, |_| 0);
    let path = files.put("app.log", &log.bytes);
    let socket_path = files.path().join("journal");
    let socket = std::os::unix::net::UnixDatagram::bind(&socket_path).unwrap();
    let done = run(
        command()
            .args(["export", "--to", "journald", "--socket"])
            .arg(&socket_path)
            .arg(&path),
        b"",
    );
    assert_eq!((done.status, &*done.out), (0, ""), "{}", done.err);
    assert!(done.err.ends_with("journal: 2 records\n"), "{}", done.err);

    let mut entries = Vec::new();
    for _ in 0..2 {
        let mut bytes = vec![0; 1 << 18];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let buffers = &mut [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(&socket, buffers, &mut control, RecvFlags::empty()).unwrap();
        let mut entry = bytes[..received.bytes].to_vec();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                for file in rights {
                    let seals = rustix::fs::fcntl_get_seals(&file).unwrap();
                    assert!(seals.contains(rustix::fs::SealFlags::WRITE));
                    let mut file = std::fs::File::from(file);
                    file.rewind().unwrap();
                    file.read_to_end(&mut entry).unwrap();
                }
            }
        }
        entries.push(entry);
    }
    assert!(entries[0].len() > 300_000);
    assert!(entries[0].starts_with(b"MESSAGE=xxxx"));
    assert!(entries[1].starts_with(b"MESSAGE=short\nPRIORITY=7\nCODE_FILE=a.c\n"));
}

#[test]
fn an_export_to_nowhere_is_refused() {
    let done = on(&example(), "export --to fxt {}");
    assert_eq!(done.status, 2);
    assert!(done.err.contains("--output"), "{}", done.err);
    let done = on(
        &example(),
        "export --to journald --socket /nowhere/socket {}",
    );
    assert_eq!(done.status, 1);
    assert!(done.err.contains("/nowhere/socket"), "{}", done.err);
}
