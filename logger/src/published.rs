//! A pointer to memory that is published and never freed, for any thread and signal
//! handler to read. A room for unsafe; knows nothing of what is published.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A pointer that starts as null. A value that is replaced is not freed: a thread may be reading it.
/// In zeroed memory, nothing is published.
#[repr(transparent)]
pub(crate) struct Published<T: 'static>(AtomicPtr<T>);

// SAFETY: it hands out `&'static T`, to any thread, and nothing else; what it holds was
// a `&'static T` of the thread that published it.
unsafe impl<T: Sync> Sync for Published<T> {}

impl<T> Published<T> {
    /// Nothing is published.
    pub const fn new() -> Published<T> {
        Published(AtomicPtr::new(ptr::null_mut()))
    }

    /// What is published.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or a `&'static T`: nothing else is stored here.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Publishes `new`, unless something is published already, and returns what is.
    pub fn publish_first(&self, new: &'static T) -> &'static T {
        match self.exchange(ptr::null_mut(), new) {
            Ok(()) => new,
            Err(other) => other.unwrap_or(new),
        }
    }

    /// Publishes `new` in place of whatever was published.
    pub fn replace(&self, new: Option<&'static T>) {
        let new = new.map_or(ptr::null_mut(), |new| ptr::from_ref(new).cast_mut());
        self.0.store(new, Ordering::Release);
    }

    /// Publishes `new` in place of `old`; `false` if something else is published.
    pub fn replace_if(&self, old: &T, new: &'static T) -> bool {
        self.exchange(ptr::from_ref(old).cast_mut(), new).is_ok()
    }

    /// What is published instead, if it was not `old`.
    fn exchange(&self, old: *mut T, new: &'static T) -> Result<(), Option<&'static T>> {
        let new = ptr::from_ref(new).cast_mut();
        match self
            .0
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => Ok(()),
            // SAFETY: as in `get`.
            Err(other) => Err(unsafe { other.as_ref() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NUMBERS: [u32; 3] = [10, 11, 12];

    #[test]
    fn the_first_to_publish_wins_and_all_get_the_same() {
        static PUBLISHED: Published<u32> = Published::new();
        assert_eq!(PUBLISHED.get(), None);
        let got: Vec<&u32> = std::thread::scope(|scope| {
            let threads = NUMBERS
                .each_ref()
                .map(|number| scope.spawn(move || PUBLISHED.publish_first(number)));
            threads.map(|thread| thread.join().unwrap()).to_vec()
        });
        assert!(got.iter().all(|number| ptr::eq(*number, got[0])));
        assert_eq!(PUBLISHED.get(), Some(got[0]));
    }

    #[test]
    fn only_what_is_published_is_replaced() {
        let published = Published::new();
        let [a, b, c] = &NUMBERS;
        assert!(!published.replace_if(a, b));
        published.replace(Some(a));
        assert!(published.replace_if(a, b));
        assert!(!published.replace_if(a, c));
        assert_eq!(published.publish_first(c), b);
        published.replace(None);
        assert_eq!(published.get(), None);
    }
}
