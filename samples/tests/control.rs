//! A daemon in C is changed while it runs: from another process, for one file and a short
//! time, seen by a follower; afterwards it is back.

use logdef_samples::workshop::{Workshop, run};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ended with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_of_a_daemon_in_c_is_logged_for_a_time() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let server = workshop.compile_server(folder.path());
    let log = folder.path().join("server.log");
    let mut daemon = Command::new(server);
    daemon
        .arg(&log)
        .arg("1000")
        .envs([("LOGDEF_CTL", "1"), ("LOGDEF", "off")]);
    let daemon = Running(daemon.stdout(Stdio::null()).spawn().unwrap());
    let ctl = |words: &[&str]| {
        let mut command = workshop.command("logdef");
        command.arg("ctl").args(words).arg(&log);
        command
    };
    let page = folder.path().join(".server.log.ctl");
    let deadline = Instant::now() + Duration::from_secs(60);
    let lists = || ctl(&["list", "--live"]).output().unwrap().stdout;
    while !page.exists() || lists().is_empty() {
        assert!(Instant::now() < deadline, "no page");
        std::thread::sleep(Duration::from_millis(10));
    }
    let listed = String::from_utf8(lists()).unwrap();
    let expected = format!("pid {} alive, level debug, filter off, ", daemon.0.id());
    assert!(listed.contains(&expected), "{listed}");

    let mut follower = workshop.command("logdef");
    // All of it: the request may be taken before the follower has looked once.
    follower
        .args(["view", "--follow", "--tail", "200000"])
        .arg(&log);
    let mut follower = Running(follower.stdout(Stdio::piped()).spawn().unwrap());
    let mut ask = workshop.command("logdef");
    ask.args(["ctl", "filter"]).arg(&log);
    ask.args(["off,compress.c=trace", "--for", "2s", "--wait", "60s"]);
    let asked = String::from_utf8(run(&mut ask).stdout).unwrap();
    assert!(
        asked.contains(&format!("taken by process {}", daemon.0.id())),
        "{asked}"
    );

    let mut lines = BufReader::new(follower.0.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    // Another worker may be faster than the one that writes the note.
    let noted = loop {
        let line = next();
        if !line.contains("compress.c:") {
            break line;
        }
    };
    assert!(
        noted.contains("control: filter off,compress.c=trace for 2 s, asked for by process"),
        "{noted}"
    );
    let mut raised = 0;
    loop {
        let line = next();
        if line.contains("control: level and filter of the program again: the time is over") {
            break;
        }
        assert!(line.contains("compress.c:"), "{line}");
        raised += 1;
    }
    assert!(raised > 0);
    // Back: what comes now are calls that the four workers had begun, and the note.
    let mut note = workshop.command("logdef");
    note.args(["ctl", "note"]).arg(&log);
    run(note.args(["the end", "--wait", "60s"]));
    let mut late = 0;
    loop {
        let line = next();
        if line.contains("control: the end, asked for by process") {
            break;
        }
        late += 1;
    }
    assert!(late <= 4, "{late} records after the time was over");
}
