//! Archives of logdef, and logs as they lie, as tables of the query engine.
//!
//! [`Tables`] finds what some paths hold and gives it names: `records`, a view for each call site,
//! `sites`, `threads`, `losses`. They can be put down as bytes and made again elsewhere from the
//! same files ([`Tables::describe`], [`Tables::from_description`]), and so can the one leaf of
//! plans that the engine does not know, [`LogScan`], by a [`Codec`].
//!
//! ```no_run
//! use datafusion::prelude::SessionContext;
//! use logdef_source::{Config, Tables};
//!
//! # async fn example() -> datafusion::error::Result<()> {
//! let tables = Tables::open(Config::of(["kept", "logs/"]))?;
//! let context = SessionContext::new();
//! tables.register(&context)?;
//! context.sql("select count(*) from records").await?.show().await?;
//! println!("{}", tables.verdict()?);
//! # Ok(())
//! # }
//! ```

mod archives;
mod codec;
mod config;
mod error;
mod found;
mod functions;
mod knowledge;
mod likes;
mod logs;
mod names;
mod narrow;
mod overlap;
mod remote;
mod schema;
mod tables;
mod verdict;

pub use codec::Codec;
pub use config::Config;
pub use logs::{LogScan, Split};
pub use remote::is_remote;
pub use tables::Tables;
pub use verdict::Verdict;
