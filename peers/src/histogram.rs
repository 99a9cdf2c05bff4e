//! Durations counted by length: exactly up to 4095, in steps of a sixty-fourth
//! above.

/// Counts of durations.
pub struct Histogram {
    counts: Vec<u64>,
    longest: u64,
}

const EXACT: u64 = 4096;
const STEP_BITS: u32 = 6;

impl Histogram {
    pub fn new() -> Histogram {
        Histogram {
            counts: vec![0; index(u64::MAX) + 1],
            longest: 0,
        }
    }

    #[inline]
    pub fn add(&mut self, ticks: u64) {
        self.counts[index(ticks)] += 1;
        self.longest = self.longest.max(ticks);
    }

    pub fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.longest = self.longest.max(other.longest);
    }

    /// The length that a part of all durations does not exceed.
    pub fn percentile(&self, part: f64) -> u64 {
        let all: u64 = self.counts.iter().sum();
        let wanted = (all as f64 * part).ceil() as u64;
        let mut sum = 0;
        let found = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        found.map_or(0, value)
    }

    pub fn longest(&self) -> u64 {
        self.longest
    }
}

#[inline]
fn index(ticks: u64) -> usize {
    if ticks < EXACT {
        return ticks as usize;
    }
    let power = ticks.ilog2();
    let step = (ticks >> (power - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    EXACT as usize + (((power - EXACT.ilog2()) as usize) << STEP_BITS) + step as usize
}

/// The shortest duration with an index.
fn value(index: usize) -> u64 {
    let Some(above) = index.checked_sub(EXACT as usize) else {
        return index as u64;
    };
    let power = EXACT.ilog2() + (above >> STEP_BITS) as u32;
    let step = (above & ((1 << STEP_BITS) - 1)) as u64;
    (1 << power) + (step << (power - STEP_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_begins_where_its_value_does() {
        for at in 0..index(u64::MAX) {
            assert_eq!(index(value(at)), at);
            assert!(value(at) < value(at + 1));
            assert_eq!(index(value(at + 1) - 1), at);
        }
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|ticks| histogram.add(ticks));
        assert_eq!(histogram.percentile(0.5), 500);
        assert_eq!(histogram.percentile(0.999), 999);
        assert_eq!(histogram.longest(), 1000);
    }
}
