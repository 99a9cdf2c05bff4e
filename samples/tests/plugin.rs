//! A plugin has copies of its own of the logger and of the facades: what it logs is in the host's log,
//! by the host's filter, beside what the host logs by its copies; and a test of the host captures it.

use logdef::{logdef, testing};
use logdef_samples::workshop::{Workshop, cargo, run};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tracing_subscriber::prelude::*;

/// Builds the plugin as this test was built.
fn plugin() -> PathBuf {
    let built = &Workshop::open().built;
    let mut cargo = cargo();
    cargo.args(["build", "--offline", "--workspace", "--example", "plugin"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    run(cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")));
    built.join("examples/libplugin.so")
}

/// Logs by the host's own facades, and says in which line.
fn host() -> u32 {
    let line = line!() + 1;
    log::warn!(target: "disk", count = 4; "host by log");
    let span = tracing::info_span!("host span", job = 8);
    let _entered = span.enter();
    tracing::warn!(ms = 3.5, "host by tracing");
    line
}

/// What a reader must find of a call: the text, how often, the file, and what else its line of JSON has.
type Expected<'e> = (&'e str, usize, &'e str, &'e [&'e str]);

#[test]
fn what_host_and_plugin_log_by_facades_of_their_own_is_in_the_log_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    logdef::open(&path).unwrap();
    logdef_log::init().unwrap();
    let layers = tracing_subscriber::registry().with(logdef_tracing::layer());
    tracing::subscriber::set_global_default(layers).unwrap();
    let library = CString::new(plugin().as_os_str().as_bytes()).unwrap();
    // SAFETY: the library is the test's own, and its function takes nothing.
    let plug: extern "C" fn() = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        std::mem::transmute(libc::dlsym(handle, c"plug".as_ptr()))
    };
    let logged = testing::capture_all();
    plug();
    let line = host();
    logdef!(Info, "host");
    logdef::set_filter("trace,disk=off").unwrap();
    plug();
    host();
    logdef::set_filter("error").unwrap();
    assert_eq!(log::max_level(), log::LevelFilter::Error);
    plug();
    host();
    let plugged = ["plugin by log", "work job=7", "plugin by tracing"];
    let (on_a_thread, of_host) = ("plugin on a thread", "host span job=8");
    let expected = [
        &plugged[..],
        &[
            on_a_thread,
            "host by log",
            of_host,
            "host by tracing",
            "host",
        ],
        &plugged[..],
        &[of_host, "host by tracing", on_a_thread],
    ];
    let mut messages = logged.messages();
    messages.retain(|text| !text.is_empty());
    assert_eq!(messages, expected.concat());
    assert_eq!(logged.records()[0]["count"], 3);
    let event = &logged.records()[2];
    assert_eq!(event["ms"], 2.5);
    assert_eq!(event["job"], 7);
    logdef::close();

    let mut view = Workshop::open().command("logdef");
    let view = run(view.args(["view", "-o", "json"]).arg(&path));
    let view = String::from_utf8(view.stdout).unwrap();
    let (ours, theirs) = ("tests/plugin.rs", "examples/plugin.rs");
    let (second, fifth) = (
        format!("\"line\":{line},"),
        format!("\"line\":{},", line + 3),
    );
    let expected: [Expected<'_>; 8] = [
        ("plugin by log", 2, theirs, &["\"count\":3"]),
        (plugged[1], 2, theirs, &["\"job\":7"]),
        (plugged[2], 2, theirs, &["\"ms\":2.5", "\"job\":7"]),
        (on_a_thread, 2, theirs, &["\"target\":\"disk\""]),
        ("host", 1, ours, &[]),
        (
            "host by log",
            1,
            ours,
            &["\"target\":\"disk\"", "\"count\":4", &second],
        ),
        (of_host, 2, ours, &["\"job\":8"]),
        (
            "host by tracing",
            2,
            ours,
            &["\"ms\":3.5", "\"job\":8", &fifth],
        ),
    ];
    for (text, times, file, has) in expected {
        let named = format!("\"message\":\"{text}\"");
        let lines: Vec<&str> = view.lines().filter(|line| line.contains(&named)).collect();
        assert_eq!(lines.len(), times, "{text}: {view}");
        for line in lines {
            let all = [&[file][..], has].concat();
            let missing = all.iter().find(|part| !line.contains(**part));
            assert_eq!(missing, None, "{line}");
        }
    }
}
