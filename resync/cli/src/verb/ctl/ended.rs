//! What logs say of their runs: which process, whether it still has a file of the log open,
//! and if not, how it ended.

use crate::args::Source;
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::paths;
use crate::report::endings;
use crate::show::escape;
use crate::show::json::Object;
use logdef_resync::{Event, Merge, MergeOptions};
use logdef_wire::record::NoteKind;
use logdef_wire::{Record, Run};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A run as its log shows it.
#[derive(Default)]
pub struct Ended {
    pid: Option<u64>,
    /// Whether a living process of that number has a file of these logs open.
    is_alive: bool,
    words: Option<String>,
    dropped: u64,
    last: u64,
}

/// The runs of logs, and whether some log could not be read, which is said. Reads them.
pub fn runs_of(words: &[PathBuf]) -> Result<(BTreeMap<Run, Ended>, bool), Failure> {
    let mut lacks_some = false;
    let mut files = Vec::new();
    for found in paths::of(words) {
        match found {
            Ok(file) => files.push(file),
            Err(problem) if problem.starts_with(paths::NO_LOG) => {}
            Err(problem) => {
                log::say(&problem);
                lacks_some = true;
            }
        }
    }
    if files.is_empty() {
        return Ok((BTreeMap::new(), lacks_some));
    }
    let (runs, lacks_more) = runs_of_files(files)?;
    Ok((runs, lacks_some || lacks_more))
}

fn runs_of_files(files: Vec<PathBuf>) -> Result<(BTreeMap<Run, Ended>, bool), Failure> {
    let mut runs = BTreeMap::new();
    let identity = |file: &PathBuf| file.metadata().ok().map(|found| (found.dev(), found.ino()));
    let inodes: HashSet<(u64, u64)> = files.iter().filter_map(identity).collect();
    let log = Log::open(&Source {
        files,
        strict: false,
        suspects: false,
        clock_offset: Vec::new(),
    })?;
    for (run, info) in log.recovery.tables().runs() {
        let ended = Ended {
            pid: info.pid,
            is_alive: info.pid.is_some_and(|pid| has_open(pid, &inodes)),
            ..Ended::default()
        };
        runs.insert(run, ended);
    }
    for thread in log.recovery.threads() {
        let ended = runs.entry(thread.run).or_default();
        ended.dropped += thread.dropped;
        ended.last = ended.last.max(thread.last_time);
    }
    let mut options = MergeOptions::default();
    (options.all_frames, options.gaps) = (true, false);
    let mut merge = Merge::new(&log.inputs, &log.recovery, options);
    while let Some(event) = merge.next()? {
        let Event::Frame(frame) = event else { continue };
        if frame.tag() != logdef_wire::Tag::NOTE {
            continue;
        }
        let Some(Record::Note(note)) = frame.record() else {
            continue;
        };
        let words = match note.kind {
            Some(NoteKind::FATAL_SIGNAL) => endings::signal(&note),
            Some(NoteKind::END) => "ended by itself".to_owned(),
            _ => continue,
        };
        if let Some(run) = note.run {
            runs.entry(run).or_default().words = Some(words);
        }
    }
    Ok((runs, log.lacks_some))
}

/// Whether a process has one of these files mapped or open.
fn has_open(pid: u64, inodes: &HashSet<(u64, u64)>) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let is_mapped = maps.lines().any(|line| {
        let inode = line.split_ascii_whitespace().nth(4);
        let inode = inode.and_then(|inode| inode.parse::<u64>().ok());
        inode.is_some_and(|inode| {
            inodes
                .iter()
                .any(|(_, known)| *known == inode && inode != 0)
        })
    });
    let open = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
    };
    is_mapped
        || open().flatten().any(|entry| {
            let found = entry.path().metadata();
            found.is_ok_and(|found| inodes.contains(&(found.dev(), found.ino())))
        })
}

impl Ended {
    /// How it ended, in words.
    pub fn words(&self) -> &str {
        let words = self.words.as_deref();
        words.unwrap_or("ended, and the log does not say how")
    }

    /// A line of a run without a page.
    pub fn push(&self, run: Run, is_json: bool, out: &mut Vec<u8>) {
        if is_json {
            let mut object = Object::begin(out);
            object.string("run", format!("{:016x}", run.0).as_bytes());
            object.number("pid", self.pid);
            object.bool("alive", self.is_alive);
            object.bool("control", false);
            if !self.is_alive {
                object.string("ended", self.words().as_bytes());
            }
            object.number("dropped", Some(self.dropped));
            object.number("logged_ns", Some(self.last).filter(|last| *last > 0));
            object.end();
            out.push(b'\n');
            return;
        }
        let _ = match self.pid {
            Some(pid) => write!(out, "pid {pid} "),
            None => write!(out, "process unknown, "),
        };
        let words = if self.is_alive {
            "alive, without control"
        } else {
            self.words()
        };
        escape::push(words.as_bytes(), out);
        let _ = writeln!(out, ", run {:016x}, {} calls dropped", run.0, self.dropped);
    }
}
