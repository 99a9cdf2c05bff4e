//! The call sites of the program, each made when it is called first. Found without a lock.

use crate::level_of;
use log::Record;
use logdef::__private::{Origin, Origins};
use logdef::CallSite;

static SITES: Origins = Origins::new(|site| site);

#[inline(always)]
pub(crate) fn site(record: &Record<'_>) -> CallSite {
    // As all macros of `log` make them.
    if let (Some(file), Some(module)) = (record.file_static(), record.module_path_static())
        && let Some(site) = SITES.known(&origin(record, true, file, module))
    {
        return site;
    }
    search(record)
}

#[inline(never)]
fn search(record: &Record<'_>) -> CallSite {
    let is_static = record.file_static().is_some() && record.module_path_static().is_some();
    let file = record.file().unwrap_or("");
    let module = record.module_path().unwrap_or("");
    SITES.site(&origin(record, is_static, file, module))
}

#[inline(always)]
fn origin<'o>(record: &Record<'o>, is_static: bool, file: &'o str, module: &'o str) -> Origin<'o> {
    Origin {
        is_static,
        level: level_of(record.level()),
        file,
        line: record.line().unwrap_or(0),
        module,
        target: record.target(),
    }
}
