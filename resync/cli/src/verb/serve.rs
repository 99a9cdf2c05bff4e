//! `serve`: a log service in the foreground, until SIGTERM or SIGINT.

use crate::failure::Failure;
use crate::log;
use crate::show::losses;
use clap::ValueEnum;
use logdef_fuchsia::structured::Profile;
use logdef_serve::Clock;
use logdef_serve::service::{LogStorage, OnInvalid, Recovered, Service, Settings};
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// `serve`: in which directory, how much to keep, and what to accept.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "On SIGTERM or SIGINT the service stores everything that was sent, and ends."
)]
pub struct Serve {
    /// Directory for its sockets, for this user only [default: logdef in
    /// $XDG_RUNTIME_DIR, /run/user/UID, or for root /run, or else /tmp/logdef-UID]. A
    /// directory is refused if it is a symbolic link, belongs to another user, or can be written
    /// by others
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Log to store records in: FILE.000001, FILE.000002, … [default:
    /// records.log in DIR]
    #[arg(long, value_name = "FILE")]
    pub storage: Option<PathBuf>,
    /// Remove the oldest files when all files together take more than this: bytes, or a number
    /// followed by K, M or G
    #[arg(long, value_name = "BYTES", default_value = "1G")]
    pub storage_bytes: Bytes,
    /// Memory for the records that queries return, for each component
    #[arg(long, value_name = "BYTES", default_value = "1M")]
    pub component_bytes: Bytes,
    /// Memory for the records that queries return, in total
    #[arg(long, value_name = "BYTES", default_value = "64M")]
    pub total_bytes: Bytes,
    /// Accept only records that keep every rule of the record format: at most 15
    /// arguments, with names of 1 to 256 bytes and types 3, 4, 5, 6 or 9, reserved bits
    /// and padding zero, sizes that agree, UTF-8. By default the service is lenient, as
    /// readers in the field are
    #[arg(long)]
    pub strict: bool,
    /// What to do on an invalid record
    #[arg(long, value_enum, value_name = "WHAT", default_value = "close")]
    pub on_invalid: Invalid,
    /// The clock of the writers' timestamps
    #[arg(long, value_enum, value_name = "CLOCK", default_value = "monotonic")]
    pub clock: ServiceClock,
    /// How many writers may be connected at a time
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub writers: usize,
    /// How many readers may be connected at a time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub readers: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Invalid {
    /// Close its connection
    Close,
    /// Drop the record
    Drop,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ServiceClock {
    /// CLOCK_MONOTONIC: stops while the machine is suspended
    Monotonic,
    /// CLOCK_BOOTTIME: runs while the machine is suspended
    Boottime,
}

/// A number of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let (number, shift) = match text.as_bytes().last() {
            Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
            Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
            Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        let bytes = number.parse::<u64>().ok();
        let bytes = bytes.and_then(|number| number.checked_mul(1 << shift));
        bytes.map(Bytes).ok_or("try 64M, or 1000000".into())
    }
}

impl Serve {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let settings = settings(self);
        let directory = settings.directory.clone();
        let storage = self
            .storage
            .clone()
            .unwrap_or_else(|| directory.join("records.log"));
        let failed = |error| failed(&directory, error);
        let mut recovered = Recovered::default();
        let service = Service::bind(settings, |each| {
            let (storage, found) = LogStorage::open(&storage, self.storage_bytes.0, each)?;
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
            Failure::Unreadable(format!("{directory}: another service is running there"))
        }
        _ => Failure::Unreadable(format!("{directory}: {error}")),
    }
}
