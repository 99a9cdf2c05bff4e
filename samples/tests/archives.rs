//! What `logger/capi/dist.sh` makes, used as `docs/build.md` says, from an empty folder: its code
//! and commands are taken from the page.

use logdef_samples::skip::skip;
use logdef_samples::workshop::{Workshop, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const PROGRAM: &str = "#include <logdef.h>\n\
     int main(void) { logdef_open(\"app.log\"); LOGDEF(INFO, \"hello %d\", 42); }\n";
const WITH_BACKTRACE: &str = "#include <logdef.h>\n\
     __attribute__((noinline)) void work(int by) { LOGDEF(ERROR, \"broke %d\", by); }\n\
     int main(int argc, char **argv) {\n\
     (void)argv; logdef_open(\"app.log\"); work(argc); return 0; }\n";

/// The folder with the archive and the packages.
fn made() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dist");
        let _ = fs::remove_dir_all(&folder);
        let workshop = Workshop::open();
        let mut dist = Command::new(Path::new(PROJECT).join("logger/capi/dist.sh"));
        dist.env("COMMAND", workshop.built.join("logdef"));
        dist.env("CARGO", env!("CARGO"));
        run(dist.arg("--debug").arg(&folder));
        folder
    })
}

/// The triplet of this machine, as in Debian's multiarch paths.
fn triplet() -> String {
    format!("{}-linux-gnu", std::env::consts::ARCH)
}

fn archive() -> PathBuf {
    made().join(format!("logdef-{VERSION}-{}.tar.gz", triplet()))
}

/// Unpacks the archive as `logdef` in a folder.
fn unpack(folder: &Path) {
    let tree = folder.join("logdef");
    fs::create_dir_all(&tree).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--strip-components=1", "-xzf"]).arg(archive());
    run(tar.arg("-C").arg(&tree));
}

/// Puts the wrap in a folder, and the archive where it looks for it.
fn wrap(folder: &Path) {
    let archive = archive();
    let files = folder.join("packagefiles");
    fs::create_dir_all(&files).unwrap();
    fs::copy(&archive, files.join(archive.file_name().unwrap())).unwrap();
    fs::copy(made().join("logdef.wrap"), folder.join("logdef.wrap")).unwrap();
}

/// The blocks of the page in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(PROJECT).join("docs/build.md")).unwrap();
    let start = format!("```{language}\n");
    let blocks = page.split(&start).skip(1);
    let blocks = blocks.map(|rest| rest.split_once("```").expect("the end of the block").0);
    blocks.map(str::to_owned).collect()
}

fn works(program: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    let works = output.is_ok_and(|output| output.status.success());
    if !works {
        skip(format_args!("{program} is not installed"));
    }
    works
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Runs a program that was built, in an empty folder, and expects its one record.
#[track_caller]
fn logs_hello(program: &Path) {
    let folder = tempfile::tempdir().unwrap();
    run(Command::new(program).current_dir(&folder));
    let mut view = Workshop::open().command("logdef");
    let shown = run(view.arg(folder.path().join("app.log")));
    let shown = text(shown.stdout);
    assert!(shown.trim_end().ends_with(": hello 42"), "{shown}");
    assert_eq!(shown.lines().count(), 1, "{shown}");
}

/// Builds a project with CMake and runs its program.
fn cmake_project(folder: &Path, lists: &str, definitions: &[String]) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("app.c"), PROGRAM).unwrap();
    fs::write(folder.join("CMakeLists.txt"), lists).unwrap();
    let mut configure = Command::new("cmake");
    configure.args(["-B", "build"]).args(definitions);
    run(configure.current_dir(folder));
    let mut build = Command::new("cmake");
    build.args(["--build", "build"]).env("CARGO", env!("CARGO"));
    run(build.current_dir(folder));
    logs_hello(&folder.join("build/app"));
}

#[test]
fn six_lines_lead_from_an_empty_folder_to_a_record() {
    if !works("cmake") {
        return;
    }
    let commands = blocks("sh").remove(0);
    assert_eq!(commands.trim().lines().count(), 6, "{commands}");
    let folder = tempfile::tempdir().unwrap();
    unpack(folder.path());
    let mut shell = Command::new("sh");
    let shown = run(shell.args(["-e", "-c", &commands]).current_dir(&folder));
    let shown = text(shown.stdout);
    let last = shown.trim_end().lines().last().unwrap();
    assert!(last.ends_with("app.c:2: hello 42"), "{shown}");
}

