//! Functions that are called when the level or the filter changes: facades remember these. Functions of
//! any copy of the logger, which are never taken back.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function that is called after a change.
pub type Changed = extern "C" fn();

const MOST: usize = 16;

/// Functions to call after a change. Added to without a lock.
pub(crate) struct Listeners([AtomicPtr<c_void>; MOST]);

impl Listeners {
    pub const fn new() -> Listeners {
        Listeners([const { AtomicPtr::new(ptr::null_mut()) }; MOST])
    }

    /// Adds one, unless it is known already. `false` if there are too many.
    pub fn add(&self, listener: Changed) -> bool {
        let new = listener as *mut c_void;
        self.0.iter().any(|place| {
            let null = ptr::null_mut();
            let found = place.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire);
            found.map_or_else(|known| known == new, |_| true)
        })
    }

    /// Calls every listener.
    pub fn call_all(&self) {
        for place in &self.0 {
            let listener = place.load(Ordering::Acquire);
            if !listener.is_null() {
                // SAFETY: `add` put a `Changed` here, whose library stays loaded
                // (`sys::keep_loaded`).
                let listener: Changed = unsafe { core::mem::transmute(listener) };
                listener();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU32;

    static CALLS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn listener() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn a_listener_that_is_added_twice_is_called_once() {
        let listeners = Listeners::new();
        listeners.call_all();
        assert!(listeners.add(listener) && listeners.add(listener));
        listeners.call_all();
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    }
}
