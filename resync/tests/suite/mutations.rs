//! A campaign of damaged logs against the oracle of [`mutant`]. Always the same ones:
//! `LOGDEF_MUTANTS` says how many, and `LOGDEF_MUTANTS=70000..80000` which.

use crate::mutant::Originals;
use crate::seeds;
use crate::synth::{self, Random};

/// Damaged logs of one set of originals.
const SERIES: u64 = 4096;

#[test]
fn no_accident_costs_more_than_it_touched() {
    let otherwise = if synth::slow() { 72_000 } else { 500 };
    let seeds = seeds::wanted("LOGDEF_MUTANTS", otherwise);
    let failed = seeds::failures(&seeds, SERIES, Originals::new, |originals, seed| {
        originals.check(originals.mutant(&mut Random::new(seed)));
    });
    assert!(failed.is_empty(), "seeds {failed:?}");
}
