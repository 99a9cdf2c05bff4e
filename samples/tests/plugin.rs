//! A plugin has copies of its own of the logger and of the facades: what it logs is in the host's log,
//! by the host's filter, and a test of the host captures it.

use logdef::{logdef, testing};
use logdef_samples::workshop::{Workshop, cargo, run};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Builds the plugin as this test was built.
fn plugin() -> PathBuf {
    let built = &Workshop::open().built;
    let mut cargo = cargo();
    cargo.args([
        "build",
        "--offline",
        "--package",
        "logdef-samples",
        "--example",
        "plugin",
    ]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    run(cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")));
    built.join("examples/libplugin.so")
}

#[test]
fn what_a_plugin_logs_by_facades_is_in_the_log_of_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    logdef::open(&path).unwrap();
    let library = CString::new(plugin().as_os_str().as_bytes()).unwrap();
    // SAFETY: the library is the test's own, and its function takes nothing.
    let plug: extern "C" fn() = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        std::mem::transmute(libc::dlsym(handle, c"plug".as_ptr()))
    };
    let logged = testing::capture_all();
    plug();
    logdef!(Info, "host");
    logdef::set_filter("trace,disk=off").unwrap();
    plug();
    let both = ["plugin by log", "work job=7", "plugin by tracing"];
    let mut messages = logged.messages();
    messages.retain(|text| !text.is_empty());
    let expected = [&both[..], &["plugin on a thread", "host"], &both[..]].concat();
    assert_eq!(messages, expected);
    assert_eq!(logged.records()[0]["count"], 3);
    let event = &logged.records()[2];
    assert_eq!(event["ms"], 2.5);
    assert_eq!(event["job"], 7);
    logdef::close();

    let view = run(Workshop::open()
        .command("logdef")
        .args(["view", "-o", "json"])
        .arg(&path));
    let view = String::from_utf8(view.stdout).unwrap();
    for text in expected {
        let named = format!("\"message\":\"{text}\"");
        let times = if text.ends_with("thread") || text == "host" {
            1
        } else {
            2
        };
        assert_eq!(view.matches(&named).count(), times, "{text}");
    }
    assert!(
        view.contains("plugin.rs") && view.contains("\"target\":\"disk\""),
        "{view}"
    );
}
