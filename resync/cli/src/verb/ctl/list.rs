//! The processes of logs: of each that can be controlled what it says of itself in its page,
//! of the others what the log says.

use super::ended::{Ended, runs_of};
use super::life::Life;
use super::page::{self, Page};
use crate::args::Answer;
use crate::failure::{Failure, UNREADABLE};
use crate::log;
use crate::output::Output;
use crate::show::escape;
use crate::show::json::{Object, list, push_string};
use crate::show::losses;
use logdef_wire::control::{Request, State, Taken};
use logdef_wire::{Directive, Level, Run};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// `ctl list`: of which logs.
#[derive(Debug, clap::Args)]
pub struct List {
    /// Logs and directories of logs; without any, the directory you are in
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only processes that can be controlled. Does not read the logs, which takes long if they
    /// are large
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    answer: Answer,
}

impl List {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let here = [PathBuf::from(".")];
        let words = if self.paths.is_empty() {
            &here[..]
        } else {
            &self.paths
        };
        let mut problems = Vec::new();
        let mut rows = Vec::new();
        for path in pages(words)? {
            let row = Page::open(&path).and_then(|page| Row::of(&page));
            match row {
                Ok(row) => rows.push(row),
                Err(problem) => problems.push(problem),
            }
        }
        let (mut runs, mut lacks_some) = (BTreeMap::new(), false);
        if self.live {
            rows.retain(|row| row.life.is_alive);
        } else {
            match runs_of(words) {
                Ok(found) => (runs, lacks_some) = found,
                Err(failure) => problems.push(failure.to_string()),
            }
        }
        let mut output = Output::new();
        // One whose process has ended and whose log is elsewhere or removed has no run here.
        rows.retain(|row| row.life.is_alive || runs.contains_key(&row.run));
        for row in &rows {
            let ended = runs.remove(&row.run);
            row.push(ended.as_ref(), self.answer.is_json(), &mut output.buffer);
        }
        let is_any = !rows.is_empty() || !runs.is_empty();
        for (run, ended) in &runs {
            ended.push(*run, self.answer.is_json(), &mut output.buffer);
        }
        output.flush()?;
        if !is_any && problems.is_empty() && !lacks_some {
            let names: Vec<String> = words.iter().map(|w| w.display().to_string()).collect();
            log::say(&super::nothing_at(&names.join(", ")));
        }
        lacks_some |= !problems.is_empty();
        for problem in problems {
            log::say(&problem);
        }
        Ok(if lacks_some {
            ExitCode::from(UNREADABLE)
        } else {
            ExitCode::SUCCESS
        })
    }
}

fn pages(words: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut pages = Vec::new();
    for word in words {
        pages.extend(page::paths(word).map_err(Failure::Unreadable)?);
    }
    pages.sort();
    pages.dedup();
    Ok(pages)
}

/// A process and its page.
struct Row {
    log: PathBuf,
    run: Run,
    life: Life,
    /// The number that the process has in its own namespace.
    own_pid: u32,
    level: Level,
    filter: Vec<u8>,
    is_set: bool,
    has_helper: bool,
    until: u64,
    dropped: u64,
    logged: u64,
    files: u64,
    bytes: u64,
    pending: Vec<&'static str>,
}

impl Row {
    fn of(page: &Page) -> Result<Row, String> {
        let gone = || format!("{}: changed while it was read", page.path.display());
        let state: State<'_> = page.state().ok_or_else(gone)?;
        let (files, bytes) = files_of(&page.log());
        Ok(Row {
            log: page.log(),
            run: state.run.unwrap_or(Run(0)),
            life: Life::of(page, &state),
            own_pid: state.pid,
            level: state.level,
            filter: state.filter.to_vec(),
            is_set: state.is_set,
            has_helper: state.has_helper,
            until: state.until,
            dropped: state.dropped,
            logged: state.logged,
            files,
            bytes,
            pending: pending(&page.request(), &page.taken()),
        })
    }

    fn push(&self, ended: Option<&Ended>, is_json: bool, out: &mut Vec<u8>) {
        if is_json {
            self.push_json(ended, out);
        } else {
            self.push_text(ended, out);
        }
    }

