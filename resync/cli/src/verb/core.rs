//! `core`: how a process died, and what it logged last: from a core dump, joined with the log on disk; or
//! the log of a process that runs. What is shown of the log, and how, is `view`'s matter.

mod head;
mod logs;
mod process;
mod stacks;

use crate::failure::Failure;
use crate::log::{self, Inputs};
use crate::verb::view::View;
use clap::ValueEnum;
use logdef_symbolizer::CoreDump;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Records that are shown where no number is asked for.
const LAST: usize = 20;

/// `core`: the core dump, and what to show of it; all else as in `view`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("files", |files| files.value_names(["CORE", "LOG"]).help(FILES)),
    mut_arg("follow", |follow| follow.hide(true)),
    mut_arg("tail", |tail| tail.help("Show only the last N matching records. By default 20, unless --head is given")),
    after_help = EXPLANATION
)]
pub struct Core {
    /// Which threads' stacks to show
    #[arg(long, value_enum, default_value = "died", value_name = "WHICH")]
    pub stacks: Stacks,
    /// Look for records in all of the memory that was dumped, not only where the log was mapped:
    /// it holds copies, and records that were logged before the log was opened
    #[arg(long)]
    pub memory: bool,
    #[command(flatten)]
    pub view: View,
}

const FILES: &str = "\
Core dump, also compressed; `-`, or none, is standard input (`coredumpctl dump | logdef core`); or the \
number of a running process. After it the logs that the process wrote, if they are not where the core names them";

const EXPLANATION: &str = "\
The log is read from disk, rotated files included, and from the core, if it holds pages of the log: \
the kernel dumps those only if bit 3 of /proc/PID/coredump_filter was set (`echo 0x3b >` that file \
before the crash). A log that was removed from disk can be read from these pages only. Records of \
other processes are shown only if --pid or --run asks for them.";

/// Threads whose stacks are shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Stacks {
    /// Of the thread that died
    Died,
    /// Of all threads
    All,
    /// None
    None,
}

impl Core {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if self.view.follow {
            let why = "a core does not grow: `logdef view --follow` the log";
            return Err(Failure::Usage(why.into()));
        }
        let dash = PathBuf::from("-");
        let (subject, named) = match &self.view.source.files[..] {
            [] => (&dash, &[][..]),
            [subject, logs @ ..] => (subject, logs),
        };
        let mut view = self.view.clone();
        if view.head.is_none() && view.cursor_file.is_none() {
            view.tail.get_or_insert(LAST);
        }
        view.source.files = named.to_vec();
        match process::number(subject) {
            Some(pid) => self.of_process(pid, view),
            None => self.of_core(subject, view),
        }
    }

    fn of_core(&self, path: &Path, mut view: View) -> Result<ExitCode, Failure> {
        let input = log::open(path)?;
        let name = input.name().to_owned();
        let core = match CoreDump::read(logs::Bytes::of(input)) {
            Ok(core) => core,
            Err(why) => {
                return Err(Failure::Unreadable(format!(
                    "{name}: {why}; `logdef view` shows logs"
                )));
            }
        };
        let mut found = logs::Found::in_core(&core, !self.view.images.no_logged_paths);
        let head = head::Head::new(&view);
        head.of_core(&core, &found.logs)?;
        if self.stacks != Stacks::None {
            stacks::show(&core, self.stacks, &view, &head)?;
        }
        let pid = core.process().pid;
        if self.memory {
            found.inputs.push(core.file().as_input());
        }
        self.of_logs(found, pid, &mut view)
    }

    fn of_process(&self, pid: u32, mut view: View) -> Result<ExitCode, Failure> {
        if self.memory {
            let why = "--memory is for core dumps: `gcore` writes one of a process that runs";
            return Err(Failure::Usage(why.into()));
        }
        let process = process::Process::of(pid)?;
        head::Head::new(&view).of_process(&process)?;
        self.of_logs(process.found, pid, &mut view)
    }

    /// Shows the records of a process.
    fn of_logs(&self, found: logs::Found, pid: u32, view: &mut View) -> Result<ExitCode, Failure> {
        if view.filters.pid.is_empty() && view.filters.run.is_empty() {
            view.filters.pid.push(u64::from(pid));
        }
        if view.source.files.is_empty() {
            view.source.files = found.on_disk;
        }
        let (mut opened, mut lacks_some) = (Vec::new(), false);
        if !view.source.files.is_empty() {
            let inputs = log::inputs(&view.source)?;
            (opened, lacks_some) = (inputs.opened, inputs.lacks_some);
        }
        // What is on disk too is a copy of that.
        opened.extend(found.inputs);
        if opened.is_empty() {
            log::say("no log that it had open still exists: name the log after the core");
            return Ok(log::status(false, true, true));
        }
        view.run_on(Inputs {
            opened,
            lacks_some,
            suspects: view.source.suspects,
        })
    }
}
