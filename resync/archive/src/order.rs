//! The rows of a row group in the order of the log: by time, run, thread and count, but for those that say
//! at which place they stand. Knows nothing else of them.

use crate::guard::wrong;
use arrow_array::types::Int32Type;
use arrow_array::{Array, PrimitiveArray};
use std::io;

/// The rows in that order, where `identity` gives run, thread and count of one.
pub(crate) fn in_order<I: Ord>(
    times: &[i64],
    places: Option<&PrimitiveArray<Int32Type>>,
    identity: impl Fn(u32) -> I,
) -> io::Result<Vec<u32>> {
    let has_place = |row: u32| places.is_some_and(|places| places.is_valid(row as usize));
    let others = (0..times.len() as u32).filter(|row| !has_place(*row));
    let mut order = by_time(times, others);
    let is_same_time = |one: &u32, other: &u32| times[*one as usize] == times[*other as usize];
    for same in order.chunk_by_mut(is_same_time).filter(|it| it.len() > 1) {
        same.sort_by_key(|row| identity(*row));
    }
    match places {
        Some(places) => at_places(places, times.len(), &order),
        None => Ok(order),
    }
}

/// Rows by their times. Times that are near each other, as those of a row group mostly are, are sorted together
/// with the number of the row in one word.
fn by_time(times: &[i64], rows: impl Iterator<Item = u32>) -> Vec<u32> {
    // Times of before the epoch, which no writer makes, are late ones, as they are in the records.
    let time = |row: u32| times[row as usize] as u64;
    let all = times.iter().map(|time| *time as u64);
    let first = all.clone().min().unwrap_or(0);
    let last = all.max().unwrap_or(0);
    let since_first = |row: u32| time(row) - first;
    let bits = u64::BITS - (times.len() as u64 | 1).leading_zeros();
    if (last - first) >> (u64::BITS - bits) > 0 {
        let mut pairs: Vec<_> = rows.map(|row| (since_first(row), row)).collect();
        pairs.sort();
        return pairs.into_iter().map(|(_, row)| row).collect();
    }
    let mut words: Vec<_> = rows
        .map(|row| since_first(row) << bits | u64::from(row))
        .collect();
    // The rows of a thread at a site are in order, and this sort makes use of it.
    words.sort();
    let row = (1 << bits) - 1;
    words.into_iter().map(|word| (word & row) as u32).collect()
}

/// Puts the rows that have places there, and the others in their order where room is left.
fn at_places(
    places: &PrimitiveArray<Int32Type>,
    len: usize,
    others: &[u32],
) -> io::Result<Vec<u32>> {
    let mut all = vec![u32::MAX; len];
    for row in (0..len).filter(|row| places.is_valid(*row)) {
        let place = usize::try_from(places.value(row)).ok();
        match place.and_then(|place| all.get_mut(place)) {
            Some(at) if *at == u32::MAX => *at = row as u32,
            _ => return Err(wrong("two records at one place")),
        }
    }
    let free = all.iter_mut().filter(|at| **at == u32::MAX);
    free.zip(others).for_each(|(at, row)| *at = *row);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_by_time_and_identity_however_far_the_times_are_apart() {
        for far in [10, 1 << 50, i64::MAX, -1] {
            let times = [far, 5, 3, 5, 0, 5];
            let order = in_order(&times, None, |row| u32::MAX - row).unwrap();
            assert_eq!(order, [4, 2, 5, 3, 1, 0], "{far}");
        }
        assert!(in_order(&[], None, |row| row).unwrap().is_empty());
    }

    #[test]
    fn a_place_is_kept_and_the_others_stand_around_it() {
        let times = [4, 3, 2, 1];
        let order = |places: Vec<Option<i32>>| in_order(&times, Some(&places.into()), |row| row);
        assert_eq!(
            order(vec![Some(1), None, None, None]).unwrap(),
            [3, 0, 2, 1]
        );
        assert_eq!(
            order(vec![None, Some(3), Some(0), None]).unwrap(),
            [2, 3, 0, 1]
        );
        assert!(order(vec![Some(1), Some(1), None, None]).is_err());
        assert!(order(vec![Some(4), None, None, None]).is_err());
    }
}
