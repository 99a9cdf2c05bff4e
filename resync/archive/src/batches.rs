//! Logs as the tables of an archive, without an archive: batches of rows for who queries a log as
//! it is. Knows the order in which tables come, and not how their rows are made.

use crate::columns::Columns;
use crate::folder::Known;
use crate::part::failed;
use crate::rows::Rows;
use crate::side;
use crate::table::Sink;
use crate::tables::Table;
use arrow_array::RecordBatch;
use logdef_resync::{Error, Images, Input, Recovery, Resolver, rewrite};
use parquet::errors::{ParquetError, Result};
use std::ops::ControlFlow;

/// Records of a batch.
const RECORDS: usize = 8192;
/// Bytes that they take, more or less, before a batch ends.
const BYTES: usize = 8 << 20;

/// Logs as batches of the tables of an archive.
///
/// ```
/// use logdef_archive::{Batches, Table};
/// use logdef_resync::{Input, NoImages, Recovery};
/// use std::ops::ControlFlow;
///
/// let inputs = [Input::from_bytes("app.log", Vec::new())];
/// let recovery = Recovery::of(&inputs)?;
/// let mut verdicts = 0;
/// Batches::of(&inputs, &recovery)
///     .with_tables(&[Table::Records, Table::Losses])
///     .each(NoImages, |table, batch| {
///         verdicts += usize::from(table == Table::Losses) * batch.num_rows();
///         ControlFlow::Continue(())
///     })?;
/// assert_eq!(verdicts, 1);
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Batches<'l> {
    inputs: &'l [Input],
    recovery: &'l Recovery,
    tables: &'l [Table],
    records: usize,
}

impl<'l> Batches<'l> {
    /// All tables of some logs, with up to 8192 records a batch.
    pub fn of(inputs: &'l [Input], recovery: &'l Recovery) -> Batches<'l> {
        Batches {
            inputs,
            recovery,
            tables: &Table::ALL,
            records: RECORDS,
        }
    }

    /// These tables only. Without [`Table::Records`] and those that are made with it, the logs are
    /// not read again.
    pub fn with_tables(mut self, tables: &'l [Table]) -> Batches<'l> {
        self.tables = tables;
        self
    }

    /// Up to that many records a batch, at most 1,048,576. Long records make shorter batches.
    pub fn with_records(mut self, records: usize) -> Batches<'l> {
        self.records = records.clamp(1, crate::rows::MOST);
        self
    }

    /// Calls `visit` with each batch, which has the [schema](Table::schema) of its table, until the
    /// logs end or `visit` breaks.
    ///
    /// Records come in the order of the log, unlike those of a row group in an archive, so that
    /// their column `place` is empty. A site comes before the first batch with a record of it, images and modules
    /// as the log names them, threads, losses and files at the end. No batch is empty. Memory is bounded,
    /// whatever is in the log.
    ///
    /// # Errors
    ///
    /// If a log cannot be read any more.
    pub fn each(
        self,
        images: impl Images,
        visit: impl FnMut(Table, RecordBatch) -> ControlFlow<()>,
    ) -> std::result::Result<(), Error> {
        let mut out = Visited {
            visit,
            tables: self.tables,
            has_stopped: false,
        };
        match self.visit(images, &mut out) {
            Err(_) if out.has_stopped => Ok(()),
            done => done,
        }
    }

    fn visit<V: FnMut(Table, RecordBatch) -> ControlFlow<()>>(
        &self,
        images: impl Images,
        out: &mut Visited<'_, V>,
    ) -> std::result::Result<(), Error> {
        let is_known = |table: &Table| matches!(table, Table::Losses | Table::Files);
        if !self.tables.iter().all(is_known) {
            let mut resolver = Resolver::new(self.recovery.tables(), images);
            let wants_records = self.tables.contains(&Table::Records);
            let rows = wants_records.then(|| Rows::in_order(self.records, BYTES));
            let mut columns = Columns::new(rows);
            let known = Known::default();
            rewrite::each_merged(self.inputs, self.recovery, |frame, mark| {
                let added = columns.add(frame, mark, &mut resolver, &known, out);
                let given = match added {
                    Ok(()) if columns.is_full() => out.records(&mut columns),
                    other => other,
                };
                given.map_err(failed)
            })?;
            let rest = out.records(&mut columns);
            rest.and_then(|()| columns.give_rest(out)).map_err(failed)?;
        }
        side::write_losses(self.recovery, out)
            .and_then(|()| side::write_files(self.recovery, &[], out))
            .map_err(failed)
    }
}

/// Where batches go, until it has enough.
struct Visited<'t, V> {
    visit: V,
    tables: &'t [Table],
    has_stopped: bool,
}

impl<V: FnMut(Table, RecordBatch) -> ControlFlow<()>> Visited<'_, V> {
    /// Gives the records that there are, after their sites.
    fn records(&mut self, columns: &mut Columns) -> Result<()> {
        columns.give_sites(self)?;
        if columns.len() == 0 {
            return Ok(());
        }
        let mut arrays = Vec::new();
        columns.take(|_, array| {
            arrays.push(array);
            Ok(())
        })?;
        let batch = RecordBatch::try_new(Table::Records.schema(), arrays)?;
        self.write(Table::Records, batch)
    }
}

impl<V: FnMut(Table, RecordBatch) -> ControlFlow<()>> Sink for Visited<'_, V> {
    fn write(&mut self, table: Table, batch: RecordBatch) -> Result<()> {
        if self.tables.contains(&table) && (self.visit)(table, batch).is_break() {
            self.has_stopped = true;
            return Err(ParquetError::General("stopped".into()));
        }
        Ok(())
    }
}
