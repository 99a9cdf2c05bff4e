//! An archive that grows: nothing is in it twice, and a part is there whole or not at all.

use crate::made::{archive, held, opened, push};
use logdef_archive::{Archive, Unit};
use logdef_resync::Input;
use std::fs;

/// Records of a thread from one count to another, each with its count as argument.
fn log(thread: u64, counts: std::ops::Range<u64>) -> Vec<u8> {
    let mut log = Vec::new();
    for count in counts {
        push(&mut log, |out| {
            out.uint(127)?;
            out.map(5)?;
            out.uint(3)?;
            out.uint(48)?;
            out.uint(5)?;
            out.uint64(7)?;
            out.uint(7)?;
            out.uint64(thread << 40 | count)?;
            out.uint(8)?;
            out.uint64(1_700_000_000_000_000_000 + count * 1_234_567 + thread)?;
            out.uint(9)?;
            out.array(1)?;
            out.uint(count)
        });
    }
    log
}

#[test]
fn records_of_another_part_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let first = log(0, 0..50);
    assert_eq!(archive(&path, &[&first], None).records, 50);
    // The same log, longer, with another.
    let longer = log(0, 0..80);
    let other = log(1, 0..20);
    let added = archive(&path, &[&longer, &other], None);
    assert_eq!((added.records, added.known), (50, 50), "{added:?}");
    let again = archive(&path, &[&longer, &other], None);
    assert_eq!((again.records, again.known), (0, 100), "{again:?}");
    let logs = [longer, other].map(|log| Input::from_bytes("log", log));
    assert_eq!(held(&opened(&path)), held(&logs));
}

#[test]
fn times_of_two_units_do_not_mix_and_coarse_ones_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    archive(&path, &[&log(0, 0..9)], Some(Unit::Microseconds));
    let error = Archive::open(&path, Some(Unit::Nanoseconds)).unwrap_err();
    assert!(error.to_string().contains("another unit"), "{error}");
    // Without a word of it, the unit is that of the archive.
    assert_eq!(archive(&path, &[&log(0, 9..12)], None).records, 3);
    let (frames, _) = held(&opened(&path));
    assert_eq!(frames.len(), 12);
    for (count, (body, _)) in (0..).zip(&frames) {
        let time = logdef_wire::record::Glance::of(body).unwrap().time.unwrap();
        let whole = 1_700_000_000_000_000_000u64 + count * 1_234_567;
        assert_eq!(time, whole / 1000 * 1000);
    }
}

#[test]
fn other_folders_and_other_writers_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "mine").unwrap();
    let error = Archive::open(folder.path(), None).unwrap_err();
    assert!(error.to_string().contains("is not an archive"), "{error}");
    let path = folder.path().join("kept");
    let held = Archive::open(&path, None).unwrap();
    let error = Archive::open(&path, None).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(held);
    // What a writer left that was killed is removed.
    fs::create_dir(path.join("new.tmp")).unwrap();
    fs::write(path.join("new.tmp/records.parquet"), "half").unwrap();
    archive(&path, &[&log(0, 0..3)], None);
    assert!(!path.join("new.tmp").exists());
    assert_eq!(logdef_archive::parts(&path).len(), 1);
}
