//! What befalls a terminal and a log while `browse` runs: the terminal is closed, the process is stopped, the
//! file is cut, replaced or removed.

use super::terminal::Terminal;
use super::{files, long};
use crate::fixture::*;
use logdef_wire::Run;
use std::fs::{self, OpenOptions};
use std::process::Command;
use std::time::{Duration, Instant};

/// One that read from a terminal without an end once took a core for ever.
#[test]
fn a_terminal_that_is_closed_ends_it() {
    let line = "sh -c 'echo $$ > pid; exec logdef browse app.log'";
    let files = files("app.log", &long().bytes);
    let pid_file = files.path().join("pid");
    let Some(terminal) = Terminal::new(files, (80, 24), line) else {
        return;
    };
    terminal.wait_for("1/1000 ");
    let pid = fs::read_to_string(pid_file).unwrap();
    let name = || fs::read_to_string(format!("/proc/{}/comm", pid.trim()));
    assert_eq!(name().unwrap(), "logdef\n");
    terminal.tmux(&["kill-server"]);
    let deadline = Instant::now() + Duration::from_secs(90);
    while name().is_ok_and(|name| name == "logdef\n") {
        if Instant::now() > deadline {
            let _ = Command::new("kill").args(["-KILL", pid.trim()]).status();
            panic!("it stays");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// It once knew nothing of the key that stops a program, and what a shell left of the screen stayed there.
#[test]
fn a_process_that_is_stopped_gives_the_terminal_back_and_takes_it_again() {
    let shell = "PS1='shell> ' bash --norc --noprofile -i";
    let Some(terminal) = Terminal::new(files("app.log", &long().bytes), (80, 24), shell) else {
        return;
    };
    terminal.wait_for("shell>");
    terminal.type_in("logdef browse app.log");
    terminal.press("Enter");
    terminal.wait_for("1/1000 ");
    terminal.type_in("500G");
    terminal.wait_on("gamma:499");
    terminal.press("^Z");
    terminal.wait_for("Stopped");
    terminal.type_in("echo $((41+1)); fg");
    terminal.wait_for("fg");
    terminal.press("Enter");
    terminal.wait("rows on all lines", |screen| {
        screen.matches("accepted gamma").count() == 23
    });
    terminal.press("j");
    terminal.wait_on("gamma:500");
    terminal.press("q");
    terminal.wait_for("42");
}

#[test]
fn a_file_that_is_cut_or_replaced_keeps_the_rows_that_are_there() {
    let log = long();
    let line = "logdef browse --follow app.log";
    let Some(terminal) = Terminal::new(files("app.log", &log.bytes), (80, 24), line) else {
        return;
    };
    terminal.wait_for("following");
    let path = terminal.files.path().join("app.log");
    // Another program rotates it: the same name, another file.
    fs::rename(&path, terminal.files.path().join("app.log.1")).unwrap();
    let next = Run(RUN.0 + 1);
    let mut other = Log::of(next, 78, EPOCH);
    other
        .site(next, 0, "src/net.c", b"accepted %s:%d")
        .thread(next, 0, "main");
    accepted(&mut other, next, 0, EPOCH + 2000 * SECOND, "delta", 7777);
    fs::write(&path, &other.bytes).unwrap();
    terminal.wait_on("delta:7777");
    // What it read at first is cut.
    let old = terminal.files.path().join("app.log.1");
    let cut = OpenOptions::new().write(true).open(old).unwrap();
    cut.set_len(log.frames[300].start as u64).unwrap();
    terminal.type_in("g");
    terminal.wait_on("accepted alpha:0");
    terminal.type_in("700G");
    terminal.wait_on("what was here is no longer in the file");
    for key in ["Enter", "y", "Y", "Enter", "/"] {
        terminal.press(key);
    }
    terminal.type_in("delta");
    terminal.press("Enter");
    terminal.wait_on("delta:7777");
    terminal.press("&");
    terminal.type_in("gamma:2..");
    terminal.wait_for("91 matches");
    terminal.press("Esc");
    terminal.press("q");
    terminal.wait_for("status 0");
}
