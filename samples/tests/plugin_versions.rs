//! A plugin may be of another version than its host. Where only the crates differ, what it logs by its facades is in
//! the log of the host; where the copies of the logger meet under another name, each has a log of its own,
//! and the host's stays as it is.

use logdef::logdef;
use logdef_samples::workshop::{Workshop, cargo, run};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const MEMBERS: &str = r#"members = ["logger", "logger/log", "logger/macros", "logger/tracing",
    "logger/unwind", "logger/wire", "plugin"]"#;
const PLUGIN: &str = r#"[package]
name = "NAME"
version = "0.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
log.workspace = true
logdef-log.workspace = true
logdef-tracing.workspace = true
tracing.workspace = true
tracing-subscriber.workspace = true
"#;

/// Makes a workspace of the crates that log, as that version, and of the plugin under a name of its own. What has not
/// changed keeps its time, so that it is built once.
fn later_version(folder: &Path, name: &str, version: &str) {
    let _ = fs::remove_dir_all(folder.join("logger"));
    fs::create_dir_all(folder.join("plugin/src")).unwrap();
    let project = Path::new(PROJECT);
    let copy = |from: &str, to: PathBuf| {
        let mut copy = Command::new("cp");
        run(copy.arg("-rp").arg(project.join(from)).arg(to));
    };
    copy("logger", folder.to_owned());
    copy(
        "samples/examples/plugin.rs",
        folder.join("plugin/src/lib.rs"),
    );
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    let (before, rest) = manifest.split_once("members = [").unwrap();
    let (_, rest) = rest.split_once(']').unwrap();
    let manifest = format!("{before}{MEMBERS}{rest}").replace("0.1.0", version);
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(project.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let plugin = PLUGIN.replace("NAME", name);
    fs::write(folder.join("plugin/Cargo.toml"), plugin).unwrap();
}

/// Changes the names under which copies of the logger find each other.
fn meet_elsewhere(folder: &Path) {
    let path = folder.join("logger/src/copies/serve.rs");
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    let source = fs::read_to_string(&path).unwrap();
    let changed = source
        .replace("logdef-v1", "logdef-v2")
        .replace("logdef_meeting_v1", "logdef_meeting_v2");
    assert_eq!(
        source.matches("logdef-v1").count(),
        2,
        "its names are elsewhere"
    );
    fs::write(&path, changed).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(written).unwrap();
}

/// Builds the plugin of the workspace in `folder`, together with what others have built in `target`.
fn build(folder: &Path, name: &str, target: &Path) -> PathBuf {
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--offline", "--package", name]);
    cargo.arg("--target-dir").arg(target);
    run(cargo.current_dir(folder));
    target.join(format!("debug/lib{name}.so"))
}

fn plug(library: &Path) {
    let library = CString::new(library.as_os_str().as_bytes()).unwrap();
    // SAFETY: the library is the test's own, and its function takes nothing.
    let plug: extern "C" fn() = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        std::mem::transmute(libc::dlsym(handle, c"plug".as_ptr()))
    };
    plug();
}

#[test]
fn plugins_of_other_versions_log_with_the_host_or_leave_its_log_alone() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin_versions");
    let target = folder.join("target");
    let [shares, stranger] = [("shares", "0.9.0"), ("stranger", "0.9.1")].map(|(name, version)| {
        let folder = folder.join(name);
        later_version(&folder, name, version);
        if name == "stranger" {
            meet_elsewhere(&folder);
        }
        build(&folder, name, &target)
    });

    let logs = tempfile::tempdir().unwrap();
    let path = logs.path().join("log");
    logdef::open(&path).unwrap();
    plug(&shares);
    logdef!(Info, "host between");
    plug(&stranger);
    logdef!(Info, "host at last");
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();
    let mut view = Workshop::open().command("logdef");
    let shown = run(view.args(["view", "--strict"]).arg(&path)).stdout;
    let shown = String::from_utf8(shown).unwrap();
    let expected = [
        "plugin by log",
        "plugin by tracing",
        "plugin on a thread",
        "host between",
        "host at last",
    ];
    let text_in = |line| expected.into_iter().find(|text| str::contains(line, text));
    let found: Vec<&str> = shown.lines().filter_map(text_in).collect();
    assert_eq!(found, expected, "{shown}");
}
