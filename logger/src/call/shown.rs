//! How a call captures what a placeholder prints. The macro does not know the types of its
//! arguments, so it calls a method of a wrapper, and which one is found says how: a type that
//! the log has is logged as it is, one that implements [`Loggable`] as what that returns,
//! any other is printed by the program.

use crate::call::argument::{Argument, Passed};
use crate::call::printed::{DebugBy, DisplayBy, Printing};
use core::error::Error;
use core::fmt::{self, Debug, Display};
use logdef_wire::site::ArgKind;

/// A type that says which value it is logged as: its own number, text, or truth value.
///
/// ```
/// use logdef::{Loggable, Passed, logdef};
///
/// struct OrderId(u64);
///
/// impl Loggable for OrderId {
///     fn logged(&self) -> Passed<'_> {
///         logdef::value(&self.0)
///     }
/// }
///
/// let id = OrderId(7);
/// logdef!(Info, "order {id} was paid");
/// ```
///
/// In the log the argument is the integer 7, so that `logdef view -w 'id>5'` finds it. A type that is
/// several values implements [`Fields`](crate::Fields) too.
pub trait Loggable {
    /// The value that is logged: what [`value`] returns.
    fn logged(&self) -> Passed<'_>;
}

#[diagnostic::do_not_recommend]
impl<T: Loggable + ?Sized> Loggable for &T {
    #[inline]
    fn logged(&self) -> Passed<'_> {
        (**self).logged()
    }
}

/// A value as it is logged, for [`Loggable`].
///
/// Signal safety: async-signal-safe.
pub fn value<T: Argument<'='> + ?Sized>(value: &T) -> Passed<'_> {
    value.capture()
}

/// What `{}` prints of a value, for printf's `%s`: `logdef!(Info, "from %s", display(&address))`.
/// The program prints it straight into the record.
///
/// Signal safety: async-signal-safe, if printing the value is.
pub fn display<T: Display + ?Sized>(value: &T) -> impl Argument<'s'> + Display {
    AsText(move |f: &mut fmt::Formatter<'_>| value.fmt(f))
}

/// What `{:?}` prints of a value, for printf's `%s` and for `key = debug(&value)`, as
/// [`display`].
///
/// Signal safety: async-signal-safe, if printing the value is.
pub fn debug<T: Debug + ?Sized>(value: &T) -> impl Argument<'s'> + Display {
    AsText(move |f: &mut fmt::Formatter<'_>| value.fmt(f))
}

/// An error and what caused it, as far as it says: `cannot read a.toml: permission denied`.
/// As [`display`].
///
/// Signal safety: async-signal-safe, if printing the error is.
pub fn error<'a>(error: &'a (dyn Error + 'a)) -> impl Argument<'s'> + Display {
    AsText(move |f: &mut fmt::Formatter<'_>| {
        write!(f, "{error}")?;
        // One that is its own source would have no end.
        let mut next = error.source();
        for _ in 0..MOST_SOURCES {
            let Some(source) = next else { break };
            write!(f, ": {source}")?;
            next = source.source();
        }
        Ok(())
    })
}

/// Sources of an error beyond these are left out.
const MOST_SOURCES: usize = 64;

/// Text that a function prints.
struct AsText<F>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> Display for AsText<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> Argument<'s'> for AsText<F> {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        printed(self)
    }
}

#[diagnostic::do_not_recommend]
impl Argument<'s'> for fmt::Arguments<'_> {
    #[inline(always)]
    fn capture(&self) -> Passed<'_> {
        printed(self)
    }
}

/// For facades, which know their values by these traits alone.
impl<'a> Passed<'a> {
    /// What `{}` prints of a value, straight into the record.
    ///
    /// Signal safety: async-signal-safe, if printing the value is.
    pub fn display(value: &'a dyn Display) -> Passed<'a> {
        Passed::printed(Printing::TEXT, Printing::display(value, by_display().by))
    }

    /// What `{:?}` prints of a value, straight into the record.
    ///
    /// Signal safety: async-signal-safe, if printing the value is.
    pub fn debug(value: &'a dyn Debug) -> Passed<'a> {
        Passed::printed(Printing::TEXT, Printing::debug(value, by_debug().by))
    }
}

#[inline(always)]
fn printed<T: Display>(value: &T) -> Passed<'_> {
    let how = by_display();
    Passed::printed(Printing::TEXT, Printing::display(value, how.by))
}

/// An argument of a placeholder without `?`.
#[derive(Debug)]
pub struct Displayed<'a, const CLASS: char, T>(pub &'a T);

