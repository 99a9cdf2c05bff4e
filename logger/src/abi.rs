//! What the C ABI is made of. Not for use from Rust, and no part of the stable
//! interface.

pub use crate::emit::{emit, emit_text};
pub use crate::filter::{decide, is_possible};
pub use crate::limit::Limit;
pub use crate::meeting::{Services, meeting};
pub use crate::site::{Image, Site, SiteState};
