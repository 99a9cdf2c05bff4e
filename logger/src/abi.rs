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

use crate::clock::ClockSource;
use crate::options::{Sink, of_number};
use core::ffi::c_int;

/// The sink that has a number in `logdef.h`.
pub fn sink(number: c_int) -> Option<Sink> {
    of_number(&Sink::ALL, number.try_into().ok()?)
}

/// The clock that has a number in `logdef.h`.
pub fn clock(number: c_int) -> Option<ClockSource> {
    of_number(&ClockSource::ALL, number.try_into().ok()?)
}

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
