//! Questions about some times of long logs: of these no more is read than has the times. Knows plans; what is read
//! of a log, the log knows.

use crate::functions;
use crate::logs::LogTable;
use crate::tables::Tables;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};
use std::ops::RangeInclusive;
use std::sync::Arc;

impl Tables {
    /// A plan over what must be read of the logs, and the tables that it is over then. The same plan and
    /// tables, if all must be read: if the plan does not limit the times, if the logs were read already, if they are
    /// short, or if something in that part is missing or amiss.
    ///
    /// # Errors
    ///
    /// If a log cannot be read, or the engine cannot optimize the plan, which shows the times.
    pub fn narrowed(
        self: &Arc<Tables>,
        plan: LogicalPlan,
        engine: &SessionState,
    ) -> Result<(LogicalPlan, Arc<Tables>)> {
        if self.logs().is_none_or(|logs| logs.were_read()) {
            return Ok((plan, Arc::clone(self)));
        }
        let optimized = engine.optimize(&plan)?;
        self.forgo_calls(&optimized)?;
        let part = match self.times(&optimized)? {
            Some(times) => self.within(times)?,
            None => None,
        };
        match part {
            None => Ok((plan, Arc::clone(self))),
            Some(part) => Ok((self.moved(optimized, &part)?, part)),
        }
    }

    /// Lets the logs do without calls, if no scan of them needs any.
    fn forgo_calls(self: &Arc<Tables>, plan: &LogicalPlan) -> Result<()> {
        let mut needs_calls = false;
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && self.is_of_logs(scan)
            {
                needs_calls |= LogTable::needs_calls(scan.projection.as_deref());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        if let Some(logs) = self.logs().filter(|_| !needs_calls) {
            logs.need_no_calls();
        }
        Ok(())
    }

    /// The times, in nanoseconds since the epoch, that each scan of logs is limited to.
    fn times(self: &Arc<Tables>, plan: &LogicalPlan) -> Result<Option<RangeInclusive<i64>>> {
        let mut times: Option<(i64, i64)> = None;
        let mut is_query = true;
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && self.is_of_logs(scan)
            {
                let (from, to) = LogTable::times(&scan.filters);
                let (first, last) = times.unwrap_or((from, to));
                times = Some((first.min(from), last.max(to)));
            }
            is_query &= !matches!(
                node,
                LogicalPlan::Explain(_)
                    | LogicalPlan::Analyze(_)
                    | LogicalPlan::Ddl(_)
                    | LogicalPlan::Dml(_)
                    | LogicalPlan::Copy(_)
                    | LogicalPlan::Statement(_)
            );
            Ok(TreeNodeRecursion::Continue)
        })?;
        let times = times.filter(|times| is_query && *times != (i64::MIN, i64::MAX));
        Ok(times.map(|(from, to)| from..=to))
    }

    /// The plan over other tables.
    fn moved(self: &Arc<Tables>, plan: LogicalPlan, to: &Arc<Tables>) -> Result<LogicalPlan> {
        let moved = plan.transform_up_with_subqueries(|node| {
            let node = match node {
                LogicalPlan::TableScan(scan) if self.is_of_logs(&scan) => {
                    let source = provider_as_source(Arc::new(LogTable::of(to)));
                    LogicalPlan::TableScan(TableScan { source, ..scan })
                }
                node => node,
            };
            let node =
                node.map_expressions(|expr| expr.transform_up(|it| self.moved_call(it, to)))?;
            Ok(Transformed::yes(node.data))
        })?;
        Ok(moved.data)
    }

    /// A function over these tables as the one over others.
    fn moved_call(self: &Arc<Tables>, expr: Expr, to: &Arc<Tables>) -> Result<Transformed<Expr>> {
        match expr {
            Expr::ScalarFunction(mut call)
                if functions::tables_of(&call.func).is_some_and(|own| Arc::ptr_eq(own, self)) =>
            {
                call.func = functions::named(call.func.name(), to)?;
                Ok(Transformed::yes(Expr::ScalarFunction(call)))
            }
            other => Ok(Transformed::no(other)),
        }
    }

    /// Whether a scan is of these logs.
    fn is_of_logs(self: &Arc<Tables>, scan: &TableScan) -> bool {
        let Ok(provider) = source_as_provider(&scan.source) else {
            return false;
        };
        let provider: &dyn std::any::Any = &*provider;
        let table = provider.downcast_ref::<LogTable>();
        table.is_some_and(|table| Arc::ptr_eq(table.tables(), self))
    }
}
