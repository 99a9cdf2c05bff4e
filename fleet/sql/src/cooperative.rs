//! Joins that give way to other tasks, and that end when their query is cancelled. The engine lets a task give way after some
//! batches that it reads; a join makes billions of rows of a few batches, and kept its thread after its query was cancelled.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use std::sync::Arc;

/// Counts the batches that come out of joins too.
#[derive(Debug)]
pub struct CooperativeJoins;

impl PhysicalOptimizerRule for CooperativeJoins {
    fn name(&self) -> &'static str {
        "cooperative_joins"
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let counted = plan.transform_up(|plan| {
            Ok(if plan.children().len() > 1 {
                Transformed::yes(Arc::new(CooperativeExec::new(plan)))
            } else {
                Transformed::no(plan)
            })
        });
        counted.data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::SessionStateBuilder;
    use datafusion::prelude::SessionContext;
    use futures::StreamExt;
    use tokio::runtime::Builder;
    use tokio::task;

    /// 27,000,000 rows, of three batches.
    const LONG: &str = "
        with t as (select value as n from range(0, 300))
        select sum(a.n + b.n + c.n) from t a, t b, t c";

    fn context() -> SessionContext {
        let state = SessionStateBuilder::new_with_default_features()
            .with_physical_optimizer_rule(Arc::new(CooperativeJoins));
        SessionContext::new_with_state(state.build())
    }

    #[test]
    fn a_join_that_is_cancelled_leaves_the_only_thread() {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let long = context().sql(LONG).await.unwrap();
            let mut rows = long.execute_stream().await.unwrap();
            let asked = task::spawn(async move { rows.next().await });
            for _ in 0..10 {
                task::yield_now().await;
            }
            assert!(!asked.is_finished());
            asked.abort();
            assert!(asked.await.unwrap_err().is_cancelled());
        });
    }
}
