//! A terminal that tmux plays: a command runs in it, keys are pressed, the screen is read. Knows nothing of
//! what the command shows.

use crate::fixture::{Files, path_with_logdef};
use crate::skip::skip;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A terminal with a command in it. It ends with the test.
pub struct Terminal {
    socket: String,
    pub files: Files,
}

impl Terminal {
    /// None where there is no tmux.
    pub fn new(files: Files, size: (u16, u16), line: &str) -> Option<Terminal> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = format!("logdef-{}-{number}", std::process::id());
        let terminal = Terminal { socket, files };
        let (width, height) = (size.0.to_string(), size.1.to_string());
        // What it says when it ends stays on the screen.
        let line = format!("{line}; echo status $?; exec cat");
        let words = ["new-session", "-d", "-x", &width, "-y", &height, &line];
        let Some(started) = terminal.tmux(&words) else {
            skip("no tmux to play a terminal");
            return None;
        };
        assert!(started.is_empty(), "{started}");
        Some(terminal)
    }

    /// What tmux prints; `None` if it cannot be started.
    pub fn tmux(&self, words: &[&str]) -> Option<String> {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.socket, "-f", "/dev/null"])
            .args(words)
            .current_dir(self.files.path())
            .env("PATH", path_with_logdef())
            .env("TMUX_TMPDIR", self.files.path())
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        let done = tmux.output().ok()?;
        Some(
            String::from_utf8_lossy(&done.stdout).into_owned()
                + &String::from_utf8_lossy(&done.stderr),
        )
    }

    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"]).unwrap()
    }

    /// The screen, with colours.
    pub fn drawn(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"]).unwrap()
    }

    #[track_caller]
    pub fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_secs(90);
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "no {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// The screen with a text, once nothing is being done and two looks at it are alike: the first
    /// may come while the command draws.
    #[track_caller]
    pub fn wait_at_rest(&self, text: &str) -> String {
        self.wait(text, |screen| {
            std::thread::sleep(Duration::from_millis(100));
            let status = screen.lines().last().unwrap_or_default();
            let work = ["Esc stops", "% read", "  reading", "  opening"];
            let is_at_work = work.iter().any(|word| status.contains(word));
            let is_done = screen.contains(text) && !is_at_work;
            is_done && self.screen() == screen
        })
    }

    pub fn press(&self, key: &str) {
        let key = match key {
            "Esc" => "Escape".into(),
            "PgDn" => "NPage".into(),
            "PgUp" => "PPage".into(),
            key if key.len() == 2 && key.starts_with('^') => {
                format!("C-{}", key[1..].to_lowercase())
            }
            key => key.into(),
        };
        self.tmux(&["send-keys", "--", &key]);
    }

    pub fn type_in(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    pub fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.tmux(&["resize-window", "-x", &width, "-y", &height]);
    }

    /// Whether the row that the person is on has a text.
    #[track_caller]
    pub fn wait_on(&self, text: &str) -> String {
        let is_on = |screen: &str| {
            let mut lines = screen.lines();
            lines.any(|line| line.get(1..2) == Some(">") && line.contains(text))
        };
        self.wait(&format!("row with {text}"), is_on)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
