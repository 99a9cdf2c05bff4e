//! Bytes as decisions: which accidents happen to which log. The oracle knows what is
//! left of it.

use crate::mutant::Originals;
use std::sync::OnceLock;

/// Sets of originals.
const SERIES: usize = 8;

/// Panics if something does not hold.
pub fn exercise(bytes: &[u8]) {
    static ORIGINALS: [OnceLock<Originals>; SERIES] = [const { OnceLock::new() }; SERIES];
    let Some((series, mut choices)) = bytes.split_first() else {
        return;
    };
    let series = *series as usize % SERIES;
    let originals = ORIGINALS[series].get_or_init(|| Originals::new(series as u64));
    originals.check(originals.mutant(&mut choices));
}
