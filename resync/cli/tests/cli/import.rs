//! `import`: traces as logs, and back.

use crate::fixture::*;

fn lines(log: &std::path::Path) -> Vec<String> {
    let shown = logdef("view --time utc {}", log);
    assert_eq!(shown.status, 0, "{}", shown.err);
    shown.out.lines().map(str::to_owned).collect()
}

#[test]
fn an_exported_log_comes_back_with_the_same_lines() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let (trace, back) = (files.path().join("app.fxt"), files.path().join("back.log"));
    for form in ["log", "instant", "log,instant", "all"] {
        let export = format!("export --to fxt --as {form} -o {} {{}}", trace.display());
        assert_eq!(logdef(&export, &log).status, 0);
        let import = format!("import --from fxt -o {} {{}}", back.display());
        let done = logdef(&import, &trace);
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(done.err.contains("back.log: 10 records\n"), "{}", done.err);
        let check = logdef("check {}", &back);
        assert_eq!(check.status, 0, "{}", check.out);
        let (before, after) = (lines(&log), lines(&back));
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            let message = |line: &str| line.split(": ").nth(1).map(str::to_owned);
            assert_eq!(before[..26], after[..26], "the time");
            let (before, after) = (message(before).unwrap(), message(after).unwrap());
            // Printf arguments come back as keys.
            assert!(after.starts_with(&before), "{after:?} for {before:?}");
        }
        std::fs::remove_file(&trace).unwrap();
        std::fs::remove_file(&back).unwrap();
    }
}

/// Records of all kinds that could be taken for something else on their way through a trace.
fn of_all_kinds() -> Log {
    use logdef_wire::msgpack::{Array, Map};
    use logdef_wire::record::{Data, Glance, Kind, StringLogdef, ThreadLogdef};
    use logdef_wire::{Level, Record, Run, Sequence, Svma, ThreadNumber};

    let mut log = example();
    let text = |text: &str| [&[0xa0 | text.len() as u8], text.as_bytes()].concat();
    let pairs = |pairs: &[(&str, &str)]| -> Vec<u8> {
        let texts = pairs
            .iter()
            .map(|(key, value)| [text(key), text(value)].concat());
        texts.collect::<Vec<_>>().concat()
    };
    // A format of braces, and one of printf's that takes an argument with a name of ours.
    for (address, template, string, description) in [
        (
            0x9000,
            Some(&b"{} of {b}"[..]),
            None,
            &b"b:kind,b,standing"[..],
        ),
        (0x9010, None, Some(&b"%s at %d"[..]), b"r:time,line"),
    ] {
        log.record(&Record::StringLogdef(StringLogdef {
            magic: Some(MAGIC),
            address: Some(Svma(address)),
            string,
            template,
            description: Some(description),
            run: Some(RUN),
        }));
    }
    // A second process whose thread has the numbers of the first, and another name.
    log.record(&Record::ThreadLogdef(ThreadLogdef {
        run: Some(Run(5)),
        tid: Some(1000),
        name: Some(b"other"),
        number: Some(ThreadNumber(0)),
        ..ThreadLogdef::default()
    }));
    let begin = Some(Kind::BEGIN);
    let args = [text("begin"), vec![7], text("suspect")].concat();
    let timed = [text("unknown"), vec![9]].concat();
    let keys = pairs(&[
        ("kind", "end"),
        ("time", "unknown"),
        ("standing", "suspect"),
        ("message", "m"),
        ("message#", "m"),
        ("dropped_logs", "2"),
    ]);
    let few = pairs(&[
        ("severity", "FATAL"),
        ("file", "f"),
        ("format", "%d"),
        ("grammar", "b"),
        ("1", "x"),
        ("backtrace", "b"),
    ]);
    let front = |run, count, level, time, format: Option<u64>| Glance {
        magic: Some(MAGIC),
        run: Some(run),
        level,
        time,
        format: format.map(Svma),
        sequence: Some(Sequence::new(
            ThreadNumber(if count < 100 { 0 } else { 9 }),
            count,
        )),
        ..Glance::default()
    };
    let after = |seconds| Some(EPOCH + seconds * SECOND);
    let format = |text: &'static [u8]| Data {
        format_text: Some(text),
        ..Data::default()
    };
    for data in [
        Data {
            front: front(RUN, 5, Some(Level(0x35)), after(20), Some(0x9000)),
            args: Array::from_objects(3, &args).ok(),
            ..Data::default()
        },
        Data {
            front: front(RUN, 6, Some(Level::INFO), after(21), Some(0x9010)),
            args: Array::from_objects(2, &timed).ok(),
            ..Data::default()
        },
        Data {
            front: front(RUN, 7, None, after(22), None),
            keys: Map::from_objects(6, &keys).ok(),
            ..format(b"m")
        },
        Data {
            front: front(RUN, 8, None, after(23), None),
            keys: Map::from_objects(6, &few).ok(),
            ..format(b"few")
        },
        Data {
            front: front(RUN, 12, Some(Level::WARN), after(24), None),
            dropped: Some(3),
            ..format(b"[recovered] not so")
        },
        Data {
            front: front(RUN, 13, None, None, None),
            ..format(b"no time")
        },
        Data {
            front: front(Run(5), 0, Some(Level(0x01)), after(25), None),
            kind: begin,
            ..format(b"100%% of \"all\"")
        },
        // Of a thread that no logdef names.
        Data {
            front: front(Run(5), 100, Some(Level::ERROR), after(26), None),
            ..format(b"lost")
        },
    ] {
        log.record(&Record::Data(data));
    }
    log
}

