//! The stages of the reader, each of which uses only those before it, in the order of ARCHITECTURE.md's
//! table: read here from the paths that files name, so that a new arrow that points backwards fails.

#[path = "../../../samples/src/imports.rs"]
mod imports;

use imports::{arrows, circle, modules};
use std::path::{Path, PathBuf};

/// The stages, as the table lists them.
fn stages() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, table) = text
        .split_once("\n| stage | input | output |\n")
        .expect("no table of stages");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let names = rows.filter_map(|row| row.split('`').nth(1));
    names.map(str::to_owned).collect()
}

/// The place of a module's stage in that order.
fn rank(stages: &[String], module: &str) -> usize {
    let stage = module.split("::").next().unwrap();
    let rank = stages.iter().position(|other| other == stage);
    rank.unwrap_or_else(|| panic!("{module} is of no stage"))
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn no_stage_uses_a_later_one() {
    let (stages, modules) = (stages(), modules(&source()));
    let (mut count, mut wrong) = (0, Vec::new());
    for (module, used) in arrows(&modules) {
        for used in used {
            count += 1;
            if rank(&stages, used) > rank(&stages, module) {
                wrong.push(format!("{module} uses {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 200, "only {count} arrows were found");
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let modules = modules(&source());
    if let Some(circle) = circle(&arrows(&modules)) {
        panic!("{} -> {}", circle.join(" -> "), circle[0]);
    }
}
