//! Questions typed at the prompt, in a terminal that tmux plays.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A terminal with the command in it, which ends with the test.
struct Terminal {
    folder: TempDir,
}

impl Terminal {
    /// `None` where there is no tmux.
    fn new() -> Option<Terminal> {
        let folder = tempfile::tempdir().unwrap();
        let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/orders.log.gz");
        fs::copy(packed, folder.path().join("orders.log.gz")).unwrap();
        let terminal = Terminal { folder };
        let line = format!(
            "'{}' orders.log.gz; echo status $?; exec cat",
            env!("CARGO_BIN_EXE_logdef-sql")
        );
        let words = ["new-session", "-d", "-x", "100", "-y", "30", &line];
        match terminal.tmux(&words) {
            Some(said) => assert_eq!(said, ""),
            None => {
                crate::skip("no tmux to play a terminal");
                return None;
            }
        }
        terminal.wait_for("complete\nsql>");
        Some(terminal)
    }

    /// What tmux prints; `None` if it cannot be started.
    fn tmux(&self, words: &[&str]) -> Option<String> {
        let done = Command::new("tmux")
            .args(["-L", "prompt", "-f", "/dev/null"])
            .args(words)
            .current_dir(self.folder.path())
            .env("TMUX_TMPDIR", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let said = [done.stdout, done.stderr].concat();
        Some(String::from_utf8(said).unwrap())
    }

    /// Waits until the screen has a text; lines have no blanks at their ends.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits for an empty prompt: keys that are pressed before are not the editor's.
    #[track_caller]
    fn wait_for_prompt(&self) {
        self.wait("prompt", |screen| screen.trim_end().ends_with("\nsql>"));
    }

    #[track_caller]
    fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_secs(90);
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]).unwrap();
            let lines: Vec<_> = screen.lines().map(str::trim_end).collect();
            let screen = lines.join("\n");
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "no {what}:\n{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn type_in(&self, text: &str) {
        // A semicolon at the end would end the command of tmux.
        let text = match text.strip_suffix(';') {
            Some(text) => format!("{text}\\;"),
            None => text.to_owned(),
        };
        self.tmux(&["send-keys", "-l", "--", &text]);
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", "--", key]);
    }

    fn history(&self) -> PathBuf {
        self.folder.path().join("state/logdef/sql_history")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_question_of_several_lines_is_answered_at_its_semicolon_and_kept() {
    let Some(terminal) = Terminal::new() else {
        return;
    };
    terminal.type_in("select 6 * 7 as answer");
    terminal.press("Enter");
    terminal.type_in(", ';' as mark;");
    terminal.press("Enter");
    terminal.wait_for("sql> select 6 * 7 as answer\n, ';' as mark;\n");
    terminal.wait_for("answer  mark\n──────  ────\n    42  ;\ncomplete\nsql>");
    // Only the user may read its file.
    let mode = fs::metadata(terminal.history()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    // The last question comes again.
    terminal.wait_for_prompt();
    terminal.press("Up");
    terminal.press("Home");
    terminal.press("Enter");
    terminal.wait("second answer", |screen| {
        screen.matches("    42  ;\ncomplete\nsql>").count() == 2
    });
    terminal.press("C-d");
    terminal.wait_for("status 0");
}

#[test]
fn a_wrong_question_leaves_the_prompt_and_ctrl_c_drops_one_that_was_begun() {
    let Some(terminal) = Terminal::new() else {
        return;
    };
    terminal.type_in("select nothing from records;");
    terminal.press("Enter");
    terminal.wait_for("No field named nothing");
    terminal.wait_for_prompt();
    terminal.type_in("select 'begun");
    terminal.press("Enter");
    terminal.wait_for("sql> select 'begun\n");
    terminal.press("C-c");
    terminal.wait_for_prompt();
    terminal.type_in("select 1 + 1 as two;");
    terminal.press("Enter");
    terminal.wait_for("two\n───\n  2\ncomplete\nsql>");
    terminal.type_in(".nothing");
    terminal.press("Enter");
    terminal.wait_for(".nothing: there is no such command: see .help");
    terminal.wait_for_prompt();
    terminal.type_in(".quit");
    terminal.press("Enter");
    terminal.wait_for("status 0");
}

#[test]
fn ctrl_c_abandons_a_question_that_is_being_answered() {
    let Some(terminal) = Terminal::new() else {
        return;
    };
    // Longer than anyone waits.
    terminal.type_in("select 1 as begun; select sum(a.seq + b.seq + c.seq + d.seq)");
    terminal.press("Enter");
    terminal.type_in("from records a, records b, records c, records d;");
    terminal.press("Enter");
    // From here on the key is no longer the editor's.
    terminal.wait_for("begun\n─");
    terminal.press("C-c");
    terminal.wait_for("abandoned\nsql>");
    terminal.wait_for_prompt();
    terminal.type_in("select 1 + 1 as two;");
    terminal.press("Enter");
    terminal.wait_for("two\n───\n  2\n");
}

#[test]
fn tab_completes_tables_places_columns_and_functions() {
    let Some(terminal) = Terminal::new() else {
        return;
    };
    for (typed, completed) in [
        ("select * from reco", "select * from records"),
        (
            "select * from \"orders.rs:75",
            "select * from \"orders.rs:75\"",
        ),
        ("select level_n", "select level_name("),
        (
            "select from losses where before_t",
            "select from losses where before_time",
        ),
        (".ta", ".tables"),
    ] {
        terminal.type_in(typed);
        terminal.press("Tab");
        terminal.wait_for(&format!("sql> {completed}"));
        terminal.press("C-c");
        terminal.wait_for_prompt();
    }
    terminal.type_in(".tables");
    terminal.press("Enter");
    terminal.wait_for("losses\n");
}
