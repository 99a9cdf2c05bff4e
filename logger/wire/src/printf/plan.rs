//! The capture plan: what to fetch for each argument that goes on the wire, in
//! wire order. A call site keeps its plan as a static; a format that is first
//! seen at run time is planned on the spot, on the stack of the caller.

use super::conversion::{CType, Class, Conversion, Length};
use super::directive::{Count, Directive, Directives};

/// How one argument of a record is captured.
///
/// Eight bytes without padding, because every call site has an array of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub struct ArgPlan {
    /// What goes on the wire.
    pub class: Class,
    /// What the caller passes.
    pub c_type: CType,
    /// Which argument of the caller it is, counted from 0 after the format;
    /// [`ArgPlan::NO_ARGUMENT`] for an errno.
    pub caller_arg: u16,
    precision: u32,
}

const _: () = assert!(size_of::<ArgPlan>() == 8 && align_of::<ArgPlan>() == 4);

impl ArgPlan {
    /// The `caller_arg` of an errno, which the caller does not pass.
    pub const NO_ARGUMENT: u16 = u16::MAX;

    /// An argument that no directive names: an `int`. Also a start value for
    /// arrays that [`plan_into`] fills.
    pub const UNNAMED: Self = Self::new(Class::Int, CType::Int, 0, Precision::None);

    /// An argument that goes on the wire as the type that it has: that of a template, or
    /// one that no text prints.
    pub const fn value(caller_arg: u16) -> Self {
        Self::new(Class::Str, CType::CharPointer, caller_arg, Precision::None)
    }

    const NO_PRECISION: u32 = u32::MAX;
    const STAR: u32 = 1 << 31;

    const fn new(class: Class, c_type: CType, caller_arg: u16, precision: Precision) -> Self {
        let precision = match precision {
            Precision::None => Self::NO_PRECISION,
            Precision::Fixed(n) if n < Self::STAR => n,
            Precision::Fixed(_) => Self::STAR - 1,
            Precision::Argument(wire_arg) => Self::STAR | wire_arg as u32,
        };
        Self {
            class,
            c_type,
            caller_arg,
            precision,
        }
    }

    /// How much of a string to read. None for arguments of other classes.
    pub const fn precision(&self) -> Precision {
        match self.precision {
            Self::NO_PRECISION => Precision::None,
            n if n & Self::STAR != 0 => Precision::Argument(n as u16),
            n => Precision::Fixed(n),
        }
    }

    /// Whether it is a string of bytes, however long.
    #[inline]
    pub const fn is_whole_string(&self) -> bool {
        matches!(self.class, Class::Str) && self.precision == Self::NO_PRECISION
    }

    const fn is_string(&self) -> bool {
        matches!(self.class, Class::Str | Class::WideStr)
    }
}

/// How many bytes of a string may be read and logged: its terminator need not
/// come sooner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Precision {
    /// Up to the terminator.
    None,
    /// At most this many bytes.
    Fixed(u32),
    /// At most as many bytes as the integer at this index of the same plan says;
    /// up to the terminator if that is negative.
    Argument(u16),
}

impl Precision {
    /// The precision that covers two directives which print the same string.
    ///
    /// It reads no further than at least one of them may. Two different `*`s
    /// cannot be weighed beforehand; then the first counts, and [`check`] refuses
    /// such a format.
    ///
    /// [`check`]: super::check
    const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::Fixed(a), Self::Fixed(b)) => Self::Fixed(if a > b { a } else { b }),
            (first, _) => first,
        }
    }
}

/// The plan does not fit the slice it was to be written to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PlanError {
    /// How many entries it takes.
    pub needed: usize,
}

impl core::fmt::Display for PlanError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "format takes {} arguments, more than fit", self.needed)
    }
}

impl core::error::Error for PlanError {}

/// How many arguments a caller passes with `format`.
pub const fn caller_args(format: &[u8]) -> usize {
    Shape::of(format).caller_args as usize
}

/// How many arguments a record with `format` holds.
pub const fn wire_args(format: &[u8]) -> usize {
    Shape::of(format).wire_args()
}

/// The plan of `format`, whose length `N` must be [`wire_args`] of it.
///
/// # Panics
///
/// If `N` is another number; in a `const`, that stops the compiler.
pub const fn plan<const N: usize>(format: &[u8]) -> [ArgPlan; N] {
    let mut plan = [ArgPlan::UNNAMED; N];
    match plan_into(format, &mut plan) {
        Ok(n) if n == N => plan,
        _ => panic!("the plan's length is not the number of arguments on the wire"),
    }
}

