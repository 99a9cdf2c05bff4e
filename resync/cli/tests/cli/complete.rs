//! Completion in shells: values of options from the logs that the command line names.

use crate::fixture::*;
use crate::skip::skip;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

/// A minute: other tests may have most of the machine.
const PATIENT: (&str, &str) = ("LOGDEF_COMPLETE_MS", "60000");

/// Threads and places of the program that would be run, or would drive a terminal, if they were put
/// on a command line as they are.
fn hostile() -> Log {
    let mut log = example();
    for (number, name) in [
        "$(touch ran)",
        "a b",
        "it's",
        "\x1b[2J",
        "two\nlines",
        "--help",
        "\u{202e}x",
    ]
    .into_iter()
    .enumerate()
    {
        log.thread(RUN, 10 + number as u64, name);
    }
    log
}

fn files() -> Files {
    let files = Files::new();
    files.put("app.log", &example().bytes);
    files.put("logs/app.log", &example().bytes);
    files.put("logs/app.log.1.gz", &gzip(&hostile().bytes));
    files.put("notes.txt", b"no log");
    let mut damaged = example().bytes;
    damaged[300..340].fill(0xee);
    files.put("damaged.log", &damaged);
    files
}

fn asked(files: &Files, shell: &str, line: &str) -> Vec<String> {
    let mut command = command();
    command.current_dir(files.path()).env(PATIENT.0, PATIENT.1);
    command.env("LOGDEF_COMPLETE_LINE", line);
    let done = run(command.args(["completions", shell]), b"");
    assert_eq!((done.status, &*done.err), (0, ""), "{line}");
    done.out.lines().map(str::to_owned).collect()
}

#[test]
fn values_come_from_the_logs_on_the_command_line() {
    let files = files();
    let zsh = |line: &str| asked(&files, "zsh", line);
    let sites = [
        "db/wal.c",
        "db/wal.c:30",
        "src/net.c",
        "src/net.c:10",
        "src/net.c:20",
    ];
    assert_eq!(zsh("logdef view app.log --site "), sites);
    assert_eq!(zsh("logdef --site="), sites, "of the folder");
    assert_eq!(zsh("logdef check a --site s"), sites[2..]);
    // A site is named by its last parts too.
    assert_eq!(zsh("logdef app.log --site net.c:2"), ["net.c:20"]);
    assert_eq!(zsh("logdef stats damaged.log --thread wo"), ["worker"]);
    assert_eq!(zsh("logdef app.log --pid "), ["77"]);
    assert_eq!(zsh("logdef app.log --run "), ["000000000000abcd"]);
    assert_eq!(zsh("logdef app.log --module bin"), ["bin/example"]);
    assert_eq!(zsh("logdef app.log -w te"), ["template"]);
    let joined = "logdef app.log -w 'template~x and (mod";
    assert_eq!(zsh(joined), ["template~x and (module"]);
    for nothing in [
        "",
        "logdef",
        "logdef app.log",
        "logdef app.log --level ",
        "logdef app.log --thread nobody",
        "logdef app.log -w 'template~",
        "logdef notes.txt --thread ",
    ] {
        assert_eq!(zsh(nothing), [""; 0], "{nothing}");
    }
}

#[test]
fn names_of_arguments_are_completed_in_conditions() {
    let files = Files::new();
    let mut log = Log::of(RUN, 7, EPOCH);
    log.site(RUN, 0, "a.c", b"served path=%s ms=%.1f user: %s");
    log.data(RUN, 0, EPOCH, &ACCEPTED, |args| {
        args.raw(b"/").unwrap();
        args.float(1.0).unwrap();
        args.raw(b"ann").unwrap();
        3
    });
    files.put("app.log", &log.bytes);
    let zsh = |line: &str| asked(&files, "zsh", line);
    let all = ["module", "ms", "path", "target", "template", "user"];
    assert_eq!(zsh("logdef app.log -w "), all);
    assert_eq!(zsh("logdef app.log --not 'not m"), ["not module", "not ms"]);
    assert_eq!(zsh("logdef app.log --where='ms>1 or u"), ["ms>1 or user"]);
}

