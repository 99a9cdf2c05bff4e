//! Functions of SQL: the text of a record, levels by name, stacks with names, whether a text is in another.

mod contains;
mod level;
mod render;
mod stack;

pub(crate) use contains::Contains;
pub(crate) use render::Render;

use crate::tables::Tables;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The functions, over some tables.
pub(crate) fn all(tables: &Arc<Tables>) -> Vec<ScalarUDF> {
    vec![
        Render::of(tables).into(),
        stack::Stack::of(tables).into(),
        level::LevelName::new().into(),
        level::LevelNumber::new().into(),
        Contains::new().into(),
    ]
}

/// The tables that a function is over, if it is one that has any.
pub(crate) fn tables_of(function: &ScalarUDF) -> Option<&Arc<Tables>> {
    let inner: &dyn std::any::Any = &**function.inner();
    let render = inner.downcast_ref::<Render>().map(Render::tables);
    render.or_else(|| {
        inner
            .downcast_ref::<stack::Stack>()
            .map(stack::Stack::tables)
    })
}

/// Whether it is the function that says that a text is in another.
pub(crate) fn is_contains(function: &ScalarUDF) -> bool {
    let inner: &dyn std::any::Any = &**function.inner();
    inner.is::<Contains>()
}

/// The function of a name, over some tables.
pub(crate) fn named(name: &str, tables: &Arc<Tables>) -> Result<Arc<ScalarUDF>> {
    let mut all = all(tables).into_iter();
    let found = all.find(|function| function.name() == name);
    let missing = || DataFusionError::Plan(format!("no function is called {name}"));
    found.map(Arc::new).ok_or_else(missing)
}
