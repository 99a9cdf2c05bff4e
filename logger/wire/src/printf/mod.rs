//! printf formats as the writers see them: which arguments a format takes, of
//! which C type, and in which order they go into a record.
//!
//! Nothing here prints: rendering is the reader's business, and it uses the same
//! parser, so that what was captured and what is printed cannot disagree. All of
//! it works in a `const`, and none of it allocates, locks or loops over more than
//! the format, so a signal handler may plan a format it sees for the first time.
//!
//! # One table
//!
//! [`TABLE`] lists every conversion of C23 and glibc with the length modifiers it
//! takes, the C type that the caller passes for each, and the [`Class`] of what
//! goes on the wire. The captures of C, C++ and Rust are tested against it.
//!
//! # Order on the wire
//!
//! *Sequential formats* (no `n$` anywhere): the arguments stand in the order of
//! the directives; within a directive the width's `*`, then the precision's `*`,
//! then the value. The errno of a `%m` stands where its directive stands, although
//! the caller passes nothing for it.
//!
//! ```
//! use logdef_wire::printf::{Class, plan};
//!
//! const PLAN: [Class; 5] = classes(plan::<5>(b"%*d %m %.*s"));
//! assert_eq!(PLAN, [Class::Star, Class::Int, Class::Errno, Class::Star, Class::Str]);
//!
//! const fn classes<const N: usize>(plan: [logdef_wire::printf::ArgPlan; N]) -> [Class; N] {
//!     let mut classes = [Class::Int; N];
//!     let mut i = 0;
//!     while i < N {
//!         classes[i] = plan[i].class;
//!         i += 1;
//!     }
//!     classes
//! }
//! ```
//!
//! *Positional formats* (an `n$` anywhere): the caller's arguments 1 to n in their
//! own order, each once however often the format names it, then one errno if the
//! format has any `%m`. A number that no directive names is an `int`, as glibc has
//! it. Directives without a number, which the standard forbids beside numbered
//! ones, count from 1 by themselves, as in glibc.
//!
//! # Values on the wire
//!
//! Integers keep their sign and value after C's default promotions; what is printed
//! narrows them by the length modifier, as `printf` would, or prints the value as it
//! is: [`Integer::printed`]. The other classes are described at [`Class`].

mod check;
mod conversion;
mod directive;
mod integer;
mod order;
mod plan;

pub use check::{FormatError, Problem, check};
pub use conversion::{CType, Class, Conversion, Form, Length, Lengths, Row, TABLE};
pub use directive::{Count, Directive, Directives, Fault, Flags, MAX_ARGUMENTS};
pub use integer::Integer;
pub use order::{Order, Placed};
pub use plan::{
    ArgPlan, CallerArg, PlanError, Precision, caller_arg, caller_args, plan, plan_into, wire_args,
};
