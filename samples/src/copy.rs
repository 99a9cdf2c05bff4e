//! Copying a program that a test runs. Other packages' tests include this file by its path.

use std::path::Path;
use std::process::Command;

/// Copies a program, or a script, that is to be run. By a child: what this process has open for
/// writing stays open in a child that another thread forks meanwhile, until that becomes a
/// program, and cannot be run.
///
/// # Panics
///
/// If it cannot be copied.
pub fn copy_program(program: &Path, to: &Path) {
    let copied = Command::new("cp").arg(program).arg(to).status();
    assert!(copied.unwrap().success(), "{}", program.display());
}
