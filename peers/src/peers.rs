//! The loggers that are compared: how each is built, reached and read.

use std::ffi::{CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A logger, set up in one way.
pub struct Peer {
    pub name: &'static str,
    pub about: &'static str,
    source: Source,
    /// How many times fewer records it is given, so that a round ends in time.
    pub slowness: u64,
    pub reader: Reader,
    /// LTTng's way.
    pub needs_session: bool,
}

enum Source {
    /// Functions of this program.
    Rust(Calls),
    /// A source file in `c`, its flags, and what it needs of the system.
    C(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    ),
}

/// How records are found again.
#[derive(Clone, Copy)]
pub enum Reader {
    Logdef,
    /// Lines, with the first integer after this.
    Lines(&'static str),
}

const TEXT: Reader = Reader::Lines("Logging int: ");

/// In the order of the table.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "logdef",
        about: "logdef from Rust, the mapped sink",
        source: Source::Rust(logdef_rust::CALLS),
        slowness: 1,
        reader: Reader::Logdef,
        needs_session: false,
    },
    Peer {
        name: "logdef-c",
        about: "logdef from C, the mapped sink",
        source: Source::C("logdef.c", &[], &[]),
        slowness: 1,
        reader: Reader::Logdef,
        needs_session: false,
    },
    Peer {
        name: "logdef-append",
        about: "logdef from Rust, the append sink: a system call for each record",
        source: Source::Rust(logdef_rust::APPEND),
        slowness: 4,
        reader: Reader::Logdef,
        needs_session: false,
    },
    Peer {
        name: "lttng",
        about: "LTTng-UST with its rings in files, waiting when full",
        source: Source::C("lttng.c", &[], &["-llttng-ust", "-ldl"]),
        slowness: 2,
        reader: Reader::Lines("{ a = "),
        needs_session: true,
    },
    Peer {
        name: "fprintf",
        about: "fprintf with clock_gettime",
        source: Source::C("stdio.c", &[], &[]),
        slowness: 4,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "fprintf-flush",
        about: "the same with fflush after each record",
        source: Source::C("stdio.c", &["-DFLUSH"], &[]),
        slowness: 4,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "spdlog",
        about: "spdlog, synchronous",
        source: Source::C("spdlog.cpp", &[], &["-lspdlog", "-lfmt"]),
        slowness: 4,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "spdlog-flush",
        about: "spdlog, synchronous, flushing each record",
        source: Source::C("spdlog.cpp", &["-DFLUSH"], &["-lspdlog", "-lfmt"]),
        slowness: 4,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "spdlog-async",
        about: "spdlog, asynchronous, 8192 slots, waiting when full",
        source: Source::C("spdlog.cpp", &["-DASYNC"], &["-lspdlog", "-lfmt"]),
        slowness: 4,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "glog",
        about: "glog with its default buffering",
        source: Source::C("glog.cpp", &[], &["-lglog"]),
        slowness: 10,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "tracing",
        about: "tracing to a file, one write for each record",
        source: Source::Rust(tracing_direct::CALLS),
        slowness: 4,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "tracing-async",
        about: "tracing-appender, non-blocking but not lossy",
        source: Source::Rust(tracing_direct::NON_BLOCKING),
        slowness: 4,
        reader: TEXT,
        needs_session: false,
    },
    Peer {
        name: "ftlog",
        about: "log with ftlog, 100,000 slots, waiting when full",
        source: Source::Rust(ftlog_peer::CALLS),
        slowness: 10,
        reader: TEXT,
        needs_session: false,
    },
];

/// What every peer can do.
#[derive(Clone, Copy)]
pub struct Calls {
    pub open: fn(&Path),
    /// Logs as many records as the second argument says, numbered from the first on.
    pub doubles: extern "C" fn(u64, u64),
    pub strings: extern "C" fn(u64, u64),
    pub flush: fn(),
}

