//! `tests/c/streams.c`: logs on sockets, and on what does not block, whose readers are slow, late or gone.

use super::*;
use crate::decode::{records_of, without_torn_frames};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a log is written to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stream {
    Pipe,
    Socket,
    /// Sockets that keep the boundaries of what is sent.
    Packets,
    Datagrams,
}

use Stream::{Datagrams, Packets, Pipe, Socket};

const BLOCKS: &str = "0";
const DOES_NOT_BLOCK: &str = "1";
/// Bytes of a text: with its definitions the record is a piece of a pipe; a record of some pieces.
const SHORT: &str = "2000";
const LONG: &str = "16000";
/// A pipe has no room for two of these.
const LONGEST: &str = "40000";
/// Bytes that a socket holds: as many as by default, or less than [`LONG`].
const USUAL: &str = "0";
const FEW: &str = "4096";

impl Stream {
    /// The end to read from, which never blocks, and the other one.
    fn ends(self) -> (File, OwnedFd) {
        let kind = match self {
            Pipe => {
                let (from, to) = std::io::pipe().unwrap();
                return (unblocked(from.into()), to.into());
            }
            Socket => libc::SOCK_STREAM,
            Packets => libc::SOCK_SEQPACKET,
            Datagrams => libc::SOCK_DGRAM,
        };
        let mut ends = [-1; 2];
        let kind = kind | libc::SOCK_CLOEXEC;
        // SAFETY: there is room for two descriptors.
        let made = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) };
        assert_eq!(made, 0);
        // SAFETY: the system made both just now.
        let [from, to] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        (unblocked(from), to)
    }

    /// Whether a reader gets what was written by one call at once, and nothing else with it.
    fn keeps_boundaries(self) -> bool {
        matches!(self, Packets | Datagrams)
    }
}

fn unblocked(end: OwnedFd) -> File {
    // SAFETY: touches no memory.
    let set = unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(set, 0);
    end.into()
}

/// What was read, and what the program said.
struct Outcome {
    directory: tempfile::TempDir,
    /// As it came.
    pieces: Vec<Vec<u8>>,
    calls: i128,
    dropped: i128,
}

/// Starts a story that writes to an end of a stream.
fn start(name: &str, more: &[&str], to: OwnedFd) -> Child {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(PROGRAM.get_or_init(|| build_stories("streams")));
    command.args(["/dev/stdout", name]).args(more);
    command.env_remove("LOGDEF").env_remove("LOGDEF_STDERR");
    command.stdout(to).stderr(Stdio::piped()).spawn().unwrap()
}

/// Reads what a story writes, from the moment on at which it says that the stream is full.
fn outcome(stream: Stream, name: &str, more: &[&str]) -> Outcome {
    let (mut from, to) = stream.ends();
    let mut running = start(name, more, to);
    let mut said = BufReader::new(running.stderr.take().unwrap()).lines();
    let full = said.next().unwrap().unwrap();
    assert_eq!(full, "full", "{stream:?}");
    let has_ended = AtomicBool::new(false);
    let (pieces, counts, status) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_slowly(&mut from, stream, &has_ended));
        let counts = said.next();
        let status = running.wait().unwrap();
        has_ended.store(true, Ordering::Release);
        (reader.join().unwrap(), counts.unwrap().unwrap(), status)
    });
    assert!(status.success(), "{stream:?}: {counts}");
    let (calls, dropped) = counts.split_once(' ').unwrap();
    Outcome {
        directory: tempfile::tempdir().unwrap(),
        pieces,
        calls: calls.parse().unwrap(),
        dropped: dropped.parse().unwrap(),
    }
}

/// Reads until the other end is closed, or its process has ended.
fn read_slowly(from: &mut File, stream: Stream, has_ended: &AtomicBool) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let most = if stream.keeps_boundaries() {
        1 << 18
    } else {
        3000
    };
    let mut piece = vec![0; most];
    loop {
        // Asked before: nothing is written after that.
        let has_ended = has_ended.load(Ordering::Acquire);
        match from.read(&mut piece) {
            Ok(0) => return pieces,
            Ok(len) => pieces.push(piece[..len].to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                if has_ended {
                    return pieces;
                }
                await_some(from);
            }
        }
        if pieces.len().is_multiple_of(20) {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }
}

