//! Which records of each thread were seen, as intervals of their counts: a
//! clean log takes one interval a thread, however long, and no memory of its own. From them
//! come the records that are missing and those seen twice. Knows no bytes.

use std::collections::BTreeMap;

/// A set of counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// First count of each interval to the one after its last.
    ends: BTreeMap<u64, u64>,
    /// The interval that grew last: most insertions continue it, and most sets have no other.
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
        let (mut start, mut end) = (start, end);
        if start >= end {
            return;
        }
        if let Some((first, last)) = self.only()
            && start <= last
            && first <= end
        {
            self.current = Some((first.min(start), last.max(end)));
            return;
        }
        self.settle();
        if self.ends.is_empty() {
            self.current = Some((start, end));
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

    /// Adds all counts from `start` to `end` exclusive, and all between them and the nearest
    /// that is in: the set gets no more intervals.
    pub(crate) fn insert_coarsely(&mut self, start: u64, end: u64) {
        let current = self.current;
        let below = self.ends.range(..=start).next_back().map(|(_, last)| *last);
        let below = below.max(current.filter(|it| it.0 <= start).map(|it| it.1));
        if let Some(last) = below {
            self.insert_range(last.min(start), end);
            return;
        }
        let above = self.ends.first_key_value().map(|(first, _)| *first);
        let above = above.into_iter().chain(current.map(|it| it.0)).min();
        self.insert_range(start, above.map_or(end, |first| first.max(end)));
    }

    /// The one interval, if there is no other.
    fn only(&self) -> Option<(u64, u64)> {
        self.current.filter(|_| self.ends.is_empty())
    }

    /// Whether a count is in.
    pub(crate) fn contains(&self, count: u64) -> bool {
        let current = self
            .current
            .is_some_and(|(start, end)| (start..end).contains(&count));
        let before = self.ends.range(..=count).next_back();
        current || before.is_some_and(|(_, end)| count < *end)
    }

    /// Whether a count above this one is in.
    pub(crate) fn reaches_beyond(&self, count: u64) -> bool {
        let last = self.ends.last_key_value().map(|(_, end)| *end);
        last.max(self.current.map(|(_, end)| end)) > Some(count.saturating_add(1))
    }

    /// How many counts of `[start, end)` are not in. Settles first.
    pub(crate) fn missing(&mut self, start: u64, end: u64) -> u64 {
        if let Some((first, last)) = self.only() {
            let inside = last.min(end).saturating_sub(first.max(start));
            return end.saturating_sub(start) - inside;
        }
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

    /// The first count from `start` on that is not in.
    pub(crate) fn first_missing(&mut self, start: u64) -> u64 {
        self.settle();
        let before = self.ends.range(..=start).next_back();
        let mut first = before.map_or(start, |(_, end)| start.max(*end));
        while let Some(end) = self.ends.get(&first) {
            first = *end;
        }
        first
    }

    /// Adds all counts of another set.
    pub(crate) fn union(&mut self, other: &mut Intervals) {
        if let Some((start, end)) = other.only() {
            self.insert_range(start, end);
            return;
        }
        other.settle();
        for (start, end) in &other.ends {
            self.insert_range(*start, *end);
        }
    }

    /// Bytes of memory that it takes beside itself, roughly: nodes of a tree are half full.
    pub(crate) fn memory(&self) -> usize {
        match self.ends.len() {
            0 => 0,
            ends => 208 + 40 * ends,
        }
    }

    /// How many intervals there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() + usize::from(self.current.is_some())
    }

    /// The lowest count and the one after the highest.
    pub(crate) fn bounds(&mut self) -> Option<(u64, u64)> {
        if let Some(only) = self.only() {
            return Some(only);
        }
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
                let first = (start..).find(|n| !slow.contains(n));
                assert_eq!(Some(fast.first_missing(start)), first);
            }
            let bounds = slow.first().zip(slow.last()).map(|(a, b)| (*a, b + 1));
            assert_eq!(fast.bounds(), bounds);
        }
    }

    #[test]
    fn a_full_set_takes_all_in_and_no_more_room() {
        let mut state = 9u64;
        for _ in 0..200 {
            let mut set = Intervals::default();
            let mut wanted = BTreeSet::new();
            for step in 0..40 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                let count = state >> 33 & 63;
                let room = set.len();
                if step < 10 {
                    set.insert(count);
                    wanted.insert(count);
                    continue;
                }
                set.insert_coarsely(count, count + 2);
                wanted.extend([count, count + 1]);
                assert!(set.len() <= room, "{set:?}");
                assert!(wanted.iter().all(|count| set.contains(*count)), "{set:?}");
            }
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
