//! The side tables of logs. What is missing is known with the first phase, and mostly the calls; all else takes another
//! look at each record, and is found when it is asked for.

use crate::error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::error::Result;
use logdef_archive::{Batches, Table};
use logdef_resync::{Input, NoImages, Recovery, Tables};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// Batches of tables.
type Batched = HashMap<Table, Vec<RecordBatch>>;

/// Tables that a recovery has without another look at the logs.
const LOSSES: [Table; 2] = [Table::Losses, Table::Files];

/// The side tables of some logs.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    /// What they are found in; nothing if another process found them.
    logs: Option<(Vec<Input>, Recovery)>,
    losses: Batched,
    /// The sites that the shapes of records show, if they do.
    sites: OnceLock<std::result::Result<Option<Vec<RecordBatch>>, String>>,
    all: OnceLock<std::result::Result<Batched, String>>,
}

impl Sides {
    pub(super) fn of(logs: Vec<Input>, recovery: Recovery) -> Result<Sides> {
        Ok(Sides {
            losses: batched(&logs, &recovery, &LOSSES)?,
            logs: Some((logs, recovery)),
            ..Sides::default()
        })
    }

    /// Those of excerpts, without losses: of what was cut out, they would speak as of something missing.
    pub(super) fn of_excerpts(logs: Vec<Input>, recovery: Recovery) -> Result<Sides> {
        let mut sides = Sides::of(logs, recovery)?;
        sides.losses.remove(&Table::Losses);
        Ok(sides)
    }

    /// Those that another process put down as streams.
    pub(crate) fn read(streams: &[(String, &[u8])]) -> Result<Sides> {
        let mut all = Batched::new();
        for (name, stream) in streams {
            let table = Table::ALL.into_iter().find(|table| table.name() == name);
            let batches: std::result::Result<Vec<_>, _> =
                StreamReader::try_new(*stream, None)?.collect();
            if let Some(table) = table {
                all.insert(table, batches?);
            }
        }
        let losses = all.iter().filter(|(table, _)| LOSSES.contains(table));
        Ok(Sides {
            losses: losses.map(|(table, it)| (*table, it.clone())).collect(),
            all: OnceLock::from(Ok(all)),
            ..Sides::default()
        })
    }

    /// All of them as Arrow's streams, for another process.
    pub(crate) fn write(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let mut streams = Vec::new();
        for (table, batches) in self.all()? {
            let mut stream = StreamWriter::try_new(Vec::new(), &table.schema())?;
            batches.iter().try_for_each(|batch| stream.write(batch))?;
            streams.push((table.name().to_owned(), stream.into_inner()?));
        }
        streams.sort();
        Ok(streams)
    }

    /// One of them.
    pub(crate) fn table(&self, table: Table) -> Result<&[RecordBatch]> {
        let tables = match table {
            Table::Sites => return self.sites(),
            known if LOSSES.contains(&known) => &self.losses,
            _ => self.all()?,
        };
        Ok(tables.get(&table).map_or(&[], |it| it))
    }

    /// What the logdefs define, if they are at hand and no two contradict each other.
    pub(crate) fn logdefs(&self) -> Option<&Tables> {
        let (_, recovery) = self.logs.as_ref()?;
        let tables = recovery.tables();
        (recovery.shapes().is_some() && tables.conflicts().is_empty()).then_some(tables)
    }

    /// The sites, in any order.
    pub(super) fn sites(&self) -> Result<&[RecordBatch]> {
        if self.all.get().is_none()
            && let Some((logs, recovery)) = &self.logs
        {
            let shown = self.sites.get_or_init(|| {
                logdef_archive::sites(logs, recovery, NoImages).map_err(|error| error.to_string())
            });
            let shown = shown.as_ref().map_err(|why| error::plain(why.clone()))?;
            if let Some(sites) = shown {
                return Ok(sites);
            }
        }
        Ok(self.all()?.get(&Table::Sites).map_or(&[], |it| it))
    }

    /// All of them.
    fn all(&self) -> Result<&Batched> {
        let all = self.all.get_or_init(|| {
            let found = self.find().map_err(|error| error.to_string());
            found.map(|found| found.into_iter().chain(self.losses.clone()).collect())
        });
        all.as_ref().map_err(|why| error::plain(why.clone()))
    }

    fn find(&self) -> Result<Batched> {
        let Some((logs, recovery)) = &self.logs else {
            return Ok(Batched::new());
        };
        let tables: Vec<_> = Table::ALL
            .into_iter()
            .filter(|table| *table != Table::Records && !LOSSES.contains(table))
            .collect();
        batched(logs, recovery, &tables)
    }
}

fn batched(logs: &[Input], recovery: &Recovery, tables: &[Table]) -> Result<Batched> {
    let mut batched = Batched::new();
    let batches = Batches::of(logs, recovery).with_tables(tables);
    batches
        .each(NoImages, |table, batch| {
            batched.entry(table).or_default().push(batch);
            ControlFlow::Continue(())
        })
        .map_err(error::plain)?;
    Ok(batched)
}
