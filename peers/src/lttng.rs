//! An LTTng session for one run: rings in files, as its crash-safe set-up is,
//! and a channel that waits rather than discards.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folder of the rings within a run's.
pub const RINGS: &str = "rings";
/// Folder of the trace.
const TRACE: &str = "trace";

/// A session, ended when dropped.
pub struct Session {
    name: String,
    directory: PathBuf,
}

impl Session {
    pub fn start(directory: &Path) -> Session {
        let name = format!("peers-{}", directory.file_name().unwrap().to_string_lossy());
        let session = Session {
            name,
            directory: directory.into(),
        };
        let at = |folder: &str| directory.join(folder).display().to_string();
        lttng(&[
            "create",
            &session.name,
            &format!("--output={}", at(TRACE)),
            &format!("--shm-path={}", at(RINGS)),
        ]);
        lttng(&[
            "enable-channel",
            "--userspace",
            "--blocking-timeout=inf",
            "--subbuf-size=1M",
            "--num-subbuf=8",
            "channel",
        ]);
        lttng(&["enable-event", "--userspace", "--channel=channel", "peer:*"]);
        lttng(&["start"]);
        session
    }

    /// CPU nanoseconds of LTTng's daemons so far.
    pub fn cpu(&self) -> f64 {
        let threads = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let daemons = threads.filter(|process| {
            std::fs::read_to_string(process.path().join("comm"))
                .is_ok_and(|name| name.starts_with("lttng-"))
        });
        let times = daemons.flat_map(|daemon| {
            let tasks = std::fs::read_dir(daemon.path().join("task"));
            tasks.into_iter().flatten().flatten().map(|task| {
                let text = std::fs::read_to_string(task.path().join("schedstat"));
                let text = text.unwrap_or_default();
                let time = text.split_whitespace().next();
                time.and_then(|time| time.parse::<f64>().ok())
                    .unwrap_or(0.0)
            })
        });
        times.sum()
    }

    /// The trace as text, once the session is over.
    pub fn text(self) -> Vec<u8> {
        let trace = self.directory.join(TRACE);
        drop(self);
        let output = Command::new("timeout")
            .args(["120", "babeltrace2"])
            .arg(trace)
            .stderr(Stdio::null())
            .output();
        output.map(|output| output.stdout).unwrap_or_default()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        lttng(&["stop", &self.name]);
        lttng(&["destroy", &self.name]);
    }
}

/// Whether LTTng and its reader are here, and its daemon runs.
pub fn is_here() -> bool {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    has("lttng") && has("babeltrace2") && {
        // Says so and ends if there is one already.
        let _ = Command::new("lttng-sessiond")
            .args(["--daemonize", "--no-kernel"])
            .stderr(Stdio::null())
            .status();
        true
    }
}

/// A session that hangs, as LTTng's have done after kills, is left behind.
fn lttng(args: &[&str]) {
    let _ = Command::new("timeout")
        .args(["20", "lttng", "--no-sessiond"])
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
