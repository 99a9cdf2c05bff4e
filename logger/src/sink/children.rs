//! Which forked children of the program may live: they may write to logs that it has closed. In
//! memory that the processes share, where each child enters itself.

use super::lent::{Owned, Shareable};
use crate::published::Published;
use crate::sys;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Children that can be distinguished.
const CHILDREN: usize = 256;

/// The memory that the processes share.
struct Children {
    /// Their process ids; 0 for none.
    pids: [AtomicU32; CHILDREN],
    /// There were more at a time.
    crowded: AtomicBool,
}

// SAFETY: zeros are no children; all of it is atomics.
unsafe impl Shareable for Children {
    unsafe fn clear(&self) {}
}

static SHARED: Published<Children> = Published::new();

/// Makes the memory, before the first child of a log is forked.
pub(super) fn prepare() {
    if SHARED.get().is_none()
        && let Ok(children) = Children::allocate()
    {
        SHARED.publish_first(Owned::leak(children));
    }
}

/// This process is a forked child.
pub(super) fn enter() {
    if let Some(children) = SHARED.get() {
        children.enter(sys::process_id());
    }
}

/// Whether another process lives that was forked since the first log was opened.
pub(super) fn may_live() -> bool {
    SHARED.get().is_some_and(Children::may_live)
}

impl Children {
    fn enter(&self, pid: u32) {
        let order = Ordering::SeqCst;
        let takes = |place: &AtomicU32, before| {
            before == pid || place.compare_exchange(before, pid, order, order).is_ok()
        };
        let mut pids = self.pids.iter().map(|place| (place, place.load(order)));
        let is_entered = pids
            .clone()
            .any(|(place, before)| [0, pid].contains(&before) && takes(place, before))
            || pids.any(|(place, before)| !sys::is_alive(before) && takes(place, before));
        if !is_entered {
            self.crowded.store(true, order);
        }
    }

    fn may_live(&self) -> bool {
        let pids = self.pids.iter().map(|place| place.load(Ordering::SeqCst));
        let lives = |pid| pid != 0 && pid != sys::process_id() && sys::is_alive(pid);
        self.crowded.load(Ordering::SeqCst) || pids.into_iter().any(lives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_ended_make_room_and_more_than_have_room_are_not_forgotten() {
        const ENDED: u32 = 0x3fff_fff0;
        let children = Children::allocate().unwrap();
        assert!(!children.may_live());
        for _ in 0..2 * CHILDREN {
            children.enter(ENDED);
        }
        assert!(!children.may_live());
        let alive = std::os::unix::process::parent_id();
        children.enter(alive);
        assert!(children.may_live());
        children
            .pids
            .iter()
            .for_each(|place| place.store(alive, Ordering::SeqCst));
        children.enter(sys::process_id());
        children
            .pids
            .iter()
            .for_each(|place| place.store(0, Ordering::SeqCst));
        assert!(children.may_live());
    }
}
