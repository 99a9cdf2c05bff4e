//! The first phase: what is found out about logs as a whole before pieces of them are read. Where the pieces are,
//! which frames are not to be given or to be marked, what is missing; and, if they are asked for, which calls there
//! are and what columns their values are in. All of it can be put down for another process.

use super::sides::Sides;
use super::split::Split;
use crate::error;
use crate::knowledge::LOGDEFS;
use datafusion::error::Result;
use logdef_archive::Calls;
use logdef_resync::{Input, Item, Items, Options, Place, Recovery, Standing, decode, rewrite};
use logdef_wire::{Record, Tag};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Records whose places are remembered while copies of records are looked for.
const PLACES: usize = 1 << 27;

/// What the first phase found.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Phase {
    /// Bytes of each log, where it ended then.
    pub(crate) lens: Vec<u64>,
    pub(crate) splits: Vec<Split>,
    pub(crate) exceptions: Vec<Exceptions>,
    /// The side tables, which go beside the rest.
    #[serde(skip)]
    pub(crate) sides: Arc<Sides>,
    #[serde(skip)]
    calls: OnceLock<std::result::Result<Arc<Calls>, String>>,
}

/// The frames of an input that are not simply given, by their offsets.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Exceptions {
    /// Copies, and frames that nothing vouches for.
    pub(crate) left_out: Vec<Range<u64>>,
    pub(crate) marked: Vec<(Range<u64>, Mark)>,
    /// Records of which there is another with the same number.
    pub(crate) conflicts: Vec<u64>,
}

/// How far frames can be trusted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Mark {
    Recovered,
    Suspect,
}

impl Mark {
    fn of(standing: Standing) -> Option<Mark> {
        match standing {
            Standing::Sound => None,
            Standing::Recovered => Some(Mark::Recovered),
            Standing::Suspect => Some(Mark::Suspect),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        let standing = match self {
            Mark::Recovered => Standing::Recovered,
            Mark::Suspect => Standing::Suspect,
        };
        standing.word().unwrap_or_default()
    }
}

/// What a merge gave of an input: the offset of each record, its mark, and whether there is another
/// with its number.
type Given = Vec<(u64, Option<Mark>, bool)>;

impl Phase {
    /// Reads logs through, and cuts them into pieces of about `split` bytes. With the shapes of records, calls are
    /// found soon.
    pub(crate) fn of(logs: Vec<Input>, split: u64, shapes: bool) -> Result<Phase> {
        let recovery = recover(&logs, split, shapes)?;
        must_hold_frames(&logs, &recovery)?;
        let phase = Phase::recovered(&logs, &recovery, split)?;
        Ok(Phase {
            sides: Arc::new(Sides::of(logs, recovery)?),
            ..phase
        })
    }

    /// The same of excerpts, in which nothing may be amiss: what a log lost, only the whole of it shows.
    pub(crate) fn of_excerpts(logs: Vec<Input>, split: u64) -> Result<Option<Phase>> {
        let recovery = recover(&logs, split, true)?;
        if !is_plain(&recovery) || !has_all(&recovery) {
            return Ok(None);
        }
        let phase = Phase::recovered(&logs, &recovery, split)?;
        let phase = Phase {
            sides: Arc::new(Sides::of_excerpts(logs, recovery)?),
            ..phase
        };
        Ok(phase.knows_all_calls()?.then_some(phase))
    }

    /// The pieces of logs, and their exceptions.
    fn recovered(logs: &[Input], recovery: &Recovery, split: u64) -> Result<Phase> {
        let mut phase = Phase {
            lens: logs.iter().map(Input::len).collect(),
            ..Phase::default()
        };
        if is_plain(recovery) {
            phase.splits = recovery.pieces().iter().map(Split::of).collect();
            phase.exceptions = vec![Exceptions::default(); logs.len()];
            return Ok(phase);
        }
        let given = given(logs, recovery)?;
        for (index, (log, given)) in logs.iter().zip(&given).enumerate() {
            phase.walk(index as u32, log, split, given)?;
        }
        Ok(phase)
    }

    /// Finds the pieces of an input, and its exceptions to what a merge gave of it.
    fn walk(
        &mut self,
        index: u32,
        input: &Input,
        split: u64,
        given: &[(u64, Option<Mark>, bool)],
    ) -> Result<()> {
        let mut items = Items::new(input);
        let mut exceptions = Exceptions::default();
        let mut given = given.iter().peekable();
        let mut scratch = Vec::new();
        let mut open: Option<Split> = None;
        while let Some(item) = items.next().map_err(error::plain)? {
            let Item::Frame(frame) = item else {
                continue;
            };
            let (offset, end) = (frame.offset, frame.end());
            // The piece that a multiple of the size begins.
            if open.is_none_or(|open| offset / split != open.from / split) {
                self.splits.extend(open.replace(Split {
                    input: index,
                    from: offset,
                    to: end,
                    records: 0,
                    times: None,
                }));
            }
            let Some(piece) = &mut open else { continue };
            piece.to = end;
            let Ok(Record::Data(data)) = decode(frame.body, &mut scratch) else {
                continue;
            };
            let Some((_, mark, is_conflict)) = given.next_if(|(at, ..)| *at == offset) else {
                extend(&mut exceptions.left_out, offset, end);
                continue;
            };
            exceptions.mark(offset, end, *mark);
            exceptions.conflicts.extend(is_conflict.then_some(offset));
            piece.records += 1;
            if let Some(time) = data.time.and_then(|time| i64::try_from(time).ok()) {
                let (first, last) = piece.times.unwrap_or((time, time));
                piece.times = Some((first.min(time), last.max(time)));
            }
        }
        self.splits.extend(open);
        self.exceptions.push(exceptions);
        Ok(())
    }

