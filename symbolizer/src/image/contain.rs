//! The last line of defence against data that a decoder did not expect. Decoders are not meant to
//! panic on any input; if one does after all, the answer is lost and the rest of the log is not.

use std::panic::{self, AssertUnwindSafe};

/// Runs a decoder; `None` if it panicked. What it was changing then is not to be trusted: callers
/// give it nothing that they look at again but counters.
pub(crate) fn contained<T>(decode: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(decode)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_where_it_is_contained() {
        assert_eq!(contained(|| 3), Some(3));
        assert_eq!(contained(|| -> u8 { panic!("on purpose") }), None);
    }
}
