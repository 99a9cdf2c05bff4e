//! What a log lost: `cargo run --example losses app.log`. Exits with status 3 if it lost anything.

use logdef_resync::{Error, Log};
use std::path::Path;

/// Whether nothing is lost, and a line for each way in which something is.
pub fn losses(path: &Path) -> Result<(bool, Vec<String>), Error> {
    let log = Log::open(path)?;
    let losses = log.losses();
    let counts = [
        (losses.missing, "records are missing"),
        (losses.dropped, "records could not be written"),
        (losses.damaged, "bytes are damaged"),
        (losses.torn, "bytes of unfinished records"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let mut lines: Vec<_> = counts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    for thread in log.recovery().threads().iter().filter(|t| t.lost > 0) {
        let number = thread.number.0;
        lines.push(format!("thread {number} lost {}", thread.lost));
    }
    Ok((losses.is_clean(), lines))
}

#[allow(dead_code, reason = "the tests call what it calls")]
fn main() -> Result<(), Error> {
    let mut is_clean = true;
    for path in std::env::args_os().skip(1) {
        let (clean, lines) = losses(path.as_ref())?;
        lines.iter().for_each(|line| println!("{line}"));
        is_clean &= clean;
    }
    std::process::exit(if is_clean { 0 } else { 3 })
}
