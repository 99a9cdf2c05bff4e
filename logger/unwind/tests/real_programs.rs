//! Interrupts real programs at random points, five thousand times a second, and
//! compares their stacks with what libgcc sees: compilers, linkers and
//! interpreters as the distribution built them, without frame pointers, and
//! this test program itself while it loads libraries, throws, panics, sorts and handles
//! signals.
//!
//! With `LOGDEF_SLOW=1` 100,000 points are compared, otherwise some thousand.

#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

mod compiled;

use compiled::Library;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const REPORT: &str = "LOGDEF_TEST_REPORT";

fn preload() -> PathBuf {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--example", "compare"]);
    build.args(["--message-format", "json"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let built = build.stderr(Stdio::inherit()).output().unwrap();
    assert!(built.status.success());
    let text = String::from_utf8(built.stdout).unwrap();
    let mut names = text
        .split('"')
        .filter(|name| name.ends_with("libcompare.so"));
    names.next_back().expect("a library").into()
}

extern "C" fn visit() {}

extern "C" fn on_signal(_: i32) {
    std::hint::black_box([0u64; 40]);
}

#[test]
#[ignore = "child of the other test"]
fn a_child_throws_and_panics_and_sorts() {
    std::panic::set_hook(Box::new(|_| ()));
    let options = ["-O2", "-fomit-frame-pointer"];
    let shapes = Library::of("gcc", "shapes.c", &options);
    let exceptions =
        compiled::skip::has("g++").then(|| Library::of("g++", "exceptions.cc", &options));
    let resolver = Library::of("gcc", "resolver.c", &options);
    // SAFETY: the handler has the right form.
    unsafe { libc::signal(libc::SIGUSR1, on_signal as *const () as usize) };
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1500) {
        shapes.call(c"everything", visit);
        if let Some(exceptions) = &exceptions {
            exceptions.call(c"exceptions", visit);
            exceptions.call(c"containers", visit);
        }
        resolver.call(c"through_resolved", visit);
        // SAFETY: handled above.
        unsafe { libc::raise(libc::SIGUSR1) };
        let caught = std::panic::catch_unwind(|| {
            let items: Vec<String> = (0..3).map(|item| format!("item {item}")).collect();
            items[std::hint::black_box(3)].len()
        });
        assert!(caught.is_err());
        let mut words: Vec<u32> = (0..2000u32)
            .map(|n| n.wrapping_mul(2_654_435_769))
            .collect();
        words.sort_by(|a, b| b.partial_cmp(a).unwrap());
        std::hint::black_box(words);
    }
}

/// Programs with something to do for a second or so, where they are installed.
fn programs(directory: &Path) -> Vec<Command> {
    let native = |name| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/native")
            .join(name)
    };
    let here = |name| directory.join(name);
    let lines: String = (0..60_000u32)
        .map(|n| format!("{}\n", n.wrapping_mul(2_654_435_769)))
        .collect();
    std::fs::write(here("lines"), lines).unwrap();
    let crowd: String = (0..400)
        .map(|n| format!("pub fn f{n}(v: &[u64]) -> Vec<String> {{ v.iter().map(|x| format!(\"{{x}} {n}\")).rev().collect() }}\n"))
        .collect();
    std::fs::write(here("crowd.rs"), crowd).unwrap();

    // One argument a word.
    let program = |line: &str, files: &[PathBuf]| {
        let mut words = line.split(' ');
        let mut program = Command::new(words.next().unwrap_or_default());
        program.args(words).args(files);
        program
    };
    let script = |name: &str, option: &str, text: &str| {
        let mut program = Command::new(name);
        program.args([option, text]);
        program
    };
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args([
        "--ignored",
        "--exact",
        "a_child_throws_and_panics_and_sorts",
    ]);
    let library = "-O2 -fPIC -shared -o";
    vec![
        program("sort -n -o", &[here("sorted"), here("lines")]),
        script(
            "perl",
            "-e",
            r#"my %h; $h{$_ % 9973} .= "$_," for 1..400000; print map { sort split /,/ } values %h;"#,
        ),
        script(
            "bash",
            "-c",
            "for ((i = 0; i < 60000; i++)); do x=${x:0:9}$((i * 7 % 13)); done",
        ),
        this,
        program(
            &format!("g++ {library}"),
            &[here("a.so"), native("exceptions.cc")],
        ),
        program(
            &format!("clang {library}"),
            &[here("b.so"), native("shapes.c")],
        ),
        program(
            "rustc -O --crate-type lib -o",
            &[here("crowd.rlib"), here("crowd.rs")],
        ),
    ]
}

#[test]
fn programs_have_the_callers_that_libgcc_finds_wherever_they_are_interrupted() {
    let wanted = match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => 100_000,
        None => 2000,
    };
    let library = preload();
    let name = format!("real-programs-{}", std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir(&directory).unwrap();
    let report = directory.join("report");
    std::fs::write(&report, "").unwrap();

    let mut compared = 0;
    let mut programs = programs(&directory);
    for turn in 0.. {
        if compared >= wanted {
            break;
        }
        let turn = turn % programs.len();
        let program = &mut programs[turn];
        // By its name alone: a folder with a space in its name would be two libraries.
        program.env("LD_PRELOAD", library.file_name().unwrap());
        program.env("LD_LIBRARY_PATH", library.parent().unwrap());
        program.env(REPORT, &report);
        program.stdout(Stdio::null());
        match program.status() {
            Ok(status) => assert!(status.success(), "{program:?}: {status}"),
            Err(error) => {
                eprintln!("{program:?}: {error}");
                drop(programs.remove(turn));
            }
        }
        let text = std::fs::read_to_string(&report).unwrap();
        compared = 0;
        for line in text.lines() {
            let mut words = line.split(' ');
            let mut count = || words.next().unwrap().parse::<usize>().unwrap();
            let (same, guessed, _in_libgcc, different) = (count(), count(), count(), count());
            assert_eq!(different, 0, "{line}");
            compared += same + guessed;
        }
    }
    let text = std::fs::read_to_string(&report).unwrap();
    eprint!("same, guessed, in libgcc, different\n{text}");
    std::fs::remove_dir_all(directory).unwrap();
}
