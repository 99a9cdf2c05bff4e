//! `browse` in a real terminal: tmux plays it, presses the keys and reads the screen.

mod accidents;
mod keys;
pub mod terminal;

use crate::fixture::*;
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Level, Record, Run, Sequence, ThreadNumber};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use terminal::Terminal;

/// A hundred times the records of the example, each second one.
fn long() -> Log {
    let mut log = example();
    for step in 10..1000 {
        let time = EPOCH + step * SECOND;
        accepted(&mut log, RUN, step % 2, time, "gamma", step);
    }
    log
}

fn files(name: &str, bytes: &[u8]) -> Files {
    let files = Files::new();
    files.put(name, bytes);
    files
}

/// The keys of the table in the documentation, which is that of the help page.
fn documented_keys() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/browse.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

#[test]
fn every_key_of_the_help_page_works_and_a_changed_size_changes_nothing() {
    let Some(terminal) = Terminal::new(
        files("app.log", &long().bytes),
        (80, 24),
        "logdef browse app.log",
    ) else {
        return;
    };
    let first = terminal.wait_for("1/1000 ");
    assert!(first.contains(" >08:00:00.000000 INFO  [main/0] src/net.c:10: accepted alpha:0\n"));
    let keys = documented_keys();
    assert!(keys.len() > 40, "{keys:?}");
    for key in keys
        .iter()
        .filter(|key| !matches!(&***key, "q" | "Q" | "^C" | "^Z"))
    {
        terminal.press(key);
        // What a key has opened is answered or closed.
        match &**key {
            "/" | "?" => terminal.type_in("gamma:5."),
            "&" => terminal.type_in("gamma"),
            "t" => terminal.type_in("2027-01-15 08:05:00"),
            "m" | "'" => terminal.type_in("a"),
            "w" => terminal.type_in("out.txt"),
            "F" => {
                let _ = terminal.wait_for("following");
            }
            _ => {}
        }
        if matches!(&**key, "/" | "?" | "&" | "t" | "w") {
            terminal.press("Enter");
        }
        if matches!(&**key, "s" | "L" | "h") {
            terminal.wait_for("Esc closes");
            terminal.press("q");
        }
        terminal.wait("line at the bottom", |screen| {
            screen.lines().count() == 24
                && !screen.contains("Esc closes")
                && !screen.contains("status ")
        });
    }
    terminal.press("Esc");
    terminal.wait("all rows", |screen| !screen.contains("match"));
    terminal.type_in("500G");
    terminal.wait_on("gamma:499");
    let before = terminal.wait_at_rest(" 500/1000 ");
    terminal.resize(200, 60);
    let wide = terminal.wait("60 lines", |screen| screen.lines().count() == 60);
    assert!(!wide.contains("status"), "{wide}");
    terminal.wait_on("2027-01-15 08:08:19.000000 INFO  [worker/1]");
    terminal.resize(80, 24);
    terminal.wait("the screen as before", |screen| screen == before);
    terminal.press("q");
    terminal.wait_for("status 0");
}

#[test]
fn rows_are_found_shown_and_written_as_view_shows_them() {
    let line = "logdef browse app.log";
    let Some(terminal) = Terminal::new(files("app.log", &long().bytes), (100, 20), line) else {
        return;
    };
    terminal.wait_for("1/1000 ");
    let steps = [
        ("/", "gamma:77$", "gamma:77"),
        ("/", "beta", "not found"),
        ("?", "cannot", "cannot open /tmp/x"),
        ("t", "2027-01-15T08:10:00Z", "gamma:600"),
    ];
    for (key, text, found) in steps {
        terminal.press(key);
        terminal.type_in(text);
        terminal.press("Enter");
        if found == "not found" {
            terminal.wait_for(found);
        } else {
            terminal.wait_on(found);
        }
    }
    terminal.type_in("maggE");
    terminal.wait_for("not found");
    terminal.press("e");
    terminal.wait_on("cannot open");
    terminal.type_in("'a");
    terminal.wait_on("gamma:600");
    terminal.type_in("50%");
    terminal.wait_on("gamma:500");
    // A filter that chose none once forgot which row that was, and so did one whose first letter had
    // chosen another before the key was taken in.
    terminal.press("&");
    terminal.type_in("nowhere");
    terminal.wait_for("0 matches");
    terminal.press("Esc");
    terminal.wait_on("gamma:500");
    // As it is typed.
    terminal.press("&");
    terminal.type_in("-l error");
    terminal.wait_for("1 match");
    terminal.wait_on("cannot open");
    terminal.type_in(" -g '");
    terminal.wait_for("is not closed");
    terminal.press("Esc");
    terminal.wait_for("/1000 ");
    terminal.press("&");
    terminal.type_in("-w 1>990");
    terminal.press("Enter");
    terminal.wait_for("9 matches ");
    terminal.press("w");
    terminal.type_in("chosen.txt");
    terminal.press("Enter");
    terminal.wait_for("9 rows are in chosen.txt");
    terminal.press("w");
    terminal.type_in("chosen.txt");
    terminal.press("Enter");
    terminal.wait_for("cannot write chosen.txt: File exists");
    terminal.press("Esc");
    terminal.press("w");
    terminal.type_in("all.json");
    terminal.press("Enter");
    terminal.wait_for("1000 rows are in all.json");
    let written = |name: &str| std::fs::read_to_string(terminal.files.path().join(name)).unwrap();
    let log = terminal.files.path().join("app.log");
    assert_eq!(written("chosen.txt"), logdef("view -w 1>990 {}", &log).out);
    assert_eq!(written("all.json"), logdef("view -o json {}", &log).out);
}