/// Writes the plan of `format` to the start of `plan` and returns its length.
///
/// Async-signal-safe: no allocation, no lock, time linear in the format. Any
/// bytes are a format; what is malformed in it takes no value.
///
/// # Errors
///
/// If `plan` is too short, which leaves it as it was.
pub const fn plan_into(format: &[u8], plan: &mut [ArgPlan]) -> Result<usize, PlanError> {
    let shape = Shape::of(format);
    let needed = shape.wire_args();
    if needed > plan.len() {
        return Err(PlanError { needed });
    }
    let mut planner = Planner {
        plan,
        positional: shape.positional,
        placed: 0,
    };
    if shape.positional {
        planner.begin(needed, shape.caller_args);
    }
    let mut directives = Directives::new(format);
    while let Some(directive) = directives.advance() {
        planner.add(&directive);
    }
    Ok(needed)
}

/// What a directive does with one argument of the caller, for compile-time checks
/// of the argument's type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CallerArg {
    /// What goes on the wire.
    pub class: Class,
    /// What a C caller passes.
    pub c_type: CType,
    /// The conversion's letter; `*` for a width or precision.
    pub conversion: Conversion,
    /// The length modifier.
    pub length: Length,
    /// Where in the format the directive starts.
    pub start: usize,
    /// Where in the format the directive ends.
    pub end: usize,
    pub(super) precision: Count,
}

/// The first use of the caller's argument `index`, counted from 0; none if no
/// directive names it. [`check`](super::check) sees to it that other uses agree.
pub const fn caller_arg(format: &[u8], index: usize) -> Option<CallerArg> {
    let mut directives = Directives::new(format);
    while let Some(directive) = directives.advance() {
        let mut nth = 0;
        while let Some((n, used)) = nth_use(&directive, nth) {
            if n as usize == index {
                return Some(used);
            }
            nth += 1;
        }
    }
    None
}

/// The uses that one directive makes of arguments: width, precision, value.
pub(super) const fn nth_use(directive: &Directive, nth: usize) -> Option<(u16, CallerArg)> {
    let mut left = nth;
    let star = CallerArg {
        class: Class::Star,
        c_type: CType::Int,
        conversion: Conversion(b'*'),
        length: Length::None,
        start: directive.start,
        end: directive.end,
        precision: Count::None,
    };
    if let Count::Argument(n) = directive.width {
        if left == 0 {
            return Some((n, star));
        }
        left -= 1;
    }
    if let Count::Argument(n) = directive.precision {
        if left == 0 {
            return Some((n, star));
        }
        left -= 1;
    }
    if let (Some(n), Some(form), 0) = (directive.argument, directive.form(), left) {
        let value = CallerArg {
            class: form.class,
            c_type: form.c_type,
            conversion: directive.conversion,
            length: directive.length,
            precision: directive.precision,
            ..star
        };
        return Some((n, value));
    }
    None
}

/// How many arguments a format has, and of which kind of format it is.
#[derive(Clone, Copy)]
struct Shape {
    positional: bool,
    caller_args: u16,
    errnos: usize,
}

impl Shape {
    const fn of(format: &[u8]) -> Self {
        let mut caller_args = 0;
        let mut errnos = 0;
        let mut directives = Directives::new(format);
        while let Some(directive) = directives.advance() {
            let mut nth = 0;
            while let Some((n, _)) = nth_use(&directive, nth) {
                if n >= caller_args {
                    caller_args = n + 1;
                }
                nth += 1;
            }
            if matches!(directive.class(), Some(Class::Errno)) {
                errnos += 1;
            }
        }
        Self {
            positional: directives.is_positional(),
            caller_args,
            errnos,
        }
    }

    const fn wire_args(&self) -> usize {
        let errnos = if self.positional && self.errnos > 1 {
            1
        } else {
            self.errnos
        };
        self.caller_args as usize + errnos
    }
}

/// Fills a plan that is known to be long enough.
struct Planner<'p> {
    plan: &'p mut [ArgPlan],
    positional: bool,
    /// How many entries stand; in a positional format, all from the start.
    placed: usize,
}

