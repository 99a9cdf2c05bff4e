//! The thread that follows a log: what was written since its rows were found becomes rows too. Knows
//! nothing of what is shown of them.

use super::index::Seen;
use super::log::{Log, Stage};
use super::row::Row;
use crate::args::Source;
use crate::failure::Failure;
use crate::followed;
use logdef_resync::{Follow, Glance, Input, News, Options, Place, Standings, Tables};
use logdef_wire::record::NoteKind;
use logdef_wire::{Record, Tag};
use std::time::{Duration, Instant};

/// How often is looked whether the person asks for it.
const PAUSE: Duration = Duration::from_millis(20);

/// Follows the files of a source, from when the person asks for it, for ever. What has a row is
/// passed over.
pub fn run(log: &Log, source: &Source, mut seen: Seen) -> Result<(), Failure> {
    while !log.is_followed() {
        std::thread::sleep(PAUSE);
    }
    let mut follow = followed::of(source);
    let memory = Options::default().memory;
    let tables = Box::new(Tables::new(memory));
    log.change().followed = Some((tables, Standings::default()));
    let mut is_first = true;
    loop {
        let begun = Instant::now();
        let polled = follow.poll();
        let pause = followed::pause(polled.is_empty(), begun);
        let mut rows = take(log, &follow, polled, &mut seen, is_first);
        if !rows.is_empty() {
            let pushed = log.push(&mut rows, 0);
            pushed.map_err(|error| {
                Failure::Output("a temporary file for what was found".into(), error)
            })?;
        }
        if !follow.has_more() {
            if std::mem::take(&mut is_first) {
                log.reach(Stage::Following);
            }
            std::thread::sleep(pause);
        }
    }
}

/// Takes in what one look gave, and gives its rows.
fn take(
    log: &Log,
    follow: &Follow,
    polled: Vec<News>,
    seen: &mut Seen,
    is_first: bool,
) -> Vec<Row> {
    let mut rows = Vec::new();
    if polled.is_empty() {
        return rows;
    }
    let mut found = log.change();
    let Some((tables, standings)) = &mut found.followed else {
        return rows;
    };
    for news in polled {
        let News::Frame {
            file,
            offset,
            bytes,
            standing,
            is_late,
        } = news
        else {
            if !is_first {
                log.say(followed::line(follow, &news));
            }
            continue;
        };
        let input = log.inputs.number_of_followed(file);
        let place = Place { input, offset };
        let Some(arrived) = followed::record(place, &bytes, tables) else {
            continue;
        };
        let body = &arrived.body[..];
        let row = match Record::decode(body) {
            Ok(Record::Data(data)) if is_new(body, seen, is_first) || is_late && !is_first => {
                Row::record(place, data.level, false)
            }
            Ok(Record::Note(note)) if !is_first && note.kind != Some(NoteKind::MARKED) => {
                Row::note(place)
            }
            _ => continue,
        };
        followed::mark(standings, place, standing, is_late);
        log.inputs.open_followed(file, || {
            let input = Input::open(follow.path(file)?).ok()?;
            Some((input, follow.times_moved(file)))
        });
        rows.push(row);
    }
    rows
}

/// Whether a data record has no row yet. Those without a number have one if they were there at first.
fn is_new(body: &[u8], seen: &mut Seen, is_first: bool) -> bool {
    let glance = Glance::of(body).unwrap_or_default();
    debug_assert_eq!(Tag(body[0]), Tag::DATA);
    let Some((run, sequence)) = glance.run.zip(glance.sequence) else {
        return !is_first;
    };
    let count = sequence.count();
    match seen.get(&(run, sequence.number())) {
        Some(last) if count <= *last => false,
        _ => {
            seen.insert((run, sequence.number()), count);
            true
        }
    }
}
