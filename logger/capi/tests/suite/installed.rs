//! Installs the library once, and finds it as its users do.

use crate::compilers::skip::skip;
use crate::compilers::{compile, compile_clean, package, source, toolchains, works};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where it was installed, as a debug build, which cargo has at hand.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        // Each program of tests has its own: they may run at the same time, and each begins by removing it.
        // Users choose the name: `logdef.pc` once came apart at a space, and sed put something else for `&`.
        let name = concat!("prefix & more of ", env!("CARGO_CRATE_NAME"));
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&prefix);
        let output = Command::new("sh")
            .arg(package().join("install.sh"))
            .arg("--debug")
            .arg(&prefix)
            .env("CARGO", env!("CARGO"))
            .env_remove("DESTDIR")
            .env_remove("LIBDIR")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        prefix
    })
}

/// Compiles and links `sources` with the installed library, the header included
/// from where it is installed.
pub fn build(compiler: &str, flags: &[&str], sources: &[PathBuf], program: &Path) {
    let lib = prefix().join("lib");
    let mut arguments: Vec<OsString> = vec!["-I".into(), prefix().join("include").into()];
    arguments.extend(flags.iter().map(OsString::from));
    arguments.extend(sources.iter().map(OsString::from));
    arguments.extend([
        "-L".into(),
        lib.clone().into(),
        "-llogdef".into(),
        "-ldl".into(),
    ]);
    arguments.push(format!("-Wl,-rpath,{}", lib.display()).into());
    arguments.extend(["-o".into(), program.into()]);
    compile_clean(compiler, arguments);
}

/// Runs a program that opens the log it is given, and returns the log.
pub fn log_of(program: &Path) -> PathBuf {
    log_by(program, &[])
}

/// The same with more arguments.
pub fn log_by(program: &Path, arguments: &[&str]) -> PathBuf {
    let log = program.with_extension("log");
    let _ = std::fs::remove_file(&log);
    let output = Command::new(program)
        .arg(&log)
        .args(arguments)
        .env_remove("LOGDEF")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    log
}

fn pkg_config(arguments: &[&str]) -> Option<Vec<String>> {
    if !works("pkg-config") {
        return None;
    }
    let output = Command::new("pkg-config")
        .args(arguments)
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(words(&String::from_utf8(output.stdout).unwrap()))
}

/// What a shell makes of a line.
fn words(line: &str) -> Vec<String> {
    let script = format!("printf '%s\\n' {line}");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    words.lines().map(str::to_owned).collect()
}

#[test]
fn everything_is_where_users_look_for_it() {
    let lib = prefix().join("lib");
    assert!(prefix().join("include/logdef.h").is_file());
    assert!(prefix().join("include/logdef_format.h").is_file());
    assert!(prefix().join("include/logdef_stream.h").is_file());
    assert!(lib.join("liblogdef.a").is_file());
    let links = ["liblogdef.so", "liblogdef.so.0"].map(|name| {
        let target = std::fs::read_link(lib.join(name)).unwrap();
        target.to_str().unwrap().to_owned()
    });
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        links,
        [
            "liblogdef.so.0".to_owned(),
            format!("liblogdef.so.{version}")
        ]
    );
    for file in ["pkgconfig/logdef.pc", "cmake/logdef/logdefConfig.cmake"] {
        let text = std::fs::read_to_string(lib.join(file)).unwrap();
        assert!(!text.contains('@'), "{file}: {text}");
    }
}

#[test]
fn pkg_config_links_a_program() {
    let Some(flags) = pkg_config(&["--cflags", "--libs", "logdef"]) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for toolchain in toolchains() {
        let program = directory.path().join("program");
        let mut arguments: Vec<OsString> = vec![source("program.c").into()];
        arguments.extend(flags.iter().map(OsString::from));
        arguments.push(format!("-Wl,-rpath,{}/lib", prefix().display()).into());
        arguments.extend(["-o".into(), program.clone().into()]);
        compile_clean(toolchain.cc, arguments);
        assert!(!crate::decode::messages(&log_of(&program)).is_empty());
    }
    let version = pkg_config(&["--modversion", "logdef"]).unwrap();
    assert_eq!(version, [env!("CARGO_PKG_VERSION")]);
}

