//! What a macro refuses at compile time. `printf` itself is undefined or silent
//! about all of it, and readers accept it; but the programmer who writes such a format
//! wants a warning.

use super::conversion::Class;
use super::directive::{Count, Directive, Directives, Fault};
use super::plan::{CallerArg, caller_arg, caller_args, nth_use};

/// Why a format is refused, and where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FormatError {
    /// The offset in the format of the directive or byte at fault.
    pub at: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Problem {
    /// A NUL, at which C would stop reading.
    Nul,
    /// It ends inside a directive.
    Truncated,
    /// No C library knows the conversion letter.
    UnknownConversion,
    /// The length modifier means nothing with this conversion.
    Length,
    /// A width or precision beyond what an `int` holds.
    Count,
    /// An argument beyond the most that a format may name.
    TooManyArguments,
    /// Numbered and unnumbered arguments in one format.
    Mixed,
    /// A numbered argument is left out, so its type is unknown.
    Gap,
    /// Two directives take the same argument as different types.
    Conflict,
    /// Two directives cut the same string at different `*` precisions.
    Precisions,
}

impl FormatError {
    /// The reason, for a compile-time panic.
    pub const fn reason(&self) -> &'static str {
        match self.problem {
            Problem::Nul => "format has a NUL inside",
            Problem::Truncated => "format ends inside a directive; a lone % is written %%",
            Problem::UnknownConversion => "format has an unknown conversion",
            Problem::Length => "format has a length modifier that its conversion does not take",
            Problem::Count => "format has a width or precision beyond 2147483647",
            Problem::TooManyArguments => "format names more than 4096 arguments",
            Problem::Mixed => "format mixes numbered (%1$d) and unnumbered (%d) arguments",
            Problem::Gap => "format leaves out an argument number",
            Problem::Conflict => "format takes one argument as two different types",
            Problem::Precisions => "format cuts one string at two different * precisions",
        }
    }
}

impl core::fmt::Display for FormatError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}, at byte {}", self.reason(), self.at)
    }
}

impl core::error::Error for FormatError {}

/// Whether a format means the same to every C library, and what to capture for it
/// is plain.
///
/// ```
/// use logdef_wire::printf::check;
/// const _: () = assert!(check(b"%-5d of %s").is_ok());
/// assert_eq!(
///     check(b"100%").unwrap_err().to_string(),
///     "format ends inside a directive; a lone % is written %%, at byte 3",
/// );
/// ```
///
/// # Errors
///
/// The first problem found.
pub const fn check(format: &[u8]) -> Result<(), FormatError> {
    let mut at = 0;
    while at < format.len() {
        if format[at] == 0 {
            return refuse(at, Problem::Nul);
        }
        at += 1;
    }
    let mut directives = Directives::new(format);
    while let Some(directive) = directives.advance() {
        if let Some(problem) = problem_of(&directive) {
            return refuse(directive.start, problem);
        }
        if directives.is_mixed() {
            return refuse(directive.start, Problem::Mixed);
        }
    }
    if directives.is_positional() {
        return check_positions(format);
    }
    Ok(())
}

const fn problem_of(directive: &Directive) -> Option<Problem> {
    match directive.fault {
        Some(Fault::Truncated) => return Some(Problem::Truncated),
        Some(Fault::UnknownConversion) => return Some(Problem::UnknownConversion),
        Some(Fault::TooManyArguments) => return Some(Problem::TooManyArguments),
        None => {}
    }
    if !directive.conversion.accepts(directive.length) {
        return Some(Problem::Length);
    }
    if too_large(directive.width) || too_large(directive.precision) {
        return Some(Problem::Count);
    }
    None
}

const fn too_large(count: Count) -> bool {
    matches!(count, Count::Fixed(n) if n > i32::MAX as u32)
}

