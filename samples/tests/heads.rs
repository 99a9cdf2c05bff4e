//! Backtraces begin in the function that logs: what the header and the library add before it is
//! left out, whatever the compiler made of it.

use logdef_samples::skip::has;
use logdef_samples::workshop::{Workshop, run};
use std::path::Path;
use std::process::Command;

const FUNCTIONS: [&str; 8] = [
    "by_macro",
    "by_level",
    "by_pairs",
    "by_braces",
    "by_text",
    "by_write",
    "by_plugin",
    "by_plugins_text",
];

/// Compiles the calls, and makes a program that has the shared library of the logger, or a plugin
/// with a copy of the logger in it.
fn compile(compiler: &str, level: &str, out: &Path, more: &[&str]) {
    let workshop = Workshop::open();
    let mut command = Command::new(compiler);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.args(["-std=c++20", "-g", level, "-Wall", "-Wextra", "-Werror"]);
    command.args(["-Ilogger/capi/include", "samples/tests/sites/heads.cpp"]);
    command.arg("-o").arg(out).args(more);
    command.arg(format!("-Wl,-rpath,{}", workshop.library.display()));
    run(command.args(["-lpthread", "-ldl", "-lm"]));
}

/// The function that heads each backtrace of a log.
fn heads(log: &Path) -> Vec<String> {
    let mut view = Workshop::open().command("logdef");
    let shown = run(view.args(["view", "--backtrace", "full"]).arg(log)).stdout;
    let shown = String::from_utf8(shown).unwrap();
    let heads = shown
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("#0 "));
    let names = heads.map(|head| head.split([' ', '(']).find(|word| !word.is_empty()));
    names.map(|name| name.unwrap().to_owned()).collect()
}

#[test]
fn the_function_that_logs_heads_its_backtrace() {
    let workshop = Workshop::open();
    let library = workshop.library.to_str().unwrap();
    let archive = format!("{library}/liblogdef.a");
    let shared = ["-L", library, "-llogdef"];
    let plugin = ["-shared", "-fPIC", "-DPLUGIN", &archive];
    for compiler in ["g++", "clang++"] {
        if !has(compiler) {
            continue;
        }
        for level in ["-O0", "-O2"] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            compile(compiler, level, &at("heads"), &shared);
            let hidden = [&plugin[..], &["-Wl,--exclude-libs,ALL"]].concat();
            compile(compiler, level, &at("plugin.so"), &hidden);
            run(Command::new(at("heads")).args([at("log"), at("plugin.so")]));
            assert_eq!(heads(&at("log")), FUNCTIONS, "{compiler} {level}");
        }
    }
}