#[test]
fn pages_panes_and_folds_show_what_is_known() {
    let line = "logdef browse app.log";
    let Some(terminal) = Terminal::new(files("app.log", &long().bytes), (90, 24), line) else {
        return;
    };
    terminal.wait_for("1/1000 ");
    terminal.press("Enter");
    terminal.wait_for("format    accepted %s:%d");
    terminal.wait_for("run       000000000000abcd, pid 77");
    terminal.press("Enter");
    terminal.press("s");
    terminal.wait_for("995  99.5%        1.0/s INFO  src/net.c:10 accepted %s:%d");
    terminal.press("j");
    terminal.press("Enter");
    terminal.wait_for("4 matches");
    terminal.wait_for("&--site 'src/net.c:20'");
    terminal.press("Esc");
    terminal.wait("all", |screen| !screen.contains("match"));
    terminal.press("r");
    terminal.wait_for("(+990 more)");
    terminal.press("Esc");
    terminal.type_in("g+++");
    terminal.wait_for("WARN and up");
    terminal.wait_for("1 match");
    terminal.press("-");
    terminal.press("-");
    terminal.press("-");
    terminal.press("L");
    terminal.wait_for("nothing is missing");
    terminal.press("Esc");
    terminal.press("h");
    terminal.wait_for("next row");
    terminal.press("q");
    terminal.press("g");
    terminal.wait_for("alpha:0");
    assert!(terminal.drawn().contains("\x1b[31m") || terminal.drawn().contains("\x1b[1m"));
    terminal.press("q");
    terminal.wait_for("status 0");
}

#[test]
fn damage_is_a_row_and_what_is_lost_is_said() {
    let log = long();
    let mut bytes = log.bytes.clone();
    let middle = log.frames[500].start;
    bytes[middle..middle + 40].fill(0xaa);
    let Some(terminal) = Terminal::new(
        files("app.log", &bytes),
        (100, 20),
        "NO_COLOR=1 sh -c 'echo $$ > pid; exec logdef browse app.log'",
    ) else {
        return;
    };
    terminal.wait_for("lossy: L");
    terminal.press("]");
    terminal.wait_on("app.log: bytes");
    terminal.press("L");
    terminal.wait_for("1 record missing");
    // Not one colour.
    let drawn = terminal.drawn();
    let is_colour = |number: &&str| number.starts_with('3') && !number.starts_with("39m");
    assert!(
        !drawn.split("\x1b[").any(|code| is_colour(&code)),
        "{drawn}"
    );
    // A signal ends it, and the terminal is as it was.
    let pid = std::fs::read_to_string(terminal.files.path().join("pid")).unwrap();
    let killed = Command::new("kill").args(["-TERM", pid.trim()]).status();
    assert!(killed.unwrap().success());
    terminal.wait_for("status 0");
    assert!(!terminal.screen().contains("lossy"));
}

