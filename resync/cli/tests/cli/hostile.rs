//! Logs that are made to cost much, through the real command: its memory has a bound whatever
//! comes. `LOGDEF_HOSTILE_MIB=64` tries all of them, of that length; the bench `hostile` every
//! verb too.

use crate::fixture::Files;
use std::fs::File;
use std::io::BufWriter;

#[path = "../../../tests/synth/shapes.rs"]
mod shapes;
#[path = "../watched/mod.rs"]
mod watched;

const BOUND: u64 = 200 << 20;
/// What is tried in any case: whatever may be kept of a record, each kind in turns.
const ALWAYS: [&str; 5] = [
    "a run for each record",
    "an image for each record",
    "stacks among many images",
    "contexts of many keys",
    "all that is short, in turns",
];
/// Verbs that keep something of each record, in their own way.
const VERBS: [&str; 3] = ["stats", "view -o json", "export --to fxt -o -"];

#[test]
fn memory_has_a_bound_whatever_a_log_holds() {
    let mib = std::env::var("LOGDEF_HOSTILE_MIB").map(|mib| mib.parse::<u64>().unwrap());
    let len = mib.as_ref().map_or(512 << 10, |mib| *mib << 20);
    let files = Files::new();
    let path = files.path().join("hostile.log");
    let wanted = |name: &str| mib.is_ok() || ALWAYS.contains(&name);
    for shape in shapes::SHAPES.iter().filter(|shape| wanted(shape.name)) {
        let mut file = BufWriter::new(File::create(&path).unwrap());
        shape.write(len, &mut file).unwrap();
        drop(file);
        for verb in VERBS {
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
