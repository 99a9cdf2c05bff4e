//! What a log call expands to, when `logdef_macros` has read its format: the static record of the call
//! site, the gate, and the capture of the arguments.

// Hygiene does not cover items, so the caller's expressions stand outside of the block
// that declares any: a `FORMAT` or a `SITE` in them is the caller's own. The macro binds
// the items that it passes on to variables, which are hygienic.

/// A call site, as `logdef_macros::call` lays it down: what is shown and how it is to be read,
/// before and after the module (TEXT, BEHIND), the format of what is captured (FORMAT), how many
/// values are logged after that as they are, and how many arguments there are; then each argument
/// with what captures it.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    (
        [$($limit:tt)*] [$flags:expr $(, $target:expr)?] $level:ident
        [$text:literal $behind:literal $format:literal $values:literal $count:literal]
        [$($bound:ident $arg:expr => $pass:expr;)*]
    ) => {
        match {
            static PLAN: [
                $crate::__private::ArgPlan;
                $crate::__private::wire_args($format) + $values
            ] = $crate::__private::plan($format, $values);
            static STATE: $crate::__private::SiteState = $crate::__private::SiteState::new();
            #[unsafe(link_section = "logdef_sites")]
            static SITE: $crate::__private::Site = $crate::__private::Site::new(
                $crate::__private::Level::$level,
                ::core::concat!($text, $crate::__origin!($($target)?), $behind),
                ::core::concat!(::core::file!(), "\0"),
                $crate::__module!($($target)?),
                ::core::line!(),
                $count,
                &PLAN,
                &STATE,
                $flags | $crate::__private::flags::DESCRIBED,
            );
            (&SITE, &STATE)
        } {
            // The level first: a call below `MIN_LEVEL` is compiled to nothing.
            (__logdef_site, __logdef_state) => {
                if const { $crate::__private::is_compiled($crate::__private::Level::$level) }
                    && $crate::__private::is_on(__logdef_site, __logdef_state)
                {
                    $crate::__due!(
                        [$($limit)*] __logdef_site [$($bound $arg => $pass;)*]
                    )
                }
            }
        }
    };
}

/// Module and target, as they stand in a description.
#[doc(hidden)]
#[macro_export]
macro_rules! __origin {
    () => {
        ::core::concat!("\t", ::core::module_path!())
    };
    ($target:expr) => {
        ::core::concat!("\t", ::core::module_path!(), "\t", $target)
    };
}

/// What filters know a call site by: its target, or else its module.
#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    () => {
        ::core::concat!(::core::module_path!(), "\0")
    };
    ($target:expr) => {
        ::core::concat!($target, "\0")
    };
}

/// Captures the arguments if the rate limit, where there is one, lets the call through.
/// Evaluates the number of a span, or gives it one, and records in `$began` that it began.
#[doc(hidden)]
#[macro_export]
macro_rules! __due {
    ([] $site:ident $arguments:tt) => {
        $crate::__log!([] $site $arguments)
    };
    ([begins($began:ident)] $site:ident $arguments:tt) => {{
        let __logdef_id = $crate::__private::next_span();
        $began = ::core::option::Option::Some(__logdef_id);
        $crate::__log!([__logdef_id] $site $arguments)
    }};
    ([span($id:expr)] $site:ident $arguments:tt) => {{
        let __logdef_id: ::core::primitive::u64 = $id;
        $crate::__log!([__logdef_id] $site $arguments)
    }};
    ([$limit:ident($by:expr)] $site:ident $arguments:tt) => {
        match {
            static LIMIT: $crate::__private::Limit = $crate::__private::Limit::new();
            &LIMIT
        } {
            __logdef_limit => {
                if let ::core::option::Option::Some(__logdef_skipped) = __logdef_limit.$limit($by) {
                    $crate::__log!([__logdef_skipped] $site $arguments)
                }
            }
        }
    };
}

/// Evaluates the arguments, then captures them.
#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ([$($word:ident)?] $site:ident [$($bound:ident $arg:expr => $pass:expr;)*]) => {
        match ($(&$arg,)*) {
            ($($bound,)*) => {
                #[allow(unused_imports)]
                use $crate::__private::{HasFields as _, HasNoFields as _};
                #[allow(unused_imports)]
                use $crate::placeholders::{
                    LoggedDisplay as _, PrintedDebug as _, PrintedDisplay as _, TypedDebug as _,
                    TypedDisplay as _,
                };
                $crate::__emit!(
                    [$($word)?] $site [$($pass,)*]
                    [$((&$crate::__private::Fielded($bound)).__logdef_fields(),)*]
                )
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __emit {
    ([] $site:ident $passed:tt $fields:tt) => {
        $crate::__private::log($site, &$passed, &$fields)
    };
    ([$word:ident] $site:ident $passed:tt $fields:tt) => {
        $crate::__private::log_with($site, &$passed, &$fields, $word)
    };
}
