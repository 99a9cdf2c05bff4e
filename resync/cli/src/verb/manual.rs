//! `completions` and `man`: what shells and manuals know of the command.

use crate::args::Args;
use crate::complete;
use crate::failure::Failure;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// `completions`: for which shell.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// Name of the shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// What the scripts of shells ask by: the values for the last word of a line are wanted, from the logs at
/// hand. Options would be completed themselves.
const LINE: &str = "LOGDEF_COMPLETE_LINE";
/// What the shell takes for that word.
const WORD: &str = "LOGDEF_COMPLETE_WORD";
/// How many milliseconds are spent on that, and by default.
const WITHIN: &str = "LOGDEF_COMPLETE_MS";
const USUAL: u64 = 300;

impl Completions {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let said = |name| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
        let Some(line) = said(LINE) else {
            return print(complete::script(self.shell).as_bytes());
        };
        let within = said(WITHIN).and_then(|within| within.parse().ok());
        let within = Duration::from_millis(within.unwrap_or(USUAL));
        let word = said(WORD).unwrap_or_default();
        let values = complete::values(self.shell, &line, &word, within);
        let lines: String = values.iter().map(|value| format!("{value}\n")).collect();
        print(lines.as_bytes())
    }
}

/// The command's page, and after it those of its verbs.
pub fn page() -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    let mut command = Args::whole_command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for verb in command.get_subcommands() {
        if verb.get_name() != "help" {
            clap_mangen::Man::new(verb.clone()).render(&mut text)?;
        }
    }
    print(&text)
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
