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
/// Arguments are evaluated only if the call is on. The features `min_level_debug`
/// to `min_level_off` of this package, and the same with `release_` before them,
/// compile calls below a level to nothing (without optimization: to a site that is
/// never used). They are checked all the same.
#[macro_export]
macro_rules! logdef {
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__site!([], 0, $level, $format, $($arg),*)
    };
}

/// Logs a message like [`logdef!`], with a backtrace whatever its level.
#[macro_export]
macro_rules! logdef_backtrace {
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__site!(
            [], $crate::__private::flags::BACKTRACE, $level, $format, $($arg),*
        )
    };
}

/// Logs the first call only.
///
/// Each call site counts for itself, over all threads; calls that a filter holds
/// back are not counted. What a limit skips costs an addition, and its arguments
/// are not evaluated.
///
/// ```
/// # use logdef::logdef_once;
/// # let old = "verbose";
/// logdef_once!(Warn, "the option %s is obsolete", old);
/// ```
#[macro_export]
macro_rules! logdef_once {
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::logdef_first_n!(1, $level, $format $(, $arg)*)
    };
}

/// Logs the first `n` calls, as [`logdef_once!`] does one. No record is left to
/// tell how many there were after them.
#[macro_export]
macro_rules! logdef_first_n {
    ($n:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__site!(
            [first_n($n)], $crate::__private::flags::LIMITED, $level, $format, $($arg),*
        )
    };
}

/// Logs call 1, n + 1, 2 n + 1 and so on, else as [`logdef_once!`]. A record tells
/// in a field of its own, `skipped`, how many calls were skipped since the site's
/// last record.
///
/// ```
/// # use logdef::logdef_every_n;
/// # let packets = 0..5;
/// for packet in packets {
///     logdef_every_n!(1000, Debug, "packet %u", packet);
/// }
/// ```
#[macro_export]
macro_rules! logdef_every_n {
    ($n:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__site!(
            [every_n($n)], $crate::__private::flags::LIMITED, $level, $format, $($arg),*
        )
    };
}

/// Logs a call if a [`Duration`](core::time::Duration) has passed since the last
/// one that was logged, by a clock that ticks every few milliseconds; else as
/// [`logdef_every_n!`].
///
/// ```
/// # use logdef::logdef_at_most_every;
/// # let used = 99;
/// use std::time::Duration;
///
/// logdef_at_most_every!(Duration::from_secs(10), Warn, "disk %d%% full", used);
/// ```
#[macro_export]
macro_rules! logdef_at_most_every {
    ($period:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__site!(
            [at_most_every($period)],
            $crate::__private::flags::LIMITED, $level, $format, $($arg),*
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ([$($limit:tt)*], $flags:expr, $level:ident, $format:literal, $($arg:expr),*) => {{
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
        // The level first: a call below the least level is compiled to nothing.
        if const { $crate::__private::is_compiled($crate::__private::Level::$level) }
            && $crate::__private::is_on(&SITE, &STATE)
        {
            $crate::__due!([$($limit)*], FORMAT, $($arg,)*)
        }
    }};
}

/// Goes on if the limit, should there be one, lets the call through.
#[doc(hidden)]
#[macro_export]
macro_rules! __due {
    ([], $format:ident, $($arg:expr,)*) => {
        $crate::__args!([], $format, 0, [], $($arg,)*)
    };
    ([$limit:ident($by:expr)], $format:ident, $($arg:expr,)*) => {{
        static LIMIT: $crate::__private::Limit = $crate::__private::Limit::new();
        if let ::core::option::Option::Some(skipped) = LIMIT.$limit($by) {
            $crate::__args!([skipped], $format, 0, [], $($arg,)*)
        }
    }};
}

/// Captures the arguments one by one, each with its index.
#[doc(hidden)]
#[macro_export]
macro_rules! __args {
    ([], $format:ident, $index:expr, [$($passed:tt)*],) => {
        match [$($passed)*] {
            passed => $crate::__private::log(&SITE, &passed),
        }
    };
    ([$skipped:ident], $format:ident, $index:expr, [$($passed:tt)*],) => {
        match [$($passed)*] {
            passed => $crate::__private::log_limited(&SITE, &passed, $skipped),
        }
    };
    ([$($skipped:ident)?], $format:ident, $index:expr, [$($passed:tt)*], $arg:expr, $($rest:tt)*) => {
        $crate::__args!(
            [$($skipped)?],
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
