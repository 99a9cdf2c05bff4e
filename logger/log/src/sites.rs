//! The call sites of the program, each made when it is called first. Found without a lock.

use crate::level_of;
use log::Record;
use logdef::__private::{Origin, Origins};
use logdef::CallSite;

static SITES: Origins = Origins::new(|site| site);

/// The site of a record.
#[inline]
pub(crate) fn site(record: &Record<'_>) -> CallSite {
    SITES.site(&Origin {
        is_static: record.file_static().is_some() && record.module_path_static().is_some(),
        level: level_of(record.level()),
        file: record.file().unwrap_or(""),
        line: record.line().unwrap_or(0),
        module: record.module_path().unwrap_or(""),
        target: record.target(),
    })
}
