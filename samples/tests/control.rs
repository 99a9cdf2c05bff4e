//! A daemon in C is changed while it runs, from another process: for one file and a short
//! time, seen by a follower, and it is back afterwards. Its log calls are listed.

use logdef_samples::workshop::{Running, Workshop, run};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A server in C with four workers, which may be controlled and whose calls are all off.
struct Daemon {
    workshop: &'static Workshop,
    folder: tempfile::TempDir,
    process: Running,
}

impl Daemon {
    fn start() -> Daemon {
        let workshop = Workshop::open();
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(workshop.compile_server(folder.path()));
        command
            .arg(folder.path().join("server.log"))
            .arg("1000")
            .envs([("LOGDEF_CTL", "1"), ("LOGDEF", "off")]);
        let process = Running(command.stdout(Stdio::null()).spawn().unwrap());
        let daemon = Daemon {
            workshop,
            folder,
            process,
        };
        let page = daemon.folder.path().join(".server.log.ctl");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !page.exists() || daemon.lists().is_empty() {
            assert!(Instant::now() < deadline, "no page");
            std::thread::sleep(Duration::from_millis(10));
        }
        daemon
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// `logdef ctl ACTION LOG ARGUMENT...`.
    fn ctl(&self, action: &str, arguments: &[&str]) -> Command {
        let mut command = self.workshop.command("logdef");
        command.args(["ctl", action]).arg(self.log());
        command.args(arguments);
        command
    }

    fn lists(&self) -> String {
        let output = self.ctl("list", &["--live"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Its log calls: records in the log, `on` or `off`, and the file.
    fn sites(&self) -> Vec<(u64, String, String)> {
        let listed = String::from_utf8(run(&mut self.ctl("sites", &[])).stdout).unwrap();
        let site = |line: &str| {
            let mut words = line.split_whitespace();
            let records = words.next().unwrap().parse().unwrap();
            let [state, _, place] = [(); 3].map(|()| words.next().unwrap().to_owned());
            let file = place.split(':').next().unwrap().to_owned();
            (records, state, file)
        };
        listed.lines().map(site).collect()
    }
}

#[test]
fn the_log_calls_of_a_daemon_are_listed() {
    let daemon = Daemon::start();
    let sites = daemon.sites();
    for file in ["samples/c/compress.c", "samples/c/server.c"] {
        assert!(sites.iter().any(|site| site.2 == file), "{sites:?}");
    }
    for (records, state, _) in &sites {
        assert_eq!((*records, &**state), (0, "off"), "{sites:?}");
    }
    run(&mut daemon.ctl("filter", &["off,compress.c=trace", "--wait", "60s"]));
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let sites = daemon.sites();
        for (records, state, file) in &sites {
            let is_raised = file == "samples/c/compress.c";
            assert_eq!(state == "on", is_raised, "{sites:?}");
            assert!(is_raised || *records == 0, "{sites:?}");
        }
        if sites.iter().any(|site| site.0 > 0) {
            break;
        }
        assert!(Instant::now() < deadline, "{sites:?}");
    }
    // A level for all other places: what the filter of the program names is as it says.
    run(&mut daemon.ctl("level", &["warn", "--wait", "60s"]));
    let sites = daemon.sites();
    assert!(sites.iter().any(|site| site.1 == "on"), "{sites:?}");
    assert!(sites.iter().any(|site| site.1 == "off"), "{sites:?}");
}

#[test]
fn a_file_of_a_daemon_in_c_is_logged_for_a_time() {
    let daemon = Daemon::start();
    let listed = daemon.lists();
    let expected = format!("pid {} alive, level debug, filter off, ", daemon.pid());
    assert!(listed.contains(&expected), "{listed}");

    let mut follower = daemon.workshop.command("logdef");
    // All of it: the request may be taken before the follower has looked once.
    follower
        .args(["view", "--follow", "--tail", "200000"])
        .arg(daemon.log());
    let mut follower = Running(follower.stdout(Stdio::piped()).spawn().unwrap());
    let words = ["off,compress.c=trace", "--for", "2s", "--wait", "60s"];
    let asked = String::from_utf8(run(&mut daemon.ctl("filter", &words)).stdout).unwrap();
    let taken = format!("accepted by process {}", daemon.pid());
    assert!(asked.contains(&taken), "{asked}");

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
    run(&mut daemon.ctl("note", &["the end", "--wait", "60s"]));
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
