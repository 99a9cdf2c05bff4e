//! How many records there are over time, by severity; and their histogram, in text and
//! as a picture.

use crate::show::clock;
use crate::show::draw::{Svg, sparkline};
use crate::show::losses;
use logdef_wire::Level;
use std::io::Write;
use std::ops::Range;

/// Slices of time that rates are shown in.
const SLICES: usize = 64;
/// A bar in SVG, in units.
const BAR: usize = 10;
const BAR_HEIGHT: usize = 100;

/// Levels that are drawn alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Band {
    /// ERROR and above.
    Error,
    Warn,
    Info,
    /// Below INFO, or without a level.
    Other,
}

impl Band {
    /// All of them, the most severe first.
    pub const ALL: [Band; 4] = [Band::Error, Band::Warn, Band::Info, Band::Other];

    pub fn of(level: Option<Level>) -> Band {
        match level {
            Some(level) if level >= Level::ERROR => Band::Error,
            Some(level) if level >= Level::WARN => Band::Warn,
            Some(level) if level >= Level::INFO => Band::Info,
            _ => Band::Other,
        }
    }

    /// A colour that shows on white and on black.
    pub fn fill(self) -> &'static str {
        match self {
            Band::Error => "#d13f3a",
            Band::Warn => "#d08a1d",
            Band::Info => "#3f8fc0",
            Band::Other => "#8a8f98",
        }
    }

    /// What it is called on a screen, and in names of classes.
    pub fn name(self) -> &'static str {
        match self {
            Band::Error => "error",
            Band::Warn => "warn",
            Band::Info => "info",
            Band::Other => "other",
        }
    }
}

/// Records in slices of equal length. As the span grows, slices join.
pub struct Rates {
    pub start: u64,
    /// Nanoseconds of a slice.
    pub slice: u64,
    counts: Vec<[u64; Band::ALL.len()]>,
}

impl Default for Rates {
    fn default() -> Rates {
        Rates {
            start: 0,
            slice: 1,
            counts: Vec::new(),
        }
    }
}

impl Rates {
    pub fn add(&mut self, time: u64, level: Option<Level>) {
        if self.counts.is_empty() {
            self.start = time;
        }
        // Records come by time, but for those of a clock that was set back.
        let passed = time.saturating_sub(self.start);
        while passed / self.slice >= SLICES as u64 {
            let joined = self.counts.chunks(2).map(|pair| {
                let rest = pair.get(1).copied().unwrap_or_default();
                std::array::from_fn(|band| pair[0][band] + rest[band])
            });
            self.counts = joined.collect();
            self.slice *= 2;
        }
        let at = (passed / self.slice) as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, Default::default());
        }
        self.counts[at][Band::of(level) as usize] += 1;
    }

    /// Records of each slice.
    pub fn totals(&self) -> Vec<u64> {
        let totals = self.counts.iter().map(|bands| bands.iter().sum());
        totals.collect()
    }

    /// The first nanosecond, and the one after the last slice.
    pub fn ends(&self) -> (u64, u64) {
        (self.start, self.edge(self.counts.len()))
    }

    fn edge(&self, slice: usize) -> u64 {
        let passed = self.slice.saturating_mul(slice as u64);
        self.start.saturating_add(passed)
    }

    fn span(&self, slices: Range<usize>) -> (String, String) {
        let edge = |slice: usize| {
            let mut out = Vec::new();
            clock::push_rfc3339(self.edge(slice), &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        (edge(slices.start), edge(slices.end))
    }

    pub fn text(&self, out: &mut Vec<u8>) {
        let totals = self.totals();
        let most = totals.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return;
        }
        let (from, to) = self.span(0..self.counts.len());
        let _ = writeln!(out, "{from} to {to}");
        let slice = self.slice as f64 / 1e9;
        let _ = writeln!(out, "[{}] at most {most} in {slice} s", sparkline(&totals));
    }

    /// A bar for each slice, the most severe records on top.
    pub fn svg(&self) -> String {
        let totals = self.totals();
        let most = totals.iter().copied().max().unwrap_or(0).max(1);
        let (from, to) = self.span(0..self.counts.len());
        let slice = self.slice as f64 / 1e9;
        let label = format!("{from} to {to}, at most {most} in {slice} s");
        let name = format!("records over time: {label}");
        let mut svg = Svg::new(SLICES * BAR + 20, BAR_HEIGHT + 55, &name);
        let height_of = |count: u64| {
            let height = (u128::from(count) * BAR_HEIGHT as u128).div_ceil(u128::from(most));
            height as usize
        };
        for (number, bands) in self.counts.iter().enumerate() {
            let (from, to) = self.span(number..number + 1);
            let total = losses::count(totals[number], "record");
            let severe = match bands[Band::Error as usize] {
                0 => String::new(),
                errors => format!(", {errors} of them errors"),
            };
            let tip = format!("{from} to {to}: {total}{severe}");
            // From above, so that few errors among many records have a unit of their own.
            let mut left = height_of(totals[number]);
            for band in Band::ALL {
                let height = height_of(bands[band as usize]).min(left);
                if height > 0 {
                    let (x, y) = (number * BAR + 10, 10 + BAR_HEIGHT - left);
                    svg.rect(x, y, BAR - 1, height, band.fill(), &tip);
                    left -= height;
                }
            }
        }
        svg.label(10, BAR_HEIGHT + 26, &label);
        for (number, band) in Band::ALL.into_iter().enumerate() {
            let x = 10 + number * 55;
            svg.rect(x, BAR_HEIGHT + 34, 9, 9, band.fill(), band.name());
            svg.label(x + 13, BAR_HEIGHT + 42, band.name());
        }
        svg.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_join_as_the_span_grows_and_nothing_is_lost() {
        let mut rates = Rates::default();
        let mut added = 0;
        for step in 0..10_000_u64 {
            rates.add(1_000 + step * step, Some(Level((step % 0x70) as u8)));
            added += 1;
            assert!(rates.counts.len() <= SLICES);
        }
        rates.add(u64::MAX, None);
        rates.add(0, None);
        assert_eq!(rates.totals().iter().sum::<u64>(), added + 2);
    }

    #[test]
    fn errors_stand_on_top_however_few() {
        let mut rates = Rates::default();
        for _ in 0..10_000 {
            rates.add(5, Some(Level::INFO));
        }
        rates.add(5, Some(Level::FATAL));
        let svg = rates.svg();
        assert!(svg.contains("10001 records, 1 of them errors"), "{svg}");
        // Two bars of one slice, the upper a unit high and red.
        let bar = |y, height, fill| {
            format!("<rect x=\"10\" y=\"{y}\" width=\"9\" height=\"{height}\" fill=\"{fill}\">")
        };
        assert!(svg.contains(&bar(10, 1, Band::Error.fill())), "{svg}");
        assert!(svg.contains(&bar(11, 99, Band::Info.fill())), "{svg}");
    }
}
