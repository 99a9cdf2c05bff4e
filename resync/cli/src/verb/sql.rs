//! `sql`: questions in SQL, by the program `logdef-sql`, which stands beside this one or on PATH.

use crate::failure::Failure;
use clap::Args as ClapArgs;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The program that answers.
const PROGRAM: &str = "logdef-sql";

#[derive(Debug, ClapArgs)]
pub struct Sql {
    /// All that `logdef-sql` takes: paths, --query, --output, …; see `logdef-sql --help`
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl Sql {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let own = std::env::current_exe().ok();
        let beside = own.and_then(|own| Some(own.parent()?.join(PROGRAM)));
        let beside = beside.filter(|beside| beside.is_file());
        let program = beside.map_or(OsString::from(PROGRAM), Into::into);
        // Comes back only if it does not start.
        let error = Command::new(&program).args(&self.arguments).exec();
        let why = match error.kind() {
            io::ErrorKind::NotFound => "it is not installed; docs/sql.md says how".to_owned(),
            _ => error.to_string(),
        };
        Err(Failure::Unreadable(format!("{PROGRAM}: {why}")))
    }
}