/// What a log holds is put on a command line that the person then runs.
#[test]
fn hostile_names_are_quoted_or_left_out() {
    let files = files();
    let line = "logdef view logs/ --thread ";
    assert_eq!(
        asked(&files, "zsh", line),
        ["$(touch ran)", "a b", "it's", "main", "worker"]
    );
    let bare = asked(&files, "bash", line);
    assert_eq!(
        bare,
        ["\\$\\(touch\\ ran\\)", "a\\ b", "it\\'s", "main", "worker"]
    );
    let single = asked(&files, "bash", &format!("{line}'"));
    assert_eq!(single, ["$(touch ran)", "a b", "main", "worker"]);
    let double = asked(&files, "bash", &format!("{line}\""));
    assert_eq!(double, ["a b", "it's", "main", "worker"]);
}

/// No more is read of a long log than its beginning and its end.
#[test]
fn the_middle_of_a_long_log_is_not_read() {
    let files = Files::new();
    let mut marked = Vec::new();
    for (number, name) in ["first", "middle", "last"].into_iter().enumerate() {
        let mut log = Log::of(RUN, 7, EPOCH);
        log.thread(RUN, number as u64, name);
        marked.push(log.bytes);
    }
    let path = files.put("app.log", b"");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    for (bytes, at) in marked.iter().zip([0, 30 << 20, 64 << 20]) {
        file.write_all_at(bytes, at).unwrap();
    }
    // Nothing is waited for: there is no writer.
    rustix::fs::mkfifoat(rustix::fs::CWD, files.path().join("pipe.log"), 0o600.into()).unwrap();
    assert_eq!(asked(&files, "zsh", "logdef --thread "), ["first", "last"]);
    assert_eq!(
        asked(&files, "zsh", "logdef pipe.log app.log --thread "),
        ["first", "last"]
    );
}

/// What a shell prints that has loaded its script, in a folder with logs.
fn in_shell(shell: &str, files: &Files, text: &str) -> Option<Vec<String>> {
    let script = run(command().args(["completions", shell]), b"").out;
    files.put("script", script.as_bytes());
    let words: &[&str] = match shell {
        "zsh" => &["-f", "-c"],
        "fish" => &["--no-config", "-c"],
        _ => &["--norc", "-c"],
    };
    let mut command = Command::new(shell);
    command
        .args(words)
        .arg(text)
        .current_dir(files.path())
        .env("PATH", path_with_logdef())
        .env("HOME", files.path())
        .env(PATIENT.0, PATIENT.1)
        .stdin(Stdio::null());
    let Ok(done) = command.output() else {
        skip(format!("no {shell}"));
        return None;
    };
    assert!(done.status.success(), "{done:?}");
    let shown = String::from_utf8(done.stdout).unwrap();
    Some(shown.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_from_the_log() {
    const TYPED: &str = r#"
        source ./script
        typed() {
            COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMPREPLY=()
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _logdef_or_log logdef "$2" "$3"
            echo "${COMPREPLY[@]}"
        }
        typed 'logdef view app.log --thread ' '' --thread
        typed 'logdef app.log --site=src/net.c:' '' :
        typed 'logdef view --no-log' --no-log view
        typed "logdef view logs/ --thread '" '' --thread
        typed 'logdef completions --' -- completions
    "#;
    let files = files();
    let Some(shown) = in_shell("bash", &files, TYPED) else {
        return;
    };
    let expected = [
        "main worker",
        "10 20",
        "--no-logged-paths",
        "$(touch ran) a b main worker",
        "--color --no-pager --spool --help",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn fish_completes_from_the_log() {
    const TYPED: &str = "
        source ./script
        complete -C 'logdef view app.log --thread '
        complete -C 'logdef app.log --site=src/net.c:'
        complete -C 'logdef view app.log -w te'
        complete -C 'logdef recover --thread ' | string match main
        true
    ";
    let files = files();
    let Some(shown) = in_shell("fish", &files, TYPED) else {
        return;
    };
    let expected = [
        "main",
        "worker",
        "--site=src/net.c:10",
        "--site=src/net.c:20",
        "template",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn zsh_completes_from_the_log() {
    // Its line editor is played: what completes is the script's.
    const TYPED: &str = r#"
        compdef() { : }
        compset() { PREFIX=${PREFIX#*=} }
        compadd() { print -r -- "$PREFIX: $values" }
        _arguments() { print others; return 1 }
        source ./script
        typed() { words=("$@"); CURRENT=$#; PREFIX=$words[-1]; _logdef }
        typed logdef view app.log --thread ''
        typed logdef app.log --site=src/net.c:
        typed logdef view --no-log
    "#;
    let files = files();
    let Some(shown) = in_shell("zsh", &files, TYPED) else {
        return;
    };
    assert_eq!(
        shown,
        [
            ": main worker",
            "src/net.c:: src/net.c:10 src/net.c:20",
            "others"
        ]
    );
}