/// Builds those that are to be built, and leaves out those that cannot be.
pub fn build(peers: &[&'static Peer]) -> Vec<&'static Peer> {
    let mut built = Vec::new();
    for peer in peers {
        let ready = match &peer.source {
            Source::Rust(_) => Ok(()),
            Source::C(source, flags, libraries) => compile(peer.name, source, flags, libraries),
        };
        match ready {
            Ok(()) if peer.needs_session && !crate::lttng::is_here() => {
                eprintln!("left out: {}: no lttng or babeltrace2", peer.name);
            }
            Ok(()) => built.push(*peer),
            Err(why) => eprintln!("left out: {}: {why}", peer.name),
        }
    }
    built
}

/// Where this package lies.
fn home() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

fn library(name: &str) -> PathBuf {
    std::env::current_exe()
        .unwrap()
        .with_file_name(format!("peer-{name}.so"))
}

fn compile(name: &str, source: &str, flags: &[&str], libraries: &[&str]) -> Result<(), String> {
    let source = home().join("c").join(source);
    let is_cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let mut compiler = Command::new(if is_cpp { "g++" } else { "gcc" });
    compiler
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(library(name))
        .args(flags)
        .arg("-I")
        .arg(home().join("c"));
    if is_cpp {
        // As Debian builds it: the library is compiled, fmt is its own.
        compiler.args(["-DSPDLOG_COMPILED_LIB", "-DSPDLOG_FMT_EXTERNAL"]);
    }
    compiler.arg(&source).args(libraries);
    if name.starts_with("logdef") {
        let root = home().join("..");
        let status = Command::new("cargo")
            .args(["build", "--quiet", "--release", "--package", "logdef-capi"])
            .arg("--manifest-path")
            .arg(root.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(root.join("target"))
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err("logdef-capi cannot be built".into());
        }
        compiler
            .arg("-I")
            .arg(root.join("logger/capi/include"))
            .arg(root.join("target/release/liblogdef.a"));
    }
    let output = compiler.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("error"));
    Err(line.unwrap_or("it does not compile").into())
}

/// A peer's calls, in the process that is to make them.
pub fn load(name: &str) -> Calls {
    let peer = PEERS.iter().find(|peer| peer.name == name).unwrap();
    match &peer.source {
        Source::Rust(calls) => *calls,
        Source::C(..) => c::load(&library(name)),
    }
}

mod c {
    use super::*;
    use std::sync::OnceLock;

    struct Loaded {
        open: extern "C" fn(*const c_char),
        doubles: extern "C" fn(u64, u64),
        strings: extern "C" fn(u64, u64),
        flush: extern "C" fn(),
    }

    static LOADED: OnceLock<Loaded> = OnceLock::new();

    pub fn load(library: &Path) -> Calls {
        let path = CString::new(library.as_os_str().as_bytes()).unwrap();
        // SAFETY: a library that was built for this, which defines the four
        // functions of `peer.h` with these types.
        let loaded = unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
            if library.is_null() {
                let why = std::ffi::CStr::from_ptr(libc::dlerror());
                panic!("{}", why.to_string_lossy());
            }
            let symbol = |name: &std::ffi::CStr| {
                let at = libc::dlsym(library, name.as_ptr());
                assert!(!at.is_null(), "{name:?}");
                at
            };
            Loaded {
                open: core::mem::transmute::<*mut c_void, extern "C" fn(*const c_char)>(symbol(
                    c"peer_open",
                )),
                doubles: core::mem::transmute::<*mut c_void, extern "C" fn(u64, u64)>(symbol(
                    c"peer_doubles",
                )),
                strings: core::mem::transmute::<*mut c_void, extern "C" fn(u64, u64)>(symbol(
                    c"peer_strings",
                )),
                flush: core::mem::transmute::<*mut c_void, extern "C" fn()>(symbol(c"peer_flush")),
            }
        };
        let loaded = LOADED.get_or_init(|| loaded);
        Calls {
            open: |directory| {
                let directory = CString::new(directory.as_os_str().as_bytes()).unwrap();
                (LOADED.get().unwrap().open)(directory.as_ptr())
            },
            doubles: loaded.doubles,
            strings: loaded.strings,
            flush: || (LOADED.get().unwrap().flush)(),
        }
    }
}

