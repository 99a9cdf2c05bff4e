//! `send`: a record for a log service, from a script.

use crate::failure::{DAMAGED, Failure};
use crate::log;
use crate::verb::stream::directory;
use logdef_fuchsia::structured::Severity;
use logdef_fuchsia::structured::Value;
use logdef_serve::client::Client;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// `send`: the record, and the service that gets it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A record has at most 15 arguments (process, thread, message and 12 keys) and 32760 bytes. In a \
                  larger one, texts are cut and keys are left out, which the key `left_out` counts; it is \
                  stored, and the exit status is 3."
)]
pub struct Send {
    /// Directory of the service [default: as for `serve`]. A service of another user is
    /// refused
    #[arg(short, long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Severity: trace, debug, info, warn, error, fatal
    #[arg(value_name = "SEVERITY")]
    pub level: Severity,
    /// Message
    #[arg(value_name = "MESSAGE")]
    pub message: String,
    /// Keys: numbers, true and false are sent with their type; `tag` adds a tag
    #[arg(value_name = "KEY=VALUE", value_parser = pair)]
    pub pairs: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
    pair.ok_or("try key=value".into())
}

/// A script can wait for a service that is behind.
const PATIENCE: Duration = Duration::from_secs(5);

impl Send {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let directory = directory(self.directory.as_ref());
        let failed =
            |error: io::Error| Failure::Unreadable(format!("{}: {error}", directory.display()));
        let pairs: Vec<_> = self
            .pairs
            .iter()
            .map(|(key, text)| (key.as_str(), value(text)))
            .collect();
        let client = Client::connect(&directory).map_err(failed)?;
        let client = client.waiting(PATIENCE);
        client.write(self.level, &self.message, &pairs);
        let synced = client.sync().map_err(failed)?;
        if synced.stored != 1 {
            return Err(failed(io::Error::other("the record was not stored")));
        }
        if client.cut() > 0 {
            log::say(
                "the record was cut: it has 15 arguments and 32760 bytes at most, process and thread included",
            );
            return Ok(ExitCode::from(DAMAGED));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Numbers and booleans are sent as such.
fn value(text: &str) -> Value<'_> {
    None.or_else(|| text.parse::<u64>().ok().map(Value::from))
        .or_else(|| text.parse::<i64>().ok().map(Value::from))
        .or_else(|| text.parse::<f64>().ok().map(Value::from))
        .or_else(|| text.parse::<bool>().ok().map(Value::from))
        .unwrap_or_else(|| Value::from(text))
}
