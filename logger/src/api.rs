//! What a program asks of the log, besides log calls. Each public function has a line
//! *Signal safety*.
//!
//! The copy of the logger that leads does all of it. `here` holds what this copy
//! does when it leads, under the names of [`crate::copies::leader`]'s table; `choose` has
//! a function of each of these names that asks which copy leads, made from the table, so
//! that none can forget to. `open` and `control` are the public functions, which call those.

pub(crate) mod call_site;
pub(crate) mod choose;
pub(crate) mod control;
#[allow(unsafe_code)]
pub(crate) mod gathered;
pub(crate) mod here;
#[allow(unsafe_code)]
pub(crate) mod in_context;
pub(crate) mod open;
pub(crate) mod origins;
pub(crate) mod places;
pub mod testing;