/// Waits until there is something to read, for a moment at most: no datagram says that its sender has ended.
fn await_some(from: &File) {
    let mut wanted = libc::pollfd {
        fd: from.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one descriptor's record.
    assert!(unsafe { libc::poll(&raw mut wanted, 1, 10) } >= 0);
}

impl Outcome {
    /// Fails unless each call has its record, or is counted as dropped by the program and by the log. In how many
    /// places the log has something else than whole frames.
    fn assert_complete(&self, case: &str) -> usize {
        let (whole, torn) = without_torn_frames(&self.pieces.concat());
        let log = self.directory.path().join("read.log");
        std::fs::write(&log, whole).unwrap();
        let found = numbers(std::slice::from_ref(&log));
        let case = format!(
            "{case}: {} of {}, {} dropped",
            found.len(),
            self.calls,
            self.dropped
        );
        println!("{case}, {torn} torn");
        assert!(found.is_sorted_by(|one, next| one < next), "{case}");
        assert_eq!(found.len() as i128 + self.dropped, self.calls, "{case}");
        assert_eq!(counted(&[log]), self.dropped, "{case}");
        torn
    }

    /// Fails unless each piece is whole frames.
    fn assert_whole_pieces(&self) {
        for piece in &self.pieces {
            assert!(!records_of(piece).is_empty());
        }
    }
}

#[test]
fn a_socket_gets_all_records_of_threads_that_wait_for_its_reader() {
    for (stream, room) in [
        (Socket, USUAL),
        (Socket, FEW),
        (Packets, USUAL),
        (Datagrams, USUAL),
    ] {
        let outcome = outcome(stream, "floods", &[BLOCKS, LONG, room]);
        assert_eq!(outcome.assert_complete(&format!("{stream:?}")), 0);
        assert_eq!((outcome.calls, outcome.dropped), (401, 0), "{stream:?}");
        if stream.keeps_boundaries() {
            outcome.assert_whole_pieces();
        }
    }
}

#[test]
fn what_does_not_block_gets_whole_records_and_the_count_of_what_it_had_no_room_for() {
    for (stream, text) in [
        (Pipe, SHORT),
        (Socket, SHORT),
        (Socket, LONG),
        (Packets, LONG),
        (Datagrams, LONG),
    ] {
        let outcome = outcome(stream, "floods", &[DOES_NOT_BLOCK, text, USUAL]);
        let torn = outcome.assert_complete(&format!("{stream:?} {text}"));
        assert_eq!(torn, 0, "{stream:?} {text}");
        assert!(outcome.dropped >= 11, "the stream was full");
        if stream.keeps_boundaries() {
            outcome.assert_whole_pieces();
        }
    }
}

/// A record goes into a pipe in pieces. One that was begun is finished, if its reader takes some of it within a
/// second each time; else it is given up and counted, and those after it are whole again.
#[test]
fn a_record_whose_rest_is_not_read_in_time_is_torn_and_counted() {
    for (stream, room) in [(Pipe, USUAL), (Socket, FEW)] {
        let late = outcome(stream, "is_late", &[DOES_NOT_BLOCK, LONGEST, room]);
        assert_eq!(late.assert_complete(&format!("{stream:?}")), 1);
        // This reader is slow, and late only on a machine that has no time for it.
        let slow = outcome(stream, "floods", &[DOES_NOT_BLOCK, LONG, room]);
        let torn = slow.assert_complete(&format!("{stream:?}"));
        assert!(torn as i128 <= slow.dropped, "{torn} of {}", slow.dropped);
    }
}

#[test]
fn a_record_that_no_datagram_holds_is_dropped_and_counted() {
    for stream in [Packets, Datagrams] {
        let outcome = outcome(stream, "exceeds", &[BLOCKS, LONG, FEW]);
        assert_eq!(outcome.assert_complete(&format!("{stream:?}")), 0);
        assert_eq!(outcome.dropped, 10, "{stream:?}");
        outcome.assert_whole_pieces();
    }
}

#[test]
fn a_log_whose_reader_is_gone_counts_its_calls_and_no_signal_ends_the_program() {
    for (stream, errno) in [
        (Pipe, libc::EPIPE),
        (Socket, libc::EPIPE),
        (Packets, libc::EPIPE),
        // Refused once, and without a receiver from then on.
        (Datagrams, libc::ENOTCONN),
    ] {
        for blocks in [BLOCKS, DOES_NOT_BLOCK] {
            let (from, to) = stream.ends();
            drop(from);
            let running = start("is_alone", &[blocks, SHORT, USUAL], to);
            let output = running.wait_with_output().unwrap();
            succeeded(&output);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(said, format!("10 10 {errno}\n"), "{stream:?} {blocks}");
        }
    }
}
