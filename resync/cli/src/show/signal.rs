//! Signals by their names.

/// The name of a signal; `None` if it has none.
pub fn name(number: u64) -> Option<&'static str> {
    signal_hook::low_level::signal_name(i32::try_from(number).ok()?)
}

/// The name of a signal, or its number where it has none.
pub fn shown(number: u64) -> String {
    name(number).map_or(format!("signal {number}"), String::from)
}
