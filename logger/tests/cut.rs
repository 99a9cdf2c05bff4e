//! Calls below the level that the features of the package set are checked and
//! leave nothing in an optimized program.

use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
use logdef::{logdef, logdef_backtrace, logdef_every_n};
fn main() {
    logdef!(Trace, "cut: trace %s", argument());
    logdef!(Info, "cut: info %d", 1);
    logdef_backtrace!(Debug, "cut: with a backtrace");
    logdef_every_n!(3, Info, "cut: every third");
    logdef!(Warn, "kept: warn");
    logdef!(Error, "kept: error %d", 1);
}
fn argument() -> &'static str { "cut: argument" }
"#;

#[test]
fn cut_calls_leave_no_trace() {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cut");
    std::fs::create_dir_all(package.join("src")).unwrap();
    // The stricter of the two levels counts.
    let manifest = format!(
        "[package]\nname = \"cut\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies.logdef]\npath = {:?}\n\
         features = [\"min_level_debug\", \"release_min_level_warn\"]\n\
         [profile.dev]\ndebug-assertions = false\ndebug = 0\nopt-level = 1\n[workspace]\n",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(package.join("src/main.rs"), PROGRAM).unwrap();
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    std::fs::copy(lock, package.join("Cargo.lock")).unwrap();
    let target = package.join("target");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--target-dir"])
        .arg(&target)
        .env_remove("CARGO_BUILD_TARGET")
        .current_dir(&package)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let program = std::fs::read(target.join("debug/cut")).unwrap();
    let contains = |text: &[u8]| program.windows(text.len()).any(|at| at == text);
    assert!(contains(b"kept: warn") && contains(b"kept: error"));
    assert!(!contains(b"cut: "), "a call that is cut left something");
}
