//! The tables of a query: the files that were found, what their side tables say, and the tables,
//! views and functions that the engine gets.

use crate::config::Config;
use crate::found::Found;
use crate::functions::{self, Render};
use crate::knowledge::{self, Definitions, Knowledge};
use crate::likes::Likes;
use crate::logs::{LogTable, Logs, Sides};
use crate::names::Names;
use crate::overlap::Known;
use crate::remote::Copies;
use crate::verdict::Verdict;
use crate::{archives, error, schema};
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::Result;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, ScalarUDF, col};
use datafusion::prelude::SessionContext;
use logdef_archive::Table;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Archives and logs as tables.
#[derive(Debug)]
pub struct Tables {
    config: Config,
    parts: Vec<PathBuf>,
    logs: Option<Arc<Logs>>,
    copies: Arc<Copies>,
    /// The times that were read of the logs, in nanoseconds since the epoch, if not all were.
    within: Option<RangeInclusive<i64>>,
    knowledge: OnceLock<std::result::Result<Arc<Knowledge>, String>>,
}

/// What another process makes the same tables from.
#[derive(Deserialize, Serialize)]
struct Description {
    version: String,
    config: Config,
    parts: Vec<PathBuf>,
    logs: Option<Logs>,
    within: Option<RangeInclusive<i64>>,
    /// The side tables of logs that come next, and how long each is.
    sides: Vec<(String, usize)>,
}

impl Tables {
    /// Finds what stands at the paths.
    ///
    /// # Errors
    ///
    /// If a path leads nowhere, or to a folder without logs.
    pub fn open(config: Config) -> Result<Arc<Tables>> {
        let found = Found::at(&config.paths)?;
        let known = if found.logs.is_empty() {
            Known::default()
        } else {
            Known::of(&found.parts)?
        };
        let logs = Logs::open(found.logs, &config, known)?;
        Ok(Arc::new(Tables {
            config,
            parts: found.parts,
            logs: logs.map(Arc::new),
            copies: Arc::new(found.copies),
            within: None,
            knowledge: OnceLock::new(),
        }))
    }

    /// Gives the tables, views and functions their names in a session.
    ///
    /// # Errors
    ///
    /// If the session has no catalog of its own.
    pub fn register(self: &Arc<Tables>, context: &SessionContext) -> Result<()> {
        for function in self.functions() {
            context.register_udf(function);
        }
        context.add_optimizer_rule(Arc::new(Likes));
        for (front, store) in self.copies.stores() {
            let runtime = context.runtime_env();
            runtime.register_object_store(front, Arc::clone(store));
        }
        let state = context.state();
        let default = &state.config_options().catalog;
        let catalog = context.catalog(&default.default_catalog);
        let catalog = catalog.ok_or_else(|| error::plain("a session without a catalog"))?;
        let names = Arc::new(Names::of(self));
        catalog.register_schema(&default.default_schema, names)?;
        Ok(())
    }

    /// The functions that SQL has over these tables.
    pub fn functions(self: &Arc<Tables>) -> Vec<ScalarUDF> {
        functions::all(self)
    }