#[test]
fn pkg_config_links_a_static_program() {
    let Some(flags) = pkg_config(&["--static", "--cflags", "--libs", "logdef"]) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let compiler = toolchains()[0].cc;
    let empty = directory.path().join("empty.c");
    std::fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let trivial: [OsString; 3] = ["-static".into(), empty.into(), "-o/dev/null".into()];
    if !compile(compiler, &trivial).status.success() {
        skip("there is no static C library");
        return;
    }
    let mut arguments: Vec<OsString> = vec!["-static".into(), source("program.c").into()];
    arguments.extend(flags.iter().map(OsString::from));
    arguments.extend(["-o".into(), program.clone().into()]);
    let output = compile(compiler, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let messages = crate::decode::messages(&log_of(&program));
    let is_with =
        |message: &&crate::decode::Message| message.format.starts_with("with a backtrace");
    let with: Vec<_> = messages.iter().filter(is_with).collect();
    assert_eq!(with.len(), 2);
    for message in with {
        let functions = functions(&program, &message.backtrace);
        assert_eq!(
            functions.first().map(String::as_str),
            Some("main"),
            "{functions:?}"
        );
        assert_eq!(
            functions.last().map(String::as_str),
            Some("_start"),
            "{functions:?}"
        );
    }
}

/// The functions of a program that return addresses in it lead back to. It lies where it was linked.
fn functions(program: &Path, addresses: &[i128]) -> Vec<String> {
    let mut addr2line = Command::new("addr2line");
    addr2line.args(["--functions", "--exe"]).arg(program);
    // The call ends at the address.
    addr2line.args(
        addresses
            .iter()
            .map(|address| format!("{:#x}", address - 1)),
    );
    let output = addr2line.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().step_by(2).map(str::to_owned).collect()
}

/// The archive beside the rest of a dynamic program.
#[test]
fn the_archive_links_into_a_dynamic_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    for toolchain in toolchains() {
        let arguments: Vec<OsString> = vec![
            source("program.c").into(),
            prefix().join("lib/liblogdef.a").into(),
            "-lpthread".into(),
            "-ldl".into(),
            "-lm".into(),
            "-o".into(),
            program.clone().into(),
        ];
        compile_clean(toolchain.cc, arguments);
        assert!(!crate::decode::messages(&log_of(&program)).is_empty());
    }
}

#[test]
fn cmake_finds_it() {
    if !works("cmake") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for log in cmake_builds_with(prefix(), directory.path()) {
        assert!(!crate::decode::messages(&log).is_empty());
    }
}

/// As after a staged installation: the include folder was named by the path at which
/// the tree was made.
#[test]
fn cmake_finds_it_in_a_tree_that_was_moved() {
    if !works("cmake") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let moved = directory.path().join("moved");
    let copy = Command::new("cp")
        .arg("-a")
        .args([prefix(), &moved])
        .status();
    assert!(copy.unwrap().success());
    let config = moved.join("lib/cmake/logdef/logdefConfig.cmake");
    let config = std::fs::read_to_string(config).unwrap();
    assert!(!config.contains(prefix().to_str().unwrap()), "{config}");
    for log in cmake_builds_with(&moved, directory.path()) {
        assert!(!crate::decode::messages(&log).is_empty());
    }
}

/// The logs of a program linked with the shared library, and of one with the archive.
#[cfg(test)]
fn cmake_builds_with(prefix: &Path, directory: &Path) -> [PathBuf; 2] {
    let lists = format!(
        "cmake_minimum_required(VERSION 3.13)\nproject(test C)\n\
         find_package(logdef {version} REQUIRED)\n\
         add_executable(program [[{source}]])\ntarget_link_libraries(program logdef::logdef)\n\
         add_executable(static [[{source}]])\ntarget_link_libraries(static logdef::logdef_static)\n",
        version = env!("CARGO_PKG_VERSION"),
        source = source("program.c").display(),
    );
    std::fs::write(directory.join("CMakeLists.txt"), lists).unwrap();
    for arguments in [
        vec![
            ".".to_owned(),
            format!("-DCMAKE_PREFIX_PATH={}", prefix.display()),
        ],
        vec!["--build".to_owned(), ".".to_owned()],
    ] {
        let output = Command::new("cmake")
            .args(arguments)
            .current_dir(directory)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    ["program", "static"].map(|program| log_of(&directory.join(program)))
}

#[test]
fn packagers_choose_the_places() {
    let directory = tempfile::tempdir().unwrap();
    // Twice: installed files are replaced.
    for _ in 0..2 {
        let output = Command::new("sh")
            .arg(package().join("install.sh"))
            .args(["--debug", "/usr"])
            .env("CARGO", env!("CARGO"))
            .env("DESTDIR", directory.path())
            .env("LIBDIR", "lib64")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    let pc = directory.path().join("usr/lib64/pkgconfig/logdef.pc");
    let pc = std::fs::read_to_string(pc).unwrap();
    assert!(
        pc.starts_with("prefix=/usr\nlibdir=${prefix}/lib64\n"),
        "{pc}"
    );
}
