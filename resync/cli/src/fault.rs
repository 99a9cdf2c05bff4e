//! What the command reports about a bug of its own: that it is not the fault of the log or the user, and
//! what to send.

use std::panic::{self, PanicHookInfo};
use std::sync::Once;

/// Reports a panic in one line, once, in place of Rust's own message. With RUST_BACKTRACE
/// set, Rust's message comes before it.
pub fn install() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        static FIRST: Once = Once::new();
        if crate::archived::catches_panics() {
            return;
        }
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            usual(info);
        }
        // A thread that waits for the one that panicked may panic for that.
        FIRST.call_once(|| crate::log::say(&line(info)));
    }));
}

fn line(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let what = text
        .or(payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic");
    let place = info.location().map(|place| format!(" ({place})"));
    message(what, &place.unwrap_or_default())
}

fn message(what: &str, place: &str) -> String {
    format!(
        "this is a bug in logdef {} and not in your log: {what}{place}. Please report it with this \
         line, the command line, and the log if others may read it; RUST_BACKTRACE=1 shows more",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_the_version_and_what_to_send() {
        let line = message("index out of bounds", " (src/x.rs:3:4)");
        let version = env!("CARGO_PKG_VERSION");
        assert!(line.starts_with(&format!("this is a bug in logdef {version} ")));
        assert!(line.contains("index out of bounds (src/x.rs:3:4). Please report it"));
    }
}
