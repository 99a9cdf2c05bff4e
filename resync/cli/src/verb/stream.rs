//! `stream`: the records that a log service has and receives, or that a program writes into
//! shared memory.

use crate::args::Answer;
use crate::failure::Failure;
use crate::log;
use crate::show::escape;
use crate::show::json::Foreign;
use clap::ValueEnum;
use logdef_fuchsia::diagnostics::{LogsData, Origin, Text};
use logdef_fuchsia::json::harmless_json;
use logdef_fuchsia::structured::Severity;
use logdef_fuchsia::structured::{Profile, Record};
use logdef_serve::client;
use logdef_serve::service::{Kind, Mode, Request, Settings};
use logdef_serve::stream::{Next, StreamRetriever};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// `stream`: from where, and which records.
#[derive(Debug, clap::Args)]
pub struct Stream {
    /// Directory of the service [default: as for `serve`]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Stored records, new records, or both
    #[arg(long, value_enum, value_name = "MODE", default_value = "snapshot")]
    pub mode: StreamMode,
    /// Stored records, then new ones as they arrive: --mode both
    #[arg(short, long, conflicts_with = "mode")]
    pub follow: bool,
    /// Only records of this component
    #[arg(long, value_name = "NAME")]
    pub moniker: Option<String>,
    /// Only records of this severity or above: trace, debug, info, warn, error, fatal
    #[arg(short, long, value_name = "SEVERITY")]
    pub level: Option<Severity>,
    /// Only records with this tag; given more than once, with all of them
    #[arg(short, long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    #[command(flatten)]
    pub answer: Answer,
    /// Show the state of the service and its counts, as JSON, not records
    #[arg(long, conflicts_with_all = ["follow", "mode", "source"])]
    pub state: bool,
    /// Read from the socket of a program that writes into shared memory, not from a service:
    /// stored records, then new ones
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["directory", "mode", "follow"])]
    pub source: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StreamMode {
    /// Stored records; then stop
    Snapshot,
    /// New records
    Subscribe,
    /// Stored records, then new ones
    Both,
}

/// How long to wait for a record of a program that writes none, until it is asked again.
const LONG: Duration = Duration::from_secs(3600);

impl Stream {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match &self.source {
            Some(source) => of_source(self, source),
            None => of_service(self),
        }
    }
}

fn of_service(args: &Stream) -> Result<ExitCode, Failure> {
    let directory = directory(args.directory.as_ref());
    let unreadable =
        |error: io::Error| Failure::Unreadable(format!("{}: {error}", directory.display()));
    let mut answer = client::ask(&directory, &request(args)).map_err(unreadable)?;
    let mut out = io::stdout().lock();
    if args.answer.is_json() || args.state {
        // As they come: a subscriber sees each array when it is there. Anybody may have put a
        // service there.
        let mut foreign = Foreign::default();
        let mut shown = Vec::new();
        loop {
            let bytes = answer.fill_buf().map_err(unreadable)?;
            if bytes.is_empty() {
                return Ok(ExitCode::SUCCESS);
            }
            let len = bytes.len();
            shown.clear();
            foreign.push(bytes, &mut shown);
            out.write_all(&shown)?;
            out.flush()?;
            answer.consume(len);
        }
    }
    let arrays = serde_json::Deserializer::from_reader(answer).into_iter::<Vec<LogsData>>();
    for array in arrays {
        let array = array.map_err(|error| unreadable(error.into()))?;
        for data in array {
            show(&data, &mut out)?;
        }
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn request(args: &Stream) -> Request {
    Request {
        mode: match args.mode {
            _ if args.follow => Mode::SnapshotThenSubscribe,
            StreamMode::Snapshot => Mode::Snapshot,
            StreamMode::Subscribe => Mode::Subscribe,
            StreamMode::Both => Mode::SnapshotThenSubscribe,
        },
        data: if args.state {
            Kind::Inspect
        } else {
            Kind::Logs
        },
        moniker: args.moniker.clone(),
        severity: args.level.map(|level| level.name().to_owned()),
        tags: args.tags.clone(),
    }
}

/// The service's directory, or the usual one.
pub fn directory(named: Option<&PathBuf>) -> PathBuf {
    named.cloned().unwrap_or_else(Settings::default_directory)
}

fn of_source(args: &Stream, path: &Path) -> Result<ExitCode, Failure> {
    let name = path.display().to_string();
    let unreadable =
        |error: &dyn std::fmt::Display| Failure::Unreadable(format!("{name}: {error}"));
    let mut retriever = StreamRetriever::connect(path).map_err(|error| unreadable(&error))?;
    let mut out = io::stdout().lock();
    let mut pause = Duration::ZERO;
    loop {
        match retriever.next(pause) {
            Ok(Next::Record(bytes)) => {
                pause = Duration::ZERO;
                let record = match Record::parse(bytes, Profile::Lenient) {
                    Ok((record, _)) => record,
                    Err(error) => {
                        log::say(&format!("{name}: {error}"));
                        continue;
                    }
                };
                let moniker = match path.file_stem() {
                    Some(stem) => stem.to_string_lossy(),
                    None => name.as_str().into(),
                };
                let origin = Origin {
                    moniker: &moniker,
                    ..Origin::default()
                };
                let data = LogsData::from_record(&record, &origin);
                if !admits(args, &data) {
                    continue;
                }
                if args.answer.is_json() {
                    let json = serde_json::to_string(&[&data]).map_err(io::Error::from)?;
                    writeln!(out, "{}", harmless_json(json))?;
                } else {
                    show(&data, &mut out)?
                }
            }
            Ok(Next::Idle) => {
                out.flush()?;
                pause = LONG;
            }
            Ok(Next::Ended) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(unreadable(&error)),
        }
    }
}

/// What the service does for its readers.
fn admits(args: &Stream, data: &LogsData) -> bool {
    let moniker = args.moniker.as_ref();
    moniker.is_none_or(|moniker| *moniker == data.moniker)
        && args
            .level
            .is_none_or(|level| data.metadata.severity >= level)
        && args.tags.iter().all(|tag| data.metadata.tags.contains(tag))
}

fn show(data: &LogsData, out: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    escape::push(Text::new(data).to_string().as_bytes(), &mut line);
    line.push(b'\n');
    out.write_all(&line)
}