/// Compares all uses of each argument with its first one.
const fn check_positions(format: &[u8]) -> Result<(), FormatError> {
    let mut directives = Directives::new(format);
    while let Some(directive) = directives.advance() {
        let mut nth = 0;
        while let Some((n, used)) = nth_use(&directive, nth) {
            if let Some(first) = caller_arg(format, n as usize)
                && let Some(problem) = disagreement(&first, &used)
            {
                return refuse(directive.start, problem);
            }
            nth += 1;
        }
    }
    let mut n = caller_args(format);
    while n > 0 {
        n -= 1;
        if caller_arg(format, n).is_none() {
            return refuse(0, Problem::Gap);
        }
    }
    Ok(())
}

const fn disagreement(first: &CallerArg, other: &CallerArg) -> Option<Problem> {
    if first.c_type.signed() as u8 != other.c_type.signed() as u8
        || is_logged_as_is(first.class) != is_logged_as_is(other.class)
    {
        return Some(Problem::Conflict);
    }
    match (first.precision, other.precision) {
        _ if !matches!(first.class, Class::Str | Class::WideStr) => None,
        (Count::Argument(a), Count::Argument(b)) if a == b => None,
        (Count::Argument(_), Count::Fixed(_) | Count::Argument(_))
        | (Count::Fixed(_), Count::Argument(_)) => Some(Problem::Precisions),
        _ => None,
    }
}

/// `%p` and `%n` take the same type and log different things.
const fn is_logged_as_is(class: Class) -> bool {
    !matches!(class, Class::Written)
}

const fn refuse(at: usize, problem: Problem) -> Result<(), FormatError> {
    Err(FormatError { at, problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(format: &[u8]) -> Option<(usize, Problem)> {
        check(format).err().map(|e| (e.at, e.problem))
    }

    #[test]
    fn every_problem_is_reported_with_its_place() {
        assert_eq!(problem(b"a\0b"), Some((1, Problem::Nul)));
        assert_eq!(problem(b"ab%"), Some((2, Problem::Truncated)));
        assert_eq!(problem(b"ab%-5.3l"), Some((2, Problem::Truncated)));
        assert_eq!(problem(b"%d %y"), Some((3, Problem::UnknownConversion)));
        assert_eq!(problem(b"%w7d"), Some((0, Problem::UnknownConversion)));
        assert_eq!(problem(b"%hs"), Some((0, Problem::Length)));
        assert_eq!(problem(b"%zf"), Some((0, Problem::Length)));
        assert_eq!(problem(b"%l%"), Some((0, Problem::Length)));
        assert_eq!(problem(b"%2147483648d"), Some((0, Problem::Count)));
        assert_eq!(problem(b"%.99999999999d"), Some((0, Problem::Count)));
        assert_eq!(problem(b"%4097$d"), Some((0, Problem::TooManyArguments)));
        assert_eq!(problem(b"%1$d %d"), Some((5, Problem::Mixed)));
        assert_eq!(problem(b"%1$*d"), Some((0, Problem::Mixed)));
        assert_eq!(problem(b"%2$d"), Some((0, Problem::Gap)));
        assert_eq!(problem(b"%1$d %1$s"), Some((5, Problem::Conflict)));
        assert_eq!(problem(b"%1$s %1$p"), Some((5, Problem::Conflict)));
        assert_eq!(problem(b"%1$n %1$p"), Some((5, Problem::Conflict)));
        assert_eq!(
            problem(b"%1$.*2$s %1$.*3$s"),
            Some((9, Problem::Precisions))
        );
    }

    #[test]
    fn what_c_defines_is_accepted() {
        for format in [
            &b""[..],
            b"plain",
            b"100 %% of %s",
            b"%+- #0'I10.3lld",
            b"%*.*f %m %n",
            b"%1$d %1$u %2$s %2$.3s",
            b"%2$*1$.*1$d",
            b"%w32d %wf16x %jd %zu %td %Lg %lc %ls %C %S",
        ] {
            assert_eq!(check(format), Ok(()), "{}", format.escape_ascii());
        }
    }
}