#[test]
fn what_is_exported_by_default_comes_back_in_every_field() {
    let files = Files::new();
    let log = files.put("app.log", &of_all_kinds().bytes);
    let (trace, back) = (files.path().join("app.fxt"), files.path().join("back.log"));
    assert_eq!(
        logdef(
            &format!("export --to fxt -o {} {{}}", trace.display()),
            &log
        )
        .status,
        0
    );
    let check = logdef("fxt check {}", &trace);
    assert_eq!((check.status, &*check.out), (0, ""));
    let done = logdef(
        &format!("import --from fxt -o {} {{}}", back.display()),
        &trace,
    );
    assert_eq!(done.status, 0, "{}", done.err);
    let fields = |log: &std::path::Path| {
        let mut objects = logdef("view -o json {}", log).objects();
        for object in &mut objects {
            let object = object.as_object_mut().unwrap();
            // Runs and threads have other numbers, and the image has no folder.
            for name in ["run", "thread", "thread_number", "sequence", "image"] {
                object.remove(name);
            }
        }
        objects
    };
    let (before, after) = (fields(&log), fields(&back));
    assert_eq!(before.len(), 18);
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    let dropped =
        |log: &std::path::Path| logdef("check -o json {}", log).objects()[0]["dropped"].clone();
    assert_eq!(dropped(&log), dropped(&back));
}

#[test]
fn what_is_no_trace_makes_no_log() {
    let files = Files::new();
    let junk = files.put("junk.fxt", &[0xff; 4096]);
    let back = files.path().join("back.log");
    let done = logdef(
        &format!("import --from fxt -o {} {{}}", back.display()),
        &junk,
    );
    assert_eq!(done.status, 4, "{}", done.err);
    assert_eq!(done.err.lines().count(), 1, "{}", done.err);
    assert!(!back.exists());
    let done = logdef(
        &format!("import --from fxt -o {} {{}}.none", back.display()),
        &junk,
    );
    assert_eq!(done.status, 4, "{}", done.err);
}

#[test]
fn a_cut_trace_gives_what_is_left_and_says_so() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("app.fxt");
    logdef(
        &format!("export --to fxt --as log -o {} {{}}", trace.display()),
        &log,
    );
    let bytes = std::fs::read(&trace).unwrap();
    let cut = files.put("cut.fxt", &bytes[..bytes.len() - 3]);
    let back = files.path().join("back.log");
    let words = format!("import --from fxt --strict -o {} {{}}", back.display());
    let done = logdef(&words, &cut);
    assert_eq!(done.status, 3, "{}", done.err);
    assert!(done.err.contains("back.log: 9 records"), "{}", done.err);
    assert!(
        done.err.contains("in 1 place could not be read"),
        "{}",
        done.err
    );
    // Nor does the log hide it.
    let check = logdef("check {}", &back);
    assert_eq!(check.status, 3, "{}", check.out);
    assert!(check.out.contains("bytes damaged"), "{}", check.out);
}