const STRING: &str = "a string of 24 character";

/// The two workloads, each a call of a macro with two integers and a third
/// argument.
macro_rules! workloads {
    (|$a:ident, $b:ident, $c:ident| $doubles:expr, $strings:expr) => {
        extern "C" fn doubles(first: u64, count: u64) {
            for n in first..first + count {
                let ($a, $b, $c) = (n as i32, n as i32 / 2, n as f64 * 0.5);
                $doubles;
            }
        }

        extern "C" fn strings(first: u64, count: u64) {
            for n in first..first + count {
                let ($a, $b, $c) = (n as i32, n as i32 / 2, super::STRING);
                $strings;
            }
        }
    };
}

mod logdef_rust {
    use super::Calls;
    use logdef::{Sink, logdef};

    pub const CALLS: Calls = Calls {
        open: |directory| {
            let log = logdef::options().sink(Sink::Mapped);
            log.open(directory.join("log")).unwrap();
        },
        doubles,
        strings,
        flush: || (),
    };

    pub const APPEND: Calls = Calls {
        open: |directory| {
            let log = logdef::options().sink(Sink::Append);
            log.open(directory.join("log")).unwrap();
        },
        ..CALLS
    };

    workloads!(
        |a, b, c| logdef!(Info, "Logging int: %d, int: %d, double: %f", a, b, c),
        logdef!(Info, "Logging int: %d, int: %d, string: %s", a, b, c)
    );
}

mod tracing_direct {
    use super::Calls;
    use std::fs::File;
    use std::path::Path;
    use std::sync::Mutex;
    use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};

    static GUARD: Mutex<Option<WorkerGuard>> = Mutex::new(None);

    pub const CALLS: Calls = Calls {
        open: |directory| {
            let file = Mutex::new(create(directory));
            let subscriber = tracing_subscriber::fmt().with_ansi(false);
            subscriber.with_writer(file).init();
        },
        doubles,
        strings,
        flush: || (),
    };

    pub const NON_BLOCKING: Calls = Calls {
        open: |directory| {
            let builder = NonBlockingBuilder::default().lossy(false);
            let (writer, guard) = builder.finish(create(directory));
            *GUARD.lock().unwrap() = Some(guard);
            let subscriber = tracing_subscriber::fmt().with_ansi(false);
            subscriber.with_writer(writer).init();
        },
        // Waits for the queue.
        flush: || drop(GUARD.lock().unwrap().take()),
        ..CALLS
    };

    fn create(directory: &Path) -> File {
        File::create(directory.join("log")).unwrap()
    }

    workloads!(
        |a, b, c| tracing::info!("Logging int: {}, int: {}, double: {:.6}", a, b, c),
        tracing::info!("Logging int: {}, int: {}, string: {}", a, b, c)
    );
}

mod ftlog_peer {
    use super::Calls;
    use ftlog::appender::FileAppender;

    pub const CALLS: Calls = Calls {
        open: |directory| {
            let root = FileAppender::builder().path(directory.join("log")).build();
            let logger = ftlog::Builder::new()
                .root(root)
                .max_log_level(ftlog::LevelFilter::Info)
                .bounded(100_000, true);
            // The guard would flush when it is dropped; the peer's own flush is
            // measured instead.
            std::mem::forget(logger.try_init().unwrap());
        },
        doubles,
        strings,
        flush: || log::logger().flush(),
    };

    workloads!(
        |a, b, c| log::info!("Logging int: {}, int: {}, double: {:.6}", a, b, c),
        log::info!("Logging int: {}, int: {}, string: {}", a, b, c)
    );
}
