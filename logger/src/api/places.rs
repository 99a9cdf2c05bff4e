//! Where facades and bindings keep the call sites that they made, each under what it is known by.
//! Found without a lock. Knows nothing of calls.

use std::sync::OnceLock;

/// Places that are tried for one value.
const TRIES: usize = 64;

/// `N` places for values that are made when they are asked for first, and are never removed.
#[derive(Debug)]
pub struct Places<T, const N: usize>([OnceLock<T>; N]);

impl<T, const N: usize> Places<T, N> {
    /// All empty.
    #[allow(clippy::new_without_default, reason = "made in statics only")]
    pub const fn new() -> Self {
        Places([const { OnceLock::new() }; N])
    }

    /// What is in the place that a hash says, where nearly every value is.
    #[inline(always)]
    pub fn first(&self, hash: usize) -> Option<&T> {
        self.0[hash % N].get()
    }

    /// The value that `is_it` knows again, from the place on that its hash says, or a new one in the
    /// first place that is empty. `None` if others have all the places that are tried.
    pub fn find(
        &self,
        hash: usize,
        make: impl Fn() -> T,
        is_it: impl Fn(&T) -> bool,
    ) -> Option<&T> {
        let mut tried =
            (0..TRIES).map(|step| self.0[hash.wrapping_add(step) % N].get_or_init(&make));
        tried.find(|value| is_it(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_and_found_again_until_its_places_are_taken() {
        let places = Places::<usize, 1024>::new();
        let find = |value: usize| places.find(usize::MAX - 5, || value, |found| *found == value);
        for value in 0..TRIES {
            let found = find(value).unwrap();
            assert!(std::ptr::eq(found, find(value).unwrap()), "{value}");
        }
        assert_eq!(find(TRIES), None);
        assert_eq!(find(3), Some(&3));
        assert!(
            places
                .find(500, || TRIES, |found| *found == TRIES)
                .is_some()
        );
    }
}
