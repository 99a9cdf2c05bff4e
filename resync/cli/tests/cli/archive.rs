//! `archive`, and archives wherever logs are read.

use crate::fixture::*;
use logdef_archive::Archive;
use logdef_resync::{Input, NoImages, Recovery};
use std::fs;
use std::path::{Path, PathBuf};

fn archived(files: &Files, logs: &[&Path]) -> PathBuf {
    let kept = files.path().join("kept");
    let mut archive = command();
    let done = run(archive.arg("archive").arg("-o").arg(&kept).args(logs), b"");
    assert_eq!(done.status, 0, "{logs:?}: {}", done.err);
    kept
}

/// A log of three threads that lacks nothing; some of its records have the same time.
fn plain(files: &Files) -> PathBuf {
    let mut log = example();
    for count in 0..200u64 {
        let thread = count % 3;
        let time = EPOCH + SECOND * (20 + count / 7);
        log.data(RUN, thread, time, &ACCEPTED, |out| {
            out.raw(format!("host-{count}").as_bytes()).unwrap();
            out.uint(count * count).unwrap();
            2
        });
    }
    files.put("plain.log", &log.bytes)
}

#[test]
fn an_archive_shows_what_its_log_shows() {
    let own = Files::new();
    let plain = plain(&own);
    for log in corpus().into_iter().chain([plain.clone()]) {
        let files = Files::new();
        let kept = archived(&files, &[&log]);
        // Such a log is shown as it stands, and the words below do not change that.
        let is_ordered = logdef_archive::Ordered::open(&logdef_archive::parts(&kept))
            .unwrap()
            .is_some();
        assert!(is_ordered || log != plain);
        for words in [
            "view {}",
            "view -o json {}",
            "view -o csv {}",
            "view -o logfmt {}",
            "view -o raw --fold {}",
            "view -l warn -B 1 {}",
            "view --grep host-1.*6 -A 1 {}",
            "view --head 15 {}",
            "view --tail 15 {}",
            "view --thread worker --with-context {}",
            "stats {}",
            "export --to otlp-json {}",
        ] {
            let (before, after) = (logdef(words, &log), logdef(words, &kept));
            let name = log.display();
            assert_eq!(after.status, before.status, "{name} {words}: {}", after.err);
            assert_eq!(after.out, before.out, "{name} {words}");
        }
        let counts = |path: &Path| {
            let mut counts = logdef("stats -o json {}", path).objects().remove(0);
            // It does not say in how many ranges bytes were damaged or torn.
            for key in ["damaged", "torn"] {
                counts[key].as_object_mut().unwrap().remove("count");
            }
            counts
        };
        assert_eq!(counts(&kept), counts(&log), "{}", log.display());
        let verdict = |path: &Path| {
            let done = logdef("check {}", path);
            (done.status, done.out.lines().last().map(str::to_owned))
        };
        assert_eq!(verdict(&kept), verdict(&log), "{}", log.display());
    }
}

#[test]
fn suspect_records_are_kept_where_they_are_wanted() {
    let logs = corpus();
    let named = |name: &str| logs.iter().find(|log| log.ends_with(name)).unwrap();
    let log = named("strange.log");
    let files = Files::new();
    let kept = files.path().join("kept");
    let mut archive = command();
    let archive = archive.args(["archive", "--suspects", "-o"]);
    assert_eq!(run(archive.arg(&kept).arg(log), b"").status, 0);
    let before = logdef("view --suspects -o json {}", log);
    assert!(before.out.contains("\"standing\":\"suspect\""));
    assert_eq!(logdef("view --suspects -o json {}", &kept).out, before.out);
    assert_eq!(
        logdef("view -o json {}", &kept).out,
        logdef("view -o json {}", log).out
    );
}

