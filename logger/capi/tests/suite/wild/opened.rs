//! `tests/c/opened.c`: what is found and made when a log is opened.

use super::pipes::{make_fifo, open_to_read};
use super::*;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

fn opened() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build_stories("opened"))
}

fn run(log: &Path, name: &str, more: &[&str], stdout: Stdio) -> Output {
    let mut command = Command::new(opened());
    command.arg(log).arg(name).args(more).stdout(stdout);
    let command = command.env_remove("LOGDEF").env_remove("LOGDEF_STDERR");
    let running = command.stderr(Stdio::piped()).spawn().unwrap();
    let output = running.wait_with_output().unwrap();
    succeeded(&output);
    output
}

#[test]
fn a_program_can_ask_what_became_of_what_its_path_led_to() {
    for name in ["finds_mapped", "finds_appended", "finds_streams"] {
        let directory = tempfile::tempdir().unwrap();
        run(&directory.path().join("app.log"), name, &[], Stdio::null());
    }
}

/// Those that follow the first one, too.
#[test]
fn files_have_the_mode_that_was_asked_for() {
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("app.log");
        run(&log, "modes", &[sink], Stdio::null());
    }
}

/// What was written to a stream before its other end was closed.
fn rest_of(mut stream: impl Read) -> Vec<i128> {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("read.log");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    std::fs::write(&log, bytes).unwrap();
    numbers(&[log])
}

#[test]
fn a_stream_is_refused_what_only_files_can_do() {
    let stdout = Path::new("/dev/stdout");
    let output = run(stdout, "refuses", &[], Stdio::piped());
    assert_eq!(rest_of(&output.stdout[..]), [0]);

    let (from, to) = UnixStream::pair().unwrap();
    run(stdout, "refuses", &[], OwnedFd::from(to).into());
    assert_eq!(rest_of(from), [0]);

    let directory = tempfile::tempdir().unwrap();
    let fifo = make_fifo(directory.path());
    let from = open_to_read(&fifo);
    run(&fifo, "refuses", &[], Stdio::null());
    assert_eq!(rest_of(from), [0]);

    run(Path::new("/dev/null"), "refuses", &[], Stdio::null());
}