#[test]
fn projects_of_cmake_contain_the_archive() {
    if !works("cmake") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fetched = blocks("cmake").remove(0);
    let url = format!("-DARCHIVE=file://{}", archive().display());
    cmake_project(&folder.path().join("fetched"), &fetched, &[url]);

    let added = folder.path().join("added");
    unpack(&added);
    let lists = "cmake_minimum_required(VERSION 3.13)\nproject(app C)\nadd_subdirectory(logdef)\n\
                 add_executable(app app.c)\ntarget_link_libraries(app logdef::logdef_static -static)\n";
    cmake_project(&added, lists, &[]);

    // Static programs have backtraces, which need a table that gcc does not ask the linker for there.
    fs::write(added.join("app.c"), WITH_BACKTRACE).unwrap();
    let mut build = Command::new("cmake");
    run(build.args(["--build", "build"]).current_dir(&added));
    run(Command::new("build/app").current_dir(&added));
    let mut view = Workshop::open().command("logdef");
    view.args(["view", "--backtrace", "full"])
        .arg(added.join("app.log"));
    let shown = text(run(&mut view).stdout);
    let functions = shown
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix('#'));
    let functions: Vec<_> = functions
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(functions[..2], ["work", "main"], "{shown}");
    assert_eq!(functions.last(), Some(&"_start"), "{shown}");
}

#[test]
fn projects_of_cmake_contain_the_sources() {
    if !works("cmake") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lists = blocks("cmake").remove(1);
    let cargo = format!("-DLOGDEF_CARGO={}", env!("CARGO"));
    let sources = format!("-DLOGDEF_SOURCES={PROJECT}");
    let definitions = [sources, "-DLOGDEF_DEBUG=ON".to_owned(), cargo];
    cmake_project(&folder.path().join("app"), &lists, &definitions);
}

#[test]
fn projects_of_meson_contain_the_archive() {
    if !works("meson") || !works("ninja") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let project = blocks("meson").remove(0);
    let linked_statically = project.replace("'logdef', f", "'logdef-static', f");
    assert_ne!(project, linked_statically);
    for (name, project, put) in [
        ("shared", &project, unpack as fn(&Path)),
        ("static", &linked_statically, unpack),
        ("wrapped", &project, wrap),
        ("wrapped-static", &linked_statically, wrap),
    ] {
        let folder = folder.path().join(name);
        put(&folder.join("subprojects"));
        fs::write(folder.join("app.c"), PROGRAM).unwrap();
        fs::write(folder.join("meson.build"), project).unwrap();
        let mut setup = Command::new("meson");
        run(setup.args(["setup", "build"]).current_dir(&folder));
        let mut ninja = Command::new("ninja");
        run(ninja.args(["-C", "build"]).current_dir(&folder));
        logs_hello(&folder.join("build/app"));
    }
}

#[test]
fn pkg_config_follows_an_archive_that_was_moved() {
    if !works("pkg-config") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    unpack(folder.path());
    let tree = folder.path().join("moved");
    fs::rename(folder.path().join("logdef"), &tree).unwrap();
    let mut ask = Command::new("pkg-config");
    ask.env("PKG_CONFIG_PATH", tree.join("lib/pkgconfig"));
    let flags = text(run(ask.args(["--cflags", "--libs", "logdef"])).stdout);
    let source = folder.path().join("app.c");
    fs::write(&source, PROGRAM).unwrap();
    let program = folder.path().join("app");
    let mut compile = Command::new("cc");
    compile.arg(&source).args(flags.split_whitespace());
    compile.arg(format!("-Wl,-rpath,{}/lib", tree.display()));
    run(compile.arg("-o").arg(&program));
    logs_hello(&program);
}

/// The goal for the library after `strip`. What prints backtraces of Rust's panics takes it beyond.
const MOST_BYTES: u64 = 700_000;

