//! Logs as Parquet, for those who keep them for years or ask one question of many: a folder of
//! tables that other tools query as they are, and that turns back into the log.
#![forbid(unsafe_code)]

mod folder;
mod group;
mod guard;
mod page;
mod part;
mod read;
mod rebuild;
mod rows;
mod schema;
mod side;
mod site;
mod stored;
mod table;

pub use folder::{Archive, Identity, is_part, parts};
pub use guard::catches_panics;
pub use part::Written;
pub use read::open;
pub use schema::Unit;
