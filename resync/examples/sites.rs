//! How many records each call site logged: `cargo run --example sites app.log`.

use logdef_resync::{Error, Log};
use std::collections::BTreeMap;
use std::path::Path;

/// A line for each call site, most records first.
pub fn sites(path: &Path) -> Result<Vec<String>, Error> {
    let mut counts = BTreeMap::new();
    for record in Log::open(path)?.records() {
        let record = record?;
        let file = record.file().unwrap_or("?");
        let format = record.format().unwrap_or("?");
        let site = format!("{file}:{} {format:?}", record.line().unwrap_or(0));
        *counts.entry(site).or_insert(0_u64) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let lines = counts.iter().map(|(site, count)| format!("{count} {site}"));
    Ok(lines.collect())
}

#[allow(dead_code, reason = "the tests call what it calls")]
fn main() -> Result<(), Error> {
    for path in std::env::args_os().skip(1) {
        for line in sites(path.as_ref())? {
            println!("{line}");
        }
    }
    Ok(())
}
