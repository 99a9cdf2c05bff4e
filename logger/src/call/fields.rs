//! Own types that are several values: how the macro finds one among the arguments of a call, and how
//! its fields become key-values of the record. Knows no record and no site but its names.

use crate::call::argument::Passed;
use crate::call::shown::Loggable;
use crate::call::site::{MAX_WIRE_ARGS, Site};
use core::panic::AssertUnwindSafe;
use logdef_wire::printf::ArgPlan;
use std::panic::catch_unwind;

/// A type that is logged as several values with names, beside the one that its text shows.
///
/// ```
/// use logdef::{Field, Fields, Loggable, Passed, logdef, value};
///
/// struct Request {
///     method: &'static str,
///     ms: f64,
/// }
///
/// impl Loggable for Request {
///     fn logged(&self) -> Passed<'_> {
///         value(&self.method)
///     }
/// }
///
/// impl Fields for Request {
///     fn fields(&self, log: &mut dyn FnMut(&[Field<'_>])) {
///         log(&[("method", value(&self.method)), ("ms", value(&self.ms))]);
///     }
/// }
///
/// let req = Request { method: "GET", ms: 7.5 };
/// logdef!(Info, "request {req}"); // request GET req.method=GET req.ms=7.5
/// ```
///
/// What [`Loggable::logged`] returns is what `{req}` prints. The fields are key-values of the record, with their
/// types, named after the argument (`req.ms`; of an argument without a name, `ms`): `logdef view -w
/// 'req.ms>5'` finds them, JSON has them in `keys`.
///
/// Which fields a type has is known when it is called, and not when the call is compiled. So their
/// names stand in each record, unlike those of arguments, and the call takes a longer way: see
/// "What costs what" in `docs/rust.md`. Where a record counts, `logdef!(Info, "request", method = req.method, ms =
/// req.ms)` says the same.
pub trait Fields: Loggable {
    /// Calls `log` with the names of all fields and their values, which may be made for it. Only
    /// the first call of `log` counts, and 16 fields of all arguments together; if this panics
    /// before it, the record has none.
    fn fields(&self, log: &mut dyn FnMut(&[Field<'_>]));
}

/// The name of a field and its value.
pub type Field<'a> = (&'a str, Passed<'a>);

#[diagnostic::do_not_recommend]
impl<T: Fields + ?Sized> Fields for &T {
    fn fields(&self, log: &mut dyn FnMut(&[Field<'_>])) {
        (**self).fields(log);
    }
}

/// Fields beyond these are left out.
const MOST: usize = 16;
/// Bytes for the names of the fields of an argument.
const NAMES: usize = 512;

/// An argument of a call.
#[derive(Debug)]
pub struct Fielded<'a, T: ?Sized>(pub &'a T);

/// A type of the program that lowers itself to several named values.
pub trait HasFields<'a> {
    /// The argument.
    fn __logdef_fields(&self) -> Option<&'a dyn Fields>;
}

impl<'a, T: Fields> HasFields<'a> for Fielded<'a, T> {
    #[inline(always)]
    fn __logdef_fields(&self) -> Option<&'a dyn Fields> {
        Some(self.0)
    }
}

/// All others.
pub trait HasNoFields<'a> {
    /// None.
    fn __logdef_fields(&self) -> Option<&'a dyn Fields>;
}

impl<'a, T: ?Sized> HasNoFields<'a> for &Fielded<'a, T> {
    #[inline(always)]
    fn __logdef_fields(&self) -> Option<&'a dyn Fields> {
        None
    }
}

/// The fields of the arguments of a call, gathered one argument after another: they are lent for
/// the time of a function call, so the next is asked within that of the one before.
struct Gathering<'g> {
    site: &'g Site,
    fields: &'g [Option<&'g dyn Fields>],
}

/// Calls `emit` once, with the fields of all arguments of a call.
pub(crate) fn gather(
    site: &Site,
    fields: &[Option<&dyn Fields>],
    emit: &mut dyn FnMut(&[Field<'_>]),
) {
    Gathering { site, fields }.from(0, &[], emit);
}

impl Gathering<'_> {
    /// Those of the arguments from `index` on, after those that are known.
    fn from(&self, index: usize, known: &[Field<'_>], emit: &mut dyn FnMut(&[Field<'_>])) {
        let mut arguments = self.fields.iter().enumerate().skip(index);
        let next = arguments.find_map(|(index, fields)| Some((index, (*fields)?)));
        let Some((index, argument)) = next else {
            return emit(known);
        };
        let name = name_of(self.site, index);
        let mut done = false;
        let asked = catch_unwind(AssertUnwindSafe(|| {
            argument.fields(&mut |pairs| {
                if !core::mem::replace(&mut done, true) {
                    self.with(index, known, (&name, pairs), emit);
                }
            });
        }));
        if !done {
            self.from(index + 1, known, emit);
        }
        drop(asked);
    }

    /// Adds those of an argument, and goes to the next.
    fn with(
        &self,
        index: usize,
        known: &[Field<'_>],
        (name, pairs): (&Name<'_>, &[Field<'_>]),
        emit: &mut dyn FnMut(&[Field<'_>]),
    ) {
        let (mut names, mut all) = ([0; NAMES], [("", Passed::none()); MOST]);
        let mut names = &mut names[..];
        let mut len = 0;
        for pair in known {
            len += put(&mut all, len, *pair);
        }
        for (key, value) in pairs {
            let (key, rest) = name.join(key, names);
            names = rest;
            len += put(&mut all, len, (key, *value));
        }
        self.from(index + 1, &all[..len], emit);
    }
}

/// How many there are more.
fn put<'p>(all: &mut [Field<'p>], at: usize, pair: Field<'p>) -> usize {
    match all.get_mut(at) {
        Some(place) => {
            *place = pair;
            1
        }
        None => 0,
    }
}

/// What an argument is called, if it has a name.
struct Name<'s>(Option<&'s str>);

impl Name<'_> {
    /// `name.key`, and the room that is left; the key alone where there is no room for both.
    fn join<'r>(&self, key: &'r str, room: &'r mut [u8]) -> (&'r str, &'r mut [u8]) {
        let Some(name) = self.0 else {
            return (key, room);
        };
        let len = name.len() + 1 + key.len();
        if len > room.len() {
            return (key, room);
        }
        let (joined, rest) = room.split_at_mut(len);
        joined[..name.len()].copy_from_slice(name.as_bytes());
        joined[name.len()] = b'.';
        joined[name.len() + 1..].copy_from_slice(key.as_bytes());
        (core::str::from_utf8(joined).unwrap_or(key), rest)
    }
}

/// The name of an argument of the caller's.
fn name_of(site: &Site, index: usize) -> Name<'_> {
    let mut plan = [ArgPlan::UNNAMED; MAX_WIRE_ARGS];
    let len = site.plan_into(&mut plan);
    let is_it = |plan: &ArgPlan| usize::from(plan.caller_arg) == index;
    let on_the_wire = plan[..len].iter().position(is_it);
    let name = on_the_wire.and_then(|at| site.description().name(at));
    Name(name.and_then(|name| core::str::from_utf8(name).ok()))
}
