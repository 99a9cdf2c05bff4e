//! A log call on its way to the sink. What the macro lays down when it is compiled
//! is in `macros`, `argument`, `shown`, `fields`, `printed` and `site`; what is done once for a call site in
//! `resolve`; and each time: `gate` and `limit` say whether the call is on,
//! `emit` is the way itself, `body` makes the bytes, `callers` the backtrace, `kept` is the way of a call that comes
//! before the log is open. Knows nothing of files.

pub(crate) mod argument;
#[allow(unsafe_code)]
pub(crate) mod body;
#[allow(unsafe_code)]
mod callers;
#[allow(unsafe_code)]
pub(crate) mod emit;
mod expansion;
pub(crate) mod fields;
pub(crate) mod gate;
pub(crate) mod kept;
pub(crate) mod limit;
mod macros;
#[allow(unsafe_code)]
pub(crate) mod printed;
pub(crate) mod resolve;
pub(crate) mod shown;
#[allow(unsafe_code)]
pub(crate) mod site;
pub(crate) mod span;
