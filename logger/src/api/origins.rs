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
    /// From 1.
    pub line: u32,
    /// The module, or nothing.
    pub module: &'o str,
    /// What the record is about.
    pub target: &'o str,
}

/// A call site, and what it is known by.
#[derive(Debug)]
struct Known {
    literals: Literals,
    /// The target is the literal of the module.
    is_module_target: bool,
    target_len: usize,
    target_ends: Ends,
    site: CallSite,
    file: String,
    module: String,
    target: String,
}

/// What of an origin is compared first: all but the target, where file and module are literals.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Literals {
    line_and_level: u64,
    /// Where the literals stand; 0 for others.
    file: usize,
    module: usize,
}

impl Literals {
    #[inline(always)]
    fn of(origin: &Origin<'_>) -> Literals {
        let at = |text: &str| {
            if origin.is_static {
                text.as_ptr().addr()
            } else {
                0
            }
        };
        Literals {
            line_and_level: line_and_level(origin),
            file: at(origin.file),
            module: at(origin.module),
        }
    }
}

#[inline(always)]
fn line_and_level(origin: &Origin<'_>) -> u64 {
    u64::from(origin.line) << 8 | u64::from(origin.level.0)
}

/// The first and the last bytes of a text, by which most are compared sooner than by a call of the
/// C library.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Ends(u64, u64);

impl Ends {
    /// Texts of one length that are no longer than this are the same if their ends are.
    const WHOLE: usize = 16;

    #[inline(always)]
    fn of(text: &str) -> Ends {
        let text = text.as_bytes();
        if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
            return Ends(u64::from_ne_bytes(*first), u64::from_ne_bytes(*last));
        }
        if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
            return Ends(
                u64::from(u32::from_ne_bytes(*first)),
                u64::from(u32::from_ne_bytes(*last)),
            );
        }
        let few = text.iter().fold(0, |few, byte| few << 8 | u64::from(*byte));
        Ends(few, 0)
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

    /// The site of an origin of literals, if it stands where nearly every site does.
    #[inline(always)]
    pub fn known(&self, origin: &Origin<'_>) -> Option<CallSite> {
        match self.places.first(origin.hash()) {
            Some(known) if known.is_at(origin) => Some(known.site),
            _ => None,
        }
    }

    /// The site of any origin. Found without a lock.
    #[inline(never)]
    pub fn site(&self, origin: &Origin<'_>) -> CallSite {
        let make = || Known::of(origin, self.prepare);
        let is_it = |known: &Known| known.is_of(origin);
        let found = self.places.find(origin.hash(), make, is_it);
        found.map_or_else(|| self.rest(origin.level), |known| known.site)
    }

    fn rest(&self, level: Level) -> CallSite {
        let place = &self.rest[usize::from(level.0 >> 4)];
        let make = || (self.prepare)(NewCallSite::new(level, "{}", 1)).register();
        *place.get_or_init(make)
    }
}

impl Origin<'_> {
    #[inline(always)]
    fn hash(&self) -> usize {
        let place = line_and_level(self) as usize ^ self.file.len() << 40;
        let last = self.target.as_bytes().last().copied().unwrap_or(0);
        let target = (self.target.len() << 8 ^ usize::from(last)) << 32;
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
            literals: Literals::of(origin),
            is_module_target: origin.is_module_target(),
            target_len: origin.target.len(),
            target_ends: Ends::of(origin.target),
            file: origin.file.to_owned(),
            module: origin.module.to_owned(),
            target: origin.target.to_owned(),
            site: prepare(site).register(),
        }
    }

    fn is_of(&self, origin: &Origin<'_>) -> bool {
        let is_file = origin.is_static || self.file == origin.file && self.module == origin.module;
        is_file && self.is_at(origin)
    }

    /// The same, if the origin's file and module are literals.
    #[inline(always)]
    fn is_at(&self, origin: &Origin<'_>) -> bool {
        // A target that is no literal may be another text in the same memory.
        let is_target = self.is_module_target && origin.is_module_target();
        self.literals == Literals::of(origin) && (is_target || self.is_about(origin.target))
    }

    #[inline(always)]
    fn is_about(&self, target: &str) -> bool {
        self.target_len == target.len()
            && self.target_ends == Ends::of(target)
            && (target.len() <= Ends::WHOLE || self.target == target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_length_up_to_16_bytes_differ_in_their_ends() {
        for len in 0..=Ends::WHOLE {
            let text = "abcdefghijklmnop"[..len].to_owned();
            assert_eq!(Ends::of(&text), Ends::of(&text.clone()));
            for at in 0..len {
                let mut other = text.clone();
                other.replace_range(at..=at, "-");
                assert_ne!(Ends::of(&text), Ends::of(&other), "{at} of {len}");
            }
        }
    }

    #[test]
    fn a_long_target_that_differs_in_its_middle_has_a_site_of_its_own() {
        static SITES: Origins = Origins::new(|site| site);
        let site = |target| {
            let origin = Origin {
                is_static: true,
                level: Level::INFO,
                file: "src/main.rs",
                line: 7,
                module: "shop",
                target,
            };
            std::ptr::from_ref(SITES.site(&origin).site())
        };
        let targets = [
            "shop::orders::accepted",
            "shop::orders_:accepted",
            "shop",
            "sho_",
        ];
        let sites = targets.map(site);
        assert_eq!(sites, targets.map(site));
        for (at, one) in sites.iter().enumerate() {
            assert!(!sites[..at].contains(one), "{}", targets[at]);
        }
    }
}
