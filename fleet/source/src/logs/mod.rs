//! Logs as they lie, without an index: what stands in them is found out once, in a first phase, and
//! then byte ranges of them are read side by side.

mod columns;
mod excerpt;
mod phase;
mod reader;
mod scan;
mod sides;
mod sieve;
mod split;
mod table;

pub use scan::LogScan;
pub(crate) use sides::Sides;
pub use split::Split;
pub(crate) use table::LogTable;

use crate::config::Config;
use crate::error;
use crate::overlap::Known;
use datafusion::error::Result;
use excerpt::Excerpt;
use logdef_resync::Input;
use logdef_wire::record::Data;
use phase::Phase;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Bytes that are read as one piece.
const SPLIT: u64 = 8 << 20;

/// Bytes of a log that is not read in parts: all of it is read in a moment.
const MOMENT: u64 = 64 << 20;

/// Some logs.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    paths: Vec<PathBuf>,
    /// What is read of each, if that is not all.
    excerpts: Vec<Option<Excerpt>>,
    /// Bytes that a log must have to be read in parts.
    excerpt_from: u64,
    split: u64,
    /// Records that archives have, which are left out.
    known: Known,
    /// Set where no question needs the calls, before the first phase.
    needs_no_calls: OnceLock<()>,
    phase: OnceLock<std::result::Result<Arc<Phase>, String>>,
}

impl Logs {
    pub(crate) fn open(paths: Vec<PathBuf>, config: &Config, known: Known) -> Result<Option<Logs>> {
        Ok((!paths.is_empty()).then(|| Logs {
            excerpts: vec![None; paths.len()],
            excerpt_from: config.excerpt_from.unwrap_or(MOMENT),
            paths,
            split: config.split.unwrap_or(SPLIT).max(1),
            known,
            needs_no_calls: OnceLock::new(),
            phase: OnceLock::new(),
        }))
    }

    /// What the first phase found. It runs once.
    pub(crate) fn phase(&self) -> Result<Arc<Phase>> {
        let phase = self.phase.get_or_init(|| {
            let shapes = self.needs_no_calls.get().is_none();
            let inputs = self.inputs();
            let phase = inputs.and_then(|all| Phase::of(all, self.split, shapes));
            phase.map(Arc::new).map_err(|error| error.to_string())
        });
        phase.clone().map_err(error::plain)
    }

    /// The same logs, of which as little is read as has the records of some times, in nanoseconds since the epoch.
    /// `None` if that is all, or if something is amiss in that part: then only the whole shows what is missing.
    pub(crate) fn within(&self, times: RangeInclusive<u64>) -> Result<Option<Logs>> {
        let paths = self.paths.iter();
        let excerpts = paths.map(|path| Excerpt::of(path, times.clone(), self.excerpt_from));
        let logs = Logs {
            excerpts: excerpts.collect::<Result<_>>()?,
            ..self.clone()
        };
        if logs.excerpts.iter().all(Option::is_none) {
            return Ok(None);
        }
        let phase = Phase::of_excerpts(logs.inputs()?, self.split)?;
        Ok(phase.map(|phase| Logs {
            phase: OnceLock::from(Ok(Arc::new(phase))),
            ..logs
        }))
    }

    /// Lets the first phase do without the calls. Who asks for them later waits longer.
    pub(crate) fn need_no_calls(&self) {
        self.needs_no_calls.get_or_init(|| ());
    }

    /// Whether the first phase has run.
    pub(crate) fn were_read(&self) -> bool {
        self.phase.get().is_some()
    }

    fn inputs(&self) -> Result<Vec<Input>> {
        let all = 0..self.paths.len() as u32;
        all.map(|index| self.open_input(index)).collect()
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The logs, with how many bytes of each are read.
    pub(crate) fn files(&self) -> Result<Vec<(PathBuf, u64)>> {
        let phase = self.phase()?;
        let lens = phase.lens.iter().copied();
        Ok(self.paths.iter().cloned().zip(lens).collect())
    }

    /// The same logs, with the side tables that were found.
    pub(crate) fn with_sides(self, sides: Sides) -> Logs {
        let found = self.phase.into_inner().and_then(std::result::Result::ok);
        let phase = OnceLock::new();
        if let Some(found) = found {
            let mut found = (*found).clone();
            found.sides = Arc::new(sides);
            let _ = phase.set(Ok(Arc::new(found)));
        }
        Logs { phase, ..self }
    }

    /// Whether nothing is left out, since archives have it.
    pub(crate) fn gives_all(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether an archive has a record.
    #[inline]
    fn is_known(&self, data: &Data<'_>) -> bool {
        let (Some(run), Some(sequence)) = (data.run, data.sequence) else {
            return false;
        };
        let known = &self.known;
        !known.is_empty() && known.holds(run.0, sequence.number().0, sequence.count())
    }

    fn open_input(&self, index: u32) -> Result<Input> {
        let path = self.paths.get(index as usize);
        let path = path.ok_or_else(|| error::plain("a piece of a log that is not there"))?;
        match self.excerpts.get(index as usize) {
            Some(Some(excerpt)) => excerpt.open(path),
            _ => Input::open(path).map_err(error::plain),
        }
    }

    /// The side tables.
    pub(crate) fn sides(&self) -> Result<Arc<Sides>> {
        Ok(Arc::clone(&self.phase()?.sides))
    }
}

/// What is put down of logs.
#[derive(Deserialize, Serialize)]
struct Described {
    paths: Vec<PathBuf>,
    excerpts: Vec<Option<Excerpt>>,
    excerpt_from: u64,
    split: u64,
    known: Known,
    phase: Option<Phase>,
}

impl Serialize for Logs {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let phase = self.phase.get().and_then(|phase| phase.as_ref().ok());
        let described = Described {
            paths: self.paths.clone(),
            excerpts: self.excerpts.clone(),
            excerpt_from: self.excerpt_from,
            split: self.split,
            known: self.known.clone(),
            phase: phase.map(|phase| (**phase).clone()),
        };
        described.serialize(to)
    }
}

impl<'d> Deserialize<'d> for Logs {
    fn deserialize<D: Deserializer<'d>>(from: D) -> std::result::Result<Logs, D::Error> {
        let it = Described::deserialize(from)?;
        let phase = OnceLock::new();
        if let Some(own) = it.phase {
            let _ = phase.set(Ok(Arc::new(own)));
        }
        Ok(Logs {
            paths: it.paths,
            excerpts: it.excerpts,
            excerpt_from: it.excerpt_from,
            split: it.split,
            known: it.known,
            needs_no_calls: OnceLock::new(),
            phase,
        })
    }
}
