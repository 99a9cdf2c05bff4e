//! Records of formats with C++'s braces are shown as `std::format` prints them: a grid of
//! placeholders and values beside libfmt, and beside the standard's `std::to_chars`.

use logdef_samples::skip::skip;
use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::path::Path;
use std::process::Command;

#[test]
fn records_are_shown_as_the_standard_formats_them() {
    if !has_cpp() {
        return;
    }
    if !Path::new("/usr/include/fmt/format.h").exists() {
        return skip("libfmt (Debian's libfmt-dev) is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, log) = (folder.path().join("grid"), folder.path().join("log"));
    let workshop = Workshop::open();
    let grid = "samples/tests/std_format/grid.cpp";
    workshop.compile(&[grid], &program, &["-std=c++20", "-O0", "-Wno-error"]);
    let printed = run(Command::new(&program).arg(&log).env("LOGDEF_STDERR", "1"));
    let mirrored = String::from_utf8(printed.stderr).unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let mut view = workshop.command("logdef");
    let shown = run(view.args(["view", "-o", "json"]).arg(&log)).stdout;
    let shown = String::from_utf8(shown).unwrap();
    let mut count = 0;
    let mut different = Vec::new();
    for (expected, record) in printed.lines().zip(shown.lines()) {
        let record: serde_json::Value = serde_json::from_str(record).unwrap();
        let expected = bytes_of(expected);
        let expected = String::from_utf8_lossy(&expected);
        if record["message"] != *expected {
            different.push(format!("{}: {} is {expected}", record["line"], record));
        }
        count += 1;
    }
    assert!(
        different.is_empty(),
        "{} of {count}:\n{}",
        different.len(),
        different.join("\n")
    );
    assert_eq!(count, printed.lines().count());
    assert!(count > 1_500, "{count}");
    mirror_agrees(&printed, &mirrored);
}

/// The mirror prints the same, but for wide fields, and bytes that it escapes.
fn mirror_agrees(printed: &str, mirrored: &str) {
    let mut count = 0;
    for (expected, line) in printed.lines().zip(mirrored.lines()) {
        let expected = bytes_of(expected);
        if expected.len() < 130 && expected.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            let expected = String::from_utf8(expected).unwrap();
            assert!(
                line.ends_with(&format!(": {expected}")),
                "{line} is no {expected}"
            );
            count += 1;
        }
    }
    assert!(count > 1_000, "{count}");
}

/// The bytes of a line of hexadecimal digits.
fn bytes_of(line: &str) -> Vec<u8> {
    let digits = line.as_bytes().chunks(2);
    let pairs = digits.map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}
