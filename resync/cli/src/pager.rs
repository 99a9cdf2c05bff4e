//! A pager between the command and the person: what would go to a terminal goes through a
//! program that shows it page by page, in colour if the terminal would have had it.

use crate::args::Verb;
use crate::log;
use rustix::stdio::{dup2_stderr, dup2_stdout};
use signal_hook::consts::SIGINT;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is started where no variable names another.
const USUAL: &str = "less";
/// How `less` is to work unless LESS says so: end if all fits on the screen, pass colour on,
/// leave the text on the screen.
const LESS: &str = "FRX";

/// A pager that shows what this process prints.
pub struct Pager(Child);

impl Pager {
    /// Starts one if the answer to `verb` is read by a person at a terminal. From here on,
    /// standard output, and standard error if it goes to the terminal too, are the pager's.
    pub fn start(verb: &Verb) -> Option<Pager> {
        if !verb.is_for_a_pager() || !io::stdout().is_terminal() {
            return None;
        }
        let mut child = command()?.stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        // What follows sees a pipe; the colour is the terminal's.
        anstream::AutoStream::choice(&io::stdout()).write_global();
        if io::stderr().is_terminal() {
            dup2_stderr(&input).ok()?;
        }
        dup2_stdout(&input).ok()?;
        // An interrupt is the pager's matter: it stops a search with it. This process ends
        // when its output is closed.
        let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
        Some(Pager(child))
    }
}

impl Drop for Pager {
    /// Lets the pager know that this is all, and waits for the person to leave it.
    fn drop(&mut self) {
        let _ = io::stdout().flush();
        if let Ok(nothing) = File::options().write(true).open("/dev/null") {
            let _ = dup2_stdout(&nothing);
            let _ = dup2_stderr(&nothing);
        }
        let _ = self.0.wait();
    }
}

/// The pager that the person wants; none if it is said to be none.
fn command() -> Option<Command> {
    let named = ["LOGDEF_PAGER", "PAGER"].map(std::env::var);
    let [own, usual] = named.map(Result::ok);
    let line = own.or(usual).unwrap_or_else(|| USUAL.into());
    if matches!(line.trim(), "" | "cat") || line == USUAL && !is_installed(USUAL) {
        return None;
    }
    let first = line.split_whitespace().next().unwrap_or_default();
    if !may_be_run(first) {
        log::say(&format!("no pager: there is no program {first}"));
        return None;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    Some(command)
}

/// Whether the shell knows what the first word of a pager's line is: it would take the output and show none of
/// it. A word that has a meaning to the shell may be anything.
fn may_be_run(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_./+-".contains(c);
    let mut asked = Command::new("sh");
    asked.args(["-c", "command -v \"$1\"", "sh", word]);
    asked
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    !word.chars().all(is_plain) || asked.status().is_ok_and(|status| status.success())
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
