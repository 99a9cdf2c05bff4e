//! A plugin that logs by `log` and `tracing`: a library with copies of its own of the logger and of
//! both facades.

use tracing_subscriber::prelude::*;

/// Logs by both facades, on a thread of its own too.
#[unsafe(no_mangle)]
pub extern "C" fn plug() {
    let layers = tracing_subscriber::registry().with(logdef_tracing::layer());
    let is_first = tracing::subscriber::set_global_default(layers).is_ok();
    assert_eq!(is_first, logdef_log::init().is_ok());
    log::info!(count = 3; "plugin by log");
    let span = tracing::info_span!("work", job = 7);
    let _entered = span.enter();
    tracing::warn!(ms = 2.5, "plugin by tracing");
    let other = std::thread::spawn(|| log::error!(target: "disk", "plugin on a thread"));
    let _ = other.join();
}
