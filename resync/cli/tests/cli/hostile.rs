//! Logs that are made to cost much, through the real command: its memory has a bound whatever
//! comes. Each kind of log is tried with one verb or two, and each verb with one kind of log or
//! more; `LOGDEF_HOSTILE_MIB=64` tries every pair, with logs of that length.

use crate::fixture::{self, Files};
use crate::watched;
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::fs::FileExt;

#[path = "../../../tests/synth/shapes.rs"]
mod shapes;

const BOUND: u64 = 200 << 20;
/// What is tried with more verbs: whatever may be kept of a record, each kind in turns, and what is deep.
const MORE: [&str; 6] = [
    "a run for each record",
    "an image for each record",
    "stacks among many images",
    "contexts of many keys",
    "all that is short, in turns",
    "arrays in arrays",
];
/// Verbs that keep something of each record, or show all of it, in their own way.
const KEEPING: [&str; 4] = ["stats", "view -o json", "dump", "export --to fxt -o -"];

#[test]
fn memory_has_a_bound_whatever_a_log_holds() {
    let mib = std::env::var("LOGDEF_HOSTILE_MIB").map(|mib| mib.parse::<u64>().unwrap());
    let len = mib.as_ref().map_or(512 << 10, |mib| *mib << 20);
    let files = Files::new();
    let path = files.path().join("hostile.log");
    for (number, shape) in shapes::SHAPES.iter().enumerate() {
        let mut file = BufWriter::new(File::create(&path).unwrap());
        shape.write(len, &mut file).unwrap();
        drop(file);
        let in_turn = watched::VERBS[number % watched::VERBS.len()];
        let is_tried = |verb: &str| {
            mib.is_ok() || verb == in_turn || MORE.contains(&shape.name) && KEEPING.contains(&verb)
        };
        for verb in watched::VERBS.iter().filter(|verb| is_tried(verb)) {
            let watched = watched::run(env!("CARGO_BIN_EXE_logdef"), verb, &path, 600);
            let peak = watched.peak >> 20;
            assert!(watched.peak < BOUND, "{verb} of {}: {peak} MiB", shape.name);
            assert!(
                watched.status <= 4,
                "{verb} of {}: status {}",
                shape.name,
                watched.status
            );
        }
    }
}

/// Reading it would take minutes.
#[test]
fn a_tebibyte_of_holes_in_a_trace_is_passed_over() {
    let files = Files::new();
    let log = files.put("app.log", &fixture::example().bytes);
    let trace = files.path().join("app.fxt");
    let export = format!("export --to fxt -o {} {{}}", trace.display());
    assert_eq!(fixture::logdef(&export, &log).status, 0);
    let exported = std::fs::read(&trace).unwrap();
    let sparse = File::options().write(true).open(&trace).unwrap();
    let end = 1 << 40;
    if sparse.write_all_at(&exported, end).is_err() {
        return; // A file system that has no such files.
    }
    let hole = end - exported.len() as u64;
    let dumped = fixture::logdef("fxt dump --json {}", &trace).objects();
    let gaps = dumped.iter().filter(|it| it["type"] == "gap");
    let sizes: Vec<_> = gaps.map(|gap| gap["size"].as_u64()).collect();
    assert_eq!(sizes, [Some(hole)]);
    assert_eq!(fixture::logdef("fxt check {}", &trace).status, 3);
    let again = files.path().join("again.log");
    let import = format!("import --from fxt -o {} {{}}", again.display());
    let imported = fixture::logdef(&import, &trace);
    assert_eq!(imported.status, 0);
    let said = imported.err;
    assert!(said.contains(&format!("{hole} bytes in 1 place")), "{said}");
}
