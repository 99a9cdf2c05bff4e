//! A log that is read while a program writes it as fast as it can reads as it was at one moment: nothing
//! in it is damaged or missing, and each pass over it finds the same.

use logdef_resync::{Event, Input, Item, Items, Merge, MergeOptions, Recovery, family};
use std::path::Path;
use std::process::Command;

/// Opens the files of a log, the ones with numbers only: another file takes the log's own name.
fn files_of(log: &Path) -> Vec<Input> {
    let own = family(log).into_iter().filter(|path| path != log);
    own.filter_map(|path| Input::open(path).ok()).collect()
}

/// Reads the log of a program again and again until it ends, by `look`, which gets the number of the look.
fn read(size: u64, records: u64, look: impl Fn(&[Input], u32)) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("app.log");
    let mut program = Command::new(env!("CARGO_BIN_EXE_rotor"));
    program.arg(&log);
    program.args([size, records, 2, 2, 0].map(|number| number.to_string()));
    let mut program = program.spawn().unwrap();
    let mut looks = 0;
    while program.try_wait().unwrap().is_none() {
        look(&files_of(&log), looks);
        looks += 1;
    }
    assert!(program.wait().unwrap().success());
    assert!(looks > 0);
}

/// Recovers and merges a log, which must be whole.
fn recovers(inputs: &[Input], look: u32) {
    let recovery = Recovery::of(inputs).unwrap();
    let losses = recovery.losses();
    let gaps = recovery.accounts().iter().flat_map(|account| &account.gaps);
    let damage: Vec<_> = gaps.filter(|gap| gap.gap.is_damage()).collect();
    assert!(losses.is_clean(), "look {look}: {losses}; {damage:#?}");
    let mut merge = Merge::new(inputs, &recovery, MergeOptions::default());
    let mut merged = 0;
    while let Some(event) = merge.next().unwrap() {
        match event {
            Event::Frame(frame) => merged += u64::from(frame.tag() == logdef_wire::Tag::DATA),
            Event::Gap(_, gap) => assert!(!gap.gap.is_damage(), "look {look}: {gap:#?}"),
            _ => {}
        }
    }
    // A file that is being renamed may have been listed twice.
    let accounts = recovery.accounts().iter();
    let counted: u64 = accounts.map(|it| it.data() - it.repeated).sum();
    assert_eq!(merged, counted, "look {look}");
}

/// Walks over each file of a log by itself, as `dump` does.
fn walks(inputs: &[Input], look: u32) {
    for input in inputs {
        let mut items = Items::new(input);
        while let Some(item) = items.next().unwrap() {
            let Item::Gap(gap) = item else { continue };
            assert!(!gap.is_damage(), "look {look}: {gap:#?}");
        }
    }
}

/// `check` and `view` once said of half of the looks at such a log that records in it are missing and bytes
/// damaged.
#[test]
fn a_log_that_is_being_written_is_whole() {
    read(1 << 40, 150_000, recovers);
}

#[test]
fn files_that_are_rotated_while_they_are_read_are_whole() {
    read(1 << 20, 100_000, recovers);
}

/// `dump` once said the same.
#[test]
fn each_file_is_walked_over_whole_while_it_is_written() {
    read(1 << 40, 150_000, walks);
}
