//! What verbs say to machines. JSON.md lists the keys.

mod check;
mod foreign;
mod object;
mod record;

pub use check::{check, push_losses};
pub use foreign::Foreign;
pub use object::{Object, list, push_number, push_string};
pub use record::{Writer, stack_entry};