/// An argument of a placeholder with `?`.
#[derive(Debug)]
pub struct Debugged<'a, T>(pub &'a T);

/// How the program prints a value, and whether with width or precision.
#[derive(Clone, Copy, Debug)]
pub struct How<By> {
    by: By,
    is_whole: bool,
}

impl<By> How<By> {
    /// The kind of the printed text.
    #[inline(always)]
    fn kind(&self) -> ArgKind {
        if self.is_whole {
            Printing::WHOLE
        } else {
            Printing::TEXT
        }
    }
}

/// `{}`
pub const fn by_display() -> How<DisplayBy> {
    by_display_of(|value, to| to.write_fmt(format_args!("{value}")), false)
}

/// `{:>8}` and its like.
pub const fn by_display_of(by: DisplayBy, is_whole: bool) -> How<DisplayBy> {
    How { by, is_whole }
}

/// `{:?}`
pub const fn by_debug() -> How<DebugBy> {
    by_debug_of(|value, to| to.write_fmt(format_args!("{value:?}")), false)
}

/// `{:#?}` and its like.
pub const fn by_debug_of(by: DebugBy, is_whole: bool) -> How<DebugBy> {
    How { by, is_whole }
}

/// The types that the log has.
pub trait TypedDisplay<'a> {
    /// The value as an argument of the call, for a placeholder without `?`.
    fn __logdef_pass(&self, how: How<DisplayBy>) -> Passed<'a>;
}

impl<'a, const CLASS: char, T> TypedDisplay<'a> for &Displayed<'a, CLASS, T>
where
    T: Argument<CLASS>,
{
    #[inline(always)]
    fn __logdef_pass(&self, _: How<DisplayBy>) -> Passed<'a> {
        self.0.capture()
    }
}

/// Those that say what they are logged as.
pub trait LoggedDisplay<'a> {
    /// The value as an argument of the call, for a placeholder without `?`.
    fn __logdef_pass(&self, how: How<DisplayBy>) -> Passed<'a>;
}

impl<'a, const CLASS: char, T> LoggedDisplay<'a> for &&Displayed<'a, CLASS, T>
where
    T: Loggable,
{
    #[inline(always)]
    fn __logdef_pass(&self, _: How<DisplayBy>) -> Passed<'a> {
        self.0.logged()
    }
}

/// All others: they print themselves.
pub trait PrintedDisplay<'a> {
    /// The type of the value, which the bound below names.
    type Of;
    /// The value as an argument of the call, for a placeholder without `?`.
    fn __logdef_pass(&self, how: How<DisplayBy>) -> Passed<'a>
    where
        Self::Of: Display;
}

impl<'a, const CLASS: char, T> PrintedDisplay<'a> for Displayed<'a, CLASS, T> {
    type Of = T;

    #[inline(always)]
    fn __logdef_pass(&self, how: How<DisplayBy>) -> Passed<'a>
    where
        T: Display,
    {
        let printing = Printing::display(self.0, how.by);
        Passed::printed(how.kind(), printing)
    }
}

/// As [`TypedDisplay`].
pub trait TypedDebug<'a> {
    /// The value as an argument of the call, for a placeholder with `?`.
    fn __logdef_pass(&self, how: How<DebugBy>) -> Passed<'a>;
}

impl<'a, T> TypedDebug<'a> for &Debugged<'a, T>
where
    T: Argument<'?'>,
{
    #[inline(always)]
    fn __logdef_pass(&self, _: How<DebugBy>) -> Passed<'a> {
        self.0.capture()
    }
}

/// As [`PrintedDisplay`].
pub trait PrintedDebug<'a> {
    /// The type of the value, which the bound below names.
    type Of;
    /// The value as an argument of the call, for a placeholder with `?`.
    fn __logdef_pass(&self, how: How<DebugBy>) -> Passed<'a>
    where
        Self::Of: Debug;
}

impl<'a, T> PrintedDebug<'a> for Debugged<'a, T> {
    type Of = T;

    #[inline(always)]
    fn __logdef_pass(&self, how: How<DebugBy>) -> Passed<'a>
    where
        T: Debug,
    {
        print_debug(self.0, how)
    }
}

/// Captures what `Debug` prints, whatever the type.
#[inline(always)]
pub fn print_debug<'a, T>(value: &'a T, how: How<DebugBy>) -> Passed<'a>
where
    T: Debug,
{
    let printing = Printing::debug(value, how.by);
    Passed::printed(how.kind(), printing)
}