    fn push_text(&self, ended: Option<&Ended>, out: &mut Vec<u8>) {
        escape::push(self.log.as_os_str().as_bytes(), out);
        let pid = self.life.pid.unwrap_or(self.own_pid);
        // Writing to a vector does not fail.
        let _ = write!(out, ": pid {pid}");
        if !self.life.is_alive {
            let words = ended.map_or("ended", Ended::words);
            let _ = writeln!(out, " {words}, run {:016x}", self.run.0);
            return;
        }
        out.extend_from_slice(b" alive");
        if self.life.pid.is_none() {
            out.extend_from_slice(b" (in another container; this is its pid there)");
        }
        let _ = write!(out, ", level {}", spelled(self.level));
        if !self.filter.is_empty() {
            out.extend_from_slice(b", filter ");
            escape::push(&self.filter, out);
        }
        if self.is_set {
            out.extend_from_slice(b" (set from outside");
            if self.until > 0 {
                out.extend_from_slice(b", for another ");
                push_seconds(self.until.saturating_sub(now()), out);
            }
            out.push(b')');
        }
        let _ = write!(
            out,
            ", {} dropped, {}, {}",
            losses::count(self.dropped, "call"),
            losses::count(self.files, "file"),
            losses::count(self.bytes, "byte"),
        );
        if self.logged > 0 {
            out.extend_from_slice(b", logged ");
            push_seconds(now().saturating_sub(self.logged), out);
            out.extend_from_slice(b" ago");
        }
        if !self.pending.is_empty() {
            let _ = write!(out, ", pending: {}", self.pending.join(" "));
        }
        out.push(b'\n');
    }

    fn push_json(&self, ended: Option<&Ended>, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.string("log", self.log.as_os_str().as_bytes());
        object.string("run", format!("{:016x}", self.run.0).as_bytes());
        object.number("pid", Some(self.life.pid.unwrap_or(self.own_pid).into()));
        object.bool("alive", self.life.is_alive);
        object.bool("control", true);
        if self.life.is_alive {
            object.bool("visible", self.life.pid.is_some());
            object.string("level", spelled(self.level).as_bytes());
            object.string("filter", &self.filter);
            object.bool("set", self.is_set);
            object.number("until_ns", Some(self.until).filter(|until| *until > 0));
            object.bool("helper", self.has_helper);
            object.number("dropped", Some(self.dropped));
            object.number("files", Some(self.files));
            object.number("bytes", Some(self.bytes));
            object.number("logged_ns", Some(self.logged).filter(|logged| *logged > 0));
            list(object.key("pending"), self.pending.iter(), |what, out| {
                push_string(what.as_bytes(), out);
            });
        } else {
            object.text("ended", ended.map(|ended| ended.words().as_bytes()));
        }
        object.end();
        out.push(b'\n');
    }
}

/// What was asked for and not taken.
fn pending(request: &Request<'_>, taken: &Taken) -> Vec<&'static str> {
    let kinds = [
        ("level", request.set > taken.set),
        ("sync", request.sync > taken.sync),
        ("rotate", request.rotate > taken.rotate),
        ("note", request.note > taken.note),
    ];
    let pending = kinds.into_iter().filter(|(_, is_pending)| *is_pending);
    pending.map(|(name, _)| name).collect()
}

/// Files of a log, and their bytes: the one at its path, and those with a number after it.
fn files_of(log: &Path) -> (u64, u64) {
    let name = log.file_name().unwrap_or_default().as_bytes();
    let directory = log.parent().filter(|parent| *parent != Path::new(""));
    let entries = std::fs::read_dir(directory.unwrap_or(Path::new(".")));
    let mut found = (0, 0);
    for entry in entries.into_iter().flatten().flatten() {
        let other = entry.file_name();
        let is_its = other.as_bytes().strip_prefix(name).is_some_and(|end| {
            end.is_empty() || end[0] == b'.' && end[1..].iter().all(u8::is_ascii_digit)
        });
        if is_its
            && let Ok(metadata) = entry.path().symlink_metadata()
            && metadata.is_file()
        {
            found = (found.0 + 1, found.1 + metadata.blocks() * 512);
        }
    }
    found
}

/// A level as filters write it.
pub fn spelled(level: Level) -> String {
    if level == Directive::OFF {
        "off".into()
    } else {
        level.to_string().to_lowercase()
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// A length of time, to a second.
fn push_seconds(nanos: u64, out: &mut Vec<u8>) {
    let seconds = nanos / 1_000_000_000;
    let _ = match seconds {
        0..120 => write!(out, "{seconds} s"),
        120..7200 => write!(out, "{} min", seconds / 60),
        7200..172_800 => write!(out, "{} h", seconds / 3600),
        _ => write!(out, "{} d", seconds / 86_400),
    };
}
