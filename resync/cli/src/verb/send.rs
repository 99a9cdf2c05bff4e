//! `send`: a record for a log service, from a script.

use crate::args::Send;
use crate::failure::Failure;
use crate::verb::stream::directory;
use logdef_fuchsia::structured::Value;
use logdef_serve::client::Client;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// A script can wait for a service that is behind.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn run(args: &Send) -> Result<ExitCode, Failure> {
    let directory = directory(args.directory.as_ref());
    let failed =
        |error: io::Error| Failure::Unreadable(format!("{}: {error}", directory.display()));
    let pairs: Vec<_> = args
        .pairs
        .iter()
        .map(|(key, text)| (key.as_str(), value(text)))
        .collect();
    let client = Client::connect(&directory).map_err(failed)?;
    let client = client.waiting(PATIENCE);
    client.write(args.level, &args.message, &pairs);
    let synced = client.sync().map_err(failed)?;
    match synced.stored {
        1 => Ok(ExitCode::SUCCESS),
        _ => Err(failed(io::Error::other("the record was not stored"))),
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
