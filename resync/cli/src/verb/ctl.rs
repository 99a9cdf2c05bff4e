//! `ctl`: what the processes of a log do, and what they are to do from now on, by the control
//! pages beside it.

mod ask;
mod ended;
mod life;
mod list;
mod page;
mod sites;

use crate::failure::Failure;
use jiff::SignedDuration;
use logdef_wire::control::{MOST_FILTER, MOST_NOTE};
use logdef_wire::{Level, directives};
use std::path::PathBuf;
use std::process::ExitCode;

/// `ctl`: see and change living processes.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "A program can be controlled if it opens its log with the option `control`, or is started with \
                  LOGDEF_CTL=1. A request takes effect at the program's next log call, even one that is off, or \
                  through its helper thread. Exit status 1: the process had not accepted the request when --wait \
                  was over."
)]
pub struct Ctl {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: list::List,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the processes of a log and what they do; the same as `logdef ctl PATH`
    List(list::List),
    /// List the log calls in a process: whether each is on now, and how many records of it are in the log
    Sites(sites::Sites),
    /// Log at this level and above, except at places that a directive of the program's filter names
    Level {
        #[command(flatten)]
        whom: Whom,
        /// trace, debug, info, warn, error, fatal, off or a number
        #[arg(value_name = "LEVEL", value_parser = level)]
        level: Level,
        #[command(flatten)]
        lasts: Lasts,
    },
    /// Log what this filter names, in place of the program's filter
    Filter {
        #[command(flatten)]
        whom: Whom,
        /// Directives, separated by commas: a level, or module=level, file=level,
        /// file:line=level
        #[arg(value_name = "FILTER", value_parser = filter)]
        filter: String,
        #[command(flatten)]
        lasts: Lasts,
    },
    /// Return to the program's own level and filter
    Reset {
        #[command(flatten)]
        whom: Whom,
    },
    /// Write all records so far to stable storage
    Sync {
        #[command(flatten)]
        whom: Whom,
    },
    /// Begin another file; if the log does not rotate, reopen its path
    Rotate {
        #[command(flatten)]
        whom: Whom,
    },
    /// Write a note into the log
    Note {
        #[command(flatten)]
        whom: Whom,
        /// The note's text
        #[arg(value_name = "TEXT", value_parser = note)]
        text: String,
    },
}

/// Which processes are asked, and how long the command waits for them.
#[derive(Debug, clap::Args)]
struct Whom {
    /// The log, its directory, or a control page
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Only the process with this number
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// All processes that log there. Without this and --pid, there must be only one
    #[arg(long, conflicts_with = "pid")]
    all: bool,
    /// Wait at most this long until the process has accepted the request: 10s, 5m. By default one
    /// second, after which a pending request is not a failure
    #[arg(long, value_name = "TIME", value_parser = time)]
    wait: Option<SignedDuration>,
}

/// For how long a change holds.
#[derive(Debug, clap::Args)]
struct Lasts {
    /// For this long from now: 30s, 5m, 2h. By default until `reset` or the end of the process
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    lasts: Option<SignedDuration>,
}

fn time(text: &str) -> Result<SignedDuration, String> {
    let time: SignedDuration = text.parse().map_err(|_| "try 30s, 5m or 2h".to_owned())?;
    if time > SignedDuration::ZERO && time.as_nanos() <= i128::from(i64::MAX) {
        Ok(time)
    } else {
        Err("a time must be longer than 0".into())
    }
}

fn level(text: &str) -> Result<Level, String> {
    match directives(text).collect::<Vec<_>>()[..] {
        [Ok(directive)] if directive.place.is_none() => Ok(directive.level),
        _ => Err("try trace, debug, info, warn, error, fatal, off or a number".into()),
    }
}

fn filter(text: &str) -> Result<String, String> {
    if text.len() > MOST_FILTER {
        return Err(format!(
            "a filter may have at most {MOST_FILTER} bytes, this one has {}",
            text.len()
        ));
    }
    match directives(text).find_map(Result::err) {
        Some(wrong) => Err(format!(
            "`{wrong}` is neither a level nor place=level: try info,net=debug,wal.c:120=trace"
        )),
        None => Ok(text.to_owned()),
    }
}

fn note(text: &str) -> Result<String, String> {
    if text.len() > MOST_NOTE {
        return Err(format!(
            "a note may have at most {MOST_NOTE} bytes, this one has {}",
            text.len()
        ));
    }
    Ok(text.to_owned())
}

/// Why there is nothing to be seen or asked.
fn nothing_at(name: &str) -> String {
    format!(
        "{name}: no process can be controlled there: a program must open its log with the option \
         `control`, or be started with LOGDEF_CTL=1"
    )
}

impl Ctl {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        use ask::Wish;
        let lasts = |lasts: &Lasts| lasts.lasts.map_or(0, |time| time.as_nanos() as u64);
        match &self.action {
            None => self.list.run(),
            Some(Action::List(list)) => list.run(),
            Some(Action::Sites(sites)) => sites.run(),
            Some(Action::Level {
                whom,
                level,
                lasts: time,
            }) => ask::all(whom, &Wish::Level(*level, lasts(time))),
            Some(Action::Filter {
                whom,
                filter,
                lasts: time,
            }) => ask::all(whom, &Wish::Filter(filter, lasts(time))),
            Some(Action::Reset { whom }) => ask::all(whom, &Wish::Reset),
            Some(Action::Sync { whom }) => ask::all(whom, &Wish::Sync),
            Some(Action::Rotate { whom }) => ask::all(whom, &Wish::Rotate),
            Some(Action::Note { whom, text }) => ask::all(whom, &Wish::Note(text)),
        }
    }
}