/// What a trace says that its log lacked, the log made of it lacks too.
#[test]
fn a_strict_import_of_what_was_exported_of_a_lossy_log_has_its_status() {
    use logdef_wire::Record;
    use logdef_wire::record::{Note, NoteKind};

    let files = Files::new();
    let clean = example();
    let without = |index: usize| {
        let mut bytes = clean.bytes.clone();
        bytes.drain(clean.frames[index].clone());
        bytes
    };
    let mut damaged = clean.bytes.clone();
    damaged[clean.frames[11].start + 20] ^= 1;
    let mut dropped = clean.clone();
    dropped.record(&Record::Note(Note {
        run: Some(RUN),
        kind: Some(NoteKind::DROPS),
        dropped: Some(9),
        ..Note::default()
    }));
    let states = [
        ("clean", clean.bytes.clone(), 0),
        ("missing", without(11), 3),
        ("damaged", damaged, 3),
        ("dropped", dropped.bytes, 3),
    ];
    for (state, bytes, status) in states {
        let log = files.put("app.log", &bytes);
        for form in ["fxt", "fuchsia", "diagnostics-json"] {
            let (out, back) = (files.path().join("out"), files.path().join("back.log"));
            let export = format!("export --to {form} -o {} {{}}", out.display());
            assert_eq!(logdef(&export, &log).status, 0);
            let words = format!("import --from {form} -o {} {{}}", back.display());
            let done = logdef(&words, &out);
            assert_eq!(done.status, 0, "{state}, {form}: {}", done.err);
            assert_eq!(logdef("check {}", &back).status, status, "{state}, {form}");
            std::fs::remove_file(&back).unwrap();
            let done = logdef(&format!("{words} --strict"), &out);
            assert_eq!(done.status, status, "{state}, {form}: {}", done.err);
            std::fs::remove_file(&back).unwrap();
            std::fs::remove_file(&out).unwrap();
        }
    }
}

/// A compressed trace that was cut may end between two records.
#[test]
fn a_compressed_trace_that_breaks_off_makes_no_clean_log() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    for form in ["fxt", "fuchsia", "diagnostics-json"] {
        let (out, back) = (files.path().join("out"), files.path().join("back.log"));
        let export = format!("export --to {form} -o {} {{}}", out.display());
        assert_eq!(logdef(&export, &log).status, 0);
        let mut packed = gzip(&std::fs::read(&out).unwrap());
        // All that was packed is there, but for its checksum.
        packed.truncate(packed.len() - 8);
        let cut = files.put("cut.gz", &packed);
        let words = format!("import --strict --from {form} -o {} {{}}", back.display());
        let done = logdef(&words, &cut);
        assert_eq!(done.status, 3, "{form}: {}", done.err);
        assert!(
            done.err.contains("breaks off after"),
            "{form}: {}",
            done.err
        );
        assert!(done.err.contains("10 records"), "{form}: {}", done.err);
        let check = logdef("check {}", &back);
        assert_eq!(check.status, 3, "{form}: {}", check.out);
        std::fs::remove_file(&back).unwrap();
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn fuchsias_records_and_data_come_back_as_they_went() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    for form in ["fuchsia", "diagnostics-json"] {
        let path = |name: &str| files.path().join(format!("{form}.{name}"));
        let (out, back, again) = (path("out"), path("log"), path("again"));
        let step = |words: String, of: &std::path::Path| {
            let done = logdef(&words, of);
            assert_eq!(done.status, 0, "{words}: {}", done.err);
            assert!(done.err.ends_with("10 records\n"), "{}", done.err);
        };
        step(
            format!("export --to {form} -o {} {{}}", out.display()),
            &log,
        );
        step(
            format!("import --from {form} -o {} {{}}", back.display()),
            &out,
        );
        step(
            format!("export --to {form} -o {} {{}}", again.display()),
            &back,
        );
        assert_eq!(logdef("check {}", &back).status, 0);
        let (out, again) = (std::fs::read(out).unwrap(), std::fs::read(again).unwrap());
        assert_eq!(
            String::from_utf8_lossy(&out),
            String::from_utf8_lossy(&again)
        );
        assert!(lines(&back)[0].contains("accepted alpha:0"));
    }
}

/// A log has no times before 1970.
#[test]
fn records_of_before_1970_come_back_with_their_time() {
    use logdef_fuchsia::structured::{Profile, Record, RecordWriter, Severity};

    let files = Files::new();
    let mut written = Vec::new();
    for time in [-1, i64::MIN, 5] {
        let mut buffer = [0; 256];
        let mut record = RecordWriter::new(&mut buffer, time, Severity::INFO).unwrap();
        record.argument("message", "early").unwrap();
        written.extend_from_slice(record.finish());
    }
    let records = files.put("records", &written);
    let (log, again) = (files.path().join("log"), files.path().join("again"));
    let import = format!("import --from fuchsia -o {} {{}}", log.display());
    let done = logdef(&import, &records);
    let said = "2 records imported without a time";
    assert!(done.err.contains(said), "{}", done.err);
    let shown = logdef("view -o json {}", &log).objects();
    let untimed = shown.iter().filter(|it| it["time_ns"].is_null());
    assert_eq!(untimed.count(), 2);
    let export = format!("export --to fuchsia -o {} {{}}", again.display());
    assert_eq!(logdef(&export, &log).status, 0);
    let exported = std::fs::read(again).unwrap();
    let (mut rest, mut times) = (&exported[..], Vec::new());
    while !rest.is_empty() {
        let (record, behind) = Record::parse(rest, Profile::Strict).unwrap();
        times.push(record.timestamp());
        rest = behind;
    }
    times.sort();
    assert_eq!(times, [i64::MIN, -1, 5]);
}

