//! What the screen, the clipboard and files have after a key was pressed.

use super::terminal::Terminal;
use super::{files, later, long};
use crate::fixture::*;
use logdef_wire::Level;

#[test]
fn marks_are_shown_on_their_rows_and_lead_back_and_forth() {
    let line = "logdef browse app.log";
    let Some(terminal) = Terminal::new(files("app.log", &long().bytes), (100, 20), line) else {
        return;
    };
    terminal.wait_for("1/1000 ");
    let marked = |letter: char, text: &str| {
        terminal.wait("row with its mark", |screen| {
            let mut lines = screen.lines();
            lines.any(|line| line.starts_with(letter) && line.ends_with(text))
        })
    };
    terminal.type_in("500Gma");
    marked('a', "gamma:499");
    terminal.type_in("600Gmb");
    marked('b', "gamma:599");
    terminal.type_in("'a");
    terminal.wait_on("gamma:499");
    terminal.type_in("''");
    terminal.wait_on("gamma:599");
    terminal.type_in("''");
    terminal.wait_on("gamma:499");
    // A letter names one row: the last that was marked with it.
    terminal.type_in("jmb");
    marked('b', "gamma:500");
    terminal.type_in("g'b");
    terminal.wait_on("gamma:500");
    terminal.type_in("'c");
    terminal.wait_for("no row is marked c");
    // Where a filter leaves a marked row out, the next is gone to.
    terminal.press("&");
    terminal.type_in("gamma:6..");
    terminal.press("Enter");
    terminal.wait_for("100 matches");
    terminal.type_in("G'a");
    terminal.wait_on("gamma:600");
}

#[test]
fn a_copy_is_in_the_clipboard_as_view_shows_the_row() {
    let line = "logdef browse app.log";
    let files = files("app.log", &long().bytes);
    let log = files.path().join("app.log");
    let Some(terminal) = Terminal::new(files, (80, 24), line) else {
        return;
    };
    terminal.wait_for("1/1000 ");
    terminal.tmux(&["set-option", "-s", "set-clipboard", "on"]);
    terminal.type_in("500G");
    terminal.wait_on("gamma:499");
    let clipboard = || terminal.tmux(&["show-buffer"]).unwrap();
    for (key, words) in [("y", "view -n 500 {}"), ("Y", "view -o json -n 500 {}")] {
        let shown = logdef(words, &log);
        let row = *shown.lines().last().unwrap();
        terminal.press(key);
        terminal.wait_for(&format!("copied {} bytes", row.len()));
        assert_eq!(clipboard(), row);
    }
}

/// It said that all was copied: that it was not came after it, and was seen at the next key.
#[test]
fn a_row_that_no_terminal_takes_is_not_said_to_be_copied() {
    let mut log = long();
    let time = EPOCH + 5000 * SECOND;
    log.site(RUN, 3, "src/long.c", &[1; 20_000]);
    let site = Site {
        number: 3,
        line: 7,
        level: Level::INFO,
    };
    log.data(RUN, 0, time, &site, |_| 0);
    let Some(terminal) = Terminal::new(
        files("app.log", &log.bytes),
        (80, 24),
        "logdef browse app.log",
    ) else {
        return;
    };
    terminal.wait_for("1/1001 ");
    terminal.press("G");
    terminal.wait_for("1001/1001 ");
    terminal.press("y");
    terminal.wait_for("too long to be copied: w writes a file");
}

/// Logs that the logger wrote, some of them damaged.
#[test]
fn logs_of_the_logger_are_walked_through_as_view_shows_them() {
    for log in corpus() {
        let name = log.file_name().unwrap().to_str().unwrap();
        let files = files(name, &std::fs::read(&log).unwrap());
        let shown = logdef("view -o json {}", &log);
        let written = files.path().join("out.json");
        let line = format!("logdef browse {name}");
        let Some(terminal) = Terminal::new(files, (120, 20), &line) else {
            return;
        };
        terminal.press("G");
        terminal.wait_for("at the end");
        terminal.press("w");
        terminal.type_in("out.json");
        terminal.press("Enter");
        terminal.wait_for(" in out.json");
        assert_eq!(
            std::fs::read_to_string(written).unwrap(),
            shown.out,
            "{name}"
        );
        terminal.press("q");
        terminal.wait_for("status 0");
    }
}

/// Asked for while only the beginning had been read, it once wrote what was there, or some rows twice.
#[test]
fn all_rows_are_written_however_early_that_is_asked_for() {
    let log = long();
    let mut bytes = log.bytes[..log.frames[9].start].to_vec();
    bytes.extend([0xff; 100]);
    bytes.extend(&log.bytes[log.frames[9].start..]);
    (1..60_000).for_each(|count| bytes.extend(later(count)));
    for (filter, first) in [("", "alpha:0"), (" -g 7$", "gamma:17")] {
        let line = format!("logdef browse{filter} app.log");
        let files = files("app.log", &bytes);
        let shown = logdef(
            &format!("view -o json{filter} {{}}"),
            &files.path().join("app.log"),
        );
        let written = files.path().join("out.json");
        let Some(terminal) = Terminal::new(files, (80, 24), &line) else {
            return;
        };
        terminal.wait_for(first);
        terminal.type_in("wout.json");
        terminal.press("Enter");
        terminal.wait_for(" in out.json");
        let written = std::fs::read_to_string(written).unwrap();
        let numbers = [&written, &shown.out].map(|text| text.lines().count());
        assert!(written == shown.out, "{filter}: {numbers:?} lines");
    }
}

/// Where reading had ended with an error, they were once waited for without end.
#[test]
fn the_rows_that_were_found_are_written_where_no_other_can_be() {
    let mut bytes = long().bytes;
    (1..270_000).for_each(|count| bytes.extend(later(count)));
    let line = "TMPDIR=/no/such/folder logdef browse app.log";
    let Some(terminal) = Terminal::new(files("app.log", &bytes), (80, 24), line) else {
        return;
    };
    terminal.wait_for("a temporary file for what was found");
    terminal.type_in("wout.json");
    terminal.press("Enter");
    terminal.wait_for(" 262144 rows are in out.json");
}

/// The page once stayed when its count was stopped, though its bar says what closes it.
#[test]
fn a_page_is_closed_while_its_rows_are_counted() {
    let mut bytes = long().bytes;
    (1..30_000).for_each(|count| bytes.extend(later(count)));
    let line = "logdef browse app.log";
    let Some(terminal) = Terminal::new(files("app.log", &bytes), (80, 24), line) else {
        return;
    };
    terminal.wait_for("1/30999 ");
    // At once: they may be counted before a look at the screen says so.
    terminal.tmux(&["send-keys", "s", "Escape"]);
    // Gone to the last row of the page otherwise.
    terminal.press("G");
    terminal.wait_on("later 29999");
    terminal.wait_for("30999/30999 ");
}
