//! Questions about some times of long logs: of these no more is read than has the times. Knows plans; what is read
//! of a log, the log knows.

use crate::functions;
use crate::logs::LogTable;
use crate::tables::Tables;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};
use std::ops::RangeInclusive;
use std::sync::Arc;

impl Tables {
    /// An optimized plan over what must be read of the logs, and the tables that it is over then. The same plan and
    /// tables, if all must be read: if the plan does not limit the times, if the logs were read already, if they are
    /// short, or if something in that part is missing or amiss.
    ///
    /// # Errors
    ///
    /// If a log cannot be read.
    pub fn narrowed(self: &Arc<Tables>, plan: LogicalPlan) -> Result<(LogicalPlan, Arc<Tables>)> {
        let Some(times) = self.times(&plan)? else {
            return Ok((plan, Arc::clone(self)));
        };
        match self.within(times)? {
            None => Ok((plan, Arc::clone(self))),
            Some(part) => Ok((self.moved(plan, &part)?, part)),
        }
    }

    /// The times, in nanoseconds since the epoch, that each scan of logs is limited to.
    fn times(self: &Arc<Tables>, plan: &LogicalPlan) -> Result<Option<RangeInclusive<i64>>> {
        let mut times: Option<(i64, i64)> = None;
        let mut is_limited = true;
        plan.apply_with_subqueries(|node| {
            is_limited &= match node {
                LogicalPlan::TableScan(scan) => match self.log_table(scan) {
                    Some(table) => {
                        let (from, to) = table.times(&scan.filters);
                        let (first, last) = times.unwrap_or((from, to));
                        times = Some((first.min(from), last.max(to)));
                        true
                    }
                    None => true,
                },
                LogicalPlan::Explain(_)
                | LogicalPlan::Analyze(_)
                | LogicalPlan::Ddl(_)
                | LogicalPlan::Dml(_)
                | LogicalPlan::Copy(_)
                | LogicalPlan::Statement(_) => false,
                _ => true,
            };
            Ok(TreeNodeRecursion::Continue)
        })?;
        let times = times.filter(|times| is_limited && *times != (i64::MIN, i64::MAX));
        Ok(times.map(|(from, to)| from..=to))
    }

    /// The plan over other tables.
    fn moved(self: &Arc<Tables>, plan: LogicalPlan, to: &Arc<Tables>) -> Result<LogicalPlan> {
        let moved = plan.transform_up_with_subqueries(|node| {
            let node = match node {
                LogicalPlan::TableScan(scan) if self.log_table(&scan).is_some() => {
                    let source = provider_as_source(Arc::new(LogTable::of(to)));
                    LogicalPlan::TableScan(TableScan { source, ..scan })
                }
                node => node,
            };
            let node = node.map_expressions(|expr| {
                expr.transform_up(|it| match it {
                    Expr::ScalarFunction(mut call)
                        if functions::tables_of(&call.func)
                            .is_some_and(|own| Arc::ptr_eq(own, self)) =>
                    {
                        call.func = functions::named(call.func.name(), to)?;
                        Ok(Transformed::yes(Expr::ScalarFunction(call)))
                    }
                    other => Ok(Transformed::no(other)),
                })
            })?;
            Ok(Transformed::yes(node.data))
        })?;
        Ok(moved.data)
    }

    /// The table of these logs that a scan is of.
    fn log_table(self: &Arc<Tables>, scan: &TableScan) -> Option<LogTable> {
        let provider = source_as_provider(&scan.source).ok()?;
        let provider: &dyn std::any::Any = &*provider;
        let table = provider.downcast_ref::<LogTable>()?;
        Arc::ptr_eq(table.tables(), self).then(|| table.clone())
    }
}
