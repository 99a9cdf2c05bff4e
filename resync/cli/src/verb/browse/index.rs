//! The thread that finds the rows. A log whose chunks say where the next one is gives them in their order
//! at once, and what that takes for granted is checked while it is read: see [`Survey`]. Of any other, the
//! beginning is shown while all of it is read. Knows nothing of what is shown of the rows.

use super::log::{Known, Log, Stage};
use super::row::{INPUTS, Row};
use super::rows::Rows;
use crate::failure::Failure;
use crate::log;
use crate::show::losses;
use crate::verb::view::early::{knows, learn};
use logdef_resync::{
    BackgroundMerge, Batch, Event, Glance, Input, Merge, MergeOptions, Options, Recovery, Resolver,
    Survey, Tables,
};
use logdef_wire::record::NoteKind;
use logdef_wire::{Record, Run, Tag, ThreadNumber};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of the beginning that are read of all files together, and at least of each of the first ones.
const BEGINNING: u64 = 1 << 20;
const OF_EACH: u64 = 32 << 10;
/// A file that is longer has more chunks than are looked at in a moment.
const LONG: u64 = 64 << 20;
/// Rows that replace those of the beginning at once; those of a survey, which come in a moment, at least.
const FIRST: u64 = 1 << 17;
const OF_SURVEY: u64 = 256;
/// Rows that wait while others look at those that there are.
const WAITING: usize = 64 << 10;

/// Of each thread the count of its last record that has a row.
pub type Seen = HashMap<(Run, ThreadNumber), u64>;

/// Finds all rows, and gives the last record of each thread.
pub fn run(log: &Log, suspects: bool) -> Result<Seen, Failure> {
    let inputs = &log.inputs.first[..];
    if inputs.len() > INPUTS {
        let why = format!(
            "{} files are more than can be browsed: {INPUTS}",
            inputs.len()
        );
        return Err(Failure::Usage(why));
    }
    if let ([input], false) = (inputs, suspects)
        && input.broken_off().is_none()
    {
        if input.len() > LONG {
            beginning(log, suspects)?;
        }
        if let Some(survey) = Survey::of(input)?
            && let Some(seen) = surveyed(log, input, survey)?
        {
            log.reach(Stage::Done);
            return Ok(seen);
        }
    }
    beginning(log, suspects)?;
    let recovery = recovery(inputs, suspects, |done| log.reach(Stage::Checking(done)))?;
    log.lose(lines(&recovery));
    let threads = recovery.threads().iter();
    let seen = threads
        .map(|thread| ((thread.run, thread.number), thread.last))
        .collect();
    merged(log, Arc::new(recovery))?;
    log.reach(Stage::Done);
    Ok(seen)
}

fn recovery(
    inputs: &[Input],
    suspects: bool,
    reached: impl FnMut(u64),
) -> Result<Recovery, Failure> {
    let mut options = Options::default();
    options.trust_suspects = suspects;
    Ok(Recovery::with(inputs, &options, reached)?)
}

/// What the log lost, a line each.
fn lines(recovery: &Recovery) -> Vec<String> {
    let mut lines: Vec<_> = recovery.accounts().iter().flat_map(losses::of).collect();
    lines.extend(recovery.tables().conflicts().iter().map(losses::conflict));
    let found = recovery.losses();
    if !found.is_clean() {
        lines.insert(0, found.to_string());
    }
    lines
}

/// What a row stands for, of what a merge gives.
fn row_of(event: &Event<'_>) -> Option<Row> {
    let frame = match event {
        Event::Gap(input, report) => {
            return Some(Row::gap(logdef_resync::Place {
                input: *input,
                offset: report.gap.offset,
            }));
        }
        Event::Frame(frame) => frame,
        _ => return None,
    };
    match frame.tag() {
        Tag::DATA => {
            let glance = Glance::of(frame.body).unwrap_or_default();
            Some(Row::record(frame.place, glance.level, frame.conflict))
        }
        Tag::NOTE => match frame.record() {
            // The records after it say so themselves.
            Some(Record::Note(note)) if note.kind != Some(NoteKind::MARKED) => {
                Some(Row::note(frame.place))
            }
            _ => None,
        },
        _ => None,
    }
}

fn not_kept(error: std::io::Error) -> Failure {
    Failure::Output("a temporary file for what was found".into(), error)
}

/// Moves rows to those that are shown when there are enough.
fn keep(begun: &mut Rows, rows: &mut Vec<Row>) -> Result<(), Failure> {
    let mut numbers = rows.drain(..).map(|row| row.0);
    numbers
        .try_for_each(|number| begun.push(number))
        .map_err(not_kept)
}

