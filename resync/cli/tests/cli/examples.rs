//! The command lines at the end of each verb's `--help` work as they stand there.

use crate::copy::copy_program;
use crate::ctl;
use crate::fixture::*;
use crate::stores::Store;
use logdef_wire::record::StringLogdef;
use logdef_wire::{Level, Record, Svma};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const VERBS: [&str; 23] = [
    "view",
    "browse",
    "check",
    "stats",
    "report",
    "core",
    "recover",
    "merge",
    "archive",
    "sql",
    "dump",
    "export",
    "push",
    "import",
    "fxt",
    "sites",
    "symbolize",
    "ctl",
    "serve",
    "stream",
    "send",
    "completions",
    "man",
];

fn examples(verb: &str) -> Vec<String> {
    let help = run(command().args([verb, "--help"]), b"").out;
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let lines = examples.lines().filter(|line| line.starts_with("  logdef"));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// A folder with all that the examples name, and with `logdef` where a shell finds it.
fn folder() -> Files {
    let files = Files::new();
    let log = example();
    for name in ["app.log", "bad.log", "logs/app.log"] {
        files.put(name, &log.bytes);
    }
    files.put("old.log.gz", &gzip(&log.bytes));
    let core = crate::cores::core_of("/nowhere/app.log", &log.bytes);
    files.put("core.77", &core);
    files.put("build/readme", b"");
    // The page of a process that lives: this one.
    ctl::put_page(&files, ".app.log.ctl", &ctl::page());
    files.put("crash.txt", b"died at 0x55d0c0a00010\n");
    files.put("maps.txt", b"");
    let program = Path::new(env!("CARGO_BIN_EXE_logdef"));
    std::os::unix::fs::symlink(program, files.path().join("app")).unwrap();
    let tools = files.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let tool = |name: &str, text: &str| {
        let script = files.put("script", text.as_bytes());
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        copy_program(&script, &tools.join(name));
    };
    // A machine may lack them, and less waits for a person.
    for name in ["jq", "less", "man", "duckdb", "logdef-sql"] {
        tool(name, "#!/bin/sh\nexec cat\n");
    }
    let archived = shell(&files, "logdef archive -o kept app.log").output();
    assert!(archived.unwrap().status.success());
    let exported = shell(&files, "logdef export --to fxt -o trace.fxt app.log").output();
    assert!(exported.unwrap().status.success());
    files
}

fn shell(files: &Files, line: &str) -> Command {
    let mut path = files.path().join("tools").into_os_string();
    path.push(":");
    path.push(path_with_logdef());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(files.path())
        .env("PATH", path)
        .env("XDG_RUNTIME_DIR", files.path())
        .env("TZ", "UTC");
    shell
}

/// Starts what does not end by itself.
fn start(files: &Files, line: &str) -> Child {
    let mut command = shell(files, &format!("exec {line}"));
    command.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn the_examples_of_each_help_work() {
    for verb in VERBS {
        let lines = examples(verb);
        assert!(!lines.is_empty(), "{verb}");
        let lines = lines.iter().filter(|line| !needs_service_or_stays(line));
        for line in lines {
            // What one writes the next may refuse to write over.
            let files = folder();
            let done = shell(&files, line).stdin(Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{line}: {}: {said}", done.status);
        }
    }
}

/// Calls that differ in all that conditions ask for.
fn varied() -> Log {
    let mut log = Log::of(RUN, 7, EPOCH);
    let describe = |format: &'static [u8], description: &'static [u8], site: u64| StringLogdef {
        magic: Some(MAGIC),
        address: Some(Svma(0x2008 + 16 * site)),
        string: Some(format),
        description: Some(description),
        run: Some(RUN),
        ..StringLogdef::default()
    };
    log.string(RUN, 0x2000, b"a.c").string(RUN, 0x2010, b"b.c");
    log.string(RUN, 0x2020, b"src/net.c");
    let served = b"served path=%s ms=%.1f code=%d flags=%p user=%s cached=%d";
    log.record(&Record::StringLogdef(describe(served, b"", 0)));
    log.record(&Record::StringLogdef(describe(
        b"looked up",
        b"r:\tapp::net\tdns",
        1,
    )));
    log.record(&Record::StringLogdef(describe(
        b"accepted %s:%d",
        b"r:\tnet\t",
        2,
    )));
    log.thread(RUN, 0, "main");
    let site = |number, level| Site {
        number,
        line: 1,
        level,
    };
    for (number, (path, user)) in [
        ("/api", Some("ann")),
        ("/a and b", Some("root")),
        ("", None),
        ("a \"x\"", Some("bob")),
    ]
    .into_iter()
    .enumerate()
    {
        let number = number as u64;
        log.data(RUN, 0, EPOCH + number, &site(0, Level::INFO), |args| {
            args.raw(path.as_bytes()).unwrap();
            args.float([600.0, 2.5, 7.0, 1.0][number as usize]).unwrap();
            args.uint([404, 410, 200, 200][number as usize]).unwrap();
            args.uint([0x1f, 1, 2, 3][number as usize]).unwrap();
            match user {
                Some(user) => args.raw(user.as_bytes()).unwrap(),
                None => args.nil().unwrap(),
            }
            args.bool(number == 0).unwrap();
            6
        });
    }
    log.data(RUN, 0, EPOCH + 10, &site(1, Level::INFO), |_| 0);
    accepted_at(&mut log, &site(2, Level::INFO));
    log
}

fn accepted_at(log: &mut Log, site: &Site) {
    log.data(RUN, 0, EPOCH + 11, site, |args| {
        args.raw(b"example.org").unwrap();
        args.uint(443).unwrap();
        2
    });
}

/// Each finds something, and not all: an example that finds nothing shows nothing.
#[test]
fn the_examples_of_all_forms_of_conditions_choose() {
    let help = run(command().args(["view", "--help"]), b"").out;
    let (_, forms) = help.split_once("Conditions (-w, --not):\n").unwrap();
    let (forms, _) = forms.split_once("\n\n").unwrap();
    let files = Files::new();
    files.put("app.log", &varied().bytes);
    let shown = |condition: &str| {
        let line = format!("logdef view -o raw {condition} app.log");
        let done = shell(&files, &line).output().unwrap();
        assert!(done.status.success(), "{line}: {done:?}");
        String::from_utf8(done.stdout).unwrap().lines().count()
    };
    let all = shown("");
    for form in forms.lines() {
        assert!(form.starts_with("  -w '"), "{form}: too long for a line");
        let (condition, _) = form.trim().rsplit_once("' ").unwrap();
        let chosen = shown(&format!("{condition}'"));
        assert!(
            (1..all).contains(&chosen),
            "{condition}': {chosen} of {all}"
        );
    }
    assert!(forms.lines().count() > 25, "{forms}");
}

fn needs_service_or_stays(line: &str) -> bool {
    let verb = line.split(' ').nth(1);
    line.contains(" --follow ")
        || matches!(verb, Some("browse" | "push" | "serve" | "stream" | "send"))
}

#[test]
fn the_examples_that_stay_show_something() {
    let files = folder();
    let [serve, elsewhere] = &examples("serve")[..] else {
        panic!("other examples than this test runs");
    };
    let mut services = [start(&files, serve), start(&files, elsewhere)];
    for directory in ["logdef", "sockets"] {
        let directory = files.path().join(directory);
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::fs::read_dir(&directory).map_or(0, Iterator::count) == 0 {
            assert!(Instant::now() < deadline, "no socket in {directory:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    for line in examples("send") {
        assert!(is_sent(&files, &line), "{line}");
    }
    let lines = [examples("stream"), examples("view")].concat();
    let mut shown = 0;
    for line in lines.iter().filter(|line| needs_service_or_stays(line)) {
        let mut child = start(&files, line);
        let mut first = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut first).unwrap();
        assert!(!first.is_empty(), "{line}");
        end(&mut child);
        shown += 1;
    }
    assert_eq!(shown, 3);
    services.iter_mut().for_each(end);
}

#[test]
fn the_examples_that_push_reach_a_store() {
    let lines = examples("push");
    assert_eq!(lines.len(), 4);
    for line in lines {
        let (files, store) = (folder(), Store::new());
        let address = store.address().to_string();
        let line = line
            .replace("localhost:4318", &address)
            .replace("localhost:3100", &address);
        let mut command = shell(&files, &format!("exec {line}"));
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        let mut child = command.env("TOKEN", "Bearer x").spawn().unwrap();
        store.wait(|store| store.came() > 0);
        if line.contains(" --follow ") {
            end(&mut child);
        } else {
            assert!(child.wait().unwrap().success(), "{line}");
        }
    }
}

/// Sends a record, once the service listens.
fn is_sent(files: &Files, line: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    let send = || shell(files, line).stderr(Stdio::null()).status().unwrap();
    while !send().success() {
        if Instant::now() > deadline {
            return false;
        }
    }
    true
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}
