//! The leaf of a plan that reads pieces of logs. Each of its partitions reads its own pieces, in
//! whatever process: nothing is shared between partitions, and no piece is in two.

use super::reader::Reader;
use super::sieve::Sieve;
use super::split::{self, Split};
use crate::error;
use crate::schema;
use crate::tables::Tables;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Batches that are made before they are asked for.
const AHEAD: usize = 2;

/// Reads pieces of logs.
#[derive(Clone, Debug)]
pub struct LogScan {
    tables: Arc<Tables>,
    what: What,
    properties: Arc<PlanProperties>,
}

/// What is read, but for the tables.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct What {
    projection: Vec<usize>,
    sieve: Sieve,
    partitions: Vec<Vec<Split>>,
}

impl LogScan {
    pub(super) fn new(
        tables: Arc<Tables>,
        projection: Vec<usize>,
        sieve: Sieve,
        partitions: Vec<Vec<Split>>,
    ) -> Result<LogScan> {
        let what = What {
            projection,
            sieve,
            partitions,
        };
        LogScan::of(tables, what)
    }

    fn of(tables: Arc<Tables>, what: What) -> Result<LogScan> {
        let schema: SchemaRef = Arc::new(schema::records().project(&what.projection)?);
        let partitioning = Partitioning::UnknownPartitioning(what.partitions.len());
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            partitioning,
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(LogScan {
            tables,
            what,
            properties: Arc::new(properties),
        })
    }

    /// The tables that it reads.
    pub fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// The pieces that each partition reads.
    pub fn partitions(&self) -> &[Vec<Split>] {
        &self.what.partitions
    }

    /// The logs that its pieces are of, with how many bytes each had when it was looked through.
    ///
    /// # Errors
    ///
    /// If a log cannot be read.
    pub fn files(&self) -> Result<Vec<(PathBuf, u64)>> {
        self.tables
            .logs()
            .map_or(Ok(Vec::new()), |logs| logs.files())
    }

    /// The same, with other pieces.
    ///
    /// # Errors
    ///
    /// If there is no partition.
    pub fn with_partitions(&self, partitions: Vec<Vec<Split>>) -> Result<LogScan> {
        let tables = Arc::clone(&self.tables);
        let what = What {
            partitions,
            ..self.what.clone()
        };
        LogScan::of(tables, what)
    }

    /// The same in at most `scans` scans, each with about as many bytes in as many partitions as this
    /// one has: each piece is in one of them.
    ///
    /// # Errors
    ///
    /// Never, as long as this scan is valid.
    pub fn dealt(&self, scans: usize) -> Result<Vec<LogScan>> {
        let partitions = self.what.partitions.len();
        let shares = split::deal(&self.what.partitions.concat(), scans);
        let shares = shares.into_iter().map(|share| {
            let mut own = split::deal(&share, partitions);
            own.resize(partitions, Vec::new());
            self.with_partitions(own)
        });
        shares.collect()
    }

    /// What is read as bytes, but for the tables.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.what).map_err(error::plain)
    }

    pub(crate) fn decode(bytes: &[u8], tables: Arc<Tables>) -> Result<LogScan> {
        let what: What = serde_json::from_slice(bytes).map_err(error::plain)?;
        LogScan::of(tables, what)
    }
}

impl DisplayAs for LogScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let splits: usize = self.what.partitions.iter().map(Vec::len).sum();
        let (partitions, tests) = (self.what.partitions.len(), self.what.sieve.tests.len());
        write!(
            f,
            "LogScan: pieces={splits}, partitions={partitions}, conditions={tests}"
        )
    }
}

impl ExecutionPlan for LogScan {
    fn name(&self) -> &str {
        "LogScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&schema), AHEAD);
        let out = stream.tx();
        let What {
            projection, sieve, ..
        } = self.what.clone();
        let splits = self.what.partitions.get(partition).cloned();
        let tables = Arc::clone(&self.tables);
        stream.spawn_blocking(move || {
            let Some(logs) = tables.logs() else {
                return Ok(());
            };
            let mut reader = Reader::new(logs, schema, projection, sieve)?;
            for split in splits.unwrap_or_default() {
                // Who asked may have enough.
                let mut is_wanted = true;
                reader.read(split, &mut |batch| {
                    is_wanted = out.blocking_send(Ok(batch)).is_ok();
                    is_wanted
                })?;
                if !is_wanted {
                    return Ok(());
                }
            }
            if let Some(batch) = reader.rest()? {
                let _ = out.blocking_send(Ok(batch));
            }
            Ok(())
        });
        Ok(stream.build())
    }

    /// Without conditions, the first phase has counted.
    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        let splits = match partition {
            Some(partition) => self.what.partitions.get(partition).map_or(&[][..], |it| it),
            None => &self.what.partitions.concat(),
        };
        let records: u64 = splits.iter().map(|split| split.records).sum();
        let is_all = self.what.sieve.tests.is_empty()
            && self.tables.logs().is_none_or(|logs| logs.gives_all());
        statistics.num_rows = if is_all {
            Precision::Exact(records as usize)
        } else {
            Precision::Inexact(records as usize)
        };
        Ok(Arc::new(statistics))
    }
}
