//! Which call sites log at another rate than they did earlier.

use crate::count::Counts;
use logdef_wire::Level;
use std::collections::BTreeMap;

/// A call site in both, by what a person sees of it: addresses differ from build to build.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub level: Option<Level>,
    pub place: String,
    pub format: String,
    pub before: u64,
    pub now: u64,
    /// How many times as many of a thousand records come from there; infinite for a new site.
    pub factor: f64,
}

/// By how many times a share has to change, up or down.
const LEAST: f64 = 1.5;

/// The sites that changed, those that surprise most first.
pub fn between(before: &Counts, now: &Counts) -> Vec<Change> {
    let mut sites = BTreeMap::<_, (u64, u64)>::new();
    for (key, site) in &before.sites {
        let name = (key.4, site.place.clone(), site.format.clone());
        sites.entry(name).or_default().0 += site.records;
    }
    for (key, site) in &now.sites {
        let name = (key.4, site.place.clone(), site.format.clone());
        sites.entry(name).or_default().1 += site.records;
    }
    let share = |records: u64, all: &Counts| records as f64 / all.records.max(1) as f64;
    let changes = sites
        .into_iter()
        .map(|((level, place, format), counts)| Change {
            level,
            place,
            format,
            before: counts.0,
            now: counts.1,
            factor: share(counts.1, now) / share(counts.0, before),
        });
    let mut changed: Vec<(f64, Change)> = changes
        .map(|change| (surprise(&change, before.records, now.records), change))
        .filter(|(surprise, change)| {
            *surprise > 2.0 && (change.factor >= LEAST || change.factor <= 1.0 / LEAST)
        })
        .collect();
    changed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    changed.into_iter().map(|(_, change)| change).collect()
}

/// How many standard deviations lie between what came and what was to be expected, of counts
/// that vary as Poisson's do; severe levels weigh more.
fn surprise(change: &Change, before: u64, now: u64) -> f64 {
    let all = (before + now).max(1) as f64;
    let both = (change.before + change.now) as f64;
    let expected = both * now as f64 / all;
    let variance = (both * (now as f64 / all) * (before as f64 / all)).max(0.25);
    let weight = match change.level {
        Some(level) if level >= Level::ERROR => 4.0,
        Some(level) if level >= Level::WARN => 2.0,
        _ => 1.0,
    };
    weight * (change.now as f64 - expected).abs() / variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::{CallSite, Site};

    fn counts(sites: &[(&str, Level, u64)]) -> Counts {
        let mut counts = Counts::default();
        for (line, (place, level, records)) in (0..).zip(sites) {
            let key: CallSite = (None, None, None, Some(line), Some(*level));
            let site = Site {
                records: *records,
                place: (*place).into(),
                format: "f".into(),
                ..Site::default()
            };
            counts.sites.insert(key, site);
            counts.records += records;
        }
        counts
    }

    #[test]
    fn new_errors_come_first_and_what_only_grew_with_all_is_no_change() {
        let before = counts(&[
            ("a", Level::INFO, 1_000),
            ("b", Level::INFO, 500),
            ("gone", Level::INFO, 40),
            ("same", Level::DEBUG, 90),
        ]);
        let now = counts(&[
            ("new", Level::ERROR, 30),
            ("a", Level::INFO, 2_000),
            ("b", Level::INFO, 4_000),
            ("same", Level::DEBUG, 350),
        ]);
        let changes = between(&before, &now);
        let places: Vec<_> = changes.iter().map(|change| &*change.place).collect();
        assert!(
            places.contains(&"new") && places.contains(&"gone"),
            "{places:?}"
        );
        assert!(places.contains(&"b") && changes.iter().all(|c| c.place != "same"));
        let new = changes.iter().find(|change| change.place == "new").unwrap();
        assert!(new.factor.is_infinite() && new.before == 0 && new.now == 30);
        assert!(between(&before, &before).is_empty());
    }
}
