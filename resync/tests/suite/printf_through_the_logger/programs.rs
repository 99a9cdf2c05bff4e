//! Makes, builds and runs the programs that log the cases.

#[path = "../../../../samples/src/skip.rs"]
mod skip;

use super::BOUND;
use super::cases::{Group, Kind};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Groups in one function of a program: compilers are slow at very long ones.
const PART: usize = 20;

/// What a program left.
pub struct Run {
    pub name: &'static str,
    pub log: PathBuf,
    /// What `snprintf` made of each case.
    pub printed: Vec<Vec<u8>>,
}

/// A compiler of C or C++, and how it is called.
#[derive(Clone, Copy)]
pub struct Compiler {
    pub name: &'static str,
    language: [&'static str; 2],
    level: &'static str,
}

impl Compiler {
    pub const fn c(name: &'static str, level: &'static str) -> Compiler {
        Compiler {
            name,
            language: ["-xc", "-std=gnu11"],
            level,
        }
    }

    pub const fn cpp(name: &'static str, level: &'static str) -> Compiler {
        Compiler {
            name,
            language: ["-xc++", "-std=gnu++17"],
            level,
        }
    }

    pub fn is_installed(&self) -> bool {
        skip::has(self.name)
    }
}

/// The program in C or C++.
pub fn c(directory: &Path, groups: &[Group], compiler: Compiler) -> Run {
    let source = directory.join("grid.c");
    let program = directory.join(compiler.name);
    let lib = prefix().join("lib");
    std::fs::write(&source, c_source(groups)).unwrap();
    succeed(
        Command::new(compiler.name)
            .args([compiler.level, "-w", "-D_GNU_SOURCE"])
            .args(compiler.language)
            .arg("-I")
            .arg(prefix().join("include"))
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(&lib)
            .arg("-llogdef")
            .arg(format!("-Wl,-rpath,{}", lib.display())),
    );
    run(compiler.name, &program, directory)
}

/// The program in Rust.
pub fn rust(directory: &Path, groups: &[Group]) -> Run {
    // Not in `directory`: what it depends on is built once.
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("printf_through_the_logger");
    let logger = Path::new(env!("CARGO_MANIFEST_DIR")).join("../logger");
    std::fs::create_dir_all(package.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"grid\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\nlogdef.path = {logger:?}\nlibc = \"0.2\"\n[workspace]\n\
         [profile.dev]\ndebug = false\nincremental = false\n"
    );
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    std::fs::copy(lock, package.join("Cargo.lock")).unwrap();
    std::fs::write(package.join("src/main.rs"), rust_source(groups)).unwrap();
    let target = package.join("target");
    succeed(
        Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--target-dir"])
            .arg(&target)
            .env_remove("CARGO_BUILD_TARGET")
            .current_dir(&package),
    );
    run("Rust", &target.join("debug/grid"), directory)
}

/// Where the library is installed, as a debug build.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logger_for_grid");
        let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../logger/capi");
        succeed(
            Command::new("sh")
                .arg(capi.join("install.sh"))
                .arg("--debug")
                .arg(&prefix)
                .env("CARGO", env!("CARGO"))
                .env_remove("DESTDIR")
                .env_remove("LIBDIR"),
        );
        prefix
    })
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}",
        output.status
    );
}

fn run(name: &'static str, program: &Path, directory: &Path) -> Run {
    let log = directory.join(format!("{name}.log"));
    let texts = directory.join(format!("{name}.texts"));
    succeed(
        Command::new(program)
            .arg(&log)
            .arg(&texts)
            .env_remove("LOGDEF"),
    );
    let texts = std::fs::read(texts).unwrap();
    let mut rest = &texts[..];
    let mut printed = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk() {
        let (text, after) = after.split_at(u32::from_ne_bytes(*length) as usize);
        printed.push(text.to_owned());
        rest = after;
    }
    Run { name, log, printed }
}

fn c_source(groups: &[Group]) -> String {
    let mut source = format!("#define BOUND {BOUND}\n");
    source.push_str(include_str!("preamble.h"));
    let mut fill = String::new();
    for kind in Kind::ALL {
        let (name, values) = (kind.name(), kind.c_values());
        writeln!(source, "static {} {name}[{}];", kind.c_type(), values.len()).unwrap();
        for (index, value) in values.iter().enumerate() {
            writeln!(fill, "    {name}[{index}] = {value};").unwrap();
        }
    }
    let mut calls = String::new();
    for (part, groups) in groups.chunks(PART).enumerate() {
        writeln!(source, "static void part_{part}(void)\n{{").unwrap();
        for group in groups {
            let Group {
                format, c_format, ..
            } = group;
            let args = group.args.iter().map(|arg| format!(", {}", arg.c));
            let args: String = args.collect();
            match group.table {
                Some(kind) => writeln!(
                    source,
                    "    EACH({}, \"{format}\", \"{c_format}\"{args})",
                    kind.name()
                ),
                None => writeln!(source, "    CASE(\"{format}\", \"{c_format}\"{args});"),
            }
            .unwrap();
        }
        source.push_str("}\n");
        writeln!(calls, "    part_{part}();").unwrap();
    }
    writeln!(
        source,
        "int main(int argc, char **argv)\n{{\n    open_files(argc, argv);\n{fill}{calls}    \
         return fclose(texts) != 0;\n}}"
    )
    .unwrap();
    source
}

fn rust_source(groups: &[Group]) -> String {
    let mut source = include_str!("preamble.rs.txt").to_owned();
    writeln!(source, "const BOUND: usize = {BOUND};").unwrap();
    for kind in Kind::ALL {
        let (name, values) = (kind.name(), kind.rust_values().join(", "));
        let of = kind.rust_type();
        writeln!(source, "fn {name}() -> Vec<{of}> {{ vec![{values}] }}").unwrap();
    }
    let mut calls = String::new();
    let groups: Vec<_> = groups.iter().filter(|group| group.in_rust).collect();
    for (part, groups) in groups.chunks(PART).enumerate() {
        writeln!(source, "fn part_{part}(texts: &mut Texts) {{").unwrap();
        for group in groups {
            let Group {
                format, c_format, ..
            } = group;
            let of = |text: fn(&super::cases::Arg) -> &str| {
                let args: Vec<_> = group.args.iter().map(text).collect();
                args.join(", ")
            };
            let (logged, printed) = (of(|arg| &arg.rust), of(|arg| &arg.rust_printed));
            let case = format!("case!(texts, {format:?}, {c_format:?}, ({logged}), ({printed}));");
            match group.table {
                Some(kind) => writeln!(source, "    for v in {}() {{ {case} }}", kind.name()),
                None => writeln!(source, "    {case}"),
            }
            .unwrap();
        }
        source.push_str("}\n");
        writeln!(calls, "    part_{part}(texts);").unwrap();
    }
    writeln!(source, "fn parts(texts: &mut Texts) {{\n{calls}}}").unwrap();
    source
}
