//! Records of archives: the engine's own reading of Parquet, over all parts. What row groups can be
//! passed over by times and bloom filters, it knows itself.

use crate::error;
use crate::overlap::{Known, Range};
use crate::remote::Copies;
use crate::schema;
use datafusion::catalog::TableProvider;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, col, lit, not};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use url::Url;

/// The records of some parts, each once: a range of them that an earlier archive has is left out.
/// `None` without parts.
pub(crate) fn records(parts: &[PathBuf], copies: &Copies) -> Result<Option<LogicalPlanBuilder>> {
    let mut all: Option<LogicalPlanBuilder> = None;
    let mut add = |parts: &[PathBuf], twice: &[Range]| -> Result<()> {
        let plan =
            LogicalPlanBuilder::scan("records", provider_as_source(table(parts, copies)?), None)?;
        let plan = match twice.iter().map(is_in).reduce(Expr::or) {
            // A record without a number is in no range.
            Some(is_twice) => plan.filter(not(is_twice).is_not_false())?,
            None => plan,
        };
        all = Some(match all.take() {
            Some(before) => before.union(plan.build()?)?,
            None => plan,
        });
        Ok(())
    };
    let archives: Vec<&[PathBuf]> = parts
        .chunk_by(|one, other| one.parent() == other.parent())
        .collect();
    if let [] | [_] = archives[..] {
        if !parts.is_empty() {
            add(parts, &[])?;
        }
        return Ok(all);
    }
    let mut known = Known::default();
    let mut once = Vec::new();
    for archive in archives {
        let own = Known::of(archive)?;
        let twice = known.common(&own);
        if twice.is_empty() {
            once.extend_from_slice(archive);
        } else {
            add(archive, &twice)?;
        }
        known.add(&own);
    }
    add(&once, &[])?;
    Ok(all)
}

fn is_in(range: &Range) -> Expr {
    let counts = col("seq").between(lit(range.first as i64), lit(range.last as i64));
    col("run")
        .eq(lit(range.run))
        .and(col("thread").eq(lit(range.thread as u32)))
        .and(counts)
}

fn table(parts: &[PathBuf], copies: &Copies) -> Result<Arc<dyn TableProvider>> {
    let urls: Result<Vec<_>> = parts.iter().map(|part| url(part, copies)).collect();
    let format = ListingOptions::new(Arc::new(ParquetFormat::default()));
    let config = ListingTableConfig::new_with_multi_paths(urls?)
        .with_listing_options(format.with_file_extension(".parquet"))
        .with_schema(schema::records());
    Ok(Arc::new(ListingTable::try_new(config)?))
}

fn url(part: &Path, copies: &Copies) -> Result<ListingTableUrl> {
    if let Some(url) = copies.records(part) {
        return ListingTableUrl::try_new(url.clone(), None);
    }
    let file = part.join("records.parquet");
    let file = std::path::absolute(&file).map_err(|why| error::at(&file, why))?;
    let url =
        Url::from_file_path(&file).map_err(|()| error::at(&file, "not the path of a file"))?;
    ListingTableUrl::try_new(url, None)
}
