//! `logdef!`: lays down the call site's static record and captures the
//! arguments. The format is checked while this is compiled, by `logdef_macros`.

/// Logs a message: a level, a format, and its arguments.
///
/// ```
/// use logdef::logdef;
///
/// let (host, port, ms) = ("example.org", 443, 2.5);
/// logdef!(Info, "accepted {host}:{port} in {ms:.3} ms");
/// logdef!(Info, "accepted %s:%d in %.3f ms", host, port, ms);
/// logdef!(Warn, "slow request", host = host, took_ms = ms);
/// ```
///
/// The level is `Trace`, `Debug`, `Info`, `Warn`, `Error` or `Fatal`. The
/// format is a literal, and is read when the program is compiled. An
/// argument of the wrong type, too many or too few of them, and a conversion
/// that does not exist are compile errors:
///
/// ```compile_fail
/// logdef::logdef!(Info, "%d", 1.5);
/// ```
/// ```compile_fail
/// logdef::logdef!(Info, "{} {}", 1);
/// ```
/// ```compile_fail
/// logdef::logdef!(Info, "%d", 1, 2);
/// ```
/// ```compile_fail
/// logdef::logdef!(Info, "%d {}", 1, 2);
/// ```
///
/// # Braces
///
/// A format with `{}` or `{name}` prints as by `format!`, with all of its placeholders: `{}`,
/// `{0}`, `{name}`, `{:>8.3}`, `{:#x}`, `{:?}`, `{:width$}`; `{{` is a brace. A name is that of an
/// argument `name = value`, or else of a variable; `{self.name}` and `{f(x)}` are errors, as there.
///
/// Integers up to 128 bits, `f64`, `bool`, `char` and text are logged with their types, and the
/// reader prints them: the program formats nothing. Text is `str`, `String`, `[u8]`, `CStr`, `OsStr`, `Path`,
/// what owns or points to them, and `None` is logged as no value. Any other type is
/// printed by the program, by `Display` or `Debug`, straight into the record: without allocation,
/// and cut with a mark at the longest string of the log. It may be printed twice, if it is long.
/// If it panics, the record says so, and the call returns. An own type is logged as a number, a text or a truth value
/// if it implements [`Loggable`](crate::Loggable).
///
/// # printf
///
/// A format with `%` conversions is printf's; every conversion of C23 and glibc is understood,
/// and braces are text, unless they are placeholders: a format with both is an error. (Beside
/// placeholders `% ` is text, as in `{n}% done`.) [`display`](crate::display()),
/// [`debug`](crate::debug()) and [`error`](crate::error()) make text for `%s` of any type.
///
/// An integer prints as itself, whatever its width: `%d` takes a `u64` too, and length
/// modifiers (`%ld`, `%zu`) change nothing. `%u`, `%x`, `%o` and `%b` print a negative one
/// as the two's complement in the width of its type, as `{:x}` does.
///
/// # Names
///
/// What is captured and what is passed as `name = value` has a name in the log, written down
/// once for the call site. `name = value` that no placeholder and no conversion prints is
/// logged beside the text.
///
/// # Targets
///
/// `target: "net"`, first in the call, says what it is about, in the place of the module: filters know
/// the call by it, and `logdef view -w target=net` finds it. It is a literal. All macros of this
/// package take one.
///
/// ```
/// # use logdef::logdef;
/// logdef!(target: "net", Info, "connected");
/// ```
///
/// Arguments are evaluated only if the call is on. The features `min_level_debug`
/// to `min_level_off` of this package, and the same with `release_` before them,
/// compile calls below a level to nothing (without optimization: to a site that is
/// never used). They are checked all the same.
///
/// Signal safety: async-signal-safe, if evaluating the arguments is. The same is true of all
/// macros of this package, [`logdef_span!`](crate::logdef_span) included.
#[macro_export]
macro_rules! logdef {
    (target: $target:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [0, $target] $level [] $format $([$arg])*)
    };
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [0] $level [] $format $([$arg])*)
    };
    ($($call:tt)*) => {
        $crate::__refused!($($call)*)
    };
}