#[test]
fn what_cannot_be_read_of_records_and_data_is_counted() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let out = files.path().join("out");
    for (form, place) in [
        ("fuchsia", "8 bytes in 1 place"),
        ("diagnostics-json", "in 1 place"),
    ] {
        let export = format!("export --to {form} -o {} {{}}", out.display());
        assert_eq!(logdef(&export, &log).status, 0);
        let mut bytes = std::fs::read(&out).unwrap();
        match form {
            "fuchsia" => bytes.extend([0xff; 8]),
            _ => bytes.extend(b"[{\"data_source\":\"Inspect\"},\n{\"cut\":"),
        }
        let cut = files.put("cut", &bytes);
        let import = format!("import --strict --from {form} -o {form}.log {{}}");
        let import = import.replace("-o ", &format!("-o {}/", files.path().display()));
        let done = logdef(&import, &cut);
        assert_eq!(done.status, 3, "{}", done.err);
        assert!(done.err.contains("10 records\n"), "{}", done.err);
        assert!(done.err.contains(place), "{}", done.err);
        assert_eq!(done.err.contains("1 record left out"), form != "fuchsia");
        let junk = files.put("junk", b"]");
        let done = logdef(&format!("import --from {form} -o - {{}}"), &junk);
        assert_eq!(done.status, 4, "{}", done.err);
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn an_answer_comes_back_from_a_log_as_it_was() {
    let object = |metadata: &str, payload: &str| {
        format!(
            r#"{{"data_source":"Logs","metadata":{{{metadata}}},"moniker":"core/foo","payload":{payload},"version":1}}"#
        )
    };
    let message = r#"{"root":{"message":{"value":"hi"}}}"#;
    let objects = [
        object(r#""timestamp":5,"severity":"INFO","tags":[]"#, message),
        object(
            r#""errors":[{"rolled_out_logs":{"count":3}},{"dropped_logs":{"count":2}}],"component_url":"fuchsia-pkg://foo","timestamp":6,"severity":"WARN","raw_severity":60,"tags":["foo","foo","unknown"],"pid":7,"tid":8,"file":"a.cc","line":9"#,
            r#"{"root":{"keys":{"a":1,"a#2":2,"b":-1,"c":18446744073709551615,"d":2.5,"e":true,"f":"text","g":"b64:aGk="},"message":{"value":"with keys"}}}"#,
        ),
        object(
            r#""errors":[{"parse_record":"bad"},{"other":{"message":"worse"}}],"timestamp":7,"severity":"TRACE","raw_severity":0,"tags":["t"]"#,
            "null",
        ),
        object(
            r#""timestamp":8,"severity":"FATAL","tags":[]"#,
            r#"{"root":{"message":{}}}"#,
        ),
        object(r#""timestamp":-1,"severity":"DEBUG","tags":[]"#, message),
        object(
            r#""timestamp":-9223372036854775808,"severity":"DEBUG","tags":[]"#,
            message,
        ),
    ];
    let answer = format!("[{}]\n", objects.join(",\n"));
    let files = Files::new();
    let answer_file = files.put("answer.json", answer.as_bytes());
    let (log, again) = (files.path().join("log"), files.path().join("again.json"));
    let done = logdef(
        &format!("import --from diagnostics-json -o {} {{}}", log.display()),
        &answer_file,
    );
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(
        done.err.contains("2 records imported without a time"),
        "{}",
        done.err
    );
    let done = logdef(
        &format!("export --to diagnostics-json -o {} {{}}", again.display()),
        &log,
    );
    assert_eq!(done.status, 0, "{}", done.err);
    let mut expected: Vec<serde_json::Value> = serde_json::from_str(&answer).unwrap();
    let again = std::fs::read_to_string(again).unwrap();
    let mut found: Vec<serde_json::Value> = serde_json::from_str(&again).unwrap();
    let by_time = |object: &serde_json::Value| object["metadata"]["timestamp"].as_i64();
    expected.sort_by_key(by_time);
    found.sort_by_key(by_time);
    assert_eq!(found, expected);
}
