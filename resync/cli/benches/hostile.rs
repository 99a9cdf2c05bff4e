//! What do logs cost that are made to cost much? CPU time and memory of each verb.
//!
//! `LOGDEF_HOSTILE_MIB=1024 cargo bench -p logdef-cli --bench hostile -- [SHAPE [VERB...]]`
//!
//! `SHAPE` and `VERB` choose those whose names hold them; an empty word holds all. Each shape is
//! written, given to each verb, and removed again. Each line gives the seconds of CPU time and the
//! most memory at any moment. One over 256 MiB or two minutes is marked, and the bench fails. The
//! table at the end has the worst of each shape.

use std::fs::File;
use std::io::BufWriter;

#[path = "../../tests/synth/shapes.rs"]
mod shapes;
#[path = "../tests/watched/mod.rs"]
mod watched;

use watched::Watched;

const MIB: u64 = 1 << 20;
/// Seconds of CPU time after which a run has failed.
const SECONDS: u64 = 120;

/// The worst of a shape.
#[derive(Default)]
struct Worst {
    seconds: (f64, &'static str),
    mib: (u64, &'static str),
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let (shape, verbs) = words
        .split_first()
        .map_or(("", &[][..]), |(shape, verbs)| (shape.as_str(), verbs));
    let is_wanted = |verb: &str| verbs.is_empty() || verbs.iter().any(|it| verb.contains(&**it));
    let mib = std::env::var("LOGDEF_HOSTILE_MIB").map_or(16, |mib| mib.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostile.log");
    let (mut costly, mut rows) = (0, Vec::new());
    for shape in shapes::SHAPES.iter().filter(|it| it.name.contains(shape)) {
        let mut file = BufWriter::new(File::create(&path).unwrap());
        shape.write(mib * MIB, &mut file).unwrap();
        drop(file);
        println!("{mib} MiB of {}", shape.name);
        let mut worst = Worst::default();
        for verb in watched::VERBS.iter().filter(|verb| is_wanted(verb)) {
            let watched = watched::run(env!("CARGO_BIN_EXE_logdef"), verb, &path, SECONDS);
            costly += u32::from(costs_too_much(verb, watched));
            worst.add(verb, watched);
        }
        std::fs::remove_file(&path).unwrap();
        rows.push(worst.row(shape.name));
    }
    println!("\n| {mib} MiB of | s | verb | MiB | verb |\n|---|--:|---|--:|---|");
    rows.iter().for_each(|row| println!("{row}"));
    assert_eq!(costly, 0, "runs that took too much");
}

impl Worst {
    fn add(&mut self, verb: &'static str, watched: Watched) {
        if watched.seconds >= self.seconds.0 {
            self.seconds = (watched.seconds, verb);
        }
        if watched.peak / MIB >= self.mib.0 {
            self.mib = (watched.peak / MIB, verb);
        }
    }

    fn row(&self, shape: &str) -> String {
        let ((seconds, slowest), (mib, largest)) = (self.seconds, self.mib);
        format!("| {shape} | {seconds:.0} | `{slowest}` | {mib} | `{largest}` |")
    }
}

/// Says what a run took, and whether that is too much.
fn costs_too_much(verb: &str, watched: Watched) -> bool {
    let is_slow = watched.seconds > SECONDS as f64;
    let is_much = is_slow || watched.peak > 256 * MIB || watched.status > 4;
    println!(
        "  {verb:34} {:7.2} s {:6} MiB  status {} {}",
        watched.seconds,
        watched.peak / MIB,
        watched.status,
        if is_much { "<== too much" } else { "" }
    );
    is_much
}