/// Logs a message like [`logdef!`] with a level that is known only when it is made: a
/// [`Level`](crate::Level).
///
/// It is a call site for each level that has a name; a level between two names is logged as the
/// lower one. Where the level is fixed, [`logdef!`] is smaller.
///
/// Signal safety: as [`logdef!`].
///
/// ```
/// # use logdef::{Level, logdef_at};
/// # let (status, path) = (404, "/");
/// let level = if status < 400 { Level::DEBUG } else { Level::WARN };
/// logdef_at!(level, "{path}: {status}");
/// ```
#[macro_export]
macro_rules! logdef_at {
    (target: $target:expr, $level:expr, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__at!([target: $target,] $level, $format $(, $arg)*)
    };
    ($level:expr, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__at!([] $level, $format $(, $arg)*)
    };
}

/// [`logdef_at!`] with or without a target.
#[doc(hidden)]
#[macro_export]
macro_rules! __at {
    ([$($target:tt)*] $level:expr, $format:literal $(, $arg:expr)*) => {
        match $level {
            __logdef_level if __logdef_level >= $crate::Level::FATAL => {
                $crate::logdef!($($target)* Fatal, $format $(, $arg)*)
            }
            __logdef_level if __logdef_level >= $crate::Level::ERROR => {
                $crate::logdef!($($target)* Error, $format $(, $arg)*)
            }
            __logdef_level if __logdef_level >= $crate::Level::WARN => {
                $crate::logdef!($($target)* Warn, $format $(, $arg)*)
            }
            __logdef_level if __logdef_level >= $crate::Level::INFO => {
                $crate::logdef!($($target)* Info, $format $(, $arg)*)
            }
            __logdef_level if __logdef_level >= $crate::Level::DEBUG => {
                $crate::logdef!($($target)* Debug, $format $(, $arg)*)
            }
            _ => $crate::logdef!($($target)* Trace, $format $(, $arg)*),
        }
    };
}

/// Whether filters let a call of this level through here, for work that is done only to be
/// logged. They may let it through when no log is open.
///
/// Signal safety: async-signal-safe.
///
/// ```
/// # use logdef::{enabled, logdef};
/// # fn summary() -> &'static str { "" }
/// if enabled!(Debug) {
///     let summary = summary();
///     logdef!(Debug, "{summary}");
/// }
/// ```
#[macro_export]
macro_rules! enabled {
    ($level:ident) => {
        $crate::enabled!(target: ::core::module_path!(), $level)
    };
    (target: $target:expr, $level:ident) => {
        match {
            // No call logs here: it stands in no section.
            static STATE: $crate::__private::SiteState = $crate::__private::SiteState::new();
            static SITE: $crate::__private::Site = $crate::__private::Site::new(
                $crate::__private::Level::$level,
                "\0",
                ::core::concat!(::core::file!(), "\0"),
                ::core::concat!($target, "\0"),
                ::core::line!(),
                0,
                &[],
                &STATE,
                0,
            );
            (&SITE, &STATE)
        } {
            (__logdef_site, __logdef_state) => {
                $crate::__private::is_on(__logdef_site, __logdef_state)
                    && const { $crate::__private::is_compiled($crate::__private::Level::$level) }
            }
        }
    };
}

/// Logs a message like [`logdef!`] with values attached that its text does not show.
///
/// The second format has a conversion for each attached value; both formats together take
/// the arguments. `logdef view` prints the text; the attached values come last in the
/// record's arguments, and so in `args` of the JSON.
///
/// Signal safety: as [`logdef!`].
///
/// ```
/// # use logdef::logdef_attach;
/// # let (name, packet) = ("eth0", &[0x45_u8, 0, 0, 20][..]);
/// logdef_attach!(Debug, "bad packet from %s", "%s", name, packet);
/// ```
#[macro_export]
macro_rules! logdef_attach {
    (target: $target:expr, $level:ident, $format:literal, $attached:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!(
            [$crate] [] [$crate::__private::flags::ATTACHED, $target] $level [$attached] $format $([$arg])*
        )
    };
    ($level:ident, $format:literal, $attached:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!(
            [$crate] [] [$crate::__private::flags::ATTACHED] $level [$attached] $format $([$arg])*
        )
    };
    ($($call:tt)*) => {
        $crate::__refused!($($call)*)
    };
}

/// Logs a message like [`logdef!`], with a backtrace whatever its level.
///
/// Signal safety: as [`logdef!`].
#[macro_export]
macro_rules! logdef_backtrace {
    (target: $target:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::BACKTRACE, $target] $level [] $format $([$arg])*)
    };
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::BACKTRACE] $level [] $format $([$arg])*)
    };
    ($($call:tt)*) => {
        $crate::__refused!($($call)*)
    };
}

