//! Queries over workers: real processes of the command on 127.0.0.1. What they answer is compared with what the local
//! engine answers, byte for byte; and when something fails, it is an error that names the worker, and never rows.

mod damage;
mod foreign;
mod page;
mod process;
mod proxy;
mod same;

/// The log that archives are measured with.
#[allow(dead_code)]
#[path = "../../../../samples/examples/requests.rs"]
mod requests;
#[path = "../../../../samples/src/skip.rs"]
mod skip;
