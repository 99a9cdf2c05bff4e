//! The records of logs as a table: which pieces a query must read, and what it need not see of them.

use super::columns::Columns;
use super::scan::LogScan;
use super::sieve::Sieve;
use super::split::{self, Split};
use crate::schema;
use crate::tables::Tables;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// The records of the logs among some tables.
#[derive(Debug)]
pub(crate) struct LogTable {
    tables: Arc<Tables>,
}

impl LogTable {
    pub(crate) fn of(tables: &Arc<Tables>) -> LogTable {
        LogTable {
            tables: Arc::clone(tables),
        }
    }

    pub(crate) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// Whether columns, or all of them, hold what only a look at calls shows.
    pub(crate) fn needs_calls(columns: Option<&[usize]>) -> bool {
        columns.is_none_or(Columns::wants_values)
    }

    /// The times, in nanoseconds since the epoch, of records that pass some conditions.
    pub(crate) fn times(filters: &[Expr]) -> (i64, i64) {
        Sieve::of(filters).times()
    }
}

#[async_trait]
impl TableProvider for LogTable {
    fn schema(&self) -> SchemaRef {
        schema::records()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// What is looked at here, the engine looks at again: columns of what passes are cheap.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sieve = Sieve::of(filters);
        let splits = match self.tables.logs() {
            Some(logs) => logs.phase()?.splits.clone(),
            None => Vec::new(),
        };
        let (from, to) = sieve.times();
        // Records without a time pass no condition on it.
        let is_limited = (from, to) != (i64::MIN, i64::MAX);
        let overlaps = |split: &Split| {
            let times = split.times;
            times.is_some_and(|(first, last)| first <= to && from <= last)
        };
        let splits: Vec<_> = splits
            .into_iter()
            .filter(|split| split.records > 0 && (!is_limited || overlaps(split)))
            .collect();
        let partitions = split::deal(&splits, state.config().target_partitions());
        let all = || (0..schema::records().fields().len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let tables = Arc::clone(&self.tables);
        Ok(Arc::new(LogScan::new(
            tables, projection, sieve, partitions,
        )?))
    }
}