#[test]
fn an_installed_library_is_small_and_needs_the_c_library_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut install = Command::new(Path::new(PROJECT).join("logger/capi/install.sh"));
    install.env("CARGO", env!("CARGO"));
    let said = text(run(install.arg(folder.path())).stderr);
    if let Some(line) = said.lines().find(|line| line.starts_with("install.sh:")) {
        skip(format_args!("rust-src and its libraries: {line}"));
        return;
    }
    let library = folder.path().join("lib/liblogdef.so.0");
    let stripped = folder.path().join("stripped");
    let mut strip = Command::new("strip");
    strip.args(["--strip-unneeded", "-o"]).arg(&stripped);
    run(strip.arg(&library));
    let bytes = fs::metadata(&stripped).unwrap().len();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    let mut ask = Command::new("objdump");
    let said = text(run(ask.arg("-p").arg(&stripped)).stdout);
    let needed = said.lines().filter_map(|line| {
        let (what, name) = line.trim_start().split_once(' ')?;
        (what == "NEEDED").then(|| name.trim())
    });
    // For aarch64 libgcc_s is linked whether it is used or not.
    let is_other = |name: &&str| !name.starts_with("ld-linux") && *name != "libgcc_s.so.1";
    let needs_libgcc = said.contains("libgcc_s.so.1");
    assert!(!needs_libgcc || cfg!(target_arch = "aarch64"), "{said}");
    assert_eq!(needed.filter(is_other).collect::<Vec<_>>(), ["libc.so.6"]);
}

/// The files that a page names, from its folder.
fn links(page: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(page).unwrap();
    let links = text.split("](").skip(1);
    let links = links.map(|rest| rest.split_once(')').expect("the end of the link").0);
    let folder = page.parent().unwrap();
    links.map(|link| folder.join(link)).collect()
}

#[test]
fn the_pages_of_an_archive_lead_to_files_of_it() {
    let folder = tempfile::tempdir().unwrap();
    unpack(folder.path());
    let pages = folder.path().join("logdef/share/doc/logdef/docs");
    for (page, least) in [("c.md", 7), ("build.md", 1)] {
        let links = links(&pages.join(page));
        assert!(links.len() >= least, "{page}: {links:?}");
        for link in links {
            assert!(link.is_file(), "{page}: {}", link.display());
        }
    }
}

/// What `nm` says that a library defines for others.
fn exported(library: &Path) -> Vec<String> {
    let mut nm = Command::new("nm");
    let said = run(nm.args(["-D", "--defined-only"]).arg(library)).stdout;
    let said = text(said);
    let names = said.lines().filter_map(|line| line.split(' ').nth(2));
    names.map(str::to_owned).collect()
}

#[test]
fn debian_packages_have_what_their_users_need_and_the_symbols_of_the_library() {
    if !works("dpkg-deb") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let field = |package: &Path, name: &str| {
        let mut ask = Command::new("dpkg-deb");
        text(run(ask.arg("--field").arg(package).arg(name)).stdout)
    };
    for name in ["liblogdef0", "liblogdef-dev", "logdef"] {
        let found = fs::read_dir(made()).unwrap().map(|file| file.unwrap());
        let mut found = found.filter(|file| {
            let file = file.file_name().into_string().unwrap();
            file.starts_with(&format!("{name}_{VERSION}_")) && file.ends_with(".deb")
        });
        let package = found.next().expect(name).path();
        let control = folder.path().join(name);
        for (part, into) in [("--extract", folder.path()), ("--control", &control)] {
            let mut unpack = Command::new("dpkg-deb");
            run(unpack.arg(part).arg(&package).arg(into));
        }
        let depends = field(&package, "Depends");
        let version = format!("liblogdef0 (= {VERSION})");
        let (_, depends_on) = depends.split_once("libc6").unwrap();
        assert_eq!(depends.contains(&version), name == "liblogdef-dev");
        assert_eq!(depends_on.starts_with(" (>= 2."), name != "liblogdef-dev");
        if name != "liblogdef0" {
            continue;
        }
        let symbols = fs::read_to_string(control.join("symbols")).unwrap();
        let (first, symbols) = symbols.split_once('\n').unwrap();
        assert_eq!(first, "liblogdef.so.0 liblogdef0 #MINVER#");
        let listed = symbols.lines().map(|line| line.trim().split('@').next());
        let listed: Vec<_> = listed.map(|name| name.unwrap().to_owned()).collect();
        let library = folder.path().join("usr/lib").join(triplet());
        assert_eq!(listed, exported(&library.join("liblogdef.so.0")));
    }
    let tree = folder.path().join("usr");
    for file in [
        "include/logdef.h",
        "include/logdef_format.h",
        "include/logdef_stream.h",
        "bin/logdef",
        "share/man/man1/logdef.1.gz",
        "share/bash-completion/completions/logdef",
        "share/zsh/vendor-completions/_logdef",
        "share/fish/vendor_completions.d/logdef.fish",
        "share/doc/liblogdef0/copyright",
        "share/doc/liblogdef-dev/docs/c.md",
        "share/doc/liblogdef-dev/samples/bindings/spdlog/logdef_sink.h",
    ] {
        assert!(tree.join(file).is_file(), "{file}");
    }
}
