//! Logs a few lines from two threads: `cargo run -p logdef --example hello LOG`.

use logdef::logdef;

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or("hello.log".into());
    logdef::open(path)?;
    let worker = std::thread::Builder::new().name("worker".into());
    let worker = worker.spawn(|| {
        for job in 0..3 {
            logdef!(Debug, "job %d of %s", job, "queue");
        }
    })?;
    logdef!(Info, "accepted %s:%d in %.3f ms", "example.org", 443, 2.5);
    logdef!(Warn, "%.1f%% of the disk is full", 99.5);
    if std::fs::metadata("/nonexistent").is_err() {
        logdef!(Error, "cannot read %s: %m", "/nonexistent");
    }
    let _ = worker.join();
    Ok(())
}