#[test]
fn no_text_of_a_log_drives_the_terminal() {
    let mut log = example();
    let evil = "\x1b]0;owned\x07\x1b[2J\x1bc\u{202e}txt\u{9b}31m\r\n漢字e\u{301}\u{200b}";
    for step in 0..30 {
        accepted(&mut log, RUN, 0, EPOCH + (20 + step) * SECOND, evil, step);
    }
    log.site(RUN, 3, evil, evil.as_bytes()).thread(RUN, 2, evil);
    log.data(
        RUN,
        2,
        EPOCH + 100 * SECOND,
        &Site {
            number: 3,
            line: 7,
            level: Level::WARN,
        },
        |_| 0,
    );
    let name = "e\x1b]0;owned\x07vil.log";
    let files = files(name, &log.bytes);
    let line = "logdef browse .";
    let Some(terminal) = Terminal::new(files, (80, 24), line) else {
        return;
    };
    terminal.wait_for("1/41 ");
    let title = || {
        terminal
            .tmux(&["display-message", "-p", "#{pane_title}"])
            .unwrap()
    };
    let before = title();
    for key in ["G", "Enter", "k", "s", "j", "Esc", "L", "Esc", "/"] {
        terminal.press(key);
    }
    terminal.type_in("owned");
    terminal.press("Enter");
    for key in ["y", "Y", "N", "n", "Right", "Right", "Left"] {
        terminal.press(key);
    }
    terminal.type_in("g");
    terminal.wait_on("accepted alpha:0");
    terminal.press("G");
    let screen = terminal.wait_for("\\x1b]0;owned\\x07\\x1b[2J\\x1bc\\u{202e}txt");
    assert_eq!(screen.lines().count(), 24, "{screen}");
    assert_eq!(title(), before);
}

/// A record after the example, as another process would write it.
fn later(count: u64) -> Vec<u8> {
    let mut log = Log::default();
    log.record(&Record::Data(Data {
        front: Glance {
            run: Some(RUN),
            time: Some(EPOCH + (100 + count) * SECOND),
            sequence: Some(Sequence::new(ThreadNumber(0), 4 + count)),
            level: Some(Level::INFO),
            ..Glance::default()
        },
        format_text: Some(format!("later {count}").as_bytes()),
        ..Data::default()
    }));
    log.bytes
}

#[test]
fn a_log_that_grows_is_followed() {
    let line = "logdef browse --follow -g 'later|accepted' app.log";
    let Some(terminal) = Terminal::new(files("app.log", &example().bytes), (80, 24), line) else {
        return;
    };
    terminal.wait_for("following");
    terminal.wait_on("accepted beta:9");
    let path = terminal.files.path().join("app.log");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    for count in 1..=3000 {
        file.write_all(&later(count)).unwrap();
    }
    terminal.wait_on("later 3000");
    terminal.wait_for("3005 matches");
    terminal.type_in("k");
    terminal.wait_on("later 2999");
    // Who has gone up stays there.
    file.write_all(&later(3001)).unwrap();
    terminal.wait_for("3006 matches");
    terminal.wait_on("later 2999");
    // A file that is gone keeps what can be read of it.
    std::fs::remove_file(&path).unwrap();
    terminal.type_in("gG");
    terminal.wait_on("later 3001");
}

/// Records come faster than they can be shown: who looks at one of them is left there, and no key
/// waits for an end.
#[test]
fn a_log_that_grows_at_full_speed_is_followed_and_walked_through() {
    let line = "logdef browse --follow app.log";
    let Some(terminal) = Terminal::new(files("app.log", &example().bytes), (80, 24), line) else {
        return;
    };
    terminal.wait_for("following");
    let path = terminal.files.path().join("app.log");
    let ends = AtomicBool::new(false);
    let written = AtomicU64::new(0);
    let write = || {
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        while !ends.load(Ordering::Relaxed) && written.load(Ordering::Relaxed) < 2_000_000 {
            let first = written.load(Ordering::Relaxed) + 1;
            let records: Vec<u8> = (first..first + 500).flat_map(later).collect();
            file.write_all(&records).unwrap();
            written.store(first + 499, Ordering::Relaxed);
        }
    };
    let newest = |screen: &str| {
        let rows = screen.lines().filter_map(|line| line.split_once("later "));
        rows.filter_map(|(_, number)| number.trim().parse().ok())
            .max()
            .unwrap_or(0)
    };
    std::thread::scope(|scope| {
        scope.spawn(write);
        let _ends = Ends(&ends);
        let at_least = |count: u64| {
            terminal.type_in("G");
            terminal.wait("newest record", |screen| newest(screen) >= count);
        };
        at_least(20_000);
        terminal.type_in("g");
        terminal.wait_on("accepted alpha:0");
        terminal.type_in("/later 7$");
        terminal.press("Enter");
        terminal.wait_on("later 7");
        at_least(written.load(Ordering::Relaxed) + 20_000);
    });
    let last = written.into_inner();
    terminal.type_in("G");
    terminal.wait_on(&format!("later {last}"));
    terminal.type_in("q");
    terminal.wait_for("status 0");
}

