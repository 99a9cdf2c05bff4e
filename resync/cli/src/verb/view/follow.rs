//! `view --follow`: records as they are written.

use crate::choose::filter::Filter;
use crate::choose::viewer::Viewer;
use crate::failure::{DAMAGED, Failure};
use crate::log;
use crate::paths;
use crate::show::{losses, words};
use crate::verb::view::View;
use logdef_resync::{Follow, News, Place, Resolver, Standings, Tables, unmasked};
use logdef_wire::{Record, frame};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the files are looked at: while records come, and while none do.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));
/// How many times as long as a look takes is waited where nothing came: a log of many open chunks
/// must not keep a core busy. At most the second.
const WAITS: (u32, Duration) = (10, Duration::from_secs(2));
/// Records that are shown of those that were there before.
const BEFORE: usize = 10;
/// The most of these: they are put into the order of time, for which each takes memory.
const MOST_BEFORE: usize = 1 << 18;

/// A record and where it stands.
struct Arrived {
    place: Place,
    body: Vec<u8>,
    /// Whether it counts records that the program dropped.
    is_after_drops: bool,
}

pub fn run(args: &View) -> Result<ExitCode, Failure> {
    let before = records_before(args)?;
    let mut follow = begin(&args.source.files)?;
    if args.source.suspects {
        follow = follow.with_suspects();
    }
    let mut tables = Tables::new(logdef_resync::Options::default().memory);
    let mut images = log::images(&args.images);
    let mut viewer = Viewer::new(args, Filter::new(&args.filters, &tables)?)?;
    if args.head.is_none() && args.cursor_file.is_none() {
        viewer.begin_tail_by_time(before);
    }
    let mut is_clean = true;
    let mut standings = Standings::default();
    loop {
        let mut arrived = Vec::new();
        let begun = Instant::now();
        let polled = follow.poll();
        let pause = if polled.is_empty() {
            let wait = begun.elapsed() * WAITS.0;
            wait.clamp(PAUSES.1, WAITS.1)
        } else {
            PAUSES.0
        };
        for news in polled {
            match news {
                News::Frame {
                    file,
                    offset,
                    bytes,
                    standing,
                } => {
                    let place = Place {
                        input: file,
                        offset,
                    };
                    standings.add(place, standing);
                    let came = record(place, &bytes, &mut tables);
                    is_clean &= came.as_ref().is_none_or(|came| !came.is_after_drops);
                    arrived.extend(came);
                }
                other => {
                    is_clean &= matches!(
                        other,
                        News::Truncated { .. } | News::Unreadable { .. } | News::Pruned { .. }
                    );
                    // Lines about records come after those before them.
                    viewer.flush()?;
                    log::note(&line(&follow, &other));
                }
            }
        }
        // Tables grow, so each round has a resolver of its own; images are kept.
        let mut resolver = Resolver::new(&tables, &mut images).marked_by(&standings);
        for record in arrived {
            let goes_on = viewer.frame(record.place, &record.body, &tables, &mut resolver)?;
            if goes_on.is_break() {
                viewer.end()?;
                return Ok(if args.source.strict && !is_clean {
                    ExitCode::from(DAMAGED)
                } else {
                    ExitCode::SUCCESS
                });
            }
        }
        if !follow.has_more() {
            viewer.end_tail(&mut resolver)?;
        }
        viewer.end()?;
        for complaint in resolver.complaints() {
            log::say(&complaint);
        }
        drop(resolver);
        if !follow.has_more() {
            // Records before a match wait for it.
            if args.before.or(args.context).is_none() {
                standings.clear();
            }
            std::thread::sleep(pause);
        }
    }
}

/// How many of the records are shown that were there before.
fn records_before(args: &View) -> Result<usize, Failure> {
    let before = args.tail.unwrap_or(BEFORE);
    if before > MOST_BEFORE {
        return Err(Failure::Usage(format!(
            "--follow starts with {MOST_BEFORE} records at most: give --tail fewer, or leave out --follow"
        )));
    }
    Ok(before)
}

/// Follows what the words name: a folder, a pattern, or a file and what belongs to it.
fn begin(words: &[PathBuf]) -> Result<Follow, Failure> {
    if words.is_empty() || words.iter().any(|word| word == Path::new("-")) {
        return Err(Failure::Usage(
            "--follow needs files: standard input is read to its end".into(),
        ));
    }
    for word in words {
        if !word.exists() && !paths::is_pattern(word) {
            log::say(&format!("{}: waiting for it to appear", word.display()));
        }
    }
    let words = words.to_vec();
    Ok(Follow::of(move || {
        let files = words.iter().map(|word| {
            if word.is_dir() || paths::is_pattern(word) {
                paths::of(std::slice::from_ref(word))
                    .into_iter()
                    .flatten()
                    .collect()
            } else {
                logdef_resync::family(word)
            }
        });
        files.collect::<Vec<Vec<_>>>().concat()
    }))
}

fn line(follow: &Follow, news: &News) -> String {
    let name = |file: u32| {
        let path = follow.path(file);
        path.map_or_else(String::new, |path| path.display().to_string())
    };
    match news {
        News::Damage { file, gap } => format!(
            "{}: bytes {:#x}..{:#x} ({}): {}",
            name(*file),
            gap.offset,
            gap.end(),
            gap.len,
            gap.kind
        ),
        News::Missing {
            run,
            number,
            from,
            count,
        } => format!(
            "thread {run:016x}/{}: {} {} from record {from} on: they are in no file, or not any more",
            number.0,
            losses::count(*count, "record"),
            words::MISSING.word,
        ),
        News::Pruned {
            run,
            number,
            from,
            count,
        } => format!(
            "thread {run:016x}/{}: {} {} from record {from} on: the program gave them up to make room",
            number.0,
            losses::count(*count, "record"),
            words::PRUNED.word,
        ),
        News::Withheld { file, records } => format!(
            "{}: {} left out: found inside damage, and of a run that no undamaged frame names",
            name(*file),
            losses::count(*records, "suspect record"),
        ),
        News::Doubted {
            file,
            standing,
            from,
            to,
            records,
        } => format!(
            "{}: {} in bytes {from:#x}..{to:#x} stood above without the word: {}",
            name(*file),
            losses::count(*records, "record"),
            standing.word().unwrap_or_default(),
        ),
        News::Truncated { file } => {
            format!("{}: truncated, reading it from its start", name(*file))
        }
        News::Unreadable { path, why } => {
            format!(
                "{}: cannot be read now ({why}), trying again",
                path.display()
            )
        }
        _ => String::new(),
    }
}

/// Takes a frame in: logdefs go to the tables, records are to be shown.
fn record(place: Place, bytes: &[u8], tables: &mut Tables) -> Option<Arrived> {
    let mut scratch = Vec::new();
    let body = unmasked(frame::decode(bytes).ok()?.body, &mut scratch)?;
    let record = Record::decode(body).ok()?;
    tables.add(&record, place);
    let dropped = match &record {
        Record::Data(data) => data.dropped,
        Record::Note(note) => note.dropped,
        _ => return None,
    };
    Some(Arrived {
        place,
        body: body.to_vec(),
        is_after_drops: dropped.is_some_and(|dropped| dropped > 0),
    })
}
