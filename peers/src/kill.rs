//! What a kill costs: calls that had returned and whose records cannot be read
//! afterwards.

use crate::child::{self, NUMBERS};
use crate::lttng;
use crate::peers::{Peer, Reader};
use logdef_resync::{Input, Item, Items};
use logdef_wire::record::Record;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Records that a kill at a random moment costs.
pub fn lost(peer: &Peer, threads: usize, directory: &Path) -> u64 {
    let session = peer.needs_session.then(|| lttng::Session::start(directory));
    let returned = child::shared(directory, threads);
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--child", peer.name, child::Mode::Kill.name()])
        .args([threads.to_string(), "0".into()])
        .arg(directory)
        .spawn()
        .unwrap();
    let nanos = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .subsec_nanos();
    while returned.iter().any(|n| n.load(Ordering::Acquire) == 0) {
        assert!(process.try_wait().unwrap().is_none(), "{} ended", peer.name);
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_micros(150_000 + nanos as u64 % 450_000));
    process.kill().unwrap();
    process.wait().unwrap();
    let returned: Vec<u64> = returned.iter().map(|n| n.load(Ordering::Acquire)).collect();
    let mut found = Found(returned.iter().map(|n| vec![false; *n as usize]).collect());
    match (peer.reader, session) {
        (Reader::Logdef, _) => found.in_log(&directory.join("log")),
        (Reader::Lines(before), Some(session)) => found.in_lines(&session.text(), before),
        (Reader::Lines(before), None) => {
            for file in files(directory) {
                found.in_lines(&std::fs::read(file).unwrap(), before);
            }
        }
    }
    found.missing()
}

/// Which of the returned calls' records were found.
struct Found(Vec<Vec<bool>>);

impl Found {
    fn see(&mut self, number: u64) {
        let (thread, n) = (number / NUMBERS, number % NUMBERS);
        let thread = self.0.get_mut(thread as usize);
        if let Some(seen) = thread.and_then(|thread| thread.get_mut(n as usize)) {
            *seen = true;
        }
    }

    /// Whole lines, with the number after `before`.
    fn in_lines(&mut self, text: &[u8], before: &str) {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let Some((_, rest)) = line.split_once(before).filter(|_| line.ends_with('\n')) else {
                continue;
            };
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
            if let Some(number) = digits.and_then(|digits| digits.parse().ok()) {
                self.see(number);
            }
        }
    }

    fn in_log(&mut self, path: &Path) {
        let input = Input::open(path).unwrap();
        let mut items = Items::new(&input);
        let mut scratch = Vec::new();
        while let Some(item) = items.next().unwrap() {
            let Item::Frame(frame) = item else {
                continue;
            };
            if let Ok(Record::Data(data)) = logdef_resync::decode(frame.body, &mut scratch)
                && let Some(number) = data
                    .args
                    .and_then(|args| args.iter().next())
                    .and_then(|arg| arg.as_uint())
            {
                self.see(number);
            }
        }
    }

    fn missing(&self) -> u64 {
        self.0.iter().flatten().filter(|seen| !**seen).count() as u64
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let logs = entries.filter(|entry| {
        let regular = entry
            .path()
            .symlink_metadata()
            .is_ok_and(|about| about.is_file());
        regular && entry.file_name() != child::RETURNED
    });
    logs.map(|entry| entry.path()).collect()
}