/// Stops the writer, also when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn refused(words: &[&str], input: Stdio, dir: &Path) -> (Option<i32>, String) {
    let done = command()
        .args(words)
        .current_dir(dir)
        .stdin(input)
        .output()
        .unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn without_a_terminal_one_line_says_so() {
    let files = files("app.log", &example().bytes);
    let (status, said) = refused(&["browse", "app.log"], Stdio::null(), files.path());
    assert_eq!(status, Some(2));
    assert_eq!(said.lines().count(), 1);
    assert!(said.contains("a terminal as standard output"), "{said}");
    let Some(terminal) = Terminal::new(
        files,
        (100, 10),
        "logdef browse app.log < /dev/null; logdef browse nowhere.log",
    ) else {
        return;
    };
    terminal.wait_for("a terminal as standard input");
    terminal.wait_for("no such file");
    terminal.wait_for("status 4");
    let line = "cat app.log | logdef browse -";
    let files = self::files("app.log", &example().bytes);
    let Some(terminal) = Terminal::new(files, (100, 14), line) else {
        return;
    };
    terminal.wait_for("1/10 ");
    terminal.press("F");
    terminal.wait_for("standard input cannot be followed");
    terminal.press("q");
    terminal.wait_for("status 0");
}

#[test]
fn any_size_and_an_empty_log_are_shown() {
    let files = files("app.log", &long().bytes);
    files.put("empty.log", b"");
    files.put("noise.log", &[0x55; 9000]);
    let line = "logdef browse empty.log; logdef browse noise.log; logdef browse app.log";
    let Some(terminal) = Terminal::new(files, (60, 12), line) else {
        return;
    };
    terminal.wait_for("0 rows");
    for key in [
        "j", "G", "g", "Enter", "Enter", "s", "Esc", "y", "n", "]", "e", "5", "%", "r", "r", "q",
    ] {
        terminal.press(key);
    }
    terminal.wait_on("noise.log: bytes 0x0..0x2328");
    terminal.press("q");
    terminal.wait_for("1/1000");
    for (width, height) in [(1, 1), (2, 2), (5, 3), (200, 1), (1, 50), (100, 12)] {
        terminal.resize(width, height);
        for key in ["j", "Enter", "J", "h", "s", "k"] {
            terminal.press(key);
        }
    }
    terminal.press("Esc");
    terminal.press("Esc");
    terminal.press("G");
    terminal.wait_on("gamma:999");
}

/// The logs of three processes, and an archive of them.
#[test]
fn folders_and_archives_are_walked_through_as_view_shows_them() {
    let files = Files::new();
    let logs = files.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    for process in 0..3 {
        let run = Run(RUN.0 + process);
        let log = example_of(run, 77 + process, EPOCH + process * SECOND / 4);
        files.put(&format!("logs/{process}.log"), &log.bytes);
    }
    let kept = files.path().join("kept");
    let mut archive = command();
    let done = run(archive.arg("archive").arg("-O").arg(&kept).arg(&logs), b"");
    assert_eq!(done.status, 0, "{}", done.err);
    let shown = logdef("view {}", &logs).out;
    let line = "logdef browse logs; logdef browse kept";
    let Some(terminal) = Terminal::new(files, (100, 20), line) else {
        return;
    };
    for (place, follows) in [("logs", "following"), ("kept", "cannot be followed")] {
        terminal.wait_for("1/30 ");
        terminal.press("w");
        terminal.type_in(&format!("{place}.txt"));
        terminal.press("Enter");
        terminal.wait_for(&format!("30 rows are in {place}.txt"));
        let written = terminal.files.path().join(format!("{place}.txt"));
        assert_eq!(std::fs::read_to_string(written).unwrap(), shown, "{place}");
        terminal.press("&");
        terminal.type_in("-l error --thread worker");
        terminal.wait_for("3 matches");
        terminal.press("Esc");
        terminal.press("F");
        terminal.wait_for(follows);
        terminal.press("q");
    }
    terminal.wait_for("status 0");
}
