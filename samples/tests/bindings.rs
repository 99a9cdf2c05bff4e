//! Programs in other languages, and by other loggers of C++, log by the function for bindings, with
//! places, types and names, and lose nothing when they are killed.

use logdef_samples::skip::skip;
use logdef_samples::workshop::{Workshop, run};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a binding's sources are.
fn sources(binding: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings");
    folder.join(binding)
}

/// What was logged by a program that ends itself.
struct Logged {
    folder: tempfile::TempDir,
}

impl Logged {
    /// Makes a folder for the log and what is built.
    fn new() -> Logged {
        let folder = tempfile::tempdir().unwrap();
        Logged { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program, which kills itself, with the log as its last argument.
    fn by(self, command: &mut Command) -> Logged {
        let status = command.arg(self.file("log")).status();
        assert!(!status.unwrap().success(), "it kills itself");
        self
    }

    fn view(&self, words: &[&str]) -> String {
        let mut command = Workshop::open().command("logdef");
        let output = run(command.arg("view").args(words).arg(self.file("log")));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The lines of the records.
    fn lines(&self) -> Vec<String> {
        let text = self.view(&[]);
        let lines = text.lines().filter(|line| line.starts_with('2'));
        lines.map(str::to_owned).collect()
    }

    /// Checks how many records there are, and what the last one says.
    fn ends_with(&self, number: usize, text: &str) {
        let records = self.lines();
        assert_eq!(records.len(), number);
        let last = &records[number - 1];
        assert!(last.contains(text), "{last}");
    }

    /// Checks that one record fulfils a condition, and that its JSON has these parts.
    fn has_one(&self, condition: &str, parts: &[&str]) {
        let found = self.view(&["-o", "json", "-w", condition]);
        assert_eq!(found.lines().count(), 1, "{found}");
        for part in parts {
            assert!(found.contains(part), "{part} in {found}");
        }
    }
}

/// Compiles a binding's victim with what the package of a library needs; `None` without it.
fn with_package(binding: &str, source: &str, package: &str, more: &[&str]) -> Option<Logged> {
    let mut command = Command::new("pkg-config");
    let asked = command.args(["--cflags", "--libs", package]).output();
    let Some(asked) = asked.ok().filter(|asked| asked.status.success()) else {
        skip(format_args!("{package} is not installed"));
        return None;
    };
    let logged = Logged::new();
    let flags = String::from_utf8(asked.stdout).unwrap();
    let flags: Vec<_> = flags
        .split_whitespace()
        .chain(more.iter().copied())
        .collect();
    let source = sources(binding).join(source);
    let out = logged.file(if source.extension() == Some(OsStr::new("c")) {
        "logdef.so"
    } else {
        "victim"
    });
    Workshop::open().compile(&[source.to_str().unwrap()], &out, &flags);
    Some(logged)
}

#[test]
fn a_program_in_python_logs_by_logging_and_is_killed() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip(format_args!("python3 is not installed"));
    }
    let mut command = Command::new("python3");
    let library = Workshop::open().library.join("liblogdef.so");
    command.env("LOGDEF_LIBRARY", library);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let logged = Logged::new().by(command.arg(sources("python").join("victim.py")));

    let records = logged.lines();
    assert_eq!(records.len(), 1002);
    let [.., order, bytes, last] = &records[..] else {
        panic!("{records:?}");
    };
    assert!(order.contains("victim.py:18: order 999 of anna"), "{order}");
    assert!(
        bytes.contains(r"bytes \xff and a NUL\x00 inside"),
        "{bytes}"
    );
    // That record names no place, and none is made up.
    assert!(bytes.contains("] bytes"), "{bytes}");
    let without = logged.view(&["-o", "json", "--level", "warn..warn"]);
    assert_eq!(without.lines().count(), 1, "{without}");
    for key in [r#""file""#, r#""line""#] {
        assert!(!without.contains(key), "{key} in {without}");
    }
    assert!(
        last.contains(r"made/up.py:7: {not} a %s format text=a ☃ raw=\x80"),
        "{last}"
    );
    let parts = [
        r#""number":7"#,
        r#""ratio":1.75"#,
        r#""even":false"#,
        r#""big":9223372036854775815"#,
        r#""function":"serve""#,
    ];
    logged.has_one("number=7 and logger=shop", &parts);
}

#[test]
fn a_program_with_spdlog_logs_by_a_sink_and_is_killed() {
    let Some(logged) = with_package("spdlog", "victim.cpp", "spdlog", &[]) else {
        return;
    };
    let mut victim = Command::new(logged.file("victim"));
    let logged = logged.by(&mut victim);
    let records = logged.lines();
    assert_eq!(records.len(), 1001);
    let last = records.last().unwrap();
    assert!(
        last.contains("FATAL") && last.contains("last words without a place"),
        "{last}"
    );
    let orders = logged.view(&["-w", "logger=shop", "--level", "info..info"]);
    for number in [0, 499, 500, 999] {
        let text = format!("victim.cpp:16: order {number} of anna");
        assert_eq!(orders.matches(&text).count(), 1, "{text}");
    }
}

#[test]
fn a_program_with_glog_logs_by_a_sink_and_aborts() {
    let Some(logged) = with_package("glog", "victim.cpp", "libglog", &[]) else {
        return;
    };
    let mut victim = Command::new(logged.file("victim"));
    victim.stderr(std::process::Stdio::null());
    let logged = logged.by(&mut victim);
    let records = logged.lines();
    assert_eq!(records.len(), 102);
    let [.., order, bytes, last] = &records[..] else {
        panic!("{records:?}");
    };
    assert!(order.contains("victim.cpp:14: order 99 of anna"), "{order}");
    assert!(
        bytes.contains("WARN") && bytes.contains(r"bytes \xffand a NUL\x00 inside"),
        "{bytes}"
    );
    assert!(
        last.contains("FATAL") && last.contains("last words"),
        "{last}"
    );
}

#[test]
fn a_program_in_lua_logs_by_a_module_and_is_killed() {
    if Command::new("lua5.4").arg("-v").output().is_err() {
        return skip(format_args!("lua5.4 is not installed"));
    }
    // The interpreter has what a module needs of Lua.
    let more = ["-shared", "-fPIC"];
    let Some(logged) = with_package("lua", "logdef.c", "lua5.4", &more) else {
        return;
    };
    let mut command = Command::new("lua5.4");
    command.env("LUA_CPATH", logged.file("?.so"));
    let logged = logged.by(command.arg(sources("lua").join("victim.lua")));
    logged.ends_with(1001, r"bytes \xff and a NUL\x00 inside text=a\x00b");
    let parts = [
        r#""number":7"#,
        r#""ratio":1.75"#,
        r#""even":false"#,
        r#""function":"serve""#,
        r#""line":8"#,
    ];
    logged.has_one("number=7", &parts);
}

#[test]
#[ignore = "needs Go, which is large: .ci/nightly runs it"]
fn a_program_in_go_logs_by_cgo_and_is_killed() {
    let (logged, library) = (Logged::new(), &Workshop::open().library);
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../logger/capi/include");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(logged.file("victim"));
    go.arg("./victim").current_dir(sources("go"));
    go.env("GOFLAGS", "-mod=mod")
        .env("GOCACHE", logged.file("cache"));
    go.env("CGO_CFLAGS", format!("'-I{}'", header.display()));
    let library = library.display();
    go.env(
        "CGO_LDFLAGS",
        format!("'-L{library}' '-Wl,-rpath,{library}'"),
    );
    run(&mut go);
    let mut victim = Command::new(logged.file("victim"));
    let logged = logged.by(&mut victim);
    logged.ends_with(1001, r"main.go:26: bytes \xff and a NUL\x00 inside");
    let parts = [
        r#""number":7"#,
        r#""ratio":1.75"#,
        r#""even":false"#,
        r#""big":9223372036854775815"#,
        r#""function":"main.serve""#,
    ];
    logged.has_one("number=7", &parts);
}
