//! Logs that are written to a pipe.

use super::*;

/// What a reader gets who is a little slow, from a story that writes to a pipe; and what
/// the story says.
fn through_a_pipe(directory: &Path, name: &str, more: &[&str]) -> (PathBuf, Output) {
    let fifo = make_fifo(directory);
    // A program does not wait for long until its pipe has a reader.
    let mut from = open_to_read(&fifo);
    let mut command = story(&fifo, name, more);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    let into = directory.join("read.log");
    let reader = std::thread::spawn(move || {
        let mut to = std::fs::File::create(into).unwrap();
        let mut piece = [0; 3000];
        for turn in 0.. {
            await_bytes(&from);
            match std::io::Read::read(&mut from, &mut piece) {
                Ok(0) => break,
                Ok(len) => to.write_all(&piece[..len]).unwrap(),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
            if turn % 20 == 0 {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
        }
    });
    let output = running.wait_with_output().unwrap();
    succeeded(&output);
    reader.join().unwrap();
    std::fs::remove_file(fifo).unwrap();
    (directory.join("read.log"), output)
}

/// A pipe with a name.
pub fn make_fifo(directory: &Path) -> PathBuf {
    let fifo = directory.join("fifo");
    let path = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    fifo
}

/// Opens a pipe that has no writer yet.
pub fn open_to_read(fifo: &Path) -> std::fs::File {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    options.open(fifo).unwrap()
}

/// Waits until there is something to read, or all writers have closed the pipe.
fn await_bytes(pipe: &std::fs::File) {
    use std::os::fd::AsRawFd;
    let mut wanted = libc::pollfd {
        fd: pipe.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one descriptor's record.
    assert_eq!(unsafe { libc::poll(&raw mut wanted, 1, -1) }, 1);
}

#[test]
fn threads_that_share_a_pipe_do_not_tear_each_others_records() {
    let directory = tempfile::tempdir().unwrap();
    let (read, _) = through_a_pipe(directory.path(), "crowds", &[]);
    assert!(numbers(&[read]).into_iter().eq(0..2000));
}

#[test]
fn a_write_that_a_signal_interrupts_is_finished() {
    for logs in ["0", "1"] {
        let directory = tempfile::tempdir().unwrap();
        let (read, output) = through_a_pipe(directory.path(), "interrupts", &[logs]);
        let said = String::from_utf8(output.stderr).unwrap();
        let (in_handler, not_written) = said.split_once(' ').unwrap();
        let [in_handler, not_written] =
            [in_handler, not_written].map(|number| number.parse::<i128>().unwrap());
        let (mut main, mut handler, mut dropped) = (0, 0, 0);
        for message in messages(&read) {
            match message.level {
                0x30 => main += 1,
                _ => handler += 1,
            }
            dropped += message.dropped;
        }
        assert_eq!(main, 501, "each record of the interrupted thread");
        let count = format!("{handler} of {in_handler} in handlers, {dropped} dropped");
        println!("{count}");
        assert_eq!(handler + dropped, in_handler, "{count}");
        assert_eq!(dropped, not_written, "{count}");
        assert!(logs == "0" || handler > 0, "{count}");
    }
}

#[test]
fn a_pipe_without_a_reader_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = make_fifo(directory.path());
    let output = story(&fifo, "logs", &["0"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("errno {}\n", libc::ENXIO));
}
