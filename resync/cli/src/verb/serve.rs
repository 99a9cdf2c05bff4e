//! `serve`: a log service in the foreground, until SIGTERM or SIGINT.

use crate::args::{Invalid, Serve, ServiceClock};
use crate::failure::Failure;
use crate::log;
use crate::show::losses;
use logdef_fuchsia::structured::Profile;
use logdef_serve::Clock;
use logdef_serve::service::{LogStorage, OnInvalid, Recovered, Service, Settings};
use std::io;
use std::path::Path;
use std::process::ExitCode;

pub fn run(args: &Serve) -> Result<ExitCode, Failure> {
    let settings = settings(args);
    let directory = settings.directory.clone();
    let storage = args
        .storage
        .clone()
        .unwrap_or_else(|| directory.join("records.log"));
    let failed = |error| failed(&directory, error);
    let mut recovered = Recovered::default();
    let service = Service::bind(settings, |each| {
        let (storage, found) = LogStorage::open(&storage, args.storage_bytes.0, each)?;
        recovered = found;
        Ok(storage)
    })
    .map_err(failed)?;
    service.stop_handle().on_signals().map_err(failed)?;
    if recovered.damaged_bytes > 0 {
        let bytes = losses::count(recovered.damaged_bytes, "byte");
        log::say(&format!("{}: {bytes} torn or damaged", storage.display()));
    }
    let records = losses::count(recovered.records, "record");
    log::note(&format!("serving in {}: {records}", directory.display()));
    service.run().map_err(failed)?;
    log::note("ended");
    Ok(ExitCode::SUCCESS)
}

fn settings(args: &Serve) -> Settings {
    let directory = args.directory.clone();
    let mut settings = Settings::new(directory.unwrap_or_else(Settings::default_directory));
    if args.strict {
        settings.profile = Profile::Strict;
    }
    settings.on_invalid = match args.on_invalid {
        Invalid::Close => OnInvalid::Close,
        Invalid::Drop => OnInvalid::Drop,
    };
    settings.clock = match args.clock {
        ServiceClock::Monotonic => Clock::Monotonic,
        ServiceClock::Boottime => Clock::BootTime,
    };
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    settings.component_bytes = bytes(args.component_bytes.0);
    settings.total_bytes = bytes(args.total_bytes.0);
    settings.writers = args.writers;
    settings.readers = args.readers;
    settings
}

fn failed(directory: &Path, error: io::Error) -> Failure {
    let directory = directory.display();
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            Failure::Unreadable(format!("{directory}: another service is at work there"))
        }
        _ => Failure::Unreadable(format!("{directory}: {error}")),
    }
}
