//! The stages of the reader, each of which uses only those before it: read here from
//! the paths that files name, so that a new arrow that points backwards fails.

#[path = "../../../samples/src/imports.rs"]
mod imports;

use imports::{arrows, circle, modules};
use std::path::{Path, PathBuf};

/// In the order of `lib.rs`. `render` knows nothing of logs, so that it may be used
/// from anywhere.
const STAGES: [&str; 10] = [
    "read", "render", "recover", "merge", "resolve", "records", "export", "rewrite", "import",
    "follow",
];

/// The place of a module's stage in that order.
fn rank(module: &str) -> usize {
    let stage = module.split("::").next().unwrap();
    let rank = STAGES.iter().position(|other| *other == stage);
    rank.unwrap_or_else(|| panic!("{module} is of no stage"))
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn no_stage_uses_a_later_one() {
    let modules = modules(&source());
    let (mut count, mut wrong) = (0, Vec::new());
    for (module, used) in arrows(&modules) {
        for used in used {
            count += 1;
            if rank(used) > rank(module) {
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
