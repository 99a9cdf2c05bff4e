//! The call sites of the program, each made when it is called first. Found without a lock.

use crate::level_of;
use log::Record;
use logdef::__private::{Origin, Origins};
use logdef::CallSite;

static SITES: Origins = Origins::new(|site| site);

/// The site of a record.
pub(crate) fn site(record: &Record<'_>) -> CallSite {
    SITES.site(&Origin {
        level: level_of(record.level()),
        file: record.file().unwrap_or(""),
        line: record.line().unwrap_or(0),
        module: record.module_path().unwrap_or(""),
        target: record.target(),
    })
}