/// Logs the first call only.
///
/// Each call site counts for itself, over all threads; calls that a filter holds
/// back are not counted. A skipped call costs an addition, and its arguments
/// are not evaluated.
///
/// Signal safety: as [`logdef!`].
///
/// ```
/// # use logdef::logdef_once;
/// # let old = "verbose";
/// logdef_once!(Warn, "the option %s is obsolete", old);
/// ```
#[macro_export]
macro_rules! logdef_once {
    (target: $target:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::logdef_first_n!(target: $target, 1, $level, $format $(, $arg)*)
    };
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::logdef_first_n!(1, $level, $format $(, $arg)*)
    };
    ($($call:tt)*) => {
        $crate::__refused!($($call)*)
    };
}

/// Logs the first `n` calls, as [`logdef_once!`] logs the first one. The calls after them
/// are never reported.
///
/// Signal safety: as [`logdef!`].
#[macro_export]
macro_rules! logdef_first_n {
    (target: $target:expr, $n:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [first_n($n)] [$crate::__private::flags::LIMITED, $target] $level [] $format $([$arg])*)
    };
    ($n:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [first_n($n)] [$crate::__private::flags::LIMITED] $level [] $format $([$arg])*)
    };
}

/// Logs call 1, n + 1, 2 n + 1 and so on, else as [`logdef_once!`]. A record's field
/// `skipped` is the number of calls that were skipped since the site's last record.
///
/// Signal safety: as [`logdef!`].
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
    (target: $target:expr, $n:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [every_n($n)] [$crate::__private::flags::LIMITED, $target] $level [] $format $([$arg])*)
    };
    ($n:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [every_n($n)] [$crate::__private::flags::LIMITED] $level [] $format $([$arg])*)
    };
}

/// Logs a call if a [`Duration`](core::time::Duration) has passed since the last
/// one that was logged, by a clock that ticks every 1 to 10 milliseconds; else as
/// [`logdef_every_n!`].
///
/// Signal safety: as [`logdef!`].
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
    (target: $target:expr, $period:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [at_most_every($period)] [$crate::__private::flags::LIMITED, $target] $level [] $format $([$arg])*)
    };
    ($period:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [at_most_every($period)] [$crate::__private::flags::LIMITED] $level [] $format $([$arg])*)
    };
}

/// Logs that a span of time begins on this thread. It ends with the thread's next
/// [`logdef_end!`](crate::logdef_end) that does not end a later span: spans nest. Readers show
/// how long it took, and trace viewers draw it.
///
/// Nothing in the records says which end belongs to which beginning, so this is for
/// synchronous code alone: tasks that take turns on a thread would end each other's spans.
///
/// Signal safety: as [`logdef!`].
///
/// ```
/// # use logdef::{logdef_begin, logdef_end};
/// # let (path, rows) = ("a.csv", 7);
/// logdef_begin!(Info, "load %s", path);
/// // …
/// logdef_end!(Info, "%d rows", rows);
/// ```
///
/// [`logdef_span!`](crate::logdef_span) cannot forget the end, and may be held across `.await`;
/// [`logdef_async_begin!`](crate::logdef_async_begin) is for spans that your own numbers name.
#[macro_export]
macro_rules! logdef_begin {
    (target: $target:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::BEGIN, $target] $level [] $format $([$arg])*)
    };
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::BEGIN] $level [] $format $([$arg])*)
    };
    ($($call:tt)*) => {
        $crate::__refused!($($call)*)
    };
}

/// Logs the end of the span that [`logdef_begin!`] began last on this thread. The
/// message is optional.
///
/// Signal safety: as [`logdef!`].
#[macro_export]
macro_rules! logdef_end {
    (target: $target:expr, $level:ident $(,)?) => {
        $crate::logdef_end!(target: $target, $level, "")
    };
    ($level:ident $(,)?) => {
        $crate::logdef_end!($level, "")
    };
    (target: $target:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::END, $target] $level [] $format $([$arg])*)
    };
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::END] $level [] $format $([$arg])*)
    };
}

