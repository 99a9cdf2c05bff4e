//! What the command reads: files, standard input, directories, patterns,
//! compressed ones; and what it says of those it cannot read.

use crate::fixture::*;
use logdef_wire::Run;
use std::io::Write;

#[test]
fn standard_input_is_read_for_a_dash_and_for_nothing() {
    let bytes = example().bytes;
    let dash = run(command().arg("-"), &bytes);
    let nothing = run(&mut command(), &bytes);
    assert_eq!(dash.lines().len(), 10);
    assert_eq!(dash.out, nothing.out);
    assert_eq!(nothing.status, 0);
}

#[test]
fn a_concatenation_shows_as_the_sum_of_its_parts() {
    let first = example_of(Run(1), 11, EPOCH);
    let second = example_of(Run(2), 22, EPOCH + 100 * SECOND);
    let mut both = first.bytes.clone();
    both.extend_from_slice(&second.bytes);
    let files = Files::new();
    let path = files.put("both.log", &both);
    let sum = on(&first, "{}").out + &on(&second, "{}").out;
    assert_eq!(logdef("{}", &path).out, sum);

    let one = files.put("1.log", &first.bytes);
    let two = files.put("2.log", &second.bytes);
    assert_eq!(run(command().arg(&two).arg(&one), b"").out, sum);
}

#[test]
fn directories_and_patterns_name_logs() {
    let files = Files::new();
    files.put("a.log", &example_of(Run(1), 11, EPOCH).bytes);
    files.put("b.log.1", &example_of(Run(2), 22, EPOCH).bytes);
    files.put("notes.txt", b"no log");
    assert_eq!(logdef("{}", files.path()).lines().len(), 20);
    assert_eq!(logdef("{}/*.log*", files.path()).lines().len(), 20);
    assert_eq!(logdef("{}/a*", files.path()).lines().len(), 10);
    let done = logdef("{}/*.none", files.path());
    assert_eq!(done.status, 4);
    assert!(done.err.starts_with("logdef: no file matches "));
}

#[test]
fn a_missing_file_is_one_clear_line_and_status_4() {
    let files = Files::new();
    let done = logdef("{}/missing.log", files.path());
    assert_eq!((done.status, &*done.out), (4, ""));
    let path = files.path().display();
    assert_eq!(
        done.err,
        format!("logdef: cannot read {path}/missing.log: no such file\n")
    );
}

#[test]
fn an_empty_directory_is_one_clear_line_and_status_4() {
    let files = Files::new();
    let done = logdef("{}", files.path());
    assert_eq!(done.status, 4);
    assert_eq!(done.err.lines().count(), 1, "{}", done.err);
    assert!(done.err.contains("no log in directory"));
}

#[test]
fn one_missing_file_of_two_does_not_hide_the_other() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    for verb in ["view", "check", "stats", "dump", "merge"] {
        let joined = files.path().join("joined.log");
        let mut command = command();
        command.arg(verb).arg("missing.log").arg(&path);
        if verb == "merge" {
            command.arg("-o").arg(&joined);
        }
        let done = run(&mut command, b"");
        assert_eq!(done.status, 4, "{verb}");
        assert!(done.err.contains("cannot read missing.log"), "{}", done.err);
        match verb {
            "view" => assert_eq!(done.lines().len(), 10),
            "merge" => assert_eq!(logdef("{}", &joined).lines().len(), 10),
            _ => assert!(!done.out.is_empty()),
        }
    }
}

#[test]
fn bytes_that_are_no_log_are_status_4() {
    let files = Files::new();
    let path = files.put("noise", &b"just some text\n".repeat(1000));
    for verb in [
        "",
        "check",
        "recover -o out.log",
        "export --to fxt -o out.fxt",
    ] {
        let done = logdef(&format!("{verb} {{}}"), &path);
        assert_eq!((done.status, &*done.out), (4, ""), "{verb}");
        assert!(done.err.contains("no frame in 15000 bytes"), "{}", done.err);
    }
}

#[test]
fn an_empty_file_is_a_log_of_nothing() {
    let files = Files::new();
    let path = files.put("empty.log", b"");
    let done = logdef("{}", &path);
    assert_eq!((done.status, &*done.out, &*done.err), (0, "", ""));
}

#[test]
fn a_wrong_command_line_is_status_2() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    for words in [
        "--nonsense {}",
        "view --level loud {}",
        "view --since someday {}",
        "view --grep ( {}",
        "view --where nonsense {}",
        "recover {}",
    ] {
        let done = logdef(words, &path);
        assert_eq!((done.status, &*done.out), (2, ""), "{words}");
        assert!(done.err.starts_with("error: "), "{}", done.err);
    }
}

#[test]
fn names_of_files_cannot_drive_the_terminal() {
    let files = Files::new();
    let path = files.path().join("a\x1b[2Jb.log");
    let done = run(command().arg(&path), b"");
    assert_eq!(done.status, 4);
    assert!(!done.err.contains('\x1b'), "{:?}", done.err);
}

