#![doc = include_str!("../FORMAT.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod braces;
pub mod control;
mod description;
mod directive;
pub mod frame;
mod ids;
mod level;
pub mod msgpack;
mod owned;
mod pattern;
pub mod printf;
pub mod record;
pub mod site;
mod typed;

pub use description::{Description, Grammar};
pub use directive::{Directive, directives, level_at};
pub use ids::{Avma, Magic, Run, Sequence, Svma, ThreadNumber};
pub use level::{Level, LevelError};
pub use msgpack::{Array, Map, Value};
pub use owned::OwnedValue;
pub use record::{Record, Tag};
pub use typed::Typed;
