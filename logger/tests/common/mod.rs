//! What the tests of the logger share: walking a log's frames with the wire
//! format's own decoder.

#![allow(dead_code, reason = "each test uses some of it")]

#[path = "../../../samples/src/skip.rs"]
pub mod skip;

use logdef_wire::record::Data;
use logdef_wire::{Level, Record, Value, frame};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// Calls `each` with every record of an undamaged log, zeros between frames
/// passed over; panics at anything else.
pub fn records(bytes: &[u8], mut each: impl FnMut(Record<'_>)) {
    records_at(bytes, |_, record| each(record));
}

/// Calls `each` with every record and the offset of its frame.
pub fn records_at(bytes: &[u8], mut each: impl FnMut(usize, Record<'_>)) {
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == 0 {
            at += 1;
            continue;
        }
        let found =
            frame::decode(&bytes[at..]).unwrap_or_else(|error| panic!("{error} at {at:#x}"));
        each(at, record(found.body, &mut vec![0; found.body.len()]));
        at += found.len;
    }
}

/// The record of a body, which may be masked: one record in some hundred thousand holds by
/// chance what begins a frame, in its time and its sequence.
pub fn record<'b>(body: &'b [u8], unmasked: &'b mut [u8]) -> Record<'b> {
    match Record::decode(body).unwrap() {
        Record::Masked(masked) => Record::decode(masked.unmask(unmasked).unwrap()).unwrap(),
        plain => plain,
    }
}

/// Lets the process have this many descriptors; returns how many it might have before.
pub fn limit_descriptors(most: u64) -> u64 {
    // SAFETY: valid structs.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let before = limit.rlim_cur;
        limit.rlim_cur = most;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
        before
    }
}

/// How many data records a log holds whose process was killed: in the middle of a frame,
/// perhaps.
pub fn whole_records(bytes: &[u8]) -> u32 {
    let (mut at, mut found) = (0, 0);
    while at < bytes.len() {
        match frame::decode(&bytes[at..]) {
            Ok(whole) => {
                let mut unmasked = vec![0; whole.body.len()];
                let is_data = matches!(record(whole.body, &mut unmasked), Record::Data(_));
                found += u32::from(is_data);
                at += whole.len;
            }
            Err(_) => at += 1,
        }
    }
    found
}

/// Calls `each` with every data record.
pub fn data(bytes: &[u8], mut each: impl FnMut(&Data<'_>)) {
    records(bytes, |record| {
        if let Record::Data(data) = record {
            each(&data);
        }
    });
}

/// Waits for the next line that a child prints, without its newline.
pub fn line_of(child: &mut Child) -> String {
    let mut line = String::new();
    let mut printed = BufReader::new(child.stdout.as_mut().unwrap());
    printed.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Waits until something is so. Panics with what is wrong if it is not after a minute.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Logs a text until another file is begun.
pub fn fill_file(text: &str) {
    let file = logdef::state().path;
    while logdef::state().path == file {
        logdef::logdef!(Info, "%s", text);
    }
}

/// Repeats a call until its record is written, and returns how many were not: a log that
/// had no space is tried again only now and then.
pub fn until_written(call: impl Fn()) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut lost = 0;
    loop {
        call();
        if logdef::unwritten() == 0 {
            return lost;
        }
        lost += 1;
        assert!(Instant::now() < deadline, "nothing is written again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The numbers that INFO and WARN records carry as their first argument, each
/// once, over all files of a log. Every record is found to have a sequence of
/// its own, and what it refers to before it in its chunk.
pub fn numbers(directory: &Path) -> (HashSet<u64>, HashSet<u64>) {
    let (mut infos, mut warnings) = (HashSet::new(), HashSet::new());
    let mut sequences = HashSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        let (mut strings, mut addresses) = (HashSet::new(), HashSet::new());
        records(&std::fs::read(&path).unwrap(), |record| match record {
            Record::Preamble(preamble) if preamble.chunk.is_some() => {
                strings.clear();
                addresses.clear();
            }
            Record::StringLogdef(logdef) => {
                strings.insert(logdef.address.unwrap());
            }
            Record::BacktraceLogdef(logdef) => {
                addresses.insert(logdef.address.unwrap().0);
            }
            Record::Data(data) => {
                assert!(strings.contains(&data.format.unwrap()));
                assert!(strings.contains(&data.file.unwrap()));
                for address in data.backtrace.into_iter().flatten() {
                    let Value::Uint(address) = address else {
                        panic!("an address is no integer");
                    };
                    assert!(addresses.contains(&address));
                }
                let sequence = (data.run, data.sequence.unwrap());
                assert!(sequences.insert(sequence), "a sequence twice");
                let first = data.args.unwrap().iter().next();
                let Some(Value::Uint(number)) = first else {
                    panic!("no number");
                };
                match data.level.unwrap() {
                    Level::INFO => assert!(infos.insert(number), "{number} twice"),
                    Level::WARN => assert!(warnings.insert(number), "{number} twice"),
                    _ => {}
                }
            }
            _ => {}
        });
    }
    (infos, warnings)
}

/// Whether `madvise` does what it says that it did: an emulator may do nothing. Says so if not.
pub fn is_advice_followed() -> bool {
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
    );
    let len = 64 << 10;
    // SAFETY: memory of its own of this length, of which the first byte is used.
    let left = unsafe {
        let at = libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        let byte = at.cast::<u8>();
        byte.write_volatile(1);
        assert_eq!(libc::madvise(at, len, libc::MADV_REMOVE), 0);
        let left = byte.read_volatile();
        libc::munmap(at, len);
        left
    };
    if left != 0 {
        skip::skip("memory is not taken back when the system is asked to");
    }
    left == 0
}

/// Lets files be no larger than `bytes`; returns the limit before.
pub fn limit_files(bytes: u64) -> u64 {
    // SAFETY: valid structs.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit);
        let before = limit.rlim_cur;
        limit.rlim_cur = bytes;
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
        before
    }
}

/// Does work in a forked child, which must come to the end of it.
pub fn in_child(work: impl FnOnce()) {
    // SAFETY: the child logs and leaves.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no process");
    if child == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        // SAFETY: leaves without running what the parent will run.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}
