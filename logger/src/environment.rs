//! The variables of the environment that the logger obeys. A program that has more
//! rights than the user who started it, set-user-ID for instance, obeys none of them: the
//! log is left alone.

use crate::sys;
use std::ffi::OsString;

/// A variable's value, if it is set and to be obeyed. Allocates.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if sys::has_borrowed_rights() {
        None
    } else {
        std::env::var_os(name)
    }
}

/// A variable's text; what is no UTF-8 in it is replaced.
pub(crate) fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}
