//! Which records of each thread were seen, as intervals of their counts: a
//! clean log takes one interval a thread, however long. From them come the
//! records that are missing and those seen twice. Knows no bytes.

use std::collections::BTreeMap;

/// A set of counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// First count of each interval to the one behind its last.
    ends: BTreeMap<u64, u64>,
    /// The interval that grew last: most insertions continue it.
    current: Option<(u64, u64)>,
}

impl Intervals {
    /// Adds a count; `false` if it was in already.
    #[inline]
    pub(crate) fn insert(&mut self, count: u64) -> bool {
        if let Some((_, end)) = &mut self.current
            && *end == count
            && self
                .ends
                .range(count..)
                .next()
                .is_none_or(|(next, _)| *next > count)
        {
            *end += 1;
            return true;
        }
        self.insert_slowly(count)
    }

    /// Adds the counts from `start` to `end` exclusive that are not in yet; `false`,
    /// and perhaps none added, if they do not all continue the set.
    pub(crate) fn extend(&mut self, start: u64, end: u64) -> bool {
        let Some((_, last)) = &mut self.current else {
            return false;
        };
        let is_free = *last == start
            && self
                .ends
                .range(start..)
                .next()
                .is_none_or(|(next, _)| *next >= end);
        if is_free {
            *last = end;
        }
        is_free
    }

    fn insert_slowly(&mut self, count: u64) -> bool {
        self.settle();
        let before = self.ends.range(..=count).next_back();
        let mut start = count;
        if let Some((first, end)) = before.map(|(first, end)| (*first, *end)) {
            if count < end {
                return false;
            }
            if count == end {
                start = first;
            }
        }
        self.ends.remove(&start);
        self.current = Some((start, count + 1));
        true
    }

    /// Puts the current interval back, joined with the one it reached.
    fn settle(&mut self) {
        if let Some((start, end)) = self.current.take() {
            let end = self.ends.remove(&end).unwrap_or(end);
            self.ends.insert(start, end);
        }
    }

    /// Adds all counts from `start` to `end` exclusive.
    pub(crate) fn insert_range(&mut self, start: u64, end: u64) {
        self.settle();
        let (mut start, mut end) = (start, end);
        if start >= end {
            return;
        }
        let before = self.ends.range(..=start).next_back();
        if let Some((first, last)) = before.map(|(first, last)| (*first, *last))
            && last >= start
        {
            start = first;
            end = end.max(last);
        }
        while let Some((first, last)) = self.ends.range(start..=end).next().map(|(a, b)| (*a, *b)) {
            self.ends.remove(&first);
            end = end.max(last);
        }
        self.ends.insert(start, end);
    }

    /// Whether a count is in.
    pub(crate) fn contains(&self, count: u64) -> bool {
        let current = self
            .current
            .is_some_and(|(start, end)| (start..end).contains(&count));
        let before = self.ends.range(..=count).next_back();
        current || before.is_some_and(|(_, end)| count < *end)
    }

    /// How many counts of `[start, end)` are not in. Settles first.
    pub(crate) fn missing(&mut self, start: u64, end: u64) -> u64 {
        self.settle();
        let mut missing = 0;
        let mut at = start;
        let before = self.ends.range(..=start).next_back();
        if let Some((_, last)) = before {
            at = at.max(*last);
        }
        for (first, last) in self.ends.range(start..end) {
            missing += first.saturating_sub(at);
            at = at.max(*last);
        }
        missing + end.saturating_sub(at)
    }

    /// Adds all counts of another set.
    pub(crate) fn union(&mut self, other: &mut Intervals) {
        other.settle();
        for (start, end) in &other.ends {
            self.insert_range(*start, *end);
        }
    }

    /// How many intervals there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() + usize::from(self.current.is_some())
    }

    /// The lowest count and the one behind the highest.
    pub(crate) fn bounds(&mut self) -> Option<(u64, u64)> {
        self.settle();
        let first = self.ends.first_key_value()?;
        let last = self.ends.last_key_value()?;
        Some((*first.0, *last.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn intervals_are_a_set() {
        let mut state = 3u64;
        for _ in 0..200 {
            let mut fast = Intervals::default();
            let mut slow = BTreeSet::new();
            let mut count = 0;
            for step in 0..60 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                count = match state >> 62 {
                    0 => state >> 33 & 31,
                    _ => count + 1,
                };
                if step % 17 == 16 {
                    let is_new = (count..count + 3).all(|count| !slow.contains(&count));
                    if fast.extend(count, count + 3) {
                        assert!(is_new, "{count}");
                        slow.extend(count..count + 3);
                    }
                } else if step % 13 == 12 {
                    fast.insert_range(count, count + 4);
                    slow.extend(count..count + 4);
                } else {
                    assert_eq!(fast.insert(count), slow.insert(count), "{count}");
                }
                assert!((0..40).all(|n| fast.contains(n) == slow.contains(&n)));
            }
            for start in 0..20 {
                for end in start..40 {
                    let missing = (start..end).filter(|n| !slow.contains(n)).count();
                    assert_eq!(fast.missing(start, end), missing as u64);
                }
            }
            let bounds = slow.first().zip(slow.last()).map(|(a, b)| (*a, b + 1));
            assert_eq!(fast.bounds(), bounds);
        }
    }

    #[test]
    fn a_clean_thread_is_one_interval() {
        let mut intervals = Intervals::default();
        assert!((0..10_000).all(|count| intervals.insert(count)));
        assert_eq!(intervals.len(), 1);
        assert_eq!(intervals.missing(0, 10_000), 0);
    }
}
