//! Which records stand in more than one archive: ranges of counts of threads. Reads the tables of
//! threads, and no records.

use crate::knowledge;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::error::Result;
use logdef_archive::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Records of a thread, by their counts: from the first to the last.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Range {
    pub(crate) run: u64,
    pub(crate) thread: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Records that are there already.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Known {
    /// By run and thread: the first and the last of each stretch, in order.
    #[serde(with = "pairs")]
    threads: BTreeMap<(u64, u64), Vec<(u64, u64)>>,
}

impl Known {
    /// The records of some parts.
    pub(crate) fn of(parts: &[PathBuf]) -> Result<Known> {
        let mut known = Known::default();
        for part in parts {
            for batch in knowledge::side(part, Table::Threads)? {
                let column = |name| batch.column_by_name(name);
                let numbers = |name| column(name)?.as_primitive_opt::<UInt64Type>();
                let stretches = column("stretches").and_then(|it| it.as_list_opt::<i32>());
                let (Some(runs), Some(threads), Some(stretches)) =
                    (numbers("run"), numbers("thread"), stretches)
                else {
                    continue;
                };
                for row in 0..batch.num_rows() {
                    let of_thread = stretches.value(row);
                    let key = (runs.value(row), threads.value(row));
                    let own = known.threads.entry(key).or_default();
                    let texts = knowledge::texts(&of_thread);
                    own.extend(texts.iter().flatten().filter_map(|text| {
                        let (first, last) = text.split_once('-')?;
                        Some((first.parse().ok()?, last.parse().ok()?))
                    }));
                }
            }
        }
        known.threads.values_mut().for_each(join);
        Ok(known)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    pub(crate) fn add(&mut self, other: &Known) {
        for (thread, stretches) in &other.threads {
            let own = self.threads.entry(*thread).or_default();
            own.extend(stretches);
            join(own);
        }
    }

    /// The ranges of records that are here and there.
    pub(crate) fn common(&self, other: &Known) -> Vec<Range> {
        let mut common = Vec::new();
        for (thread, theirs) in &other.threads {
            let Some(ours) = self.threads.get(thread) else {
                continue;
            };
            for (first, last) in theirs {
                let from = ours.partition_point(|(_, end)| end < first);
                let both = ours[from..].iter().take_while(|(begin, _)| begin <= last);
                common.extend(both.map(|(begin, end)| Range {
                    run: thread.0,
                    thread: thread.1,
                    first: *begin.max(first),
                    last: *end.min(last),
                }));
            }
        }
        common
    }

    /// Whether a record is there.
    #[inline]
    pub(crate) fn holds(&self, run: u64, thread: u64, count: u64) -> bool {
        let Some(stretches) = self.threads.get(&(run, thread)) else {
            return false;
        };
        let behind = stretches.partition_point(|(first, _)| *first <= count);
        behind > 0 && stretches[behind - 1].1 >= count
    }
}

/// Sorts stretches and joins those that touch.
fn join(stretches: &mut Vec<(u64, u64)>) {
    stretches.sort_unstable();
    stretches.dedup_by(|next, before| {
        let touches = next.0 <= before.1.saturating_add(1);
        if touches {
            before.1 = before.1.max(next.1);
        }
        touches
    });
}

/// Maps whose keys are pairs, as lists: JSON has texts as keys only.
mod pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    type Threads = BTreeMap<(u64, u64), Vec<(u64, u64)>>;

    pub(super) fn serialize<S: Serializer>(threads: &Threads, to: S) -> Result<S::Ok, S::Error> {
        threads.iter().collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Threads, D::Error> {
        let pairs = Vec::deserialize(from)?;
        Ok(pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(stretches: &[(u64, u64)]) -> Known {
        let mut threads = BTreeMap::new();
        threads.insert((1, 2), stretches.to_vec());
        Known { threads }
    }

    #[test]
    fn what_two_have_in_common_is_what_each_holds() {
        let (one, other) = (
            known(&[(0, 9), (20, 29), (40, 40)]),
            known(&[(5, 22), (28, 50)]),
        );
        let common = one.common(&other);
        for count in 0..60 {
            let both = one.holds(1, 2, count) && other.holds(1, 2, count);
            let ranges = common
                .iter()
                .filter(|it| (it.first..=it.last).contains(&count));
            assert_eq!(ranges.count(), usize::from(both), "{count}");
        }
        assert!(one.common(&Known::default()).is_empty());
        let mut sum = one.clone();
        sum.add(&other);
        assert!((0..=50).all(|count| sum.holds(1, 2, count)));
        assert!(!sum.holds(1, 2, 51) && !sum.holds(2, 2, 0));
    }
}
