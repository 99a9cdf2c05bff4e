//! The built command, as people run it: the same question has the same answer on an archive, on the logs
//! that it was made from in pieces of any size, and on a damaged copy; and nothing in a log or in a
//! question makes it fail otherwise than in a line.
//!
//! `data/orders.log.gz` and `data/second.log.gz` are logs of the program `orders` of `samples`.

mod duckdb;
mod prompt;
mod remote;
#[path = "../../../../samples/src/skip.rs"]
mod skip;
mod times;

use logdef_archive::Archive;
use logdef_resync::{Input, Log, NoImages, Recovery};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Level, Run, Sequence, ThreadNumber, Value, frame};
use skip::skip;
use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

/// Bytes of a piece of a log.
const SPLITS: [&str; 4] = ["64", "1000", "65536", "1000000000"];

/// Logs, a damaged copy of one, and archives of both.
struct Logs {
    _folder: TempDir,
    log: PathBuf,
    second: PathBuf,
    damaged: PathBuf,
    kept: PathBuf,
    kept_damaged: PathBuf,
}

static LOGS: LazyLock<Logs> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let unpacked = |name: &str| {
        let packed = Input::open(data.join(format!("{name}.gz"))).unwrap();
        let mut bytes = Vec::new();
        packed.reader().read_to_end(&mut bytes).unwrap();
        fs::write(at(name), &bytes).unwrap();
        bytes
    };
    let mut bytes = unpacked("orders.log");
    unpacked("second.log");
    for (from, len) in [(9_000, 700), (70_000, 3), (140_000, 5000)] {
        bytes[from..][..len]
            .iter_mut()
            .for_each(|byte| *byte ^= 0x5a);
    }
    fs::write(at("damaged.log"), bytes).unwrap();
    let logs = Logs {
        log: at("orders.log"),
        second: at("second.log"),
        damaged: at("damaged.log"),
        kept: at("kept"),
        kept_damaged: at("kept-damaged"),
        _folder: folder,
    };
    archive(&logs.kept, &logs.log);
    archive(&logs.kept_damaged, &logs.damaged);
    logs
});

