//! What do logs cost that are made to cost much? Time on one core and memory of each verb.
//!
//! `LOGDEF_HOSTILE_MIB=1024 cargo bench -p logdef-cli --bench hostile -- [SHAPE [VERB]]`
//!
//! `SHAPE` and `VERB` choose those whose names hold them. Each line gives the seconds that
//! passed and the most memory at any moment. One over 256 MiB or two minutes is marked, and
//! the bench fails.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

#[path = "../../tests/synth/shapes.rs"]
mod shapes;
#[path = "../tests/watched/mod.rs"]
mod watched;

const MIB: u64 = 1 << 20;
/// Seconds after which a run has failed.
const SECONDS: u64 = 120;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let holds = |at: usize, name: &str| wanted.get(at).is_none_or(|word| name.contains(&**word));
    let mib = std::env::var("LOGDEF_HOSTILE_MIB").map_or(16, |mib| mib.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostile.log");
    let mut costly = 0;
    for shape in shapes::SHAPES.iter().filter(|shape| holds(0, shape.name)) {
        let mut file = BufWriter::new(File::create(&path).unwrap());
        shape.write(mib * MIB, &mut file).unwrap();
        drop(file);
        println!("{mib} MiB of {}", shape.name);
        for verb in watched::VERBS.iter().filter(|verb| holds(1, verb)) {
            costly += u32::from(costs_too_much(verb, &path));
        }
    }
    assert_eq!(costly, 0, "runs that took too much");
}

/// Runs a verb and says what it took.
fn costs_too_much(verb: &str, path: &Path) -> bool {
    let start = Instant::now();
    let watched = watched::run(env!("CARGO_BIN_EXE_logdef"), verb, path, SECONDS);
    let seconds = start.elapsed().as_secs_f64();
    let is_much = seconds > SECONDS as f64 || watched.peak > 256 * MIB || watched.status > 4;
    println!(
        "  {verb:32} {seconds:7.2} s {:6} MiB  status {} {}",
        watched.peak / MIB,
        watched.status,
        if is_much { "<== too much" } else { "" }
    );
    is_much
}
