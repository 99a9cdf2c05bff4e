//! The page of `report`: what it gathers of a log in one pass, and how each part of it is drawn. All
//! that a log holds comes through [`redact::Redact`] first, and becomes markup through
//! [`crate::show::markup`] alone.

pub mod changes;
pub mod endings;
pub mod facts;
pub mod flame;
pub mod lanes;
pub mod latest;
pub mod page;
pub mod redact;