#[test]
fn many_logs_make_one_archive_that_takes_in_what_is_new() {
    let files = Files::new();
    let log = files.put("logs/a.log", &example().bytes);
    let other = example_of(logdef_wire::Run(9), 78, EPOCH + SECOND / 2);
    files.put("logs/b.log", &other.bytes);
    let logs = log.parent().unwrap();
    let kept = archived(&files, &[logs]);
    let both = logdef("view -o json {}", logs);
    assert_eq!(both.lines().len(), 20);
    assert_eq!(logdef("view -o json {}", &kept).out, both.out);
    let empty = run(command().arg("archive").arg("-o").arg(&kept), b"");
    assert!(empty.err.contains("0 parts, 0 records"), "{}", empty.err);

    // Again: nothing is read. Then one file is longer, and one is new.
    let again = run(command().arg("archive").arg("-o").arg(&kept).arg(logs), b"");
    assert!(again.err.contains("0 parts"), "{}", again.err);
    assert!(again.err.contains("2 files unchanged"), "{}", again.err);
    let mut longer = other.clone();
    longer.data(logdef_wire::Run(9), 0, EPOCH + 60 * SECOND, &TOOK, |out| {
        out.uint(3).unwrap();
        1
    });
    files.put("logs/b.log", &longer.bytes);
    files.put(
        "logs/c.log",
        &example_of(logdef_wire::Run(10), 79, EPOCH).bytes,
    );
    let more = run(command().arg("archive").arg("-o").arg(&kept).arg(logs), b"");
    assert!(more.err.contains("11 records of 2 files"), "{}", more.err);
    assert!(more.err.contains("10 that were there"), "{}", more.err);
    let all = logdef("view -o json {}", logs);
    assert_eq!(logdef("view -o json {}", &kept).out, all.out);
    // From standard input too.
    let piped = run(command().args(["archive", "-o"]).arg(&kept), &longer.bytes);
    assert!(
        piped.err.contains("0 records of 1 file added"),
        "{}",
        piped.err
    );
    assert_eq!(logdef("view -o json {}", &kept).out, all.out);
}

#[test]
fn what_cannot_be_an_archive_is_said_in_a_line() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let refused = |output: &Path, status: i32, why: &str| {
        let done = run(
            command().arg("archive").arg("-o").arg(output).arg(&log),
            b"",
        );
        assert_eq!(done.status, status, "{}", done.err);
        assert!(done.err.contains(why), "{}", done.err);
        assert_eq!(done.err.lines().count(), 1, "{}", done.err);
    };
    refused(&log, 1, "app.log");
    refused(files.path(), 2, "is not an archive");
    refused(Path::new("-"), 2, "is a folder");
    refused(&files.path().join("none/kept"), 1, "none/kept");
    let text = files.put("text.log", b"not a log\n");
    let kept = files.path().join("kept");
    let done = run(command().arg("archive").arg("-o").arg(&kept).arg(text), b"");
    assert_eq!(done.status, 4, "{}", done.err);
    assert!(!kept.exists());
    // A part that is damaged.
    archived(&files, &[&log]);
    let follows = logdef("view --follow {}", &kept);
    assert_eq!(
        (follows.status, follows.err.lines().count()),
        (2, 1),
        "{}",
        follows.err
    );
    let records = kept.join("part-000001/records.parquet");
    let good = fs::read(&records).unwrap();
    fs::write(&records, &good[..good.len() / 2]).unwrap();
    let done = logdef("view {}", &kept);
    assert_eq!(
        (done.status, done.err.lines().count()),
        (4, 1),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("records.parquet: not a logdef archive"),
        "{}",
        done.err
    );
    let done = run(command().arg("archive").arg("-o").arg(&kept).arg(&log), b"");
    assert_eq!(
        (done.status, done.err.lines().count()),
        (4, 1),
        "{}",
        done.err
    );
}

