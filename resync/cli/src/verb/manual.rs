//! `completions` and `man`: what shells and manuals know of the command.

use crate::args::Args;
use crate::failure::Failure;
use std::io::{self, Write};
use std::process::ExitCode;

pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::whole_command(), "logdef", &mut text);
    print(&text)
}

/// The command's page, and behind it those of its verbs.
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
