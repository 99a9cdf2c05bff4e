//! The code and the commands of `docs/c.md` are compiled and run, and the changes to programs that
//! `docs/rust.md` shows are those that are made.

use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::fs;
use std::path::Path;
use std::process::Command;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The blocks of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(PROJECT).join(page)).unwrap();
    let start = format!("```{language}\n");
    let found = text.split(&start).skip(1);
    let blocks = found.map(|rest| rest.split_once("```").expect("the end of the block").0);
    blocks.map(str::to_owned).collect()
}

#[test]
fn the_code_for_c_and_cpp_compiles() {
    let folder = tempfile::tempdir().unwrap();
    for (language, extension, number) in [("c", "c", 5), ("cpp", "cpp", 3)] {
        if language == "cpp" && !has_cpp() {
            continue;
        }
        let blocks = blocks("docs/c.md", language);
        assert_eq!(blocks.len(), number);
        for (index, block) in blocks.iter().enumerate() {
            let source = folder.path().join(format!("block{index}.{extension}"));
            fs::write(&source, block).unwrap();
            let out = folder.path().join("block.so");
            let source = source.to_str().unwrap();
            let standard = if language == "cpp" {
                "-std=c++20"
            } else {
                "-std=c11"
            };
            Workshop::open().compile(&[source], &out, &["-shared", "-fPIC", standard]);
        }
    }
}

#[test]
fn the_commands_that_convert_a_program_do() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("app.c");
    let before = r#"#include <logdef.h>
#include <errno.h>
#include <stdio.h>
#include <syslog.h>
int main(int argc, char **argv)
{
    logdef_open(argv[1]);
    fprintf(stderr, "%d arguments\n", argc);
    syslog(LOG_DEBUG, "debug");
    syslog(LOG_NOTICE, "notice %s", "me");
    errno = EACCES; syslog(LOG_WARNING, "warning: %m");
    syslog(LOG_ERR, "error");
    syslog(LOG_CRIT, "critical");
    return 0;
}
"#;
    fs::write(&source, before).unwrap();
    let commands = blocks("docs/c.md", "sh").remove(0);
    let mut shell = Command::new("sh");
    run(shell
        .args(["-e", "-c", &commands])
        .current_dir(folder.path()));

    let workshop = Workshop::open();
    let program = folder.path().join("app");
    workshop.compile(&[source.to_str().unwrap()], &program, &[]);
    let log = folder.path().join("log");
    run(Command::new(&program).arg(&log));
    let mut view = workshop.command("logdef");
    let shown = run(view.arg("view").arg(&log)).stdout;
    let shown = String::from_utf8(shown).unwrap();
    let records = shown.lines().filter(|line| line.starts_with('2'));
    let said: Vec<_> = records
        .map(|line| {
            let level = line.split(' ').nth(2).unwrap();
            (level, line.rsplit_once("app.c:").unwrap().1)
        })
        .collect();
    let expected = [
        ("INFO", "8: 2 arguments"),
        ("DEBUG", "9: debug"),
        ("INFO", "10: notice me"),
        ("WARN", "11: warning: Permission denied"),
        ("ERROR", "12: error"),
        ("FATAL", "13: critical"),
    ];
    for ((level, text), (wanted, begins)) in said.iter().zip(expected) {
        assert_eq!(*level, wanted, "{shown}");
        assert!(text.starts_with(begins), "{text} in {shown}");
    }
    assert_eq!(said.len(), expected.len(), "{shown}");
}

#[test]
fn the_changes_to_programs_are_those_that_samples_make() {
    let shown = blocks("docs/rust.md", "diff");
    let made = ["mini-redis", "merino"].map(|program| {
        let patch = format!("samples/real/rust/{program}.patch");
        fs::read_to_string(Path::new(PROJECT).join(patch)).unwrap()
    });
    assert_eq!(shown, made);
}
