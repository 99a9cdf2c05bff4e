//! `push`: records into log stores, from files and as they are written.

mod finished;
mod growing;

use crate::args::{Filters, Images, Source};
use crate::choose::cursor::Cursor;
use crate::failure::Failure;
use crate::log;
use crate::push::client::Client;
use crate::push::entries::Entries;
use crate::push::feed::Feed;
use crate::push::headers::{Headers, pair};
use crate::push::sender::{Limits, Policy, Sender};
use crate::push::stop::Stop;
use crate::push::store::Store;
use crate::show::losses::count;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// `push`: which records, to which store, and what to do about trouble.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("store").required(true).args(["otlp", "loki"]),
    after_help = "Each record arrives at least once. Its key is run, thread and sequence: the attributes logdef.run, \
                  logdef.thread and logdef.sequence, in Loki logdef_run, logdef_thread and logdef_sequence. A \
                  command that was killed and starts again with its cursor file repeats the records of one request \
                  at most. Losses of a log are sent as records too, with the attribute logdef.loss.\n\n\
                  On SIGTERM or SIGINT the command sends what it has read, with one more attempt if the store does \
                  not answer, and ends; a second signal ends it at once."
)]
pub struct Push {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    /// Send to a collector, or another store that takes OpenTelemetry's logs over HTTP: http://localhost:4318.
    /// /v1/logs is added if it is missing
    #[arg(long, value_name = "URL", help_heading = "Store")]
    pub otlp: Option<String>,
    /// Send to Loki: http://localhost:3100. /loki/api/v1/push is added if it is missing
    #[arg(long, value_name = "URL", help_heading = "Store")]
    pub loki: Option<String>,
    /// Keep running: send records as they are written, through rotations and restarts; from the beginning of the
    /// log, or from where the cursor file stands
    #[arg(short, long, help_heading = "Delivery")]
    pub follow: bool,
    /// Send only records that earlier commands with this file did not, and note in the file what the store has: it
    /// is created if it does not exist, and updated each time the store has answered
    #[arg(long, value_name = "FILE", help_heading = "Delivery")]
    pub cursor_file: Option<PathBuf>,
    /// Name of the service, in place of each program's name
    #[arg(long, value_name = "NAME", help_heading = "Store")]
    pub service: Option<String>,
    /// Loki: put this label on each stream too. Streams have the labels service_name and level
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "otlp", help_heading = "Store")]
    pub label: Vec<(String, String)>,
    #[command(flatten)]
    pub headers: Headers,
    /// Compress requests with gzip
    #[arg(long, help_heading = "Delivery")]
    pub gzip: bool,
    /// Send about this many bytes in a request, before compression: 500K, 4M
    #[arg(long, value_name = "SIZE", value_parser = crate::args::size, default_value = "1M", help_heading = "Delivery")]
    pub batch_bytes: u64,
    /// Send this many records in a request at most
    #[arg(long, value_name = "N", default_value = "8192", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Delivery")]
    pub batch_records: u32,
    /// Wait this many seconds for an answer, then try again
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Delivery")]
    pub timeout: u64,
    /// Try again for this many seconds while the store cannot be reached or is busy [default: 300;
    /// with --follow, no limit]
    #[arg(long, value_name = "SECONDS", help_heading = "Delivery")]
    pub retry_for: Option<u64>,
    /// Leave out records that the store refuses, and count them: by default the first refusal ends the command
    #[arg(long, help_heading = "Delivery")]
    pub skip_refused: bool,
}

/// Bytes of a request, at most: it stands in memory, as records, as text and packed.
const MOST_BYTES: u64 = 16 << 20;
/// Seconds for which requests are made again from files that do not grow.
const PATIENCE: u64 = 300;

impl Push {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut sender = self.sender()?;
        let is_search = self.filters.is_search();
        let mut feed = Feed::new(&mut sender, Entries::new(self.name()), is_search);
        let status = if self.follow {
            growing::run(self, &mut feed)
        } else {
            finished::run(self, &mut feed)
        };
        let sum = sender.sum();
        let others = [(sum.refused, "refused"), (sum.cut, "cut")];
        let others = others.iter().filter(|(number, _)| *number > 0);
        let others: String = others
            .map(|(number, what)| format!(", {number} {what}"))
            .collect();
        let (records, requests) = (count(sum.records, "record"), count(sum.requests, "request"));
        log::note(&format!(
            "{}: {records} in {requests}{others}",
            sender.store()
        ));
        status
    }

    fn sender(&self) -> Result<Sender, Failure> {
        let service = self.service.clone();
        let store = match (&self.otlp, &self.loki) {
            (Some(url), _) => Store::otlp(url, service)?,
            (None, url) => Store::loki(url.as_deref().unwrap_or(""), service, self.label.clone())?,
        };
        let patience = match (self.retry_for, self.follow) {
            (None, true) => None,
            (seconds, _) => Some(Duration::from_secs(seconds.unwrap_or(PATIENCE))),
        };
        let timeout = Duration::from_secs(self.timeout);
        let stop = Stop::on_signals()
            .map_err(|error| Failure::Unreadable(format!("cannot wait for signals: {error}")))?;
        Ok(Sender::new(
            store,
            Client::new(self.headers.known()?, timeout, self.gzip),
            self.cursor_file.as_deref().map(Cursor::open).transpose()?,
            Limits {
                bytes: self.batch_bytes.min(MOST_BYTES) as usize,
                records: self.batch_records as usize,
            },
            Policy {
                patience,
                skips_refused: self.skip_refused,
            },
            stop,
        ))
    }

    /// What losses are of where no record names its program.
    fn name(&self) -> String {
        let first = self.source.files.first().and_then(|file| file.file_name());
        first.map_or_else(
            || "logdef".into(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}
