//! The last ten warnings of a target: `cargo run --example tail app.log net`.

use logdef_resync::{Error, Log};
use logdef_wire::Level;
use std::collections::VecDeque;
use std::path::Path;

/// The last `most` records of a target, or of all, that are warnings or worse.
pub fn tail(path: &Path, target: Option<&str>, most: usize) -> Result<Vec<String>, Error> {
    let mut last = VecDeque::new();
    for record in Log::open(path)?.records() {
        let record = record?;
        if record.level() < Some(Level::WARN) || (target.is_some() && record.target() != target) {
            continue;
        }
        if last.len() == most {
            last.pop_front();
        }
        last.push_back(record);
    }
    let with_names = |record: &logdef_resync::records::Record| {
        let mut line = record.to_string();
        for (name, value) in record.values() {
            if let Some(name) = name {
                line += &format!(" {}={:?}", name.escape_default(), value.to_string());
            }
        }
        line
    };
    Ok(last.iter().map(with_names).collect())
}

#[allow(dead_code, reason = "the tests call what it calls")]
fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("tail FILE [TARGET]");
        std::process::exit(2);
    };
    for line in tail(path.as_ref(), arguments.next().as_deref(), 10)? {
        println!("{line}");
    }
    Ok(())
}