impl Planner<'_> {
    /// Lays out a positional format: every argument of the caller, the errno last.
    const fn begin(&mut self, needed: usize, caller_args: u16) {
        let mut i = 0;
        while i < caller_args {
            self.plan[i as usize] = ArgPlan {
                caller_arg: i,
                ..ArgPlan::UNNAMED
            };
            i += 1;
        }
        if needed > caller_args as usize {
            self.plan[caller_args as usize] = ERRNO;
        }
        self.placed = needed;
    }

    const fn add(&mut self, directive: &Directive) {
        let mut precision = match directive.precision {
            Count::None => Precision::None,
            Count::Fixed(n) => Precision::Fixed(n),
            Count::Argument(n) => Precision::Argument(n),
        };
        let mut nth = 0;
        while let Some((caller_arg, used)) = nth_use(directive, nth) {
            let is_string = matches!(used.class, Class::Str | Class::WideStr);
            if let (Precision::Argument(_), true, false) = (precision, is_string, self.positional) {
                // The star went on the wire just before its string.
                precision = Precision::Argument((self.placed - 1) as u16);
            }
            let precision = if is_string {
                precision
            } else {
                Precision::None
            };
            self.place(ArgPlan::new(used.class, used.c_type, caller_arg, precision));
            nth += 1;
        }
        if matches!(directive.class(), Some(Class::Errno)) && !self.positional {
            self.plan[self.placed] = ERRNO;
            self.placed += 1;
        }
    }

    /// Puts an argument where it belongs. Of several directives for one argument
    /// the last decides what it is, as in glibc; a `*` only if nothing else does.
    const fn place(&mut self, new: ArgPlan) {
        if !self.positional {
            self.plan[self.placed] = new;
            self.placed += 1;
            return;
        }
        let slot = &mut self.plan[new.caller_arg as usize];
        if slot.is_string() && slot.class as u8 == new.class as u8 {
            let precision = slot.precision().or(new.precision());
            *slot = ArgPlan::new(new.class, new.c_type, new.caller_arg, precision);
        } else if !matches!(new.class, Class::Star) || matches!(slot.c_type, CType::Int) {
            *slot = new;
        }
    }
}

