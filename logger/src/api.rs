//! What a program asks of the log, beside calls. None of it may be called in a signal
//! handler, unless a function says so.
//!
//! Each of it is done by the copy of the logger that leads. `here` holds what this copy
//! does when it leads, under the names of [`crate::copies::leader`]'s table; `choose` has
//! a function of each of these names that asks which copy leads, made from the table, so
//! that none can forget to. `open` and `control` are the public functions, made of those.

pub(crate) mod choose;
pub(crate) mod control;
pub(crate) mod here;
pub(crate) mod open;
