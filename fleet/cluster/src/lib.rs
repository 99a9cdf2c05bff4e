//! Queries on many machines, by [`datafusion_distributed`].
//!
//! A coordinator ([`Cluster`]) plans a query as the local engine does. Scans are cut into pieces (`split`), and each
//! task of a stage is sent to a worker as a plan of its own. A worker ([`serve`]) reads files by their paths, under
//! the folders it was started with (`folders`), if they are those that the plan was made for (`guard`). Both refuse a
//! peer of another version (`version`). Whatever fails, the query fails with an error that names the worker
//! (`channel`); it is not tried again, and a part of an answer is never taken for it.

mod channel;
mod codec;
mod coordinator;
mod described;
mod folders;
mod guard;
mod listener;
mod settings;
mod split;
mod version;
mod worker;

pub use channel::reason;
pub use coordinator::{Cluster, Settings};
pub use version::version;
pub use worker::{WorkerOptions, serve};
