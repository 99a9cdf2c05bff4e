//! Logs that are followed while they are written: which files, how often they are looked at, and what comes
//! of them besides records, in words. Does not know what becomes of records.

use crate::archived;
use crate::args::Source;
use crate::clock_offset;
use crate::failure::Failure;
use crate::log;
use crate::paths;
use crate::show::{losses, words};
use logdef_resync::{Follow, News, Place, Standing, Standings, Tables, unmasked};
use logdef_wire::{Record, Run, ThreadNumber, frame};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the files are looked at: while records come, and while none do.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));
/// How many times as long as a look takes is waited where nothing came: a log of many open chunks
/// must not keep a core busy. At most the second.
const WAITS: (u32, Duration) = (10, Duration::from_secs(2));

/// A record and where it stands.
pub struct Arrived {
    pub place: Place,
    pub body: Vec<u8>,
    /// Whether it counts records that the program dropped.
    pub is_after_drops: bool,
}

/// How long to wait after a look that began then, and that brought something or nothing.
pub fn pause(is_empty: bool, begun: Instant) -> Duration {
    if is_empty {
        let wait = begun.elapsed() * WAITS.0;
        wait.clamp(PAUSES.1, WAITS.1)
    } else {
        PAUSES.0
    }
}

/// Follows the files of a source: those of a folder, of a pattern, or a file and what belongs to it.
pub fn begin(source: &Source) -> Result<Follow, Failure> {
    let words = &source.files[..];
    if words.is_empty() || words.iter().any(|word| word == Path::new("-")) {
        return Err(Failure::Usage(
            "--follow needs files: standard input is read to its end".into(),
        ));
    }
    for word in words {
        if !archived::parts(word).is_empty() {
            let path = word.display();
            let why = format!("{path} is an archive and cannot be followed: leave out --follow");
            return Err(Failure::Usage(why));
        }
        if !word.exists() && !paths::is_pattern(word) {
            log::say(&format!("{}: waiting for it to appear", word.display()));
        }
        for problem in found(word).into_iter().filter_map(Result::err) {
            log::say(&format!("{problem}, trying again"));
        }
    }
    let found = files(words);
    if words.iter().any(|word| is_of_many(word)) {
        // Others may appear.
        if let Err(why) = clock_offset::must_be_of(&source.clock_offset, &found) {
            log::say(&why);
        }
    } else {
        clock_offset::must_be_of(&source.clock_offset, &found).map_err(Failure::Usage)?;
    }
    Ok(of(source))
}

/// Follows the files of a source, whatever they are.
pub fn of(source: &Source) -> Follow {
    let (words, offsets) = (source.files.clone(), source.clock_offset.clone());
    let follow = Follow::of(move || files(&words));
    let follow = follow.with_times_moved(move |path| clock_offset::of(path, &offsets));
    if source.suspects {
        follow.with_suspects()
    } else {
        follow
    }
}

/// Whether a word stands for whatever files are there.
fn is_of_many(word: &Path) -> bool {
    word.is_dir() || paths::is_pattern(word)
}

/// What the words stand for now, without what cannot be read just now.
fn files(words: &[PathBuf]) -> Vec<PathBuf> {
    let found = words.iter().flat_map(found);
    found.flatten().collect()
}

fn found(word: &PathBuf) -> Vec<Result<PathBuf, String>> {
    if is_of_many(word) {
        paths::of(std::slice::from_ref(word))
    } else {
        let family = logdef_resync::family(word);
        family.into_iter().map(Ok).collect()
    }
}

/// What makes a file the same when its name is another: device and inode, or else the name.
pub fn identity(path: &Path) -> Vec<u8> {
    std::fs::metadata(path).map_or_else(
        |_| path.as_os_str().as_bytes().to_vec(),
        |about| [about.dev(), about.ino()].map(u64::to_be_bytes).concat(),
    )
}

/// Whether something besides records means that the log is not clean.
pub fn is_loss(news: &News) -> bool {
    !matches!(
        news,
        News::Truncated { .. }
            | News::Unreadable { .. }
            | News::Unmoved { .. }
            | News::Pruned { .. }
            | News::Late { .. }
    )
}

/// Something besides records, in words.
pub fn line(follow: &Follow, news: &News) -> String {
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
        News::Missing { .. } | News::Pruned { .. } | News::Late { .. } => line_of_thread(news),
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
            "{}: {} in bytes {from:#x}..{to:#x} was shown above without this mark: {}",
            name(*file),
            losses::count(*records, "record"),
            standing.word().unwrap_or_default(),
        ),
        News::BrokenOff { file, bytes, why } => losses::broken_off(&name(*file), *bytes, why),
        News::Truncated { file } => {
            format!("{}: truncated, reading it from its start", name(*file))
        }
        News::Unmoved { file } => format!(
            "{}: some times are not moved: another writer put them in fewer than eight bytes",
            name(*file)
        ),
        News::Unreadable { path, why } => {
            format!(
                "{}: cannot be read now ({why}), trying again",
                path.display()
            )
        }
        _ => String::new(),
    }
}

/// What is not as it should be with the records of a thread.
fn line_of_thread(news: &News) -> String {
    let thread = |run: &Run, number: &ThreadNumber| format!("thread {run:016x}/{}", number.0);
    match news {
        News::Missing {
            run,
            number,
            from,
            count,
        } => format!(
            "{}: {} {} from record {from} on: they are in no file, or not any more",
            thread(run, number),
            losses::count(*count, "record"),
            words::MISSING.word,
        ),
        News::Pruned {
            run,
            number,
            from,
            count,
        } => format!(
            "{}: {} {} from record {from} on: the program gave them up to make room",
            thread(run, number),
            losses::count(*count, "record"),
            words::PRUNED.word,
        ),
        News::Late {
            run,
            number,
            from,
            to,
            records,
            after,
        } => format!(
            "{}: {} of {from} to {to} late: record {after} stood above",
            thread(run, number),
            losses::count(*records, "record"),
        ),
        _ => String::new(),
    }
}

/// Takes note of how far a frame can be trusted, and whether it is late.
pub fn mark(standings: &mut Standings, place: Place, standing: Standing, is_late: bool) {
    standings.add(place, standing);
    if is_late {
        standings.add_late(place);
    }
}

/// Takes a frame in: logdefs go to the tables, records are to be shown.
pub fn record(place: Place, bytes: &[u8], tables: &mut Tables) -> Option<Arrived> {
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