fn archive(folder: &Path, log: &Path) {
    let inputs = [Input::open(log).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut archive = Archive::open(folder, None).unwrap();
    archive.add(&inputs, &[None], &recovery, NoImages).unwrap();
}

fn run(paths: &[&Path], question: &str, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_logdef-sql"))
        .args(paths)
        .args(["--query", question])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The answer as CSV, and what is said of the records.
fn ask(paths: &[&Path], question: &str, options: &[&str]) -> (String, String) {
    let output = run(paths, question, &[&["-o", "csv"], options].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let said = text(output.stderr);
    assert!(output.status.success(), "{question}\n{said}");
    (text(output.stdout), said)
}

fn answer(paths: &[&Path], question: &str, options: &[&str]) -> String {
    ask(paths, question, options).0
}

/// One question of each kind that people have.
const QUESTIONS: [&str; 6] = [
    // The calls that log most.
    "select format, line, count(*) as n from records join sites using (site) group by format, line order by n desc, line",
    // A percentile over time.
    r#"select date_bin(interval '10 milliseconds', time, timestamp '2026-01-01T00:00:00Z') as t,
       percentile_cont(0.5) within group (order by f1) as p, max(f1) as m, count(*) as n
       from records where f1 is not null group by t order by t"#,
    // A substring.
    "select count(*), min(seq), max(seq), sum(seq) from records where s0 like '%off%' or s1 like '%off%'",
    // One request.
    "select time, run, thread, seq, level, u0, i0, s0, s1, f0, f1 from records where u0 = 123 order by time, seq",
    // The last errors, with five records of their threads before each.
    r#"with e as (select run, thread, seq from records where level >= level('error') order by time desc, seq limit 10)
       select r.time, r.thread, r.seq, r.message from records r join e on r.run = e.run and r.thread = e.thread
       and r.seq between e.seq - 5 and e.seq order by r.time, r.thread, r.seq, r.message"#,
    // All of it.
    r#"select time, site, level, run, thread, seq, s0, s1, i0, i1, u0, u1, u2, f0, f1, mark, dropped, context, message
       from records order by run, thread, seq"#,
];

#[test]
fn an_answer_is_the_same_on_archives_and_on_logs_in_pieces_of_any_size() {
    let logs = &*LOGS;
    // All at once, since a process takes its time to start.
    let questions = QUESTIONS.join(";\n");
    for (kept, log) in [(&logs.kept, &logs.log), (&logs.kept_damaged, &logs.damaged)] {
        let (expected, said) = ask(&[kept], &questions, &[]);
        assert!(expected.lines().count() > 500, "{expected}");
        let is_complete = said.starts_with("complete");
        assert_eq!(is_complete, log == &logs.log, "{said}");
        for split in SPLITS {
            let cores = if split == "64" { "7" } else { "2" };
            let options = ["--split", split, "--cores", cores];
            let (found, said) = ask(&[log], &questions, &options);
            let mut differing = found.lines().zip(expected.lines());
            let differing = differing.find(|(found, expected)| found != expected);
            assert_eq!(differing, None, "in pieces of {split}");
            assert_eq!(found.len(), expected.len(), "in pieces of {split}");
            assert_eq!(said.starts_with("complete"), is_complete, "{said}");
        }
    }
}

/// A question may come first, or after one that let the calls be, or after one that read all of them.
#[test]
fn calls_are_the_same_whichever_way_they_are_found() {
    let logs = &*LOGS;
    let values = "select site, count(*), sum(i0), max(f1), min(s0), max(s1), sum(u0) from records group by site order by site";
    for (kept, log) in [(&logs.kept, &logs.log), (&logs.kept_damaged, &logs.damaged)] {
        let expected = answer(&[kept], values, &[]);
        assert!(expected.lines().count() > 5, "{expected}");
        let mut found = HashSet::new();
        for before in ["", "select 1;", "select count(*) from threads;"] {
            let first = before.split_terminator(';').count();
            let given = answer(&[log], &format!("{before}{values}"), &["--split", "9000"]);
            // After the answer to the first.
            let own = given.lines().skip(first * 2).collect::<Vec<_>>().join("\n");
            found.insert(own);
        }
        assert_eq!(found, HashSet::from([expected.trim_end().to_owned()]));
    }
}

#[test]
fn partitions_that_steal_work_from_each_other_give_each_record_once() {
    let logs = &*LOGS;
    let question =
        "select count(*), count(distinct seq * 8 + thread), sum(seq) from records where level > 0";
    let expected = answer(&[&logs.log], question, &["--cores", "1"]);
    for stealing in ["true", "false"] {
        let set = format!("datafusion.execution.enable_file_stream_work_stealing={stealing}");
        for path in [&logs.kept, &logs.log] {
            let options = ["--split", "1000", "--cores", "5", "--set", &set];
            assert_eq!(answer(&[path], question, &options), expected, "{set}");
        }
    }
}

#[test]
fn records_and_their_texts_are_those_of_the_reader() {
    let logs = &*LOGS;
    for (log, kept) in [(&logs.log, &logs.kept), (&logs.damaged, &logs.kept_damaged)] {
        let read = Log::open(log).unwrap();
        let mut expected: Vec<String> = read
            .records()
            .map(|record| record.unwrap().message().to_owned())
            .collect();
        expected.sort();
        assert!(expected.len() > 300);
        for path in [log, kept] {
            let texts = answer(&[path], "select message from records", &["--split", "500"]);
            let mut texts: Vec<_> = texts.lines().skip(1).map(unquoted).collect();
            texts.sort();
            assert_eq!(texts, expected, "{}", path.display());
        }
        let missing = read.losses().to_string();
        let (_, said) = ask(&[log], "select 1", &[]);
        match missing.strip_prefix("not clean: ") {
            Some(missing) => assert!(said.contains(missing), "{said} but {missing}"),
            None => assert_eq!(said, "complete\n"),
        }
    }
}

fn unquoted(text: &str) -> String {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.map_or(text.to_owned(), |text| text.replace("\"\"", "\""))
}

#[test]
fn a_record_that_stands_in_two_places_is_counted_once() {
    let logs = &*LOGS;
    let both = tempfile::tempdir().unwrap();
    let (other, all) = (both.path().join("other"), both.path().join("all"));
    archive(&other, &logs.log);
    archive(&all, &logs.log);
    archive(&all, &logs.second);
    let count = "select count(*), count(distinct run) from records where seq >= 0";
    let one = answer(&[&logs.log], count, &[]);
    let copy = both.path().join("copy.log");
    fs::copy(&logs.log, &copy).unwrap();
    for paths in [
        [&logs.kept, &logs.log],
        [&logs.kept, &other],
        [&logs.log, &copy],
        [&logs.log, &logs.log],
    ] {
        let paths = paths.map(PathBuf::as_path);
        assert_eq!(answer(&paths, count, &["--split", "300"]), one, "{paths:?}");
    }
    let two = answer(&[&logs.log, &logs.second], count, &[]);
    assert_ne!(two, one);
    for paths in [
        &[&*all][..],
        &[&all, &other],
        &[&other, &all],
        &[&all, &logs.log, &logs.second],
    ] {
        assert_eq!(answer(paths, count, &[]), two, "{paths:?}");
    }
}

#[test]
fn a_place_that_logs_is_a_view_with_named_columns() {
    let logs = &*LOGS;
    for path in [&logs.log, &logs.kept] {
        for name in ["orders.rs:75", "samples/src/bin/orders.rs:75"] {
            let question =
                format!("select a0, a2, message from \"{name}\" where a0 < 5 order by a0");
            let found = answer(&[path], &question, &[]);
            assert!(
                found.starts_with("a0,a2,message\n1,coffee,\"order 1: 7 x coffee"),
                "{found}"
            );
        }
        let tables = answer(&[path], "show tables", &[]);
        assert!(tables.contains("samples/src/bin/orders.rs:94"), "{tables}");
        let none = run(&[path], "select * from \"rders.rs:75\"", &[]);
        assert_eq!(none.status.code(), Some(2));
    }
}

/// A log of records with these formats, each in a file of a name and at a line.
fn written(folder: &Path, calls: &[(&str, &str, u64)]) -> PathBuf {
    let mut bytes = Vec::new();
    for (index, (format, file, line)) in calls.iter().enumerate() {
        let mut room = vec![0; 4096];
        let mut objects = vec![index as u8];
        objects.extend([0xa2, b'h', b'i']);
        let args = logdef_wire::Array::from_objects(2, &objects).unwrap();
        assert_eq!(args.iter().next(), Some(Value::Uint(index as u64)));
        let data = Data {
            front: Glance {
                line: Some(*line),
                level: Some(Level::WARN),
                run: Some(Run(7)),
                sequence: Some(Sequence::new(ThreadNumber(0), index as u64)),
                time: Some(1_700_000_000_000_000_000 + index as u64),
                ..Glance::default()
            },
            args: Some(args),
            format_text: Some(format.as_bytes()),
            file_text: Some(file.as_bytes()),
            ..Data::default()
        };
        let len = frame::encode(&mut room, |encoder| data.encode(encoder)).unwrap();
        bytes.extend_from_slice(&room[..len]);
    }
    let path = folder.join("written.log");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn hostile_names_are_names() {
    let folder = tempfile::tempdir().unwrap();
    let calls = [
        ("'; drop table records; -- %d %s", "a\"b'.c", 1),
        ("\u{1b}[2J\u{9b}=%d \u{202e}%s", "\u{1b}[2J.c", 2),
        ("time=%d time=%s", "x/same.c", 3),
        ("select=%d level=%s", "y/same.c", 3),
        ("one %d %s", "line.c", 4),
        ("n=%d what=%s", "line.c", 4),
    ];
    let log = written(folder.path(), &calls);
    let kept = folder.path().join("kept");
    archive(&kept, &log);
    for path in [&log, &kept] {
        let found = answer(&[path], "select a0, a1, message from \"a\"\"b'.c:1\"", &[]);
        assert_eq!(
            found,
            "a0,a1,message\n0,hi,'; drop table records; -- 0 hi\n"
        );
        // A name that all records have, twice.
        let found = answer(&[path], "select time_2, time_3 from \"x/same.c:3\"", &[]);
        assert_eq!(found, "time_2,time_3\n2,hi\n");
        let ambiguous = run(&[path], "select * from \"same.c:3\"", &[]);
        let said = String::from_utf8(ambiguous.stderr).unwrap();
        assert_eq!(ambiguous.status.code(), Some(2));
        assert!(
            said.contains("x/same.c:3") && said.contains("y/same.c:3"),
            "{said}"
        );
        // Calls of one line have their values in one view.
        let found = answer(
            &[path],
            "select a0, n, a1, what from \"line.c:4\" order by seq",
            &[],
        );
        assert_eq!(found, "a0,n,a1,what\n4,,hi,\n,5,,hi\n");
        for form in ["table", "json"] {
            let output = run(
                &[path],
                "select message, format, file from records join sites using (site)",
                &["-o", form],
            );
            assert!(output.status.success());
            assert!(!output.stdout.contains(&0x1b), "{form}");
        }
    }
}

#[test]
fn what_is_no_log_and_what_is_no_question_is_said_in_a_line() {
    let logs = &*LOGS;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let empty = at("empty.log", b"");
    let (count, said) = ask(&[&empty], "select count(*) as n from records", &[]);
    assert_eq!((&*count, &*said), ("n\n0\n", "complete\n"));
    assert_eq!(
        answer(
            &[&empty],
            "select count(message) as n from records where level > 3",
            &[]
        ),
        "n\n0\n"
    );
    let noise = at("noise.log", b"no log at all");
    let none = folder.path().join("none.log");
    let broken = folder.path().join("broken");
    fs::create_dir_all(broken.join("part-000001")).unwrap();
    fs::write(broken.join("part-000001/records.parquet"), b"PAR1nothing").unwrap();
    for (path, question, status) in [
        (&noise, "select count(*) from records", 4),
        (&none, "select 1", 4),
        (&broken, "select count(*) from records", 4),
        (&logs.log, "select", 2),
        (&logs.log, "select nothing from records", 2),
        (&logs.log, "select * from \"nowhere.c:1\"", 2),
        (&logs.log, "select level('loud')", 2),
        (&logs.log, "", 2),
    ] {
        let output = run(&[path], question, &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{question}: {said}");
        assert!(
            said.starts_with("logdef-sql: ") && said.lines().count() == 1,
            "{said}"
        );
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_logdef-sql"))
        .arg(&LOGS.log)
        .args(["-o", "json", "-q"])
        .arg("select r.* from records r cross join records s")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut begins = [0; 100];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut begins).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_page_of_questions_is_right() {
    let logs = &*LOGS;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let page = fs::read_to_string(page).unwrap();
    let questions: Vec<_> = page.split("```sql\n").skip(1).collect();
    assert!(questions.len() >= 5);
    for question in questions {
        let question = question.split("```").next().unwrap();
        let (found, _) = ask(&[&logs.kept, &logs.second], question, &[]);
        assert!(found.lines().count() > 1, "{question}\n{found}");
    }
}

/// The smaller side of a join is held in memory, and nowhere else.
#[test]
fn what_needs_more_memory_than_there_is_fails_with_a_line() {
    let numbers = "(select unnest(range(0, 1000000)) as n)";
    let question = format!("select count(*) from {numbers} a join {numbers} b using (n)");
    let enough = run(&[&LOGS.log], &question, &[]);
    assert!(enough.status.success());
    let little = run(&[&LOGS.log], &question, &["--memory", "1"]);
    assert_eq!(little.status.code(), Some(1));
    let said = String::from_utf8(little.stderr).unwrap();
    let begin = "logdef-sql: not enough memory: ";
    assert!(
        said.starts_with(begin) && said.lines().count() == 1,
        "{said}"
    );
    for part in ["1 MiB", "--memory", "unnest(range(0, 1000000))"] {
        assert!(
            said.to_lowercase().contains(&part.to_lowercase()),
            "{part}: {said}"
        );
    }
}
