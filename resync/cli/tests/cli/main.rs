//! The command as its users drive it: logs made with the encoders of
//! `logdef-wire`, the real binary, its streams and its exit status.

mod agreement;
#[cfg(target_endian = "little")]
mod archive;
#[cfg(feature = "browse")]
mod browse;
mod campaign;
mod check;
mod clock;
mod complete;
mod contexts;
#[path = "../../../../samples/src/copy.rs"]
mod copy;
mod cores;
mod ctl;
mod cursor;
mod early;
mod escapes;
mod examples;
mod export;
mod filter;
mod fixture;
mod follow;
mod forms;
mod hostile;
mod import;
mod inputs;
mod kept;
mod manual;
mod marks;
mod named;
mod otlp;
mod pager;
mod push;
#[cfg(target_endian = "little")]
mod redact;
mod refused;
mod report;
mod rewrite;
mod serve;
mod sieve;
#[path = "../../../../samples/src/skip.rs"]
mod skip;
mod spans;
mod stats;
mod stores;
mod verbs;
mod view;
#[path = "../watched/mod.rs"]
mod watched;
