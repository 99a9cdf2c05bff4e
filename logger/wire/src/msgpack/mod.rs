//! The part of msgpack that log records are made of: what we write
//! ([`Encoder`]: integers, floats, nil, booleans, arrays, maps and the old raw
//! family) and what we read ([`Decoder`]: all of msgpack, since a record may
//! carry fields of a later version). Nothing here knows what a record is.

mod collections;
mod decode;
mod encode;
mod kinds;

pub use collections::{Array, Map};
pub(crate) use decode::end_of_objects;
pub use decode::{DecodeError, Decoder, Reason, Value};
pub use encode::{Encoder, MapEncoder, OutOfRoom};
pub use kinds::Kinds;

/// The one byte that no msgpack object starts with.
pub const NEVER: u8 = 0xc1;
