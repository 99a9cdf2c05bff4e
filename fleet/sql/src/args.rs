//! The command line.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Ask logs and archives of logdef in SQL.
///
/// Tables: `records`, a view for each place that logs ("server.c:74"), `sites`, `threads`, `images`, `modules`,
/// `losses`, `files`. Functions: level('warn'), `level_name(level)`, stack(backtrace, run, time). The text of a
/// record is its column `message`. At a terminal, without a query, a prompt takes questions. See docs/sql.md.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub struct Args {
    /// Archives, logs, folders of logs; also behind http://, https:// and s3://
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// The query; several with semicolons between them
    #[arg(
        short = 'q',
        long,
        short_alias = 'c',
        value_name = "SQL",
        conflicts_with = "file"
    )]
    pub query: Option<String>,
    /// Read the query from a file; `-` is standard input, which is also read if it is not a terminal
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Form of the answer; by default a table
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
    /// Read logs in pieces of this many bytes
    #[arg(long, value_name = "BYTES")]
    pub split: Option<u64>,
    /// Of logs with this many bytes, read only what has the times of the query
    #[arg(long, value_name = "BYTES", hide = true)]
    pub excerpt_from: Option<u64>,
    /// How many cores to use; by default all
    #[arg(long, value_name = "COUNT")]
    pub cores: Option<usize>,
    /// Memory for sorting, grouping and joining, in MiB; what is more goes to temporary files, if it can
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub memory: u32,
    /// Look for programs and libraries in this directory too, and below it
    #[arg(long, value_name = "DIR", env = "LOGDEF_IMAGE_DIR")]
    pub image_dir: Vec<PathBuf>,
    /// Look for debug files in this directory too
    #[arg(long, value_name = "DIR", env = "LOGDEF_DEBUG_DIR")]
    pub debug_dir: Vec<PathBuf>,
    /// Do not open files at the paths that logs name
    #[arg(long)]
    pub no_logged_paths: bool,
    /// Run the query on these workers, HOST:PORT each: see docs/fleet.md
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub workers: Option<Vec<String>>,
    /// Fail if a worker is silent for this many seconds
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
        .map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("it must be more than 0".to_owned()),
    }
}

/// Forms of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Format {
    /// A table for people; control characters are escaped
    Table,
    /// One JSON object a line
    Json,
    /// Comma-separated values; the first line has the names
    Csv,
    /// A Parquet file
    Parquet,
}

const EXAMPLES: &str = "\
Examples:
  logdef-sql kept -q 'select format, count(*) from records join sites using (site) group by 1 order by 2 desc'
  logdef-sql app.log -q 'select time, ms, message from \"server.c:74\" where ms > 500'
  logdef-sql kept logs/ -o csv -q \"select * from records where level >= level('error')\"
  logdef-sql logs/ < question.sql

After each answer a line on standard error says that the records are complete, or what is missing.
Exit status: 0 answered, 1 the answer could not be written or needs more memory than it may take, 2 the question is
wrong, 4 a file cannot be read.";
