//! From items to knowledge: what stands where, which threads lost which records,
//! what every address and number means. Gives no record to anybody.

pub(crate) mod account;
mod block;
pub(crate) mod carried;
pub(crate) mod cuts;
pub(crate) mod floors;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod losses;
pub(crate) mod marks;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod pieces;
pub(crate) mod recovery;
pub(crate) mod run_of;
pub(crate) mod sequences;
pub(crate) mod shapes;
pub(crate) mod standing;
pub(crate) mod survey;
pub(crate) mod suspect;
pub(crate) mod tables;
pub(crate) mod thread_report;
pub(crate) mod walk;
