//! What a search leaves out before records are put in order: what the numbers of a record decide, its
//! call site, and its arguments as they stand in the frame. It lets pass what it cannot decide, since
//! the filter looks again; a record that it keeps back, the filter would not have chosen.

use crate::choose::condition::Values;
use crate::choose::expression::Expression;
use crate::choose::filter::Filter;
use crate::choose::needle::{Held, Needles};
use logdef_resync::render::Prints;
use logdef_resync::{CallSite, Glance, Place, Tables};
use logdef_wire::msgpack::Kinds;
use logdef_wire::record::Peek;
use logdef_wire::{Magic, Record, Run, Svma};

/// Call sites that are remembered: a power of two.
const SITES: usize = 1 << 10;
/// Records of a call site that pass before it is looked at: what that costs is little beside rendering
/// them.
const UNSEEN: u32 = 4;
/// Bytes of the logdefs of a log that was not read before.
const TABLES: usize = 8 << 20;
/// Arguments that are looked at.
const FEW: usize = 16;
/// Records of a call site that are looked at, after which none is any more if nearly all passed.
const LOOKED_AT: u32 = 256;

/// Decides on records by a filter.
#[derive(Debug)]
pub struct Sieve<'t> {
    filter: Filter,
    needles: Option<Needles>,
    tables: Known<'t>,
    sites: Vec<Site>,
}

/// The logdefs.
#[derive(Debug)]
enum Known<'t> {
    All(&'t Tables),
    /// Those that came by.
    SoFar(Box<Tables>),
}

/// What identifies a call site: image, file, line, format and run.
type Key = (
    Option<Magic>,
    Option<Svma>,
    Option<u64>,
    Option<Svma>,
    Option<Run>,
);

/// A call site, and how often it came.
#[derive(Debug)]
struct Site {
    key: Key,
    seen: u32,
    verdict: Verdict,
}

/// What becomes of the records of a call site.
#[derive(Debug)]
enum Verdict {
    Pass,
    Never,
    Look(Box<Look>),
}

/// What of a record has to be looked at.
#[derive(Debug)]
struct Look {
    conditions: Vec<Expression>,
    /// Whether a record with arguments and nothing else may be chosen: not where a condition asks for what
    /// the call site does not name.
    may_pass_with_arguments: bool,
    /// The values one of which has to hold a needle, where nothing else can, in the order of the arguments.
    strings: Option<Box<[(usize, Prints)]>>,
    /// Kinds of arguments that hold no needle but in a string, as was seen of a record that did not pass.
    plain: Option<Kinds>,
    /// Records that were looked at, and those that passed.
    looked_at: u32,
    passed: u32,
}

impl<'t> Sieve<'t> {
    /// Of a log whose logdefs are all known.
    pub fn new(filter: &Filter, tables: &'t Tables) -> Sieve<'t> {
        Sieve::of(filter, Known::All(tables))
    }

    /// Of a log whose logdefs come by before what needs them.
    pub fn learning(filter: &Filter) -> Sieve<'static> {
        Sieve::of(filter, Known::SoFar(Box::new(Tables::new(TABLES))))
    }

    fn of<'k>(filter: &Filter, tables: Known<'k>) -> Sieve<'k> {
        let site = || Site {
            key: Key::default(),
            seen: 0,
            verdict: Verdict::Pass,
        };
        Sieve {
            filter: filter.clone(),
            needles: filter.grep().and_then(Needles::of),
            tables,
            sites: std::iter::repeat_with(site).take(SITES).collect(),
        }
    }

    /// The place of a call site among those that are remembered, decided on if it came often enough.
    fn site(&mut self, front: &Glance) -> usize {
        let key = (front.magic, front.file, front.line, front.format, front.run);
        let number = |address: Option<Svma>| address.map_or(0, |address| address.0);
        let spread = number(front.format)
            ^ number(front.file).rotate_left(23)
            ^ front.line.unwrap_or(0).rotate_left(41)
            ^ front.run.map_or(0, |run| run.0.rotate_left(17));
        let slot = (spread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SITES;
        let site = &mut self.sites[slot];
        if site.key != key {
            *site = Site {
                key,
                seen: 0,
                verdict: Verdict::Pass,
            };
        }
        if site.seen < UNSEEN {
            site.seen += 1;
            if site.seen == UNSEEN {
                let tables = match &self.tables {
                    Known::All(tables) => *tables,
                    Known::SoFar(tables) => tables,
                };
                let found = CallSite::of(front, tables);
                let verdict =
                    found.map(|site| verdict(&self.filter, self.needles.as_ref(), front, &site));
                site.verdict = verdict.unwrap_or(Verdict::Pass);
            }
        }
        slot
    }
}

