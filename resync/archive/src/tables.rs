//! The tables of an archive: what each is called, and its columns. Knows neither logs nor files.

use crate::schema::{self, Unit, column};
use crate::side;
use crate::table::Of;
use arrow_schema::{Schema, SchemaRef};
use std::sync::Arc;

/// A table of an archive.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Table {
    /// The records, with the values of their calls in typed columns.
    Records,
    /// The calls: which of the columns has which of their values, and what it is called.
    Sites,
    /// The threads of each run.
    Threads,
    /// The programs and libraries that logged.
    Images,
    /// What was loaded into a process, and where.
    Modules,
    /// What is missing. The last row is the verdict of `logdef check`.
    Losses,
    /// The files, with what each holds and lacks.
    Files,
    /// The frames that are no records, as they are.
    Frames,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 8] = [
        Table::Records,
        Table::Sites,
        Table::Threads,
        Table::Images,
        Table::Modules,
        Table::Losses,
        Table::Files,
        Table::Frames,
    ];

    /// Its name, which is that of its file in a part of an archive.
    pub fn name(self) -> &'static str {
        match self {
            Table::Records => "records",
            Table::Sites => "sites",
            Table::Threads => "threads",
            Table::Images => "images",
            Table::Modules => "modules",
            Table::Losses => "losses",
            Table::Files => "files",
            Table::Frames => "frames",
        }
    }

    /// Its columns, with times in nanoseconds.
    pub fn schema(self) -> SchemaRef {
        if self == Table::Records {
            return schema::records(Unit::Nanoseconds);
        }
        let columns = self.columns().iter();
        let fields = columns.map(|(name, of)| column(name, of.data_type()));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    pub(crate) fn file(self) -> String {
        format!("{}.parquet", self.name())
    }

    /// The columns of a side table; those of the records are [`schema::records`].
    pub(crate) fn columns(self) -> &'static [(&'static str, Of)] {
        match self {
            Table::Records => &[],
            Table::Sites => side::SITES,
            Table::Threads => side::THREADS_COLUMNS,
            Table::Images => side::IMAGES,
            Table::Modules => side::MODULES,
            Table::Losses => side::LOSSES,
            Table::Files => side::FILES,
            Table::Frames => side::FRAMES,
        }
    }
}
