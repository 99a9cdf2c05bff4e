//! A Rust program that follows: a library with a copy of the logger was loaded before it
//! and leads. What the program asks of the log, the leader does. A program of its own,
//! which runs itself again with the library preloaded.

#[path = "suite/compilers.rs"]
#[allow(dead_code, reason = "the suite uses all of it")]
mod compilers;
#[path = "suite/installed.rs"]
#[allow(dead_code, unused_imports, reason = "and its tests run there")]
mod installed;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The log that the child writes.
const LOG: &str = "LOGDEF_TEST_LOG";

fn main() {
    match std::env::var_os(LOG) {
        Some(log) => follow(Path::new(&log)),
        None => {
            let directory = tempfile::tempdir().unwrap();
            let child = Command::new(std::env::current_exe().unwrap())
                .env("LD_PRELOAD", library(directory.path()))
                .env(LOG, directory.path().join("log"))
                .env_remove("LOGDEF")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&child.stderr);
            assert!(child.status.success(), "{said}");
        }
    }
}

/// A library with a copy of the logger.
fn library(directory: &Path) -> PathBuf {
    let library = directory.join("libleader.so");
    let archive = installed::prefix().join("lib/liblogdef.a");
    let mut arguments = vec!["-shared", "-fPIC", "-DCOPY=\"leader\""]
        .into_iter()
        .map(Into::into)
        .collect::<Vec<std::ffi::OsString>>();
    arguments.extend([compilers::source("copy.c").into(), archive.into()]);
    arguments.extend(["-lpthread", "-ldl", "-lm", "-o"].map(Into::into));
    arguments.push(library.clone().into());
    compilers::compile_clean(compilers::toolchains()[0].cc, arguments);
    library
}

struct Seen(Mutex<Vec<String>>);

static SEEN: Seen = Seen(Mutex::new(Vec::new()));

impl logdef::Observer for Seen {
    fn observe(&self, record: &logdef::Observed<'_>) {
        let text = String::from_utf8_lossy(record.message());
        let args = record.arguments().count();
        self.0
            .lock()
            .unwrap()
            .push(format!("{} {text} [{args}]", record.level()));
    }
}

fn symbol(name: &CStr) -> *mut libc::c_void {
    // SAFETY: the name ends in a NUL.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    assert!(!found.is_null(), "the library is not loaded");
    found
}

fn follow(log: &Path) {
    let path = CString::new(log.to_str().unwrap()).unwrap();
    // SAFETY: the library's functions are of these types.
    let (open, run) = unsafe {
        (
            std::mem::transmute::<*mut libc::c_void, extern "C" fn(*const c_char) -> c_int>(
                symbol(c"copy_open"),
            ),
            std::mem::transmute::<*mut libc::c_void, extern "C" fn(c_int)>(symbol(c"copy_run")),
        )
    };
    assert_eq!(open(path.as_ptr()), 0);
    let again = logdef::open(log).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists, "{again}");

    the_program_observes_what_all_copies_log(run);
    the_program_learns_how_many_calls_were_lost();
}

fn the_program_observes_what_all_copies_log(run: extern "C" fn(c_int)) {
    logdef::set_observer(Some((logdef::Level::INFO, &SEEN)));
    logdef::logdef!(Warn, "from the program: %s, %d", "text", 3);
    run(7);
    logdef::set_observer(None);
    logdef::logdef!(Warn, "not observed");
    let mut seen = SEEN.0.lock().unwrap().clone();
    seen.sort();
    let expected = [
        "INFO leader 7 [1]",
        "INFO leader in a thread 7 [1]",
        "WARN from the program: text, 3 [2]",
        "WARN leader by a wrapper 7 [1]",
    ];
    assert_eq!(seen, expected);
}

fn the_program_learns_how_many_calls_were_lost() {
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();
    for _ in 0..3 {
        logdef::logdef!(Info, "after the end");
    }
    assert_eq!(logdef::unwritten(), 3);
}
