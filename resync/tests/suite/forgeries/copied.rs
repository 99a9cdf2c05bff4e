//! The marks of records in copies of such logs.

use super::*;

/// The records that a view shows and how each is marked: a record that stands in several
/// places as it is where the view takes it from, or as it is at best.
fn standings(inputs: &[Input], recovery: &Recovery, at_best: bool) -> BTreeMap<Vec<u8>, Standing> {
    let mut options = MergeOptions::default();
    options.repeats = at_best;
    let mut merge = Merge::new(inputs, recovery, options);
    let mut standings = BTreeMap::new();
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        let standing = standings
            .entry(frame.bytes.to_vec())
            .or_insert(frame.standing);
        *standing = frame.standing.min(*standing);
    }
    standings
}

/// A copy shows the same records, marked as they are. `recover` takes a record that stands in
/// several places from the first of them, and a view from another, perhaps.
fn assert_marked(copied: (&[Input], &Recovery), original: (&[Input], &Recovery), merges: bool) {
    let copied = standings(copied.0, copied.1, false);
    let shown = standings(original.0, original.1, false);
    assert!(copied.keys().eq(shown.keys()), "its records");
    let best = standings(original.0, original.1, true);
    let mut pairs = copied.values().zip(best.values());
    assert!(pairs.all(|(copied, best)| copied >= best), "its marks");
    assert!(!merges || copied == shown, "its marks, merged");
}

pub(super) fn read(inputs: &[Input], suspects: bool) -> Recovery {
    let mut options = Options::default();
    options.cores = 1;
    options.trust_suspects = suspects;
    Recovery::with(inputs, &options, |_| {}).unwrap()
}

/// Copies with `recover`, or with `merge`.
fn copy(inputs: &[Input], recovery: &Recovery, merges: bool) -> [Input; 1] {
    let mut bytes = Vec::new();
    if merges {
        rewrite::merge(inputs, recovery, &mut bytes).unwrap();
    } else {
        rewrite::recover(inputs, recovery, &mut NoImages, &mut bytes).unwrap();
    }
    [Input::from_bytes("copy", bytes)]
}

fn bytes_of(inputs: &[Input; 1]) -> Vec<u8> {
    let mut bytes = vec![0; inputs[0].len() as usize];
    assert_eq!(inputs[0].read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn check_copies(inputs: &[Input], suspects: bool, merges: bool, marked: &AtomicU64) {
    let recovery = read(inputs, suspects);
    let copied = copy(inputs, &recovery, merges);
    let again = read(&copied, suspects);
    assert_marked((&copied, &again), (inputs, &recovery), merges);
    // Where they are not asked for, suspects are left out of the copy's view too.
    let by_default = read(&copied, false);
    let expected = read(inputs, false);
    assert_marked((&copied, &by_default), (inputs, &expected), merges);
    assert_eq!(by_default.is_clean(), expected.is_clean());
    let twice = copy(&copied, &again, merges);
    let is_fixed = bytes_of(&twice) == bytes_of(&copied);
    assert!(merges || is_fixed, "a copy of a copy is another");
    let shown = standings(inputs, &recovery, false);
    let marks = shown.values().filter(|it| **it != Standing::Sound);
    marked.fetch_add(marks.count() as u64, Ordering::Relaxed);
}

#[test]
fn what_is_copied_keeps_its_mark() {
    let seeds = seeds::wanted("LOGDEF_COPIES", 200);
    let marked = AtomicU64::new(0);
    let failed = seeds::failures(&seeds, SERIES, Original::new, |original, seed| {
        let mut random = Random::new(seed);
        let mutants = [original.mutant(&mut random), original.mutant(&mut random)];
        let inputs = mutants.map(|bytes| Input::from_bytes("mutant", bytes));
        for suspects in [false, true] {
            check_copies(&inputs[..1], suspects, false, &marked);
            check_copies(&inputs[..1], suspects, true, &marked);
            check_copies(&inputs, suspects, true, &marked);
        }
    });
    assert!(failed.is_empty(), "{} seeds: {failed:?}", failed.len());
    let marked = marked.into_inner();
    assert!(marked > seeds.end - seeds.start, "{marked}");
}