/// A cut where a frame ends looks like a whole log to who decompresses it.
#[test]
fn a_compressed_log_that_breaks_off_is_no_clean_log() {
    let log = example();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&log.bytes[..log.frames[12].end]).unwrap();
    encoder.flush().unwrap();
    let files = Files::new();
    let path = files.put("app.log.gz", &encoder.get_ref().clone());
    for verb in ["view --strict", "check", "dump --strict", "stats --strict"] {
        let done = logdef(&format!("{verb} {{}}"), &path);
        assert_eq!(done.status, 3, "{verb}: {}", done.err);
        let said = done.out + &done.err;
        assert!(
            verb.starts_with("dump") || said.contains("breaks off after"),
            "{said}"
        );
    }
}

#[test]
fn a_directory_is_searched_by_what_files_hold_and_each_is_read_once() {
    let files = Files::new();
    files.put("app.log.000001", &example_of(Run(1), 11, EPOCH).bytes);
    let link = files.path().join("app.log");
    std::os::unix::fs::symlink("app.log.000001", link).unwrap();
    // Of a forked child, and one whose name says nothing.
    files.put("app.log.012-345", &example_of(Run(2), 22, EPOCH).bytes);
    files.put("trace", &example_of(Run(3), 33, EPOCH).bytes);
    files.put("notes.txt", b"no log");
    let fifo = files.path().join("pipe.log");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let done = logdef("{}", files.path());
    assert_eq!((done.lines().len(), &*done.err), (30, ""));
    let check = logdef("check {}", files.path());
    assert!(!check.out.contains("more than once"), "{}", check.out);
}

/// The usual limit of descriptors is 1,024.
#[test]
fn more_logs_than_a_process_may_have_open_are_followed() {
    let files = Files::new();
    for number in 0..1500 {
        let mut log = Log::of(Run(number), number, EPOCH);
        accepted(&mut log, Run(number), 0, EPOCH + number, "alpha", number);
        files.put(&format!("{number}.log"), &log.bytes);
    }
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg("ulimit -n 1024; exec \"$0\" -o raw --follow --head 1500 \"$1\"")
        .arg(env!("CARGO_BIN_EXE_logdef"))
        .arg(files.path());
    let done = run(&mut command, b"");
    assert_eq!((done.status, &*done.err), (0, ""));
    assert_eq!(done.lines().len(), 1500);
}

/// Logs of many runs under a low limit of descriptors: inputs are opened again when they are
/// read, and every verb says what it says without a limit.
#[test]
fn more_logs_than_a_process_may_have_open_are_read() {
    let files = Files::new();
    for number in 0..300 {
        let mut log = Log::of(Run(number), number, EPOCH);
        accepted(&mut log, Run(number), 0, EPOCH + number, "alpha", number);
        files.put(&format!("{number:03}.log"), &log.bytes);
    }
    let under = |limit: &str, words: &str| {
        let mut command = std::process::Command::new("sh");
        command
            .arg("-c")
            .arg(format!("ulimit -n {limit}; exec \"$0\" {words}"))
            .arg(env!("CARGO_BIN_EXE_logdef"))
            .current_dir(files.path());
        let done = run(&mut command, b"");
        (done.status, done.out, done.err)
    };
    for words in [
        "-o json .",
        "-o json --tail 9 .",
        "check .",
        "stats .",
        "export --to otlp-json . -o -",
        "dump .",
        "merge . -o - | cksum",
        "recover . -o - | cksum",
        "symbolize *.log",
        "fxt stat *.log",
        "-o json --follow --head 300 .",
    ] {
        let few = under("64", words);
        let usual = under("1024", words);
        assert!(
            few == usual,
            "{words}: {} {}, {} {}",
            few.0,
            few.2,
            usual.0,
            usual.2
        );
        assert_eq!(few.0, 0, "{words}: {}", few.2);
    }
}

/// A stream may have no end, and a small file may stand for a large one.
#[test]
fn streams_without_an_end_are_read_up_to_a_limit_and_that_is_said() {
    let log = example();
    let files = Files::new();
    let mut bomb = log.bytes.clone();
    bomb.resize(200 << 20, 0);
    let bomb = files.put("bomb.gz", &gzip(&bomb));
    for (words, path) in [
        ("view --spool 1M", &bomb),
        ("view --spool 100M -o raw", &bomb),
        ("export --spool 3M --to folded -o -", &bomb),
    ] {
        let done = logdef(&format!("{words} --strict {{}}"), path);
        assert_eq!(done.status, 3, "{words}: {}", done.err);
        assert!(done.err.contains("--spool SIZE reads more"), "{}", done.err);
        assert!(done.err.contains("breaks off after "), "{}", done.err);
    }
    assert_eq!(logdef("view --spool 1M -o raw {}", &bomb).lines().len(), 10);
    assert_eq!(logdef("check {}", &bomb).status, 0);
    let zeros = std::path::Path::new("/dev/zero");
    for words in ["view", "check", "stats", "dump", "import --from fxt -o -"] {
        let done = logdef(&format!("{words} --spool 20M {{}}"), zeros);
        assert!(
            done.err.contains("--spool SIZE reads more"),
            "{words}: {}",
            done.err
        );
    }
    // So does standard input, whose name is no path.
    let mut command = command();
    command
        .args(["view", "-o", "raw", "-"])
        .env("LOGDEF_SPOOL", "1M");
    let mut endless = log.bytes.clone();
    endless.resize(2 << 20, 0);
    let done = run(&mut command, &endless);
    assert_eq!((done.status, done.lines().len()), (0, 10), "{}", done.err);
    assert!(
        done.err.contains("breaks off after 1048576 bytes"),
        "{}",
        done.err
    );
}