    /// Whether there is a format and a file of each call.
    fn knows_all_calls(&self) -> Result<bool> {
        let sites = self.sides.sites()?.iter();
        let mut columns = sites.flat_map(|sites| {
            let columns = ["format", "file"].map(|name| sites.column_by_name(name));
            columns.into_iter().flatten()
        });
        Ok(columns.all(|column| column.null_count() == 0))
    }

    /// The calls that records are of.
    pub(crate) fn calls(&self) -> Result<Arc<Calls>> {
        let calls = self.calls.get_or_init(|| {
            let sites = self.sides.sites().map_err(|error| error.to_string())?;
            let calls = Calls::of(sites).map_err(|error| error.to_string())?;
            Ok(Arc::new(calls))
        });
        calls.clone().map_err(error::plain)
    }
}

impl Exceptions {
    fn mark(&mut self, from: u64, to: u64, mark: Option<Mark>) {
        let Some(mark) = mark else {
            return;
        };
        match self.marked.last_mut() {
            Some((range, own)) if range.end == from && *own == mark => range.end = to,
            _ => self.marked.push((from..to, mark)),
        }
    }
}

fn extend(ranges: &mut Vec<Range<u64>>, from: u64, to: u64) {
    match ranges.last_mut() {
        Some(range) if range.end == from => range.end = to,
        _ => ranges.push(from..to),
    }
}

/// Whether each record that stands in the inputs is given as it is.
fn is_plain(recovery: &Recovery) -> bool {
    let accounts = recovery.accounts();
    accounts
        .iter()
        .all(|it| it.damage.count == 0 && it.suspect == 0 && it.repeated == 0 && it.malformed == 0)
        && recovery.threads().iter().all(|thread| thread.repeated == 0)
        && !has_marks(recovery)
}

/// Whether no record is missing, but before the first of a thread and after the last.
fn has_all(recovery: &Recovery) -> bool {
    let mut threads = recovery.threads().iter();
    recovery.losses().dropped == 0 && threads.all(|thread| thread.lost == 0)
}

/// Whether notes of a copy say of frames that they are not to be trusted.
fn has_marks(recovery: &Recovery) -> bool {
    let notes = |records: &[u64; 128]| records[Tag::NOTE.0 as usize];
    recovery.accounts().iter().any(|it| notes(&it.records) > 0)
}

/// The records that a merge gives, by input and offset.
fn given(inputs: &[Input], recovery: &Recovery) -> Result<Vec<Given>> {
    let mut given: Vec<Given> = vec![Vec::new(); inputs.len()];
    let mut places = 0;
    let merged = rewrite::each_merged(inputs, recovery, |frame, _| {
        if frame.tag() != Tag::DATA {
            return Ok(());
        }
        places += 1;
        if places > PLACES {
            let why = "more records beside damage or copies than can be remembered: read fewer files at once";
            return Err(logdef_resync::Error::new(
                "the logs",
                std::io::Error::other(why),
            ));
        }
        let Place { input, offset, .. } = frame.place;
        let mark = Mark::of(recovery.standing(frame.place, frame.body));
        given[input as usize].push((offset, mark, frame.conflict));
        Ok(())
    });
    merged.map_err(error::plain)?;
    for given in &mut given {
        given.sort_unstable_by_key(|(offset, ..)| *offset);
    }
    Ok(given)
}

fn recover(logs: &[Input], split: u64, shapes: bool) -> Result<Recovery> {
    let mut options = Options::default();
    (options.pieces, options.shapes) = (split, shapes);
    options.memory = LOGDEFS;
    Recovery::with(logs, &options, |_| {}).map_err(error::plain)
}

/// Fails if there is not one frame in all of it, but bytes.
fn must_hold_frames(inputs: &[Input], recovery: &Recovery) -> Result<()> {
    let accounts = recovery.accounts();
    let frames: u64 = accounts.iter().map(|account| account.frames.count).sum();
    let bytes: u64 = accounts.iter().map(|account| account.bytes).sum();
    if frames > 0 || bytes == 0 {
        return Ok(());
    }
    let names: Vec<_> = inputs.iter().map(Input::name).collect();
    let names = names.join(", ");
    let why = format!("{names}: no frame in {bytes} bytes: is this a logdef log?");
    Err(error::plain(why))
}
