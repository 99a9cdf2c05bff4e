//! What the macros need. Not for use by hand, and no part of the stable
//! interface.

use crate::call::argument::{Lowered, LoweredSome, Passed};
use crate::call::emit::emit_with;
use crate::call::fields::{Fields, gather};
use core::sync::atomic::Ordering;

pub use crate::api::gathered::{Gathered, Kept};
pub use crate::api::in_context::current_scope;
pub use crate::api::origins::{Origin, Origins};
pub use crate::api::places::Places;
pub use crate::call::fields::{Fielded, HasFields, HasNoFields};
pub use crate::call::limit::Limit;
pub use crate::call::site::{Site, SiteState};
pub use crate::call::span::next_span;
pub use logdef_wire::printf::ArgPlan;
pub use logdef_wire::site::flags;

/// The levels under the names that the macros take.
#[expect(
    non_snake_case,
    non_upper_case_globals,
    reason = "they read as the macro's first word"
)]
pub mod Level {
    use logdef_wire::Level;

    pub const Trace: Level = Level::TRACE;
    pub const Debug: Level = Level::DEBUG;
    pub const Info: Level = Level::INFO;
    pub const Warn: Level = Level::WARN;
    pub const Error: Level = Level::ERROR;
    pub const Fatal: Level = Level::FATAL;
}

/// How many arguments a format has on the wire.
pub const fn wire_args(format: &str) -> usize {
    logdef_wire::printf::wire_args(format.as_bytes())
}

/// A format's capture plan, and after it those of `values` more arguments.
pub const fn plan<const N: usize>(format: &str, values: usize) -> [ArgPlan; N] {
    let mut plan = [ArgPlan::UNNAMED; N];
    let planned = logdef_wire::printf::plan_into(format.as_bytes(), &mut plan);
    assert!(planned.is_ok(), "the plan is as long as the format says");
    let first = logdef_wire::printf::caller_args(format.as_bytes());
    let mut index = 0;
    while index < values {
        plan[N - values + index] = ArgPlan::value((first + index) as u16);
        index += 1;
    }
    plan
}

/// The level below which calls are compiled to nothing, from the features of this
/// package: the stricter of those for all builds and those for builds without
/// debug assertions.
pub const MIN_LEVEL: u16 = {
    let always = match () {
        () if cfg!(feature = "min_level_off") => 0x100,
        () if cfg!(feature = "min_level_fatal") => 0x60,
        () if cfg!(feature = "min_level_error") => 0x50,
        () if cfg!(feature = "min_level_warn") => 0x40,
        () if cfg!(feature = "min_level_info") => 0x30,
        () if cfg!(feature = "min_level_debug") => 0x20,
        () => 0,
    };
    let release = match () {
        () if cfg!(debug_assertions) => 0,
        () if cfg!(feature = "release_min_level_off") => 0x100,
        () if cfg!(feature = "release_min_level_fatal") => 0x60,
        () if cfg!(feature = "release_min_level_error") => 0x50,
        () if cfg!(feature = "release_min_level_warn") => 0x40,
        () if cfg!(feature = "release_min_level_info") => 0x30,
        () if cfg!(feature = "release_min_level_debug") => 0x20,
        () => 0,
    };
    if always > release { always } else { release }
};

/// Whether calls of a level are compiled at all.
#[allow(
    clippy::absurd_extreme_comparisons,
    reason = "true of any level while no feature sets the least"
)]
pub const fn is_compiled(level: logdef_wire::Level) -> bool {
    level.0 as u16 >= MIN_LEVEL
}

/// Whether a site is on.
#[inline(always)]
pub fn is_on(site: &Site, state: &SiteState) -> bool {
    let gate = crate::gate::current();
    let own = state.gate.load(Ordering::Relaxed);
    own != gate && (own == gate | 1 || crate::call::gate::decide(site))
}

/// Logs a call.
#[inline(always)]
pub fn log<const N: usize>(
    site: &'static Site,
    passed: &[Passed<'_>; N],
    fields: &[Option<&dyn Fields>; N],
) {
    // The compiler knows.
    if fields.iter().any(Option::is_some) {
        return log_fields(site, passed, 0, fields);
    }
    let lowered = Lowered::of(passed);
    // SAFETY: the macro made the site and the arguments from one format, and
    // both `lowered` and what it points into live until `emit` returns.
    unsafe { crate::call::emit::emit(site, lowered.kinds(), lowered.words()) }
}

/// Logs a call of a site that is limited or names a span: with the word that it
/// takes after the arguments'.
#[inline(always)]
pub fn log_with<const N: usize>(
    site: &'static Site,
    passed: &[Passed<'_>; N],
    fields: &[Option<&dyn Fields>; N],
    word: u64,
) {
    if fields.iter().any(Option::is_some) {
        return log_fields(site, passed, word, fields);
    }
    /// What such a site's words are.
    #[repr(C)]
    struct Words<const N: usize> {
        of_arguments: [u64; N],
        after: u64,
    }
    let lowered = Lowered::of(passed);
    let words = Words {
        of_arguments: lowered.to_words(),
        after: word,
    };
    // SAFETY: as in `log`, and the word after the arguments' is there.
    unsafe { crate::call::emit::emit(site, lowered.kinds(), (&raw const words).cast()) }
}

/// Logs a call with arguments that have fields.
#[cold]
fn log_fields(
    site: &'static Site,
    passed: &[Passed<'_>],
    word: u64,
    fields: &[Option<&dyn Fields>],
) {
    gather(site, fields, &mut |pairs| log_at(site, passed, word, pairs));
}

/// Logs a call of a site that was made at run time, with the number of a span if the site has
/// such.
pub fn log_at(site: &'static Site, args: &[Passed<'_>], span: u64, pairs: &[(&str, Passed<'_>)]) {
    match args.len().max(site.args()) {
        0..=4 => log_up_to::<5>(site, args, span, pairs),
        5..=15 => log_up_to::<16>(site, args, span, pairs),
        _ => log_up_to::<65>(site, args, span, pairs),
    }
}

/// Logs a call of fewer than `N` arguments.
#[inline]
fn log_up_to<const N: usize>(
    site: &'static Site,
    args: &[Passed<'_>],
    span: u64,
    pairs: &[(&str, Passed<'_>)],
) {
    let mut lowered = LoweredSome::<N>::of(args.iter().take(site.args()));
    lowered.set(site.args(), span);
    // SAFETY: there is a word for each argument of the site, and one after them; all lives
    // until `emit_with` returns.
    unsafe { emit_with(site, lowered.kinds(), lowered.words(), pairs) }
}

/// A span that ends by a call of `end` with its number, if it began.
pub fn span(began: Option<u64>, end: fn(u64)) -> crate::Span {
    crate::Span::new(began.map(|id| (end, id)))
}
