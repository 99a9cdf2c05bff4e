//! Logs as Parquet, for those who keep them for years or query many at once: a folder of
//! tables that other tools query directly, and that turns back into the log.
//!
//! ```
//! use logdef_archive::Archive;
//! use logdef_resync::{Input, NoImages, Recovery};
//!
//! let folder = std::env::temp_dir().join(format!("kept-{}", std::process::id()));
//! let inputs = [Input::from_bytes("app.log", Vec::new())];
//! let recovery = Recovery::of(&inputs)?;
//! let mut archive = Archive::open(&folder, None)?;
//! archive.add(&inputs, &[None], &recovery, NoImages)?;
//!
//! // A part is an input again.
//! let parts = logdef_archive::parts(&folder);
//! let again = logdef_archive::open(&parts[0], 1 << 30)?;
//! assert_eq!(again.len(), 0);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod batches;
mod bodies;
mod calls;
mod columns;
mod encoded;
mod folder;
mod group;
mod grouped;
mod guard;
mod order;
mod ordered;
mod packed;
mod page;
mod part;
mod read;
mod rebuild;
mod rows;
mod schema;
mod shapes;
mod side;
mod site;
mod stored;
mod sums;
mod table;
mod tables;

pub use batches::Batches;
pub use calls::{Calls, has_columns_only, push_msgpack};
pub use columns::Written;
pub use folder::{Archive, Identity, is_part, parts};
pub use guard::catches_panics;
pub use ordered::{Ordered, OrderedBatch};
pub use read::open;
pub use schema::Unit;
pub use shapes::sites;
pub use site::Recent;
pub use tables::Table;
