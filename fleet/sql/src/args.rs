//! The command line.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Ask logs and archives of logdef in SQL.
///
/// Tables: `records`, a view for each place that logs ("server.c:74"), `sites`, `threads`, `images`, `modules`,
/// `losses`, `files`. Functions: level('warn'), `level_name(level)`, stack(backtrace, run, time). The text of a
/// record is its column `message`. See docs/sql.md.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub struct Args {
    /// Archives, logs, folders of logs
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// The question; several with semicolons between
    #[arg(
        short = 'q',
        long,
        short_alias = 'c',
        value_name = "SQL",
        conflicts_with = "file"
    )]
    pub query: Option<String>,
    /// Read the question from a file; `-` is standard input, which is read anyway where it is no terminal
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How the answer is written; by default a table
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
    /// Read logs in pieces of that many bytes
    #[arg(long, value_name = "BYTES")]
    pub split: Option<u64>,
    /// Cores to work on; by default all
    #[arg(long, value_name = "COUNT")]
    pub cores: Option<usize>,
    /// Look for programs and libraries in this directory and below it too
    #[arg(long, value_name = "DIR", env = "LOGDEF_IMAGE_DIR")]
    pub image_dir: Vec<PathBuf>,
    /// Look for debug files in this directory too
    #[arg(long, value_name = "DIR", env = "LOGDEF_DEBUG_DIR")]
    pub debug_dir: Vec<PathBuf>,
    /// Do not open files at the paths that logs name
    #[arg(long)]
    pub no_logged_paths: bool,
    /// Let workers answer, at HOST:PORT each: see docs/fleet.md
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub workers: Option<Vec<String>>,
    /// Seconds after which a silent worker is given up
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub timeout: Duration,
    /// Let scans of a worker take pieces from each other, for tests that it does no harm
    #[arg(long, hide = true)]
    pub work_stealing: bool,
    /// Set an option of the engine, as NAME=VALUE (datafusion.execution.batch_size=1024)
    #[arg(long, value_name = "OPTION")]
    pub set: Vec<String>,
}

/// Reads a time in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "no number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("it must be more than 0".to_owned()),
    }
}

/// Forms of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Format {
    /// For people: what could drive a terminal is escaped
    Table,
    /// An object a line
    Json,
    /// With a line of names
    Csv,
    /// A file of columns
    Parquet,
}

const EXAMPLES: &str = "\
Examples:
  logdef-sql kept -q 'select format, count(*) from records join sites using (site) group by 1 order by 2 desc'
  logdef-sql app.log -q 'select time, ms, message from \"server.c:74\" where ms > 500'
  logdef-sql kept logs/ -o csv -q \"select * from records where level >= level('error')\"
  logdef-sql logs/ < question.sql

After each answer a line on standard error says that the records are complete, or what is missing.
Exit status: 0 answered, 1 the answer could not be written, 2 the question is wrong, 4 a file cannot be read.";