    /// The folders of archives' tables, and the logs, that are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let logs = self.logs.iter().flat_map(|logs| logs.paths());
        self.parts.iter().chain(logs).map(PathBuf::as_path)
    }

    /// Whether the records are complete, or what is missing.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn verdict(&self) -> Result<Verdict> {
        let verdict = Verdict::of(&self.side(Table::Losses)?);
        Ok(match &self.within {
            Some(times) => verdict.within(times.clone()),
            None => verdict,
        })
    }

    /// The same, with no more of the logs than has the records of some times; `None` if that is all of them.
    pub(crate) fn within(&self, times: RangeInclusive<i64>) -> Result<Option<Arc<Tables>>> {
        let Some(logs) = &self.logs else {
            return Ok(None);
        };
        // No record has a time before the epoch.
        let [from, to] = [times.start(), times.end()].map(|it| u64::try_from(*it).unwrap_or(0));
        let logs = logs.within(from..=to)?;
        Ok(logs.map(|logs| {
            Arc::new(Tables {
                config: self.config.clone(),
                parts: self.parts.clone(),
                logs: Some(Arc::new(logs)),
                copies: Arc::clone(&self.copies),
                within: Some(times),
                knowledge: OnceLock::new(),
            })
        }))
    }

    /// All that another process needs to make the same tables, if it sees the same files at the same
    /// paths. Logs were looked through before: workers do not do it again, and agree on what there is.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn describe(&self) -> Result<Vec<u8>> {
        let mut sides = Vec::new();
        if let Some(logs) = &self.logs {
            sides = logs.sides()?.write()?;
        }
        let description = Description {
            sides: sides
                .iter()
                .map(|(name, stream)| (name.clone(), stream.len()))
                .collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: self.config.clone(),
            parts: self.parts.clone(),
            logs: self.logs.as_deref().cloned(),
            within: self.within.clone(),
        };
        // The streams come after it, since JSON has no bytes.
        let head = serde_json::to_vec(&description).map_err(error::plain)?;
        let mut all = (head.len() as u64).to_be_bytes().to_vec();
        all.extend(head);
        sides.iter().for_each(|(_, stream)| all.extend(stream));
        Ok(all)
    }

    /// The tables that were described.
    ///
    /// # Errors
    ///
    /// If the bytes are no description, or of another version.
    pub fn from_description(bytes: &[u8]) -> Result<Arc<Tables>> {
        #[derive(Deserialize)]
        struct Versioned {
            version: String,
        }
        let broken = || error::plain("a description of tables that is cut short");
        let (len, bytes) = bytes.split_first_chunk().ok_or_else(broken)?;
        let len = usize::try_from(u64::from_be_bytes(*len)).map_err(|_| broken())?;
        let (bytes, mut rest) = bytes.split_at_checked(len).ok_or_else(broken)?;
        let Versioned { version } = serde_json::from_slice(bytes).map_err(error::plain)?;
        let own = env!("CARGO_PKG_VERSION");
        if version != own {
            let why = format!("tables of logdef-source {version}, and this is {own}");
            return Err(error::plain(why));
        }
        let it: Description = serde_json::from_slice(bytes).map_err(error::plain)?;
        let mut sides = Vec::new();
        for (name, len) in it.sides {
            let (stream, behind) = rest.split_at_checked(len).ok_or_else(broken)?;
            sides.push((name, stream));
            rest = behind;
        }
        let sides = Sides::read(&sides)?;
        let logs = it.logs.map(|logs| logs.with_sides(sides));
        Ok(Arc::new(Tables {
            config: it.config,
            parts: it.parts,
            logs: logs.map(Arc::new),
            copies: Arc::default(),
            within: it.within,
            knowledge: OnceLock::new(),
        }))
    }

    /// What was asked for.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn logs(&self) -> Option<&Arc<Logs>> {
        self.logs.as_ref()
    }

    /// What is known of calls. It is read once.
    pub(crate) fn knowledge(&self) -> Result<Arc<Knowledge>> {
        let known = self.knowledge.get_or_init(|| {
            let known = self.read_knowledge();
            known.map(Arc::new).map_err(|error| error.to_string())
        });
        known.clone().map_err(error::plain)
    }

    fn read_knowledge(&self) -> Result<Knowledge> {
        let sites = self.side(Table::Sites)?;
        // Of archives there are no others.
        let of_logs = self.logs.as_ref().filter(|_| self.parts.is_empty());
        let sides = of_logs.map(|logs| logs.sides()).transpose()?;
        if let Some(sides) = sides.filter(|sides| sides.logdefs().is_some()) {
            return Knowledge::of(&sites, Definitions::OfLogs(sides));
        }
        let definitions = Definitions::of(&self.side(Table::Frames)?);
        Knowledge::of(&sites, definitions)
    }

    /// A side table of all inputs.
    pub(crate) fn side(&self, table: Table) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        for part in &self.parts {
            batches.extend(knowledge::side(part, table)?);
        }
        if let Some(logs) = &self.logs {
            batches.extend_from_slice(logs.sides()?.table(table)?);
        }
        Ok(batches)
    }

    /// The records as they are read from files.
    pub(crate) fn raw(self: &Arc<Tables>) -> Result<Arc<dyn TableProvider>> {
        let logs: Option<Arc<dyn TableProvider>> = match &self.logs {
            Some(_) => Some(Arc::new(LogTable::of(self))),
            None => None,
        };
        let of_archives = archives::records(&self.parts, &self.copies)?;
        let plan = match (of_archives, logs) {
            (Some(archives), None) => archives,
            (None, Some(logs)) => return Ok(logs),
            (Some(archives), Some(logs)) => {
                let logs = LogicalPlanBuilder::scan("records", provider_as_source(logs), None)?;
                archives.union(logs.build()?)?
            }
            (None, None) => LogicalPlanBuilder::scan(
                "records",
                provider_as_source(Arc::new(datafusion::datasource::empty::EmptyTable::new(
                    schema::records(),
                ))),
                None,
            )?,
        };
        Ok(Arc::new(ViewTable::new(plan.build()?, None)))
    }

    /// The records, with their text.
    pub(crate) fn records(self: &Arc<Tables>) -> Result<Arc<dyn TableProvider>> {
        let raw = LogicalPlanBuilder::scan("records", provider_as_source(self.raw()?), None)?;
        let records = schema::records();
        let columns = records.fields().iter().map(|field| col(field.name()));
        let args = ["site", "body"].into_iter().chain(schema::slots());
        let text = ScalarUDF::from(Render::of(self)).call(args.map(col).collect());
        let columns = columns.chain([text.alias("message")]);
        let plan: LogicalPlan = raw.project(columns)?.build()?;
        Ok(Arc::new(ViewTable::new(plan, None)))
    }
}