const ERRNO: ArgPlan = ArgPlan::new(
    Class::Errno,
    CType::None,
    ArgPlan::NO_ARGUMENT,
    Precision::None,
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn planned(format: &[u8]) -> Vec<ArgPlan> {
        let mut plan = vec![ArgPlan::UNNAMED; wire_args(format)];
        assert_eq!(plan_into(format, &mut plan), Ok(plan.len()));
        plan
    }

    fn classes(format: &[u8]) -> Vec<Class> {
        planned(format).iter().map(|arg| arg.class).collect()
    }

    #[test]
    fn a_plan_is_made_at_compile_time() {
        const FORMAT: &[u8] = b"Logging int: %d, int: %lu, double: %f";
        const PLAN: [ArgPlan; wire_args(FORMAT)] = plan(FORMAT);
        assert_eq!(
            PLAN,
            [
                ArgPlan::new(Class::Int, CType::Int, 0, Precision::None),
                ArgPlan::new(Class::Int, CType::UnsignedLong, 1, Precision::None),
                ArgPlan::new(Class::Float, CType::Double, 2, Precision::None),
            ]
        );
    }

    #[test]
    fn sequential_arguments_stand_as_their_directives_do() {
        let plan = planned(b"%*d %m %.*s %.5s %S %n%m");
        let summary: Vec<_> = plan
            .iter()
            .map(|arg| (arg.class, arg.caller_arg, arg.precision()))
            .collect();
        assert_eq!(
            summary,
            [
                (Class::Star, 0, Precision::None),
                (Class::Int, 1, Precision::None),
                (Class::Errno, ArgPlan::NO_ARGUMENT, Precision::None),
                (Class::Star, 2, Precision::None),
                // The star is argument 2 of the caller but 3 on the wire.
                (Class::Str, 3, Precision::Argument(3)),
                (Class::Str, 4, Precision::Fixed(5)),
                (Class::WideStr, 5, Precision::None),
                (Class::Written, 6, Precision::None),
                (Class::Errno, ArgPlan::NO_ARGUMENT, Precision::None),
            ]
        );
        assert_eq!(caller_args(b"%*d %m %.*s %.5s %S %n%m"), 7);
    }

    #[test]
    fn positional_arguments_stand_in_the_callers_order() {
        let plan = planned(b"%4$Lf %m %3$.*1$s %m");
        let summary: Vec<_> = plan
            .iter()
            .map(|arg| (arg.class, arg.c_type, arg.caller_arg, arg.precision()))
            .collect();
        assert_eq!(
            summary,
            [
                (Class::Star, CType::Int, 0, Precision::None),
                (Class::Int, CType::Int, 1, Precision::None), // unnamed
                (Class::Str, CType::CharPointer, 2, Precision::Argument(0)),
                (Class::LongDouble, CType::LongDouble, 3, Precision::None),
                (
                    Class::Errno,
                    CType::None,
                    ArgPlan::NO_ARGUMENT,
                    Precision::None
                ),
            ]
        );
    }

    #[test]
    fn one_string_in_two_directives_is_read_as_far_as_the_longer() {
        let precision = |format: &[u8]| planned(format)[0].precision();
        assert_eq!(precision(b"%1$.3s%1$.7s%1$.5s"), Precision::Fixed(7));
        assert_eq!(precision(b"%1$.3s%1$s"), Precision::None);
        assert_eq!(precision(b"%1$s%1$.3s"), Precision::None);
        assert_eq!(precision(b"%1$.*2$s%1$.9s"), Precision::Argument(1));
        assert_eq!(precision(b"%1$.9s%1$.*2$s"), Precision::Fixed(9));
    }

    #[test]
    fn of_several_directives_the_last_decides_and_a_star_never() {
        assert_eq!(classes(b"%1$s %1$ld"), [Class::Int]);
        assert_eq!(classes(b"%1$d %1$s"), [Class::Str]);
        assert_eq!(planned(b"%1$ld %2$*1$s")[0].c_type, CType::Long);
        assert_eq!(classes(b"%1$*1$d"), [Class::Int]);
        assert_eq!(classes(b"%2$*1$d"), [Class::Star, Class::Int]);
    }

    #[test]
    fn mixed_formats_count_as_in_glibc() {
        // glibc prints "1 1" for printf("%1$d %d", 1, 2).
        assert_eq!(caller_args(b"%1$d %d"), 1);
        assert_eq!(caller_args(b"%d %2$d %d"), 2);
    }

    #[test]
    fn huge_precisions_are_kept_apart_from_stars() {
        assert_eq!(
            planned(b"%.4294967295s")[0].precision(),
            Precision::Fixed(i32::MAX as u32)
        );
    }

    #[test]
    fn a_short_slice_is_left_alone_and_the_needed_length_is_returned() {
        let mut slice = [ArgPlan::UNNAMED; 2];
        assert_eq!(
            plan_into(b"%s%s%s", &mut slice),
            Err(PlanError { needed: 3 })
        );
        assert_eq!(slice, [ArgPlan::UNNAMED; 2]);
        assert_eq!(plan_into(b"%m%s", &mut slice), Ok(2));
    }

    #[test]
    fn callers_arguments_are_listed_for_type_checks() {
        let arg = caller_arg(b"%*d %lc", 2).unwrap();
        assert_eq!((arg.class, arg.c_type), (Class::WideChar, CType::WideInt));
        assert_eq!(
            (arg.conversion, arg.length),
            (Conversion(b'c'), Length::Long)
        );
        assert_eq!((arg.start, arg.end), (4, 7));
        assert_eq!(caller_arg(b"%*d", 0).unwrap().class, Class::Star);
        assert_eq!(caller_arg(b"%2$s", 0), None);
        assert_eq!(caller_arg(b"%m%%", 0), None);
    }

    #[test]
    fn any_bytes_are_planned_as_they_are_counted() {
        // All strings of up to five of the bytes that mean something.
        const BYTES: &[u8] = b"%*$1.dsmlwy0";
        let mut slice = [ArgPlan::UNNAMED; 16];
        for length in 0..6u32 {
            for n in 0..(BYTES.len() as u64).pow(length) {
                let mut rest = n;
                let mut format = Vec::new();
                for _ in 0..length {
                    format.push(BYTES[(rest % BYTES.len() as u64) as usize]);
                    rest /= BYTES.len() as u64;
                }
                let _ = super::super::check(&format);
                let needed = wire_args(&format);
                match plan_into(&format, &mut slice) {
                    Ok(n) => assert_eq!(n, needed),
                    Err(e) => assert_eq!((e.needed, needed > 16), (needed, true)),
                }
                let stars =
                    slice[..needed.min(16)]
                        .iter()
                        .filter_map(|arg| match arg.precision() {
                            Precision::Argument(n) => Some(n as usize),
                            _ => None,
                        });
                for star in stars {
                    assert!(star < needed, "{}", format.escape_ascii());
                }
            }
        }
    }
}
