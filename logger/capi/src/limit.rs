//! The rate limit by time. Those by number are in `logdef.h`, inline.

use core::time::Duration;
use logdef::abi::Limit;

/// Returns how many calls were skipped since the last one that was due, if this one is due,
/// else -1.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// `limit` points to a `struct logdef_limit` that only these functions change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_at_most_every(limit: *const Limit, ms: u64) -> i64 {
    // SAFETY: `limit` is as `# Safety` demands, and both members are atomic.
    let limit = unsafe { &*limit };
    let skipped = limit.at_most_every(Duration::from_millis(ms));
    skipped.map_or(-1, |skipped| i64::try_from(skipped).unwrap_or(i64::MAX))
}