/// Finds the rows of a log by its survey. `None` if it is not what the survey takes for granted.
fn surveyed(log: &Log, input: &Input, mut survey: Survey) -> Result<Option<Seen>, Failure> {
    // They take the place of those of the beginning when there are as many, or all.
    let least = log.found().rows.len().max(OF_SURVEY);
    let mut first = Some((Rows::default(), Box::new(survey.into_tables())));
    let show = |(rows, tables)| {
        log.replace(rows, Known::Growing(tables));
        log.reach(Stage::Reading);
    };
    let merge = Merge::from_survey(input, &survey, MergeOptions::default());
    let mut seen = Seen::new();
    let mut rows = Vec::new();
    let is_whole = BackgroundMerge::run(merge, log::cores(), |ahead| {
        while let Some(batch) = ahead.next()? {
            let is_understood = match &mut first {
                Some((_, tables)) => {
                    learn(tables, batch);
                    tables.is_whole() && add_rows(tables, batch, &mut seen, &mut rows).is_some()
                }
                None => {
                    learn_in(log, batch)
                        && add_rows(log.found().known.tables(), batch, &mut seen, &mut rows)
                            .is_some()
                }
            };
            if !is_understood {
                return Ok(false);
            }
            let Some((begun, _)) = &mut first else {
                log.push(&mut rows, WAITING).map_err(not_kept)?;
                continue;
            };
            keep(begun, &mut rows)?;
            if begun.len() >= least {
                first.take().map(show);
            }
        }
        Ok::<_, Failure>(!ahead.contradicts_survey())
    })?;
    if is_whole {
        first.map(show);
        log.push(&mut rows, 0).map_err(not_kept)?;
    }
    Ok(is_whole.then_some(seen))
}

/// Takes in the logdefs of a batch; `false` if one contradicts another.
fn learn_in(log: &Log, batch: &Batch<'_>) -> bool {
    if knows(log.found().known.tables(), batch) {
        return true;
    }
    match &mut log.change().known {
        Known::Growing(tables) => {
            learn(tables, batch);
            tables.is_whole()
        }
        Known::Whole(_) => false,
    }
}

/// Adds the rows of a batch. `None` if a record refers to something that has no logdef so far.
fn add_rows(
    tables: &Tables,
    batch: &Batch<'_>,
    seen: &mut Seen,
    rows: &mut Vec<Row>,
) -> Option<()> {
    let mut resolver = Resolver::without_images(tables);
    for event in batch.events() {
        let Event::Frame(frame) = &event else {
            return None;
        };
        if let (Tag::DATA, Some(Record::Data(data))) = (frame.tag(), frame.record()) {
            if !resolver.resolve(&data, frame.place).is_complete() {
                return None;
            }
            if let Some((run, sequence)) = data.run.zip(data.sequence) {
                seen.insert((run, sequence.number()), sequence.count());
            }
        }
        rows.extend(row_of(&event));
    }
    Some(())
}

/// Shows the beginning of the files, as far as it can be understood alone.
fn beginning(log: &Log, suspects: bool) -> Result<(), Failure> {
    let inputs = &log.inputs.first[..];
    let each = (BEGINNING / inputs.len().max(1) as u64).max(OF_EACH);
    let few = inputs.iter().take((BEGINNING / OF_EACH) as usize);
    let heads = few.map(|input| {
        let mut bytes = vec![0; each.min(input.len()) as usize];
        let read = input.read_at(&mut bytes, 0).unwrap_or(0);
        bytes.truncate(read);
        Input::from_bytes(input.name(), bytes)
    });
    let heads: Vec<_> = heads.collect();
    let recovery = recovery(&heads, suspects, |_| {})?;
    let mut options = MergeOptions::default();
    options.all_frames = true;
    // The end of a beginning is a gap of ours.
    options.gaps = false;
    let mut merge = Merge::new(&heads, &recovery, options);
    let mut rows = Rows::default();
    while let Some(event) = merge.next()? {
        if let Some(row) = row_of(&event) {
            rows.push(row.0).map_err(not_kept)?;
        }
    }
    drop(merge);
    log.replace(rows, Known::Whole(Arc::new(recovery)));
    Ok(())
}

/// Finds the rows of all that was read, in their order.
fn merged(log: &Log, recovery: Arc<Recovery>) -> Result<(), Failure> {
    let mut options = MergeOptions::default();
    options.all_frames = true;
    let merge = Merge::new(&log.inputs.first, &recovery, options);
    // They take the place of those of the beginning when there are as many, or all.
    let mut first = Some(Rows::default());
    let mut rows = Vec::new();
    BackgroundMerge::run(merge, log::cores(), |ahead| {
        while let Some(batch) = ahead.next()? {
            rows.extend(batch.events().filter_map(|event| row_of(&event)));
            let Some(begun) = &mut first else {
                log.push(&mut rows, WAITING).map_err(not_kept)?;
                continue;
            };
            keep(begun, &mut rows)?;
            if begun.len() >= FIRST {
                let rows = first.take().unwrap_or_default();
                log.replace(rows, Known::Whole(recovery.clone()));
                log.reach(Stage::Reading);
            }
        }
        Ok::<_, Failure>(())
    })?;
    match first {
        Some(rows) => log.replace(rows, Known::Whole(recovery.clone())),
        None => log.push(&mut rows, 0).map_err(not_kept)?,
    }
    Ok(())
}
