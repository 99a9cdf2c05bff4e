//! The way of records into log stores: what is sent of a log, in requests of bounded size, until the store
//! has said that it has them.

pub(crate) mod client;
pub(crate) mod entries;
pub(crate) mod feed;
pub(crate) mod headers;
pub(crate) mod pace;
pub(crate) mod sender;
pub(crate) mod stop;
pub(crate) mod store;
