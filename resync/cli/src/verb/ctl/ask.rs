//! Asking processes for something, and waiting until they have taken it.

use super::Whom;
use super::life::Life;
use super::page::{self, Page};
use crate::failure::{Failure, NO_MATCH};
use crate::log;
use crate::output::Output;
use crate::show::escape;
use logdef_wire::Level;
use logdef_wire::control::{Block, Request, SIZE, Taken, Wanted};
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a process is asked for. Times are in nanoseconds; 0 is for good.
pub enum Wish<'w> {
    Level(Level, u64),
    Filter(&'w str, u64),
    Reset,
    Sync,
    Rotate,
    Note(&'w str),
}

impl<'w> Wish<'w> {
    /// The request that asks for this beside what was asked for before.
    fn added_to(&self, before: Request<'w>, number: u64) -> Request<'w> {
        let (wanted, lasts) = match *self {
            Wish::Level(level, lasts) => (Wanted::Level(level), lasts),
            Wish::Filter(filter, lasts) => (Wanted::Filter(filter.as_bytes()), lasts),
            Wish::Reset => (Wanted::Program, 0),
            Wish::Sync => {
                return Request {
                    sync: number,
                    ..before
                };
            }
            Wish::Rotate => {
                return Request {
                    rotate: number,
                    ..before
                };
            }
            Wish::Note(text) => {
                return Request {
                    note: number,
                    text: text.as_bytes(),
                    ..before
                };
            }
        };
        Request {
            set: number,
            asked: now(),
            wanted,
            lasts,
            ..before
        }
    }
}

/// How long a process is waited for that may be at its next call at once.
const USUALLY: Duration = Duration::from_secs(1);

/// Asks those who are meant.
pub fn all(whom: &Whom, wish: &Wish<'_>) -> Result<ExitCode, Failure> {
    let mut living = living(whom)?;
    let mut output = Output::new();
    let mut is_pending = false;
    let wait = whom.wait.map(|wait| wait.unsigned_abs());
    for (page, _) in &mut living {
        let number = ask(page, wish)
            .map_err(|error| Failure::Unreadable(format!("{}: {error}", page.path.display())))?;
        let life = page.state().map(|state| Life::of(page, &state));
        let rings = life.as_ref().is_some_and(Life::ring);
        let taken = wait_for(page, wish, number, wait.unwrap_or(USUALLY));
        let name = page.log().display().to_string();
        escape::push(name.as_bytes(), &mut output.buffer);
        let _ = match taken {
            Some(taken) if refused(wish, &taken) => {
                output.flush()?;
                return Err(Failure::Usage(format!(
                    "{name}: process {} refused the request, since it has obeyed 4,096 or has no memory left: its log says \
                     which; restart the program",
                    taken.pid
                )));
            }
            Some(taken) if matches!(wish, Wish::Sync) && taken.sync_errno != 0 => {
                output.flush()?;
                let error = std::io::Error::from_raw_os_error(taken.sync_errno.cast_signed());
                return Err(Failure::Unreadable(format!(
                    "{name}: process {} could not sync: {error}",
                    taken.pid
                )));
            }
            Some(taken) => writeln!(output.buffer, ": accepted by process {}", taken.pid),
            None => {
                is_pending = true;
                let when = if rings {
                    "the next log call of the process will accept the request, even a call that is off"
                } else {
                    "the process's memory is not accessible from here, so the next call that is logged will accept the request, within a second"
                };
                writeln!(output.buffer, ": pending: {when}")
            }
        };
    }
    output.flush()?;
    if is_pending && whom.wait.is_some() {
        return Ok(ExitCode::from(NO_MATCH));
    }
    Ok(ExitCode::SUCCESS)
}

/// The pages of living processes that are meant.
pub fn living(whom: &Whom) -> Result<Vec<(Page, Life)>, Failure> {
    let paths = page::paths(&whom.path).map_err(Failure::Unreadable)?;
    let mut problems = Vec::new();
    let mut dead = None;
    let mut living = Vec::new();
    for path in paths {
        let page = match Page::open(&path) {
            Ok(page) => page,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let Some(state) = page.state() else { continue };
        let life = Life::of(&page, &state);
        if !life.is_alive {
            dead = Some(state.pid);
            continue;
        }
        let is_meant = |pid: u32| life.pid == Some(pid) || state.pid == pid;
        if whom.pid.is_none_or(is_meant) {
            living.push((page, life));
        }
    }
    let name = whom.path.display();
    let only_one = living.len() < 2 || whom.all;
    if living.is_empty() {
        let why = match (problems.is_empty(), dead, whom.pid) {
            (false, ..) => problems.join("; "),
            (_, _, Some(pid)) => format!("{name}: no process {pid} can be controlled there"),
            (_, Some(pid), _) => {
                format!("{name}: process {pid} has ended, or runs another program now")
            }
            _ => super::nothing_at(&name.to_string()),
        };
        return Err(Failure::Unreadable(why));
    }
    if !only_one {
        let pids = living.iter().filter_map(|(_, life)| life.pid);
        let pids: Vec<String> = pids.map(|pid| pid.to_string()).collect();
        return Err(Failure::Usage(format!(
            "{name}: {} processes log there: name one with --pid ({}), or all with --all",
            living.len(),
            pids.join(", ")
        )));
    }
    for problem in problems {
        log::say(&problem);
    }
    Ok(living)
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// Writes the wish into a page. Returns its number.
fn ask(page: &mut Page, wish: &Wish<'_>) -> std::io::Result<u64> {
    let user = rustix::process::getuid().as_raw();
    let pid = std::process::id();
    page.ask(|before, number| {
        let mut scratch = [0; SIZE];
        let request = Request {
            user,
            pid,
            ..wish.added_to(before, number)
        };
        request.encode(&mut scratch).to_vec()
    })
}

/// What the process has taken, if it comes to the request of this number in time.
fn wait_for(page: &mut Page, wish: &Wish<'_>, number: u64, most: Duration) -> Option<Taken> {
    let deadline = Instant::now() + most;
    loop {
        let taken = page.read().ok().map(|()| page.taken())?;
        let done = match wish {
            Wish::Level(..) | Wish::Filter(..) | Wish::Reset => taken.set,
            Wish::Sync => taken.sync,
            Wish::Rotate => taken.rotate,
            Wish::Note(_) => taken.note,
        };
        if done >= number {
            return Some(taken);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn refused(wish: &Wish<'_>, taken: &Taken) -> bool {
    matches!(wish, Wish::Level(..) | Wish::Filter(..)) && taken.set_refused
}
