//! Replays the corpus of each fuzz target, by the compiler that builds the rest.

#[path = "../../fuzz/exercise/mod.rs"]
mod exercise;

use std::path::Path;

fn replay(corpus: &str, exercise: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(corpus);
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Logs of other machines, with their programs.
        if path.is_dir() {
            continue;
        }
        eprintln!("{}", path.display());
        exercise(&std::fs::read(path).unwrap());
        files += 1;
    }
    assert!(files > 0);
}

#[test]
fn the_corpus_of_scan_holds() {
    replay("fuzz/corpus/scan", exercise::scan::exercise);
    replay("../samples/corpus", exercise::scan::exercise);
}

#[test]
fn the_corpus_of_record_holds() {
    replay("fuzz/corpus/record", exercise::record::exercise);
}

#[test]
fn the_corpus_of_render_holds() {
    replay("fuzz/corpus/render", exercise::render::exercise);
}

#[test]
fn the_corpus_of_merge_holds() {
    replay("fuzz/corpus/merge", exercise::merge::exercise);
}

#[test]
fn the_corpus_of_recover_holds() {
    replay("fuzz/corpus/recover", exercise::recover::exercise);
    replay("../samples/corpus", exercise::recover::exercise);
}

#[test]
fn the_corpus_of_import_holds() {
    replay("fuzz/corpus/import", exercise::import::exercise);
}