/// What is shown of an archive before it turns out to be damaged is what it shows as a log.
#[test]
fn a_damage_in_the_middle_of_an_archive_changes_nothing_of_what_is_shown() {
    let files = Files::new();
    let mut log = example();
    for count in 0..9000u64 {
        log.data(
            RUN,
            count % 4,
            EPOCH + (20 + count) * SECOND,
            &ACCEPTED,
            |out| {
                out.raw(format!("host-{}", count % 1999).as_bytes())
                    .unwrap();
                out.uint(count * 7).unwrap();
                2
            },
        );
    }
    let kept = files.path().join("kept");
    let inputs = [Input::from_bytes("app.log", log.bytes)];
    let recovery = Recovery::of(&inputs).unwrap();
    let archive = Archive::open(&kept, None).unwrap();
    let mut archive = archive.with_row_groups_of(1000);
    archive.add(&inputs, &[None], &recovery, NoImages).unwrap();
    let records = kept.join("part-000001/records.parquet");
    let good = fs::read(&records).unwrap();
    let shown = |words: &str| {
        // With --strict, it is read as a log before anything is shown.
        let as_log = logdef(&format!("{words} --strict {{}}"), &kept);
        let done = logdef(&format!("{words} {{}}"), &kept);
        (as_log.out, done)
    };
    let (whole, done) = shown("view -o csv");
    assert!(whole == done.out && done.lines().len() == 9011);
    let mut cut = 0;
    for at in (good.len() / 3..good.len()).step_by(good.len() / 40) {
        let mut bad = good.clone();
        let end = bad.len().min(at + 64);
        bad[at..end].fill(0xff);
        fs::write(&records, bad).unwrap();
        for words in [
            "view -o csv",
            "view -o csv --tail 700",
            "view -o csv --grep host-1",
        ] {
            let (as_log, done) = shown(words);
            assert!(as_log == done.out, "{words} at {at}: {}", done.err);
            cut += u64::from(done.err.contains("breaks off") && done.lines().len() > 1);
        }
    }
    assert!(cut > 10, "{cut}");
}

/// All files of a folder, by their paths below it.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut content = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                content.push((name, fs::read(path).unwrap()));
            }
        }
    }
    content.sort();
    content
}

/// A file that may not grow is an error of a write, at a byte that the test chooses; what a process that is
/// killed there leaves is made by the test.
#[test]
fn an_archive_that_was_not_completed_is_made_again_the_same() {
    let files = Files::new();
    let mut log = example();
    for count in 0..3000 {
        log.data(RUN, 3, EPOCH + count * 999_983, &ACCEPTED, |out| {
            out.raw(format!("host-{}", count % 1999).as_bytes())
                .unwrap();
            out.uint(count * 7).unwrap();
            2
        });
    }
    let log = files.put("app.log", &log.bytes);
    let whole = content(&archived(&files, &[&log]));
    let longest = whole.iter().map(|(_, bytes)| bytes.len()).max().unwrap();
    let kept = files.path().join("again");
    let program = env!("CARGO_BIN_EXE_logdef");
    let mut failed = 0;
    for limit in (0..longest.div_ceil(512)).step_by(4) {
        let mut shell = std::process::Command::new("sh");
        shell
            .arg("-c")
            .arg(format!(
                "ulimit -c 0; ulimit -f {limit}; exec \"$0\" archive -o \"$1\" \"$2\""
            ))
            .args([Path::new(program), &kept, &log]);
        let output = shell.output().unwrap();
        failed += u64::from(output.status.code() == Some(1));
        // It is no archive yet.
        assert_eq!(logdef("view {}", &kept).status, 4, "limit {limit}");
    }
    assert!(failed > 5, "{failed}");
    let records = Path::new("part-000001/records.parquet");
    let (_, bytes) = whole.iter().find(|(name, _)| name == records).unwrap();
    fs::create_dir_all(kept.join("new.tmp")).unwrap();
    fs::write(
        kept.join("new.tmp/records.parquet"),
        &bytes[..bytes.len() / 2],
    )
    .unwrap();
    assert_eq!(logdef("view {}", &kept).status, 4);
    let done = run(command().arg("archive").arg("-o").arg(&kept).arg(&log), b"");
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(content(&kept) == whole);
}
