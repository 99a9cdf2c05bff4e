//! What a record is about: module and target of call sites that the compiler laid down, and of those
//! that facades make, are in the log, shown and found in the same way.

use logdef::{logdef, logdef_at, logdef_span};
use logdef_samples::frames;
use logdef_samples::workshop::{Workshop, run};
use std::path::Path;
use tracing_subscriber::prelude::*;

mod door {
    pub fn open(by: &str) {
        // Both modules have this call, and each of them is its own.
        logdef::logdef!(Info, "opened by {by}");
        logdef::logdef!(Info, "opened by %s", by);
    }
}

mod window {
    pub fn open(by: &str) {
        logdef::logdef!(Info, "opened by {by}");
        logdef::logdef!(Info, "opened by %s", by);
    }
}

fn log_everything(path: &Path) {
    logdef!(target: "early", Warn, "kept {}", 0);
    logdef::open(path).unwrap();
    logdef_log::init().unwrap();
    // Its own `init` would take the place of the logger above, where other packages ask for that.
    let subscriber = tracing_subscriber::registry().with(logdef_tracing::layer());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    door::open("ann");
    window::open("bob");
    logdef!(target: "net", Info, "up");
    logdef!(target: "net", Info, "took %d ms", 3, port = 80);
    logdef_at!(target: "tab\tbed, and more", logdef::Level::WARN, "odd {}", 1);
    logdef!(target: "net", Info, "own", target = "its own value");
    let span = logdef_span!(target: "net", Info, "span");
    drop(span);
    log::info!(target: "net", "by log");
    tracing::info!(target: "net", "by tracing");
    log::info!("by log, without");
}

/// What the command prints.
fn shown(words: &[&str], path: &Path) -> String {
    let mut command = Workshop::open().command("logdef");
    let output = run(command.arg("view").args(words).arg(path));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn module_and_target_are_shown_and_found_whatever_made_the_call_site() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.log");
    log_everything(&path);
    let found = |condition: &str| {
        let raw = shown(&["-o", "raw", "-w", condition], &path);
        raw.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = ["up", "took 3 ms", "span", "", "by log", "by tracing"];
    assert_eq!(found("target=\"net\""), all);
    assert_eq!(found("target=net and port=80"), ["took 3 ms"]);
    assert_eq!(found("target=early"), ["kept 0"]);
    assert_eq!(found("target=\"tab\tbed, and more\""), ["odd 1"]);
    // A value of this name hides it.
    assert_eq!(found("target~own"), ["own"]);
    let me = module_path!();
    let twice = |by: &str| vec![format!("opened by {by}"); 2];
    assert_eq!(found(&format!("target={me}::door")), twice("ann"));
    assert_eq!(found(&format!("module={me}::window")), twice("bob"));
    assert_eq!(found(&format!("target={me}")), ["by log, without"]);
    assert_eq!(found(&format!("module={me}")).len(), 10);
    assert_eq!(found("module=nowhere or not target~\"\""), [""; 0]);

    let json = shown(&["-o", "json", "-w", "port=80"], &path);
    let place = format!(r#""format":"took %d ms","module":"{me}","target":"net","args":[3,80]"#);
    assert!(json.contains(&place), "{json}");
    assert!(json.contains(r#""fields":{"port":80}"#), "{json}");
    let full = shown(&["-o", "full", "-w", "target=early"], &path);
    assert!(full.contains(&format!("    module    {me}\n    target    early\n")));
    let lines = shown(&["--with-target", "-w", "0=ann or target=net"], &path);
    let line = |end: &str| lines.lines().any(|line| line.ends_with(end));
    assert!(line(&format!(": {me}::door: opened by ann")), "{lines}");
    assert!(line(": net: up") && line(": net: by tracing"), "{lines}");
    assert!(!shown(&[], &path).contains("::door"));

    // The program has them too, where the log lost its strings.
    let log = std::fs::read(&path).unwrap();
    let frames = frames::scan(&log)
        .into_iter()
        .filter(|frame| frame.is_data());
    let bare: Vec<u8> = frames.flat_map(|frame| log[frame.range].to_vec()).collect();
    std::fs::write(&path, bare).unwrap();
    let images = folder.path().join("images");
    std::fs::create_dir(&images).unwrap();
    std::fs::copy(std::env::current_exe().unwrap(), images.join("program")).unwrap();
    let rebuilt = |words: &[&str]| {
        let dir = ["--image-dir", images.to_str().unwrap(), "-o", "raw"];
        shown(&[&dir[..], words].concat(), &path)
    };
    assert_eq!(rebuilt(&["-w", "target=net and port=80"]), "took 3 ms\n");
    let door = format!("module={me}::door");
    assert_eq!(rebuilt(&["-w", &door]), "opened by ann\nopened by ann\n");
}