/// Logs a span of time that lasts until the value of this expression, a
/// [`Span`](crate::Span), is dropped.
///
/// ```
/// # use logdef::logdef_span;
/// # async fn read(path: &str) {}
/// async fn load(path: &str) {
///     let _span = logdef_span!(Info, "load %s", path);
///     read(path).await;
/// } // ends here
/// ```
///
/// Give it a name: `let _ =` would drop it at once. If a filter suppresses the beginning,
/// the end is not logged either.
///
/// Both records carry a number that names the span (15 bytes each), so it may end
/// anywhere: across `.await`, on another thread, and where a task is cancelled, which
/// drops it.
///
/// Signal safety: as [`logdef!`].
#[macro_export]
macro_rules! logdef_span {
    (target: $target:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {{
        let mut __logdef_began = ::core::option::Option::None;
        $crate::__call!([$crate] [begins(__logdef_began)] [$crate::__private::flags::BEGIN | $crate::__private::flags::SPAN, $target] $level [] $format $([$arg])*);
        $crate::__private::span(__logdef_began, |__logdef_id| {
            $crate::logdef_async_end!(target: $target, __logdef_id, $level)
        })
    }};
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {{
        let mut __logdef_began = ::core::option::Option::None;
        $crate::__call!([$crate] [begins(__logdef_began)] [$crate::__private::flags::BEGIN | $crate::__private::flags::SPAN] $level [] $format $([$arg])*);
        $crate::__private::span(__logdef_began, |__logdef_id| {
            $crate::logdef_async_end!(__logdef_id, $level)
        })
    }};
    ($($call:tt)*) => {
        $crate::__refused!($($call)*)
    };
}

/// Logs the beginning of a span of time that may end on another thread. The number joins
/// begin and end: no other open span of the process has it.
///
/// Signal safety: as [`logdef!`].
///
/// ```
/// # use logdef::{logdef_async_begin, logdef_async_end};
/// # let (request, url, status) = (7, "/", 200);
/// logdef_async_begin!(request, Info, "GET %s", url);
/// // …, on any thread:
/// logdef_async_end!(request, Info, "status %d", status);
/// ```
#[macro_export]
macro_rules! logdef_async_begin {
    (target: $target:expr, $id:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [span($id)] [$crate::__private::flags::BEGIN | $crate::__private::flags::SPAN, $target] $level [] $format $([$arg])*)
    };
    ($id:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [span($id)] [$crate::__private::flags::BEGIN | $crate::__private::flags::SPAN] $level [] $format $([$arg])*)
    };
}

/// Logs the end of the span of this number: see
/// [`logdef_async_begin!`](crate::logdef_async_begin).
///
/// Signal safety: as [`logdef!`].
#[macro_export]
macro_rules! logdef_async_end {
    (target: $target:expr, $id:expr, $level:ident $(,)?) => {
        $crate::logdef_async_end!(target: $target, $id, $level, "")
    };
    ($id:expr, $level:ident $(,)?) => {
        $crate::logdef_async_end!($id, $level, "")
    };
    (target: $target:expr, $id:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [span($id)] [$crate::__private::flags::END | $crate::__private::flags::SPAN, $target] $level [] $format $([$arg])*)
    };
    ($id:expr, $level:ident, $format:literal $(, $arg:expr)* $(,)?) => {
        $crate::__call!([$crate] [span($id)] [$crate::__private::flags::END | $crate::__private::flags::SPAN] $level [] $format $([$arg])*)
    };
}

/// Logs the values of counters, which trace viewers draw as curves: each argument is
/// a value, and the text before its conversion is its name. Text up to a colon names
/// them all.
///
/// Signal safety: as [`logdef!`].
///
/// ```
/// # use logdef::logdef_counter;
/// # let (depth, read, written) = (3, 4096, 512);
/// logdef_counter!(Debug, "queue depth %d", depth);
/// logdef_counter!(Debug, "disk: read %d, written %d", read, written);
/// logdef_counter!(Debug, "disk: {read} and {written}", read = read, written = written);
/// ```
#[macro_export]
macro_rules! logdef_counter {
    (target: $target:expr, $level:ident, $format:literal $(, $arg:expr)+ $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::COUNTER, $target] $level [] $format $([$arg])*)
    };
    ($level:ident, $format:literal $(, $arg:expr)+ $(,)?) => {
        $crate::__call!([$crate] [] [$crate::__private::flags::COUNTER] $level [] $format $([$arg])*)
    };
    ($($call:tt)*) => {
        $crate::__refused!($($call)*)
    };
}
