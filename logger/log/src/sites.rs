//! The call sites of the program, each made when it is called first. Found without a lock.

use crate::level_of;
use log::Record;
use logdef::__private::Places;
use logdef::{CallSite, NewCallSite};
use std::sync::OnceLock;

/// A call site, and what it is known by.
#[derive(Debug)]
struct Known {
    level: log::Level,
    line: u32,
    file: String,
    module: String,
    target: String,
    site: CallSite,
}

static SITES: Places<Known, 8192> = Places::new();

/// The site of a record.
pub(crate) fn site(record: &Record<'_>) -> CallSite {
    let found = SITES.find(
        hash(record),
        || Known::of(record),
        |known| known.is_of(record),
    );
    found.map_or_else(|| rest(record.level()), |known| known.site)
}

/// The site of all records for which there is no place: a program makes targets without end.
fn rest(level: log::Level) -> CallSite {
    static REST: [OnceLock<CallSite>; 5] = [const { OnceLock::new() }; 5];
    let place = &REST[level as usize % REST.len()];
    *place.get_or_init(|| NewCallSite::new(level_of(level), "{}", 1).register())
}

fn hash(record: &Record<'_>) -> usize {
    let target = record.target();
    let ends = target.bytes().chain(target.bytes().last());
    let ends = ends.step_by(target.len().max(1)).map(usize::from);
    let parts = [
        record.line().unwrap_or(0) as usize,
        record.level() as usize,
        target.len(),
        record.file().map_or(0, str::len),
    ];
    let mix = |hash: usize, part: usize| (hash ^ part).wrapping_mul(0x9e37_79b9).rotate_left(15);
    parts.into_iter().chain(ends).fold(0, mix)
}

impl Known {
    fn of(record: &Record<'_>) -> Known {
        let (file, line) = (record.file().unwrap_or(""), record.line().unwrap_or(0));
        let (module, target) = (record.module_path().unwrap_or(""), record.target());
        let site = NewCallSite::new(level_of(record.level()), "{}", 1);
        let site = site.file(file, line).module(module).target(target);
        Known {
            level: record.level(),
            line,
            file: file.to_owned(),
            module: module.to_owned(),
            target: target.to_owned(),
            site: site.register(),
        }
    }

    fn is_of(&self, record: &Record<'_>) -> bool {
        self.line == record.line().unwrap_or(0)
            && self.level == record.level()
            && self.target == record.target()
            && self.file == record.file().unwrap_or("")
            && self.module == record.module_path().unwrap_or("")
    }
}
