//! What the C ABI is made of. Not for use from Rust, and no part of the stable
//! interface.

pub use crate::call::emit::{emit, emit_text};
pub use crate::call::gate::{decide, is_possible, is_possible_now};
pub use crate::call::limit::Limit;
pub use crate::call::site::{Image, Site, SiteState};
pub use crate::copies::leader::{LeaderTable, leader_or_self};
pub use crate::state::RawState;

/// Fills in the state of the log.
pub fn state(into: &mut RawState) {
    crate::api::choose::state(into);
}
