//! `logdef!`: lays down the call site's static record and captures the
//! arguments. All checks of the format happen while this is compiled.

/// Logs a message: a level, a printf format, and its arguments.
///
/// ```
/// use logdef::logdef;
///
/// let (host, port, ms) = ("example.org", 443, 2.5);
/// logdef!(Info, "accepted %s:%d in %.3f ms", host, port, ms);
/// ```
///
/// The level is `Trace`, `Debug`, `Info`, `Warn`, `Error` or `Fatal`. The
/// format is a literal; every conversion of C23 and glibc is understood. An
/// argument of the wrong type, too many or too few of them, and a conversion
/// that does not exist are compile errors:
///
/// ```compile_fail
/// logdef::logdef!(Info, "%d", 1.5);
/// ```
/// ```compile_fail
/// logdef::logdef!(Info, "%d %d", 1);
/// ```
/// ```compile_fail
/// logdef::logdef!(Info, "%d", 1, 2);
/// ```
/// ```compile_fail
/// logdef::logdef!(Info, "%y", 1);
/// ```
///
/// Arguments are evaluated only if the call is on.
#[macro_export]
macro_rules! logdef {
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__site!(0, $level, $format, $($arg),*)
    };
}

/// Logs a message like [`logdef!`], with a backtrace whatever its level.
#[macro_export]
macro_rules! logdef_backtrace {
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__site!(
            $crate::__private::flags::BACKTRACE, $level, $format, $($arg),*
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($flags:expr, $level:ident, $format:literal, $($arg:expr),*) => {{
        const FORMAT: &str = ::core::concat!($format, "\0");
        const _: () = $crate::__private::assert_fits(
            FORMAT,
            $crate::__private::count(&[$(::core::stringify!($arg)),*]),
        );
        static PLAN: [$crate::__private::ArgPlan; $crate::__private::wire_args(FORMAT)] =
            $crate::__private::plan(FORMAT);
        static STATE: $crate::__private::SiteState = $crate::__private::SiteState::new();
        #[unsafe(link_section = "logdef_sites")]
        static SITE: $crate::__private::Site = $crate::__private::Site::new(
            $crate::__private::Level::$level,
            FORMAT,
            ::core::concat!(::core::file!(), "\0"),
            ::core::concat!(::core::module_path!(), "\0"),
            ::core::line!(),
            $crate::__private::count(&[$(::core::stringify!($arg)),*]),
            &PLAN,
            &STATE,
            $flags,
        );
        if $crate::__private::is_on(&SITE, &STATE) {
            $crate::__args!(FORMAT, 0, [], $($arg,)*)
        }
    }};
}

/// Captures the arguments one by one, each with its index.
#[doc(hidden)]
#[macro_export]
macro_rules! __args {
    ($format:ident, $index:expr, [$($passed:tt)*],) => {
        match [$($passed)*] {
            passed => $crate::__private::log(&SITE, &passed),
        }
    };
    ($format:ident, $index:expr, [$($passed:tt)*], $arg:expr, $($rest:tt)*) => {
        $crate::__args!(
            $format,
            $index + 1,
            [
                $($passed)*
                $crate::__private::capture::<
                    { $crate::__private::class_letter($format, $index) },
                    { $crate::__private::letter($format, $index) },
                    { $index + 1 },
                    _,
                >(&$arg),
            ],
            $($rest)*
        )
    };
}
