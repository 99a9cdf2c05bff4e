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
    place: Place,
    /// The target is the literal of the module.
    is_module_target: bool,
    file: String,
    module: String,
    target: String,
    site: CallSite,
}

/// What of an origin is compared first: all but the target, where file and module are literals.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Place {
    line_and_level: u64,
    /// Where the literals stand; 0 for others.
    file: usize,
    module: usize,
}

impl Place {
    #[inline(always)]
    fn of(origin: &Origin<'_>) -> Place {
        let at = |text: &str| {
            if origin.is_static {
                text.as_ptr().addr()
            } else {
                0
            }
        };
        Place {
            line_and_level: u64::from(origin.line) << 8 | u64::from(origin.level.0),
            file: at(origin.file),
            module: at(origin.module),
        }
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
    #[inline(always)]
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
    #[inline(always)]
    fn hash(&self) -> usize {
        let place = (self.line as usize) << 16 ^ usize::from(self.level.0) ^ self.file.len() << 40;
        let last = self.target.as_bytes().last().copied().unwrap_or(0);
        let target = self.target.len() << 8 ^ usize::from(last);
        (place ^ target).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> (usize::BITS - 24)
    }

    /// Whether the target is the literal of the module.
    #[inline(always)]
    fn is_module_target(&self) -> bool {
        self.is_static && std::ptr::eq(self.module, self.target)
    }
}

impl Known {
    fn of(origin: &Origin<'_>, prepare: for<'s> fn(NewCallSite<'s>) -> NewCallSite<'s>) -> Known {
        let site = NewCallSite::new(origin.level, "{}", 1).file(origin.file, origin.line);
        let site = site.module(origin.module).target(origin.target);
        Known {
            place: Place::of(origin),
            is_module_target: origin.is_module_target(),
            file: origin.file.to_owned(),
            module: origin.module.to_owned(),
            target: origin.target.to_owned(),
            site: prepare(site).register(),
        }
    }

    #[inline(always)]
    fn is_of(&self, origin: &Origin<'_>) -> bool {
        if self.place != Place::of(origin) {
            return false;
        }
        // A target that is no literal may be another text in the same memory.
        let is_target = self.is_module_target && origin.is_module_target();
        (is_target || self.target == origin.target)
            && (origin.is_static || self.file == origin.file && self.module == origin.module)
    }
}
