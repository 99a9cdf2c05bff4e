//! Patterns that say no more than that a text is in another, as the function that says it: `s0 LIKE '%abc%'` becomes
//! `contains(s0, 'abc')`, which is quick at the texts of archives.

use crate::functions::Contains;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Like, LogicalPlan, ScalarUDF, lit, not};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::scalar::ScalarValue;

/// Rewrites conditions.
#[derive(Debug)]
pub(crate) struct Likes;

impl OptimizerRule for Likes {
    fn name(&self) -> &'static str {
        "likes_as_contains"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    /// Only conditions: expressions elsewhere give columns their names.
    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(_) | LogicalPlan::TableScan(_) => {
                plan.map_expressions(|expr| expr.transform_up(|it| Ok(rewritten(it))))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn rewritten(expr: Expr) -> Transformed<Expr> {
    let like = match expr {
        Expr::Like(like) => like,
        other => return Transformed::no(other),
    };
    let Some(part) = part(&like) else {
        return Transformed::no(Expr::Like(like));
    };
    let part = lit(ScalarValue::Utf8View(Some(part.to_owned())));
    let contains = ScalarUDF::from(Contains::new()).call(vec![*like.expr, part]);
    Transformed::yes(if like.negated {
        not(contains)
    } else {
        contains
    })
}

/// The text that must be in a column, if that is all that the pattern says.
fn part(like: &Like) -> Option<&str> {
    if like.case_insensitive || like.escape_char.is_some() {
        return None;
    }
    let (Expr::Column(_), Expr::Literal(ScalarValue::Utf8View(Some(pattern)), _)) =
        (&*like.expr, &*like.pattern)
    else {
        return None;
    };
    let part = pattern.strip_prefix('%')?.strip_suffix('%')?;
    let is_plain = !part.is_empty() && !part.contains(['%', '_', '\\']);
    is_plain.then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, RecordBatch, StringViewArray};
    use datafusion::arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;
    use std::sync::Arc;

    fn context() -> SessionContext {
        let texts: StringViewArray = [
            "",
            "ab",
            "a%b",
            r"a\b",
            "a_b",
            "xAB",
            "é日",
            "a long text that has ab in it",
        ]
        .into_iter()
        .map(Some)
        .chain([None])
        .collect();
        let column: ArrayRef = Arc::new(texts);
        let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
        let context = SessionContext::new();
        context.register_batch("t", batch).unwrap();
        context
    }

    async fn answer(context: &SessionContext, question: &str) -> String {
        let batches = context.sql(question).await.unwrap().collect().await;
        pretty_format_batches(&batches.unwrap())
            .unwrap()
            .to_string()
    }

    #[tokio::test]
    async fn patterns_mean_the_same_as_without_this_rule() {
        let (own, plain) = (context(), context());
        own.add_optimizer_rule(Arc::new(Likes));
        let rewritten = ["%ab%", "%é%", "%日%", "%t that%", "%x%", "%% %%"];
        let left = [
            "", "%", "%%", "ab", "ab%", "%ab", "%a_b%", r"%a\%b%", r"%a\_b%", r"%a\\b%", "%a%b%",
            r"%ab\%",
        ];
        let all = rewritten.map(|it| (it, true)).into_iter();
        for (pattern, is_rewritten) in all.chain(left.map(|it| (it, false))) {
            for verb in ["like", "not like", "ilike", "not ilike"] {
                let asked = format!("select s from t where s {verb} '{pattern}' or s = 'x'");
                assert_eq!(
                    answer(&own, &asked).await,
                    answer(&plain, &asked).await,
                    "{asked}"
                );
                let plan = answer(&own, &format!("explain {asked}")).await;
                let is_ours = is_rewritten && !verb.contains("ilike");
                assert_eq!(plan.contains("contains(t.s, "), is_ours, "{asked}\n{plan}");
            }
        }
        // Columns keep the names that patterns give them.
        let asked = "select s like '%ab%', s is null from t order by 1, 2";
        assert_eq!(answer(&own, asked).await, answer(&plain, asked).await);
    }
}
