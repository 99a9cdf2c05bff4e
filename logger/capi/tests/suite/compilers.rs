//! Finds compilers and runs them.

#[path = "../../../../samples/src/skip.rs"]
pub mod skip;

use skip::skip;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The warnings under which the header promises to be clean.
pub const WARNINGS: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wformat=2",
    "-Wconversion",
    "-Wshadow",
    "-Wcast-qual",
    "-Werror",
];

/// A language to compile as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Language {
    C,
    Cpp,
}

/// The compilers of one maker. That of C++ may be missing.
#[derive(Clone, Copy)]
pub struct Toolchain {
    pub cc: &'static str,
    pub cxx: &'static str,
}

pub const GCC: Toolchain = Toolchain {
    cc: "gcc",
    cxx: "g++",
};
pub const CLANG: Toolchain = Toolchain {
    cc: "clang",
    cxx: "clang++",
};

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cc)
    }
}

impl Toolchain {
    /// The compiler of a language; `None`, and said so, if it is not installed.
    pub fn compiler(self, language: Language) -> Option<&'static str> {
        match language {
            Language::C => Some(self.cc),
            Language::Cpp => works(self.cxx).then_some(self.cxx),
        }
    }
}

/// The toolchains that are installed; at least one.
pub fn toolchains() -> &'static [Toolchain] {
    const SYSTEM: Toolchain = Toolchain {
        cc: "cc",
        cxx: "c++",
    };
    static FOUND: OnceLock<Vec<Toolchain>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found: Vec<Toolchain> = [GCC, CLANG]
            .into_iter()
            .filter(|toolchain| works(toolchain.cc))
            .collect();
        if found.is_empty() {
            assert!(works(SYSTEM.cc), "there is no C compiler");
            found.push(SYSTEM);
        }
        found
    })
}

/// Those of them that have a C++ compiler.
pub fn cpp_toolchains() -> impl Iterator<Item = &'static Toolchain> {
    let toolchains = toolchains().iter();
    toolchains.filter(|toolchain| toolchain.compiler(Language::Cpp).is_some())
}

/// Whether a program can be run; says so if not.
pub fn works(program: &str) -> bool {
    let works = Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        skip(format_args!("{program} is not installed"));
    }
    works
}

/// Whether to try everything.
pub fn slow() -> bool {
    std::env::var_os("LOGDEF_SLOW").is_some_and(|value| value == "1")
}

/// The package's folder.
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A source of these tests.
pub fn source(name: &str) -> PathBuf {
    package().join("tests/c").join(name)
}

/// Runs a compiler with the header's folder in its path.
pub fn compile<I>(compiler: &str, arguments: I) -> Output
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    Command::new(compiler)
        .env("LC_ALL", "C")
        .arg("-I")
        .arg(package().join("include"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs a compiler that must succeed and say nothing.
pub fn compile_clean<I>(compiler: &str, arguments: I)
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let arguments: Vec<_> = arguments
        .into_iter()
        .map(|argument| argument.as_ref().to_owned())
        .collect();
    let output = compile(compiler, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.is_empty(),
        "{compiler} {arguments:?}:\n{said}"
    );
}

/// Runs a program that must succeed and returns what it printed.
pub fn run(program: &Path) -> String {
    let output = Command::new(program).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}: {}\n{printed}{}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    printed
}

/// Builds the library's stand-in in `directory` and returns the arguments that
/// link with it.
pub fn recorder(directory: &Path) -> Vec<String> {
    compile_clean(
        toolchains()[0].cc,
        [
            "-std=c11".as_ref(),
            "-shared".as_ref(),
            "-fPIC".as_ref(),
            source("recorder.c").as_os_str(),
            "-o".as_ref(),
            directory.join("librecorder.so").as_os_str(),
        ],
    );
    let directory = directory.display();
    vec![
        format!("-L{directory}"),
        "-lrecorder".to_owned(),
        format!("-Wl,-rpath,{directory}"),
    ]
}
