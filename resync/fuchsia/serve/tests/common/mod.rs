//! What tests of the service share: storage in memory, since a process has one log and
//! a test has many services, and processes that are this test again.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use logdef_serve::service::{Storage, Stored};
use rustix::process::{Pid, Signal, kill_process};

/// Storage that only counts.
#[derive(Clone, Debug, Default)]
pub struct Counted(pub Arc<AtomicU64>);

impl Storage for Counted {
    fn append(&mut self, _: &Stored<'_>) -> io::Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The variable that holds the part of a test that this process plays, and its arguments.
const PART: &str = "LOGDEF_TEST_PART";

/// The arguments of this process's part, if it was started as one: by [`Part::start`] with the name of the
/// test that calls this.
pub fn part() -> Option<Vec<String>> {
    let arguments = std::env::var(PART).ok()?;
    Some(arguments.split('\n').map(str::to_owned).collect())
}

/// This test program in a process of its own, where only one test runs; it ends with the test.
pub struct Part {
    pub child: Child,
    pub output: BufReader<ChildStdout>,
}

impl Part {
    pub fn start(test: &str, arguments: &[&OsStr]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, arguments.join(OsStr::new("\n")))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// The next line of its output that starts so.
    pub fn line(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
            if line.starts_with(start) {
                return line.trim_end().to_owned();
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
