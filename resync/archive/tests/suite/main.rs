//! Logs become archives and logs again, and files of others are refused.
#![cfg(target_endian = "little")]

mod all_fields;
mod batches;
mod hostile;
mod made;
mod ordered;
mod parts;
mod sites;
