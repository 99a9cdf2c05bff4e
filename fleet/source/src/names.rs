//! What the tables are called in SQL: `records`, the side tables, and a view for each place that logs.
//!
//! The view `FILE:LINE` has the records of all calls of that line, and a column for each value of
//! theirs. FILE is the path as it was compiled, or the end of it from a `/` on. What is known of calls
//! is asked for when a name is looked up, and not before.

mod view;

use crate::tables::Tables;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, MemorySchemaProvider, SchemaProvider, TableProvider};
use datafusion::error::Result;
use logdef_archive::Table;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The names of the tables.
#[derive(Debug)]
pub(crate) struct Names {
    tables: Arc<Tables>,
    /// What queries have made.
    made: MemorySchemaProvider,
}

/// Side tables that have a name.
const SIDE: [Table; 6] = [
    Table::Sites,
    Table::Threads,
    Table::Images,
    Table::Modules,
    Table::Losses,
    Table::Files,
];

impl Names {
    pub(crate) fn of(tables: &Arc<Tables>) -> Names {
        Names {
            tables: Arc::clone(tables),
            made: MemorySchemaProvider::new(),
        }
    }

    /// A place that logs, as SQL names it: the view, and the sites in it.
    fn view(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some((file, line)) = name.rsplit_once(':') else {
            return Ok(None);
        };
        let Ok(line) = line.parse::<u64>() else {
            return Ok(None);
        };
        let knowledge = self.tables.knowledge()?;
        let sites = knowledge.sites.iter();
        let of_line = sites.filter(|site| site.line == Some(line));
        let found: Vec<_> = of_line
            .filter(|site| site.file.as_deref().is_some_and(|it| is_end_of(file, it)))
            .collect();
        let files: BTreeSet<_> = found
            .iter()
            .filter_map(|site| site.file.as_deref())
            .collect();
        // The whole path goes before what ends like it.
        let whole = files.contains(file);
        if files.len() > 1 && !whole {
            let all: Vec<_> = files
                .iter()
                .map(|file| format!("\"{file}:{line}\""))
                .collect();
            let why = format!("\"{name}\" may be {}", all.join(" or "));
            return Err(datafusion::error::DataFusionError::Plan(why));
        }
        let found: Vec<_> = found
            .into_iter()
            .filter(|site| !whole || site.file.as_deref() == Some(file))
            .collect();
        if found.is_empty() {
            return Ok(None);
        }
        view::of(&self.tables, &found).map(Some)
    }
}

/// Whether a path is a file's, or the end of it from a `/` on.
fn is_end_of(end: &str, file: &str) -> bool {
    let before = file.strip_suffix(end);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/') && !end.is_empty())
}

#[async_trait]
impl SchemaProvider for Names {
    fn table_names(&self) -> Vec<String> {
        let mut names = self.made.table_names();
        names.push("records".to_owned());
        names.extend(SIDE.map(|table| table.name().to_owned()));
        if let Ok(knowledge) = self.tables.knowledge() {
            let places = knowledge.sites.iter();
            let places: BTreeSet<_> = places
                .filter_map(|site| Some(format!("{}:{}", site.file.as_ref()?, site.line?)))
                .collect();
            names.extend(places);
        }
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(made) = self.made.table(name).await? {
            return Ok(Some(made));
        }
        if name == "records" {
            return self.tables.records().map(Some);
        }
        if let Some(side) = SIDE.into_iter().find(|table| table.name() == name) {
            let batches = match side {
                Table::Sites => self.tables.knowledge()?.listed.clone(),
                side => self.tables.side(side)?,
            };
            let schema = match batches.first() {
                Some(batch) => batch.schema(),
                None => side.schema(),
            };
            return Ok(Some(Arc::new(MemTable::try_new(schema, vec![batches])?)));
        }
        self.view(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.table_names().iter().any(|own| own == name)
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        self.made.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        self.made.deregister_table(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_path_or_the_end_of_it() {
        for end in ["src/net/server.c", "net/server.c", "server.c"] {
            assert!(is_end_of(end, "src/net/server.c"), "{end}");
        }
        for end in ["", "erver.c", "/server.c", "server", "a/src/net/server.c"] {
            assert!(!is_end_of(end, "src/net/server.c"), "{end}");
        }
        assert!(is_end_of("", ""));
    }
}
