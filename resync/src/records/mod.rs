//! A log as a library's user meets it: opened, then walked record by record, each with all that is known
//! of it in values of its own. Everything here is made of the stages below, which offer more:
//! bytes as they stand, gaps where they lie, records that are borrowed and not copied.

mod record;

#[doc(inline)]
pub use logdef_wire::OwnedValue as Value;
pub use record::Record;

use crate::merge::{Event, Merge, MergeOptions};
use crate::read::input::{Error, Input};
use crate::recover::losses::Losses;
use crate::recover::recovery::Recovery;
use crate::resolve::images::{Images, NoImages};
use crate::resolve::resolver::Resolver;
use logdef_wire::Record as WireRecord;
use std::path::Path;

/// A log: one file or several, read once to find out what is whole and what is missing.
///
/// ```no_run
/// for record in logdef_resync::Log::open("app.log")?.records() {
///     println!("{}", record?);
/// }
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Debug)]
pub struct Log {
    inputs: Vec<Input>,
    recovery: Recovery,
}

impl Log {
    /// Opens a file and reads it.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or read. Damage is no error: see [`Log::losses`].
    pub fn open(path: impl AsRef<Path>) -> Result<Log, Error> {
        Log::of(vec![Input::open(path)?])
    }

    /// Reads inputs that belong together: files of a log that was cut, or logs of several programs.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn of(inputs: Vec<Input>) -> Result<Log, Error> {
        let recovery = Recovery::of(&inputs)?;
        Ok(Log { inputs, recovery })
    }

    /// All records in the order of time, none twice. Where the log lost a string, its address stands in the
    /// message.
    pub fn records(&self) -> Records<'_> {
        self.records_with(NoImages)
    }

    /// All records, with strings that the log lost from the programs and libraries that logged.
    pub fn records_with<'l>(&'l self, images: impl Images + 'l) -> Records<'l> {
        let resolver = Resolver::new(self.recovery.tables(), images);
        Records {
            merge: Merge::new(&self.inputs, &self.recovery, MergeOptions::default()),
            resolver: resolver.judged_by(&self.recovery),
        }
    }

    /// What is missing, dropped or damaged, of all inputs together.
    pub fn losses(&self) -> Losses {
        self.recovery.losses()
    }

    /// What was found out about each input, each thread and each gap.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }
}

/// Walks the records of a [`Log`].
pub struct Records<'l> {
    merge: Merge<'l>,
    resolver: Resolver<'l>,
}

impl std::fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let frame = match self.merge.next() {
                Ok(Some(Event::Frame(frame))) => frame,
                Ok(Some(Event::Gap(..))) => continue,
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            };
            if let Some(WireRecord::Data(data)) = frame.record() {
                self.resolver.see(&frame);
                let resolved = self.resolver.resolve(&data, frame.place);
                return Some(Ok(Record::of(&resolved)));
            }
        }
    }
}
