//! The workshop: builds the library, the command and the programs that the
//! samples are, and runs them. Cargo has no stable way to depend on another
//! package's C library or command, so it is called once more from here; what
//! is built already costs nothing.

use crate::skip::has;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output};
use std::sync::OnceLock;

/// Set for the commands that a workshop starts: it has built what they would build.
const IS_BUILT: &str = "LOGDEF_WORKSHOP_IS_BUILT";

/// Where things were built, and with what.
#[derive(Debug)]
pub struct Workshop {
    /// The folder with the commands.
    pub built: PathBuf,
    /// The folder with `liblogdef.so` and `.a`.
    pub library: PathBuf,
}

impl Workshop {
    /// The workshop, with everything of ours built in the profile of the
    /// program that asks, but an optimized C library in its own.
    ///
    /// # Panics
    ///
    /// If something cannot be built.
    pub fn open() -> &'static Workshop {
        static WORKSHOP: OnceLock<Workshop> = OnceLock::new();
        WORKSHOP.get_or_init(|| {
            let mut built = env::current_exe().expect("this program has a path");
            built.pop();
            let is_test = built.ends_with("deps");
            if is_test {
                built.pop();
            }
            let profile = match built.file_name().and_then(OsStr::to_str) {
                Some("debug") | None => "dev",
                Some(profile) => profile,
            };
            let target = built.parent().expect("a target folder");
            // As it is installed.
            let (library_profile, library) = match profile {
                "dev" => ("dev", built.clone()),
                _ => ("capi", target.join("capi")),
            };
            if env::var_os(IS_BUILT).is_some() {
                return Workshop { built, library };
            }
            let build = |profile, what: &[&str]| {
                let mut command = cargo();
                command.current_dir(env!("CARGO_MANIFEST_DIR"));
                command.args(["build", "--quiet", "--profile", profile, "--target-dir"]);
                command.arg(target).args(what);
                run(&mut command);
            };
            // As `cargo test --workspace` has built it: with other packages named, or without a test
            // among them, libraries would have other features, and be built again.
            let all = ["--workspace", "--bins", "--test", "live"];
            build(profile, if is_test { &all } else { &all[..2] });
            build(library_profile, &["--package", "logdef-capi"]);
            // The name that programs look for, which installing it would make.
            let _ = symlink("liblogdef.so", library.join("liblogdef.so.0"));
            Workshop { built, library }
        })
    }

    /// A command that was built: `logdef`, or a sample in Rust.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.built.join(name));
        command.env(IS_BUILT, "1");
        command
    }

    /// Compiles a program in C (`.c`) or C++ (`.cpp`) that logs, from sources
    /// named from the project's folder, into `out`; `more` goes to the compiler
    /// as it is.
    ///
    /// # Panics
    ///
    /// If the compiler finds anything to say.
    pub fn compile(&self, sources: &[&str], out: &Path, more: &[&str]) {
        let cpp = sources.iter().any(|source| source.ends_with(".cpp"));
        let (compiler, standard) = if cpp {
            (cpp_compiler(), "-std=c++17")
        } else {
            let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
            (compiler, "-std=c11")
        };
        let mut command = Command::new(compiler);
        // The logs will name the files as they are named here.
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        command.args([standard, "-g", "-Og", "-pthread"]);
        command.args(["-Wall", "-Wextra", "-Wformat=2", "-Wconversion", "-Werror"]);
        command.arg("-Ilogger/capi/include").args(sources);
        // Renamed when it is whole: another run of the same tests may read or run the file that stands there.
        let mut made = out.as_os_str().to_owned();
        made.push(format!(".{}", process::id()));
        command.arg("-o").arg(&made);
        command.args(more);
        command.arg("-L").arg(&self.library).arg("-llogdef");
        command.arg(format!("-Wl,-rpath,{}", self.library.display()));
        run(&mut command);
        fs::rename(&made, out).expect("what was compiled gets its name");
    }

    /// The victim as static programs of the C library musl: the one in C, by `musl-gcc`, into
    /// `folder`, and the one in Rust. `None` where this machine cannot make them.
    ///
    /// # Panics
    ///
    /// If one cannot be built where the tools are there.
    pub fn musl_victims(&self, folder: &Path) -> Option<[PathBuf; 2]> {
        const TARGET: &str = "x86_64-unknown-linux-musl";
        let finds =
            |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let mut rustc = Command::new("rustc");
        let libraries = rustc.args(["--print", "target-libdir", "--target", TARGET]);
        let libraries = String::from_utf8(libraries.output().ok()?.stdout).ok()?;
        if !Path::new(libraries.trim()).is_dir() || !finds(Command::new("musl-gcc").arg("-v")) {
            return None;
        }
        let target = self.built.parent().expect("a target folder");
        let mut build = cargo();
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        build.args(["build", "--quiet", "--target", TARGET, "--target-dir"]);
        build.arg(target);
        build.args([
            "-p",
            "logdef-capi",
            "-p",
            "logdef-samples",
            "--lib",
            "--bin",
            "victim",
        ]);
        run(&mut build);
        let built = target.join(TARGET).join("debug");
        let in_c = folder.join("victim");
        let mut compile = Command::new("musl-gcc");
        compile.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        compile.args(["-static", "-Og", "-g", "-Wall", "-Wextra", "-Werror"]);
        compile.args(["-Ilogger/capi/include", "samples/c/victim.c", "-o"]);
        compile.arg(&in_c).arg(built.join("liblogdef.a"));
        // Rust's own: that of the gcc beneath may be made for another C library.
        compile.arg(Path::new(libraries.trim()).join("self-contained/libunwind.a"));
        compile.arg("-Wl,--eh-frame-hdr");
        run(&mut compile);
        Some([in_c, built.join("victim")])
    }

    /// Compiles the sample server and its shared library into `folder`.
    pub fn compile_server(&self, folder: &Path) -> PathBuf {
        let server = folder.join("server");
        let folder = folder.to_str().expect("a path in UTF-8");
        let library = format!("{folder}/libcompress.so");
        self.compile(
            &["samples/c/compress.c"],
            Path::new(&library),
            &["-shared", "-fPIC"],
        );
        let rpath = format!("-Wl,-rpath,{folder}");
        self.compile(
            &["samples/c/server.c"],
            &server,
            &["-L", folder, "-lcompress", &rpath],
        );
        server
    }
}

/// A program that is ended with the test, however that ends.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The compiler of C++.
fn cpp_compiler() -> OsString {
    env::var_os("CXX").unwrap_or_else(|| "c++".into())
}

/// Whether that is installed. Says so if it is not.
pub fn has_cpp() -> bool {
    has(cpp_compiler())
}

/// The cargo that runs this, or else the one that built it.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()))
}

/// Runs a command to its end.
///
/// # Panics
///
/// If it cannot be run or does not succeed; with what it said.
pub fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
