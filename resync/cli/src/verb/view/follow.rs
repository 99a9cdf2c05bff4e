//! `view --follow`: records as they are written.

use crate::choose::filter::Filter;
use crate::choose::viewer::Viewer;
use crate::failure::Failure;
use crate::log;
use crate::paths;
use crate::verb::view::View;
use logdef_resync::{Follow, Glance, News, Place, Resolver, Tables, unmasked};
use logdef_wire::{Record, frame};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How often the files are looked at.
const PAUSE: Duration = Duration::from_millis(100);
/// Records that are shown of what was there before.
const BEFORE: usize = 10;

/// A log that is followed.
struct Followed {
    path: PathBuf,
    follow: Follow,
    /// The number of each file that the path stood for.
    inputs: HashMap<u32, u32>,
}

/// A record and where it stands.
struct Arrived {
    place: Place,
    time: Option<u64>,
    body: Vec<u8>,
}

pub fn run(args: &View) -> Result<ExitCode, Failure> {
    let mut logs = open(&args.source.files)?;
    let mut files = 0;
    let mut tables = Tables::new(logdef_resync::Options::default().memory);
    let mut images = log::images(&args.images);
    let mut arrived = poll(&mut logs, &mut files, &mut tables);
    let mut viewer = Viewer::new(args, Filter::new(&args.filters, &tables)?)?;
    if args.head.is_none() {
        viewer.begin_tail(args.tail.unwrap_or(BEFORE));
    }
    loop {
        // Tables grow, so each round has a resolver of its own; images are kept.
        let mut resolver = Resolver::new(&tables, &mut images);
        for record in arrived.drain(..) {
            let goes_on = viewer.frame(record.place, &record.body, &tables, &mut resolver)?;
            if goes_on.is_break() {
                viewer.flush()?;
                return Ok(ExitCode::SUCCESS);
            }
        }
        viewer.end_tail(&mut resolver)?;
        viewer.flush()?;
        for complaint in resolver.complaints() {
            log::say(&complaint);
        }
        drop(resolver);
        std::thread::sleep(PAUSE);
        arrived = poll(&mut logs, &mut files, &mut tables);
    }
}

fn open(words: &[PathBuf]) -> Result<Vec<Followed>, Failure> {
    let mut logs = Vec::new();
    for path in paths::of(words) {
        let path = path.map_err(Failure::Unreadable)?;
        if path == Path::new("-") {
            return Err(Failure::Usage(
                "--follow needs files: standard input is read to its end".into(),
            ));
        }
        let follow = Follow::new(&path)?;
        if !path.exists() {
            log::say(&format!("{}: waiting for it to appear", path.display()));
        }
        logs.push(Followed {
            path,
            follow,
            inputs: HashMap::new(),
        });
    }
    Ok(logs)
}

/// What is new in all logs, by time; logdefs go to the tables.
fn poll(logs: &mut [Followed], files: &mut u32, tables: &mut Tables) -> Vec<Arrived> {
    let mut arrived = Vec::new();
    for log in logs {
        for news in log.follow.poll() {
            let name = log.path.display();
            match news {
                News::Frame {
                    file,
                    offset,
                    bytes,
                } => {
                    let input = *log.inputs.entry(file).or_insert_with(|| {
                        *files += 1;
                        *files - 1
                    });
                    let place = Place { input, offset };
                    arrived.extend(record(place, &bytes, tables));
                }
                News::Damage { gap, .. } => log::note(&format!(
                    "{name}: bytes {:#x}..{:#x} ({}): {}",
                    gap.offset,
                    gap.end(),
                    gap.len,
                    gap.kind
                )),
                News::Rotated => log::note(&format!("{name}: rotated, going on with the new file")),
                News::Truncated => log::note(&format!("{name}: truncated, beginning again")),
                News::Unreadable { why } => {
                    log::note(&format!("{name}: cannot be read now ({why}), trying on"))
                }
            }
        }
    }
    arrived.sort_by_key(|record| record.time);
    arrived
}

fn record(place: Place, bytes: &[u8], tables: &mut Tables) -> Option<Arrived> {
    let mut scratch = Vec::new();
    let body = unmasked(frame::decode(bytes).ok()?.body, &mut scratch)?.to_vec();
    let record = Record::decode(&body).ok()?;
    tables.add(&record, place);
    let time = match record {
        Record::Data(data) => Glance::from(&data).time,
        Record::Note(note) => note.time,
        _ => return None,
    };
    Some(Arrived { place, time, body })
}
