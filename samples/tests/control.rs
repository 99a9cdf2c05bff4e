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

const WORKERS: usize = 4;

/// What the log says when the time is over.
const OVER: &str = "control: level and filter of the program again: the time is over";

/// The time of a line of `logdef view`, which can be compared with another.
fn time(line: &str) -> &str {
    &line[.."2026-01-01 00:00:00.000000".len()]
}

impl Daemon {
    fn start() -> Daemon {
        Daemon::start_with("off", None)
    }

    /// With a filter, and a library, named by its source, that is loaded first.
    fn start_with(filter: &str, first: Option<&str>) -> Daemon {
        let workshop = Workshop::open();
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(workshop.compile_server(folder.path()));
        if let Some(source) = first {
            let library = folder.path().join("first.so");
            workshop.compile(&[source], &library, &["-shared", "-fPIC", "-ldl"]);
            command.env("LD_PRELOAD", library);
        }
        command
            .arg(folder.path().join("server.log"))
            .arg("1000")
            .envs([("LOGDEF_CTL", "1"), ("LOGDEF", filter)]);
        let process = Running(command.stdout(Stdio::null()).spawn().unwrap());
        let daemon = Daemon {
            workshop,
            folder,
            process,
        };
        // Until it has set its level, which the page says after that of the logger.
        let deadline = Instant::now() + Duration::from_secs(60);
        while !daemon.lists().contains("level debug") {
            assert!(Instant::now() < deadline, "no page: {}", daemon.lists());
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

    /// What is in the log.
    fn lines(&self) -> Vec<String> {
        let mut view = self.workshop.command("logdef");
        let shown = run(view.arg("view").arg(self.log())).stdout;
        let shown = String::from_utf8(shown).unwrap();
        shown.lines().map(str::to_owned).collect()
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

/// While calls that the program wants are off for a time, they ask each time whether it is over.
/// Such a call once wrote down that it is, while the thread that ended it had not come so far that the
/// other calls were off again.
#[test]
fn calls_are_off_when_the_log_says_so_where_the_page_is_slow_to_read() {
    let slow = "samples/tests/control/slow.c";
    let daemon = Daemon::start_with("compress.c=off", Some(slow));
    let words = ["off,compress.c=trace", "--for", "5s", "--wait", "60s"];
    run(&mut daemon.ctl("filter", &words));
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_over = |line: &String| line.ends_with(OVER);
    while !daemon.lines().iter().any(is_over) {
        assert!(Instant::now() < deadline, "it never ends");
    }
    run(&mut daemon.ctl("note", &["the end", "--wait", "60s"]));
    let lines = daemon.lines();
    let over = lines.iter().position(is_over).unwrap();
    let is_raised = |line: &&String| line.contains("compress.c:");
    assert!(lines[..over].iter().any(|line| is_raised(&line)));
    let late = lines[over..].iter().filter(is_raised).count();
    assert!(late <= WORKERS, "{late} records after the time was over");
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
    let words = ["off,compress.c=trace", "--for", "5s", "--wait", "60s"];
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
        noted.contains("control: filter off,compress.c=trace for 5 s, asked for by process"),
        "{noted}"
    );
    let mut raised = 0;
    let over = loop {
        let line = next();
        if line.ends_with(OVER) {
            break line;
        }
        assert!(line.contains("compress.c:"), "{line}");
        raised += 1;
    };
    assert!(raised > 0);
    // Back: what is later now are calls that the workers had begun, and the note. A follower keeps the
    // order of each thread only, so what comes now need not be later.
    run(&mut daemon.ctl("note", &["the end", "--wait", "60s"]));
    let mut late = 0;
    loop {
        let line = next();
        if line.contains("control: the end, asked for by process") {
            break;
        }
        late += usize::from(time(&line) > time(&over));
    }
    assert!(late <= WORKERS, "{late} records after the time was over");
}
