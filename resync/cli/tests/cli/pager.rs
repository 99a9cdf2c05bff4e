//! What goes to a terminal goes through a pager. `script` plays the terminal.

use crate::fixture::*;
use std::process::{Command, Stdio};

/// What a person sees who types `line` at a terminal; nothing where `script` is missing.
fn at_a_terminal(files: &Files, line: &str, variables: &[(&str, &str)]) -> Option<String> {
    let mut script = Command::new("script");
    script
        .args(["-qec", line, "/dev/null"])
        .current_dir(files.path());
    script
        .env("PATH", path_with_logdef())
        .env("TZ", "UTC")
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    for name in ["LOGDEF_PAGER", "PAGER", "LESS", "NO_COLOR"] {
        script.env_remove(name);
    }
    script.envs(variables.iter().copied());
    let done = match script.output() {
        Ok(done) => done,
        Err(_) => {
            crate::skip::skip("no `script` to play a terminal");
            return None;
        }
    };
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn files() -> Files {
    let files = Files::new();
    let mut log = example();
    files.put("app.log", &log.bytes);
    log.bytes.extend([0x55; 40]);
    files.put("bad.log", &log.bytes);
    files
}

const MARKING: &str = "sed s/^/paged:/";

#[test]
fn a_terminal_gets_what_the_pager_makes_of_it() {
    let files = files();
    let variables = [("LOGDEF_PAGER", MARKING), ("PAGER", "false")];
    let Some(shown) = at_a_terminal(&files, "logdef app.log", &variables) else {
        return;
    };
    assert_eq!(shown.matches("paged:").count(), 10, "{shown}");
    // In colour, as at the terminal itself.
    assert!(shown.contains("\x1b["), "{shown}");
    let usual = at_a_terminal(&files, "logdef check app.log", &[("PAGER", MARKING)]);
    let usual = usual.unwrap();
    assert!(usual.contains("paged:app.log: "), "{usual}");
    // What is said on standard error is for the same eyes.
    let damaged = at_a_terminal(&files, "logdef bad.log", &variables).unwrap();
    assert!(damaged.contains("paged:bad.log: bytes "), "{damaged}");
    // And the status is still the command's.
    let line = "logdef check bad.log; echo status $?";
    let checked = at_a_terminal(&files, line, &variables).unwrap();
    assert!(checked.contains("status 3"), "{checked}");
}

#[test]
fn there_is_no_pager_where_none_is_wanted_or_none_helps() {
    let files = files();
    let marking = [("LOGDEF_PAGER", MARKING)];
    let marked = |line: &str, variables: &[(&str, &str)]| {
        let shown = at_a_terminal(&files, line, variables)?;
        assert!(
            shown.contains("alpha") || shown.contains("#compdef"),
            "{shown}"
        );
        Some(shown.contains("paged:"))
    };
    if marked("logdef app.log", &marking).is_none() {
        return;
    }
    assert_eq!(marked("logdef --no-pager app.log", &marking), Some(false));
    assert_eq!(marked("logdef app.log | cat", &marking), Some(false));
    assert_eq!(marked("logdef completions zsh", &marking), Some(false));
    assert_eq!(
        marked("logdef app.log", &[("LOGDEF_PAGER", "")]),
        Some(false)
    );
    assert_eq!(marked("logdef app.log", &[("PAGER", "cat")]), Some(false));
    let path = path_with_logdef().into_string().unwrap();
    let path = format!("/nowhere:{path}");
    let missing = [("LOGDEF_PAGER", ""), ("PATH", path.as_str())];
    assert_eq!(marked("logdef app.log", &missing), Some(false));
}

#[test]
fn a_pager_that_is_left_early_ends_the_command() {
    let files = files();
    let quitting = [("LOGDEF_PAGER", "head -n 1")];
    let line = "logdef app.log; echo status $?";
    let Some(shown) = at_a_terminal(&files, line, &quitting) else {
        return;
    };
    assert!(shown.contains("status 0"), "{shown}");
    // One that is not there took the records, and showed none.
    for missing in ["/nowhere/pager", "nopager -x"] {
        let missing = [("LOGDEF_PAGER", missing)];
        let shown = at_a_terminal(&files, line, &missing).unwrap();
        assert!(shown.contains("no pager: there is no program "), "{shown}");
        assert!(
            shown.contains("alpha") && shown.contains("status 0"),
            "{shown}"
        );
    }
    // What only the shell knows is a pager too.
    for pager in ["exec sed s/^/paged:/", "X=1 sed s/^/paged:/"] {
        let shown = at_a_terminal(&files, line, &[("LOGDEF_PAGER", pager)]).unwrap();
        assert!(shown.contains("paged:"), "{shown}");
    }
}
