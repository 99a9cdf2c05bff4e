//! The call sites of records that say at each call where they come from, as those of `log` do. Knows
//! nothing of facades.

use crate::api::call_site::{CallSite, NewCallSite};
use crate::api::places::Places;
use logdef_wire::Level;
use std::sync::OnceLock;

/// Where a record comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'o> {
    /// The level in the log.
    pub level: Level,
    /// The source file, or nothing.
    pub file: &'o str,
    /// The line in it.
    pub line: u32,
    /// The module, or nothing.
    pub module: &'o str,
    /// What the record is about.
    pub target: &'o str,
}

/// A call site, and what it is known by.
#[derive(Debug)]
struct Known {
    level: Level,
    file: String,
    line: u32,
    module: String,
    target: String,
    site: CallSite,
}

/// Call sites with one argument, which is their text, each made when it is asked for first.
#[derive(Debug)]
pub struct Origins {
    places: Places<Known, 8192>,
    /// By level, the sites of records for which there is no place: a program makes targets without
    /// end.
    rest: [OnceLock<CallSite>; 16],
    prepare: for<'s> fn(NewCallSite<'s>) -> NewCallSite<'s>,
}

impl Origins {
    /// None yet. `prepare` says what sites have besides their places.
    #[allow(clippy::new_without_default, reason = "made in statics only")]
    pub const fn new(prepare: for<'s> fn(NewCallSite<'s>) -> NewCallSite<'s>) -> Origins {
        Origins {
            places: Places::new(),
            rest: [const { OnceLock::new() }; 16],
            prepare,
        }
    }

    /// The site of an origin. Found without a lock.
    pub fn site(&self, origin: &Origin<'_>) -> CallSite {
        let make = || Known::of(origin, self.prepare);
        let found = self
            .places
            .find(origin.hash(), make, |known| known.is_of(origin));
        found.map_or_else(|| self.rest(origin.level), |known| known.site)
    }

    fn rest(&self, level: Level) -> CallSite {
        let place = &self.rest[usize::from(level.0 >> 4)];
        let make = || (self.prepare)(NewCallSite::new(level, "{}", 1)).register();
        *place.get_or_init(make)
    }
}

impl Origin<'_> {
    fn hash(&self) -> usize {
        let ends = self.target.bytes().chain(self.target.bytes().last());
        let ends = ends.step_by(self.target.len().max(1)).map(usize::from);
        let parts = [
            self.line as usize,
            usize::from(self.level.0),
            self.target.len(),
            self.file.len(),
        ];
        let mix =
            |hash: usize, part: usize| (hash ^ part).wrapping_mul(0x9e37_79b9).rotate_left(15);
        parts.into_iter().chain(ends).fold(0, mix)
    }
}

impl Known {
    fn of(origin: &Origin<'_>, prepare: for<'s> fn(NewCallSite<'s>) -> NewCallSite<'s>) -> Known {
        let site = NewCallSite::new(origin.level, "{}", 1).file(origin.file, origin.line);
        let site = site.module(origin.module).target(origin.target);
        Known {
            level: origin.level,
            file: origin.file.to_owned(),
            line: origin.line,
            module: origin.module.to_owned(),
            target: origin.target.to_owned(),
            site: prepare(site).register(),
        }
    }

    fn is_of(&self, origin: &Origin<'_>) -> bool {
        self.line == origin.line
            && self.level == origin.level
            && self.target == origin.target
            && self.file == origin.file
            && self.module == origin.module
    }
}
