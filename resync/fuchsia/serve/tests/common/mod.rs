//! What tests of the service share: storage in memory, since a process has one log and
//! a test has many services, and other processes.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

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

/// The program that plays the parts, built as the tests were. What is built already costs nothing.
fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().unwrap();
        let target = test.ancestors().nth(3).expect("a folder of builds");
        let mut build = Command::new(env!("CARGO"));
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        // With other packages named, libraries would have other features, and be built again.
        build.args(["build", "--quiet", "--workspace", "--example", "parts"]);
        build.args(["--message-format", "json", "--target-dir"]);
        build.arg(target);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let built = build.stderr(Stdio::inherit()).output().unwrap();
        assert!(built.status.success(), "{build:?}");
        let messages = String::from_utf8(built.stdout).unwrap();
        let mut words = messages.rsplit('"');
        let program = words.find(|word| word.ends_with("/examples/parts"));
        program.expect("a program").into()
    });
    &PROGRAM
}

/// A process of `tests/parts/program.rs`; it ends with the test.
pub struct Part {
    pub child: Child,
    pub output: BufReader<ChildStdout>,
}

impl Part {
    pub fn start(part: &str, arguments: &[&OsStr]) -> Self {
        let mut child = Command::new(program())
            .arg(part)
            .args(arguments)
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
