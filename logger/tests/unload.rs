//! Libraries that come and go while their code is in backtraces, without a call to the
//! logger: names, paths and modules are always those of the library that was mapped when
//! the record was written. A static program loads none.

#![cfg(not(target_feature = "crt-static"))]

#[path = "../../samples/src/skip.rs"]
mod skip;

use logdef::{Level, logdef};
use logdef_wire::record::{BacktraceLogdef, Module};
use logdef_wire::{Record, Value, frame};
use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The same layout under another name, but for the size of a stack frame: the
/// rules of the one lead astray in the other.
const SOURCE: &str = "
    void NAME(void (*visit)(void)) {
        volatile char room[ROOM];
        room[0] = 1;
        visit();
        room[1] = 2;
    }";

fn compile(directory: &Path, name: &str, room: u32) -> PathBuf {
    let source = directory.join("source.c");
    std::fs::write(&source, SOURCE).unwrap();
    let library = directory.join(format!("{name}.so"));
    let compiled = Command::new("gcc")
        .args(["-shared", "-fPIC", "-O1", "-fomit-frame-pointer"])
        .args(["-Wl,--build-id=sha1", "-o"])
        .arg(&library)
        .args([format!("-DNAME={name}"), format!("-DROOM={room}")])
        .arg(&source)
        .status()
        .unwrap();
    assert!(compiled.success());
    library
}

/// Loads a library of the current directory by a relative path, calls its
/// function, unloads it; returns where it was.
fn visit(name: &str, then: extern "C" fn()) -> u64 {
    let path = CString::new(format!("./{name}.so")).unwrap();
    let name = CString::new(name).unwrap();
    // SAFETY: the library is the test's own; its function takes a callback.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        let at = libc::dlsym(handle, name.as_ptr());
        let function: extern "C" fn(extern "C" fn()) = std::mem::transmute(at);
        function(then);
        libc::dlclose(handle);
        at as u64
    }
}

extern "C" fn log() {
    logdef!(Error, "from a library");
}

extern "C" fn log_twice() {
    log();
    log();
}

/// Whether addresses that were given back are the next to be given: not by an emulator.
fn places_are_used_again() -> bool {
    let place = || {
        let (none, len) = (std::ptr::null_mut(), 1 << 20);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: memory of its own, that nothing uses.
        unsafe {
            let at = libc::mmap(none, len, libc::PROT_READ, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            assert_eq!(libc::munmap(at, len), 0);
            at
        }
    };
    place() == place()
}

fn address(value: Value<'_>) -> u64 {
    value.as_uint().unwrap()
}

#[test]
fn names_and_modules_are_those_of_the_library_that_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let libraries = [("first", 160), ("second", 320)]
        .map(|(name, room)| (name, compile(directory.path(), name, room)));
    std::env::set_current_dir(&directory).unwrap();
    let path = directory.path().join("log");
    logdef::options()
        .sink(logdef::Sink::Append)
        .backtrace_level(Level::ERROR)
        .open(&path)
        .unwrap();
    let mut visited = Vec::new();
    for (name, library) in libraries.iter().cycle().take(6) {
        let at = visit(name, log_twice);
        visited.extend([(name, library, at); 2]);
    }
    let are_used_again = places_are_used_again();
    if are_used_again {
        assert!(
            visited.windows(4).any(|four| four[0].2 == four[3].2),
            "no place was used twice: {visited:x?}"
        );
    } else {
        skip::skip("what is mapped never takes the place of what was unmapped");
    }

    let bytes = std::fs::read(&path).unwrap();
    let mut rest = &bytes[..];
    let mut logdefs: HashMap<u64, BacktraceLogdef<'_>> = HashMap::new();
    let mut modules: Vec<Module<'_>> = Vec::new();
    let (mut depths, mut unloaded, mut seen) = (Vec::new(), 0, 0);
    while !rest.is_empty() {
        let frame = frame::decode(rest).unwrap();
        rest = &rest[frame.len..];
        match Record::decode(frame.body).unwrap() {
            Record::BacktraceLogdef(logdef) => {
                logdefs.insert(logdef.address.unwrap().0, logdef);
            }
            Record::Module(module) if module.unloaded == Some(true) => {
                let known = modules.len();
                modules.retain(|old| (old.start, old.path) != (module.start, module.path));
                assert_eq!(modules.len(), known - 1, "unloaded what was not loaded");
                unloaded += 1;
            }
            Record::Module(module) => modules.push(module),
            Record::Data(data) => {
                let (name, library, at) = visited[seen];
                seen += 1;
                let backtrace: Vec<u64> = data.backtrace.unwrap().iter().map(address).collect();
                depths.push(backtrace.len());
                for address in &backtrace {
                    let logdef = &logdefs[address];
                    let holder = modules.iter().rfind(|module| {
                        let start = module.start.unwrap().0;
                        (start..start + module.size.unwrap()).contains(&(address - 1))
                    });
                    let holder = holder.expect("a module's record");
                    assert_eq!(holder.path, logdef.fname);
                    assert_eq!(holder.load_bias, logdef.load_bias);
                    assert_eq!(holder.build_id, logdef.build_id);
                    assert!(holder.time.unwrap() <= data.time.unwrap());
                    assert!(holder.build_id.is_none_or(|id| id.len() == 20));
                }
                let inside = backtrace.iter().find(|a| (at..at + 128).contains(*a));
                let logdef = &logdefs[inside.expect("the library's function")];
                assert_eq!(logdef.sname, Some(name.as_bytes()));
                assert_eq!(logdef.saddr.unwrap().0, at);
                assert_eq!(logdef.fname, Some(library.as_os_str().as_bytes()));
            }
            _ => {}
        }
    }
    assert_eq!(seen, visited.len());
    // No walk followed the rules of a library that is gone.
    assert!(depths.iter().all(|depth| *depth == depths[0]), "{depths:?}");
    // What is found in the place of another says that the other is gone.
    assert_eq!(unloaded, if are_used_again { 5 } else { 0 });
}
