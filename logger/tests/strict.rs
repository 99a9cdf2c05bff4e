//! Crates of other editions and with the strictest lints take the macros as they are: a program of its
//! own is built and run.

use std::path::Path;
use std::process::Command;

#[test]
fn a_crate_that_denies_warnings_and_forbids_unsafe_code_logs() {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("strict");
    std::fs::create_dir_all(package.join("src")).unwrap();
    let logger = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"strict\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [dependencies]\nlogdef.path = {logger:?}\n[workspace]\n"
    );
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(
        package.join("src/main.rs"),
        include_str!("strict/program.rs"),
    )
    .unwrap();
    let lock = Path::new(logger).join("../Cargo.lock");
    std::fs::copy(lock, package.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline", "--target-dir"]);
    cargo.arg(package.join("target"));
    cargo.env_remove("CARGO_BUILD_TARGET").env_remove("LOGDEF");
    let output = cargo.current_dir(&package).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
