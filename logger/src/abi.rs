//! What the C ABI is made of. Not for use from Rust, and no part of the stable
//! interface.

pub use crate::call::body::pairs::encode_pairs;
pub use crate::call::emit::{emit, emit_at, emit_text};
pub use crate::call::gate::{decide, decide_at, is_possible, is_possible_now};
pub use crate::call::limit::Limit;
pub use crate::call::site::{Image, Site, SiteState};
pub use crate::context::{Context, KeysHead};
pub use crate::copies::leader::{LeaderTable, leader_or_self};
pub use crate::state::RawState;

/// Fills in the state of the log.
pub fn state(into: &mut RawState) {
    crate::api::choose::state(into);
}

/// A number for a context, given once in this process.
pub fn next_context() -> u64 {
    crate::api::choose::next_context()
}

/// Makes a context that of the calling thread, null for none, and returns the one before.
/// It stays valid as long as it is some thread's.
#[inline]
pub fn enter_context(context: *const Context) -> *const Context {
    crate::api::choose::enter_context(context)
}

/// The context of the calling thread; null for none.
#[inline]
pub fn current_context() -> *const Context {
    crate::api::choose::current_context()
}
