//! What is known of calls, and the definitions that formats and stacks need. The same for archives and for logs,
//! whose side tables are made in memory.

use crate::error;
use crate::logs::Sides;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::error::Result;
use logdef_archive::Table;
use logdef_resync::{CallSite, Place, Tables as Logdefs, render::CompiledFormat};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Level, Magic, Record, Run, Svma};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Bytes of memory for the definitions.
pub(crate) const LOGDEFS: usize = 256 << 20;

/// A call with values of certain types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    pub(crate) id: u64,
    pub(crate) format: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u64>,
    /// The name of each value, given or guessed.
    pub(crate) names: Vec<Option<String>>,
    pub(crate) types: Vec<String>,
    /// The column that each value is in.
    pub(crate) slots: Vec<Option<String>>,
    pub(crate) args: usize,
    front: Glance,
}

/// What is known of all inputs together.
pub(crate) struct Knowledge {
    pub(crate) sites: Vec<Site>,
    by_id: HashMap<u64, usize>,
    /// The table of sites, in which each stands once.
    pub(crate) listed: Vec<RecordBatch>,
    definitions: Definitions,
}

/// Where logdefs are.
pub(crate) enum Definitions {
    Own(Box<Logdefs>),
    /// With what was found of logs, which has them.
    OfLogs(Arc<Sides>),
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knowledge")
            .field("sites", &self.sites.len())
            .finish_non_exhaustive()
    }
}

impl Knowledge {
    /// What tables of sites say, of which several may have the same.
    pub(crate) fn of(sites: &[RecordBatch], definitions: Definitions) -> Result<Knowledge> {
        let mut knowledge = Knowledge {
            sites: Vec::new(),
            by_id: HashMap::new(),
            listed: Vec::new(),
            definitions,
        };
        for batch in sites {
            let new = knowledge.add_sites(batch)?;
            knowledge.listed.push(new);
        }
        Ok(knowledge)
    }

    pub(crate) fn logdefs(&self) -> &Logdefs {
        static NONE: LazyLock<Logdefs> = LazyLock::new(|| Logdefs::new(0));
        match &self.definitions {
            Definitions::Own(logdefs) => logdefs,
            Definitions::OfLogs(sides) => sides.logdefs().unwrap_or(&NONE),
        }
    }

    /// Takes the sites in that are new, and returns their rows.
    fn add_sites(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut new = Vec::new();
        for row in 0..batch.num_rows() {
            let site = Site::of(batch, row);
            if self.by_id.contains_key(&site.id) {
                continue;
            }
            self.by_id.insert(site.id, self.sites.len());
            self.sites.push(site);
            new.push(row as u64);
        }
        if new.len() == batch.num_rows() {
            return Ok(batch.clone());
        }
        let new = datafusion::arrow::array::UInt64Array::from(new);
        Ok(datafusion::arrow::compute::take_record_batch(batch, &new)?)
    }

    /// The index of a site.
    pub(crate) fn site(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// The format of a site, taken apart; `None` if it is lost, or in a grammar of a later version.
    pub(crate) fn compiled(&self, site: usize) -> Option<CompiledFormat> {
        let site = &self.sites[site];
        match CallSite::of(&site.front, self.logdefs()) {
            Some(found) => found.compiled(),
            None => site
                .format
                .as_ref()
                .map(|it| CompiledFormat::new(it.as_bytes())),
        }
    }

    /// The record that a site's records have in common.
    pub(crate) fn data(&self, site: usize) -> Data<'_> {
        let site = &self.sites[site];
        Data {
            front: site.front,
            format_text: site.format.as_deref().map(str::as_bytes),
            ..Data::default()
        }
    }
}

impl Definitions {
    /// Those in tables of frames.
    pub(crate) fn of(frames: &[RecordBatch]) -> Definitions {
        let mut logdefs = Logdefs::new(LOGDEFS);
        for batch in frames {
            add(&mut logdefs, batch);
        }
        Definitions::Own(Box::new(logdefs))
    }
}

fn add(logdefs: &mut Logdefs, batch: &RecordBatch) {
    let Some(bodies) = batch.column_by_name("body") else {
        return;
    };
    let bodies = (0..batch.num_rows()).filter_map(|row| bytes(bodies, row));
    for record in bodies.filter_map(|body| Record::decode(body).ok()) {
        let place = Place {
            input: 0,
            offset: 0,
        };
        logdefs.add(&record, place);
    }
}

impl Site {
    fn of(batch: &RecordBatch, row: usize) -> Site {
        let number = |name: &str| {
            let column = batch.column_by_name(name)?;
            let column = column.as_primitive_opt::<UInt64Type>()?;
            column.is_valid(row).then(|| column.value(row))
        };
        let words = |name: &str| {
            let column = batch.column_by_name(name);
            let list = column.and_then(|it| it.as_list_opt::<i32>());
            list.filter(|list| list.is_valid(row))
                .map(|list| texts(&list.value(row)))
                .unwrap_or_default()
        };
        let string = |name: &str| text(batch.column_by_name(name)?, row).map(str::to_owned);
        let mut names = words("names");
        for (name, guessed) in names.iter_mut().zip(words("guessed")) {
            *name = name.take().or(guessed);
        }
        Site {
            id: number("site").unwrap_or_default(),
            format: string("format"),
            file: string("file"),
            line: number("line"),
            names,
            types: words("types")
                .into_iter()
                .map(Option::unwrap_or_default)
                .collect(),
            slots: words("slots"),
            args: number("args").unwrap_or(0) as usize,
            front: Glance {
                magic: number("magic").map(Magic),
                file: number("file_address").map(Svma),
                line: number("line"),
                level: number("level")
                    .and_then(|it| u8::try_from(it).ok())
                    .map(Level),
                format: number("format_address").map(Svma),
                run: number("run").map(Run),
                ..Glance::default()
            },
        }
    }
}

/// A side table of a part.
pub(crate) fn side(part: &Path, table: Table) -> Result<Vec<RecordBatch>> {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let path = part.join(format!("{}.parquet", table.name()));
    let file = std::fs::File::open(&path).map_err(|why| error::at(&path, why))?;
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|why| error::at(&path, why))?;
    let reader = reader.build().map_err(|why| error::at(&path, why))?;
    let batches: std::result::Result<Vec<_>, _> = reader.collect();
    batches.map_err(|why| error::at(&path, why))
}

/// The text in a row of a column, in whatever form it is held.
pub(crate) fn text(column: &ArrayRef, row: usize) -> Option<&str> {
    if column.is_null(row) {
        return None;
    }
    if let Some(texts) = column.as_string_opt::<i32>() {
        return Some(texts.value(row));
    }
    column.as_string_view_opt().map(|texts| texts.value(row))
}

pub(crate) fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    let rows = 0..column.len();
    rows.map(|row| text(column, row).map(str::to_owned))
        .collect()
}

/// The bytes in a row of a column.
pub(crate) fn bytes(column: &ArrayRef, row: usize) -> Option<&[u8]> {
    if column.is_null(row) {
        return None;
    }
    if let Some(bytes) = column.as_binary_opt::<i32>() {
        return Some(bytes.value(row));
    }
    column.as_binary_view_opt().map(|bytes| bytes.value(row))
}
