//! The call sites of the program, each made when it is called first. Found without a lock.

use crate::level_of;
use log::Record;
use logdef::__private::{Origin, Origins};
use logdef::CallSite;

static SITES: Origins = Origins::new(|site| site);

/// The site of a record.
#[inline(always)]
pub(crate) fn site(record: &Record<'_>) -> CallSite {
    // As all macros of `log` make them.
    if let (Some(file), Some(module)) = (record.file_static(), record.module_path_static()) {
        SITES.site(&origin(record, true, file, module))
    } else {
        site_of_texts(record)
    }
}

#[cold]
#[inline(never)]
fn site_of_texts(record: &Record<'_>) -> CallSite {
    let file = record.file().unwrap_or("");
    let module = record.module_path().unwrap_or("");
    SITES.site(&origin(record, false, file, module))
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
