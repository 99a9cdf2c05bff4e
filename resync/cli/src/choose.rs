//! Which records a verb is about, and the way of a record through its filters.

pub(crate) mod backlog;
pub(crate) mod chosen;
pub(crate) mod condition;
pub(crate) mod cursor;
pub(crate) mod expression;
pub(crate) mod filter;
pub(crate) mod forms;
pub(crate) mod needle;
pub(crate) mod sieve;
pub(crate) mod tail;
pub(crate) mod viewer;
pub(crate) mod when;
