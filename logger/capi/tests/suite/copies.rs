//! Several copies of the logger in one process: one run, one file.

use crate::compilers::{compile_clean, source, toolchains};
use crate::decode::{Message, PREAMBLE, Value, messages, records};
use crate::installed::{build, log_by, prefix};
use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::path::{Path, PathBuf};

/// Compiles `file` with the logger's archive in it.
fn build_with_archive(file: &str, flags: &[&str], to: &Path) {
    let mut arguments: Vec<OsString> = flags.iter().map(OsString::from).collect();
    arguments.extend([source(file).into(), prefix().join("lib/liblogdef.a").into()]);
    for flag in ["-lpthread", "-ldl", "-lm", "-o"] {
        arguments.push(flag.into());
    }
    arguments.push(to.into());
    compile_clean(toolchains()[0].cc, arguments);
}

/// A library with a copy of the logger whose symbols are hidden.
pub fn library_with_copy(directory: &Path, name: &str) -> PathBuf {
    let library = directory.join(format!("lib{name}.so"));
    let copy = format!("-DCOPY=\"{name}\"");
    let flags = ["-shared", "-fPIC", "-Wl,--exclude-libs,ALL", &copy];
    build_with_archive("copy.c", &flags, &library);
    library
}

/// A library that needs `liblogdef.so`.
fn library_with_shared(directory: &Path, name: &str) -> PathBuf {
    let library = directory.join(format!("lib{name}.so"));
    let copy = format!("-DCOPY=\"{name}\"");
    let flags = ["-shared", "-fPIC", &copy];
    build(toolchains()[0].cc, &flags, &[source("copy.c")], &library);
    library
}

/// The formats with numbers in place, in alphabetical order: each thread has a
/// chunk of its own.
fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message.args.first() {
        Some(Value::Int(number)) => message.format.replace("%d", &number.to_string()),
        _ => message.format.clone(),
    };
    let mut texts: Vec<_> = messages.iter().map(text).collect();
    texts.sort();
    texts
}

fn runs(log: &Path) -> HashSet<i128> {
    let records = records(log);
    let preambles = records.iter().filter(|record| record.tag == PREAMBLE);
    preambles
        .map(|preamble| preamble.field(5).unwrap().int())
        .collect()
}

#[test]
fn copies_in_a_program_and_its_libraries_share_one_log() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let (one, two) = (library_with_copy(at, "one"), library_with_copy(at, "two"));
    let shared = library_with_shared(at, "shared");
    let with_copy = at.join("with_copy");
    build_with_archive("copies.c", &[], &with_copy);
    let with_shared = at.join("with_shared");
    build(toolchains()[0].cc, &[], &[source("copies.c")], &with_shared);
    let [one, two, shared] = [&one, &two, &shared].map(|path| path.to_str().unwrap());
    for program in [&with_copy, &with_shared] {
        for libraries in [vec![one, two, shared], vec![shared, one]] {
            let log = log_by(program, &libraries);
            let messages = messages(&log);
            let names = libraries.iter().map(|library| match *library {
                library if library == one => "one",
                library if library == two => "two",
                _ => "shared",
            });
            let names: Vec<_> = names.collect();
            let mut expected = vec!["program before".to_owned(), "program".to_owned()];
            // By each library's constructor, before the log is open.
            expected.extend(names.iter().map(|name| format!("{name} begins")));
            for (i, name) in names.iter().enumerate() {
                expected.push(format!("{name} {i}"));
                expected.push(format!("{name} in detail %s"));
                expected.push(format!("{name} by a wrapper {i}"));
                expected.push(format!("{name} in a thread {i}"));
            }
            for (i, name) in names.iter().enumerate() {
                expected.push(format!("{name} by a wrapper {}", 10 + i));
            }
            expected.push("program again".to_owned());
            expected.extend(names.iter().map(|name| format!("{name} ends")));
            expected.push("program at exit".to_owned());
            expected.sort();
            assert_eq!(texts(&messages), expected);
            assert_eq!(runs(&log).len(), 1, "{libraries:?}");
            assert!(messages.iter().all(|message| message.dropped == 0));
        }
    }
}

/// This test's own program leads: a copy in Rust.
#[test]
fn a_library_in_c_logs_to_the_log_of_a_rust_program() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    logdef::open(&log).unwrap();
    logdef::logdef!(Info, "rust");
    let library = library_with_copy(directory.path(), "guest");
    let library = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: the library's functions are of these types.
    unsafe {
        let library = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!library.is_null());
        let run = libc::dlsym(library, c"copy_run".as_ptr());
        let run: extern "C" fn(i32) = std::mem::transmute(run);
        run(7);
        let set_level = libc::dlsym(library, c"copy_set_level".as_ptr());
        let set_level: extern "C" fn(i32) = std::mem::transmute(set_level);
        set_level(0x40);
        logdef::logdef!(Info, "not logged");
        logdef::set_level(logdef::Level::TRACE);
        libc::dlclose(library);
    }
    let expected = [
        "guest 7",
        "guest begins",
        "guest by a wrapper 7",
        "guest ends",
        "guest in a thread 7",
        "guest in detail %s",
        "rust",
    ];
    assert_eq!(texts(&messages(&log)), expected);
    assert_eq!(runs(&log).len(), 1);
}
