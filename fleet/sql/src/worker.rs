//! `logdef-sql worker`: a process that answers for others.

use crate::args::seconds;
use crate::failure::Failure;
use clap::Parser;
use logdef_cluster::WorkerOptions;
use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Answer questions about the logs of this machine for `logdef-sql --workers`.
///
/// Anyone who reaches the port may read everything in the folders: there is no authentication. See docs/fleet.md.
#[derive(Debug, Parser)]
#[command(name = "logdef-sql worker", version)]
struct Args {
    /// A folder whose files may be read; may be given more than once
    #[arg(long, value_name = "DIR", required = true)]
    data: Vec<PathBuf>,
    /// Address to listen at; for port 0 the system chooses one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7401")]
    listen: SocketAddr,
    /// Memory to plan with, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..))]
    memory: u32,
    /// Fail if another worker is silent for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    timeout: Duration,
}

/// Runs until it is stopped.
pub fn main() -> ExitCode {
    let args = Args::parse_from(env::args_os().skip(1));
    let options = WorkerOptions {
        listen: args.listen,
        data: args.data,
        memory: args.memory as usize * (1 << 20),
        patience: args.timeout,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let served =
        runtime.and_then(|runtime| runtime.block_on(logdef_cluster::serve(options, listens)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Failure::Unreadable(error.to_string()).report(),
    }
}

/// Says where, for those who let the system choose the port.
fn listens(address: SocketAddr) {
    let _ = writeln!(io::stdout(), "logdef-sql worker listens on {address}");
    let _ = io::stdout().flush();
}