/// What becomes of the records of a call site.
fn verdict(
    filter: &Filter,
    needles: Option<&Needles>,
    front: &Glance,
    site: &CallSite<'_>,
) -> Verdict {
    if !filter.may_be_of(front.line, site.file()) {
        return Verdict::Never;
    }
    let held = needles.and_then(|needles| Some(needles.within(&site.compiled()?.parts()?)));
    let strings = match held {
        Some(Held::InStrings(strings)) if strings.is_empty() => return Verdict::Never,
        Some(Held::InStrings(strings)) => Some(strings),
        Some(Held::Anywhere) | None => None,
    };
    let conditions: Vec<_> = filter.conditions().iter().map(|one| one.at(site)).collect();
    if conditions.is_empty() && strings.is_none() {
        return Verdict::Pass;
    }
    let no_values = Values::of_args(None);
    let mut needed = conditions.iter().filter(|one| !one.asks_arguments());
    Verdict::Look(Box::new(Look {
        may_pass_with_arguments: needed.all(|one| one.may_hold(&no_values)),
        conditions,
        strings,
        plain: None,
        looked_at: 0,
        passed: 0,
    }))
}

impl Look {
    /// Whether a record may be chosen; one that `is_bare` has no needle in its frame.
    #[inline]
    fn passes(&mut self, values: &Values<'_>, needles: Option<&Needles>, is_bare: bool) -> bool {
        if !self.conditions.iter().all(|one| one.may_hold(values)) {
            return false;
        }
        let (Some(needles), Some(strings)) = (needles, &self.strings) else {
            return true;
        };
        let kinds = values.args().and_then(Kinds::of);
        if is_bare && kinds.is_some() && kinds == self.plain {
            return false;
        }
        let passes = may_hold_one(needles, strings, values);
        if !passes {
            self.plain = kinds;
        }
        passes
    }
}

/// Whether a needle may be in one of some strings.
#[inline(never)]
fn may_hold_one(needles: &Needles, strings: &[(usize, Prints)], values: &Values<'_>) -> bool {
    let mut strings = strings.iter().peekable();
    if let Some(args) = values.args() {
        for (index, value) in args.iter().take(FEW).enumerate() {
            while let Some((_, prints)) = strings.next_if(|(arg, _)| *arg == index) {
                if needles.may_be_in(*prints, Some(value)) {
                    return true;
                }
            }
        }
    }
    // What was not looked at may hold anything.
    strings.next().is_some()
}

impl logdef_resync::Sieve for Sieve<'_> {
    fn learn(&mut self, record: &Record<'_>, place: Place) {
        if let Known::SoFar(tables) = &mut self.tables
            && !tables.knows(record, place)
        {
            tables.add(record, place);
            if !tables.is_whole() {
                // What was decided may be wrong: the command starts again with all that is known.
                self.sites.iter_mut().for_each(|site| {
                    *site = Site {
                        key: Key::default(),
                        seen: UNSEEN,
                        verdict: Verdict::Pass,
                    }
                });
            }
        }
    }

    fn bare(&self, bytes: &[u8]) -> Option<usize> {
        Some(self.needles.as_ref()?.bare(bytes))
    }

    #[inline]
    fn may_pass(&mut self, front: &Glance) -> bool {
        if !self.filter.may_match(front) {
            return false;
        }
        // Where a text is searched for, nearly all sites want a look at the arguments: they are asked once.
        if !self.filter.asks_sites() || self.needles.is_some() {
            return true;
        }
        let slot = self.site(front);
        match &self.sites[slot].verdict {
            Verdict::Pass => true,
            Verdict::Never => false,
            Verdict::Look(look) => look.may_pass_with_arguments,
        }
    }

    #[inline]
    fn passes(&mut self, body: &[u8], peek: &Peek<'_>, is_bare: bool) -> bool {
        let front = &peek.glance;
        if !self.filter.may_match(front) {
            return false;
        }
        if !self.filter.asks_sites() {
            return true;
        }
        let slot = self.site(front);
        let verdict = &mut self.sites[slot].verdict;
        if matches!(verdict, Verdict::Pass) {
            return true;
        }
        if !peek.has_more && matches!(verdict, Verdict::Never) {
            return false;
        }
        let data;
        let values = if peek.has_more {
            let Ok(Record::Data(whole)) = Record::decode(body) else {
                return false;
            };
            data = whole;
            if data.format_text.is_some() || data.file_text.is_some() {
                return true;
            }
            Values::from(&data)
        } else {
            Values::of_args(peek.args)
        };
        match verdict {
            Verdict::Pass => true,
            Verdict::Never => false,
            Verdict::Look(look) => {
                let passes = look.passes(&values, self.needles.as_ref(), is_bare);
                look.looked_at += 1;
                look.passed += u32::from(passes);
                if look.looked_at == LOOKED_AT && look.passed > LOOKED_AT / 8 * 7 {
                    *verdict = Verdict::Pass;
                } else if look.looked_at == LOOKED_AT {
                    (look.looked_at, look.passed) = (0, 0);
                }
                passes
            }
        }
    }
}
