//! Whether a call is on. The settings can change while the program runs.
//!
//! Nothing walks the call sites. The process has one *gate*, an even number;
//! a site's own gate is a copy of it if the site is off and one more if it is
//! on. Setting a filter moves the process's gate, which makes every copy stale,
//! and a site that finds its copy stale decides again. So a call that is off
//! costs a comparison, and no list of sites has to survive `dlclose`.

use crate::call::site::Site;
use crate::control::change::Change;
use crate::copies::leader::leader;
use crate::gate;
use crate::note;
use crate::process::process;
use core::sync::atomic::Ordering;
use logdef_wire::Level;

/// Decides whether a site is on, and says so in the site.
#[cold]
#[inline(never)]
pub fn decide(site: &Site) -> bool {
    if let Some(leader) = leader() {
        return leader.is_on(site);
    }
    heed_control();
    let process = process();
    // Read before the settings: if they change meanwhile, this gate is stale.
    let gate = gate::word().load(Ordering::Acquire);
    let state = site.state();
    state.connect(gate::word());
    let (level, line) = (site.level(), site.line());
    let file = site.file().to_bytes();
    let module = site.place().map(|place| place.to_bytes());
    let change = process.control.change();
    let on = level >= level_at(change, file, line, module);
    // While a call is off for a time, it asks each time: it has no other way to notice that
    // the time is over, if nothing is logged meanwhile.
    let is_off_for_a_time = !on && change.is_some_and(|change| change.ends.is_some());
    let may_remember = !is_off_for_a_time || level < level_at(None, file, line, module);
    if may_remember && process.control.has_looked_at(gate) {
        state.gate.store(gate | on as u32, Ordering::Relaxed);
    }
    on
}

/// Decides whether a call of `site` at this level is on, where the site's is not known before.
#[inline(never)]
pub fn decide_at(site: &Site, level: Level) -> bool {
    if let Some(leader) = leader() {
        return leader.decide_at(site, level);
    }
    heed_control();
    let module = site.place().map(|place| place.to_bytes());
    is_on(level, site.file().to_bytes(), site.line(), module)
}

/// Does what the log was asked from outside, if anything.
fn heed_control() {
    let process = process();
    if process.control.heed(&process.shared) && process.shared.run.is_ready() {
        note::asked::report(process);
    }
}

/// Whether calls of this level at this place are on.
pub(crate) fn is_on(level: Level, file: &[u8], line: u32, module: Option<&[u8]>) -> bool {
    level >= level_at(process().control.change(), file, line, module)
}

/// The level from which calls at this place are on.
fn level_at(change: Option<&Change>, file: &[u8], line: u32, module: Option<&[u8]>) -> Level {
    let settings = &process().shared.settings;
    let program = settings.filter();
    let said = match change {
        Some(change) => change.said(program, file, line, module),
        None => program.and_then(|filter| filter.level(file, line, module)),
    };
    said.unwrap_or_else(|| settings.level())
}

/// [`is_possible`] of a call that is about to be made: one that is lost since no log is
/// open is counted.
pub fn is_possible_now(level: Level) -> bool {
    let possible = is_possible(level);
    let shared = &process().shared;
    if !possible && leader().is_none() && !shared.run.is_open() && is_possible_when_open(level) {
        shared.run.missed.fetch_add(1, Ordering::Relaxed);
    }
    possible
}

/// Whether a call of this level could be on anywhere, and a log is open, or calls are
/// kept until one is, or a mirror, observer or capture takes them.
pub fn is_possible(level: Level) -> bool {
    if let Some(leader) = leader() {
        return leader.is_possible(level);
    }
    let process = process();
    let is_heard =
        process.shared.run.is_open() || process.early.has_room() || process.mirror.wants(level);
    is_heard && is_possible_when_open(level)
}

fn is_possible_when_open(level: Level) -> bool {
    let settings = &process().shared.settings;
    let level_set = settings.level();
    let program = settings.filter();
    let lowest = match process().control.change() {
        Some(change) => change.lowest_level(program, level_set),
        None => program.map_or(level_set, |filter| filter.lowest_level(level_set)),
    };
    level >= lowest
}
