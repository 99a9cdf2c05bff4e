//! The call sites of records that say at each call where they come from, as those of `log` do. Knows
//! nothing of facades.

use crate::api::call_site::{CallSite, NewCallSite};
use crate::api::places::Places;
use logdef_wire::Level;
use std::sync::OnceLock;

/// Where a record comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'o> {
    /// Whether file and module are literals of the program, which are known again by where they
    /// stand.
    pub is_static: bool,
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
    line: u32,
    literals: Option<Literals>,
    file: String,
    module: String,
    target: String,
    site: CallSite,
}

/// Where the literals of an origin stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Literals {
    file: usize,
    module: usize,
    /// The target is the literal of the module.
    is_target: bool,
}

impl Literals {
    #[inline]
    fn of(origin: &Origin<'_>) -> Option<Literals> {
        origin.is_static.then(|| Literals {
            file: origin.file.as_ptr().addr(),
            module: origin.module.as_ptr().addr(),
            is_target: std::ptr::eq(origin.module, origin.target),
        })
    }
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
    #[inline]
    pub fn site(&self, origin: &Origin<'_>) -> CallSite {
        let make = || Known::of(origin, self.prepare);
        let found = self
            .places
            .find(origin.hash(), make, |known| known.is_of(origin));
        found.map_or_else(|| self.rest(origin.level), |known| known.site)
    }

    #[cold]
    fn rest(&self, level: Level) -> CallSite {
        let place = &self.rest[usize::from(level.0 >> 4)];
        let make = || (self.prepare)(NewCallSite::new(level, "{}", 1)).register();
        *place.get_or_init(make)
    }
}

impl Origin<'_> {
    #[inline]
    fn hash(&self) -> usize {
        let [first, .., last] = self.target.as_bytes() else {
            return self.line as usize;
        };
        let target = self.target.len() ^ usize::from(*first) << 8 ^ usize::from(*last) << 16;
        let place = (self.line as usize) << 24 ^ usize::from(self.level.0) ^ self.file.len() << 44;
        (place ^ target).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> (usize::BITS - 24)
    }
}

impl Known {
    fn of(origin: &Origin<'_>, prepare: for<'s> fn(NewCallSite<'s>) -> NewCallSite<'s>) -> Known {
        let site = NewCallSite::new(origin.level, "{}", 1).file(origin.file, origin.line);
        let site = site.module(origin.module).target(origin.target);
        Known {
            level: origin.level,
            line: origin.line,
            literals: Literals::of(origin),
            file: origin.file.to_owned(),
            module: origin.module.to_owned(),
            target: origin.target.to_owned(),
            site: prepare(site).register(),
        }
    }

    #[inline]
    fn is_of(&self, origin: &Origin<'_>) -> bool {
        if self.line != origin.line || self.level != origin.level {
            return false;
        }
        let literals = Literals::of(origin);
        if literals != self.literals {
            return false;
        }
        match literals {
            Some(literals) => literals.is_target || self.target == origin.target,
            None => {
                self.target == origin.target
                    && self.file == origin.file
                    && self.module == origin.module
            }
        }
    }
}
