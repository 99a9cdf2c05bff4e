//! Files that are cut, changed or made by others: an error or what is left, and never a panic that
//! leaves the library, nor more memory than a file's size allows for.

use crate::made::{Numbers, archive, held, push};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn log() -> Vec<u8> {
    let mut log = Vec::new();
    for count in 0..60u64 {
        push(&mut log, |out| {
            out.uint(127)?;
            out.map(6)?;
            out.uint(4)?;
            out.uint(count % 3)?;
            out.uint(5)?;
            out.uint64(7)?;
            out.uint(7)?;
            out.uint64(count)?;
            out.uint(8)?;
            out.uint64(1_700_000_000_000_000_000 + count)?;
            out.uint(9)?;
            out.array(2)?;
            out.uint(count)?;
            out.raw(b"some text")?;
            out.uint(10)?;
            out.array(1)?;
            out.uint(0x5500 + count)
        });
    }
    log
}

/// The part of an archive of that log, without its checksums, which would find each change.
fn part_without_sums(folder: &Path) -> PathBuf {
    let path = folder.join("kept");
    archive(&path, &[&log()], None);
    let part = logdef_archive::parts(&path).remove(0);
    fs::remove_file(part.join("sums.txt")).unwrap();
    part
}

/// Reads a part, and returns how many bytes it gave, or why none.
fn read(part: &Path) -> Result<u64, String> {
    let input = logdef_archive::open(part, 1 << 26).map_err(|error| error.to_string())?;
    let why = input.broken_off().map(str::to_owned);
    assert!(
        input.len() < 1 << 20,
        "{} bytes of a small file",
        input.len()
    );
    why.map_or(Ok(input.len()), Err)
}

const TABLES: [&str; 4] = [
    "records.parquet",
    "frames.parquet",
    "sites.parquet",
    "threads.parquet",
];

#[test]
fn no_change_to_a_file_breaks_the_reader() {
    let folder = tempfile::tempdir().unwrap();
    let part = part_without_sums(folder.path());
    let whole = read(&part).unwrap();
    let mut numbers = Numbers(1);
    let (mut refused, mut all) = (0, 0);
    for name in TABLES {
        let file = part.join(name);
        let good = fs::read(&file).unwrap();
        for _ in 0..150 {
            let mut bad = good.clone();
            match numbers.next(4) {
                0 => bad.truncate(numbers.next(good.len() as u64) as usize),
                _ => {
                    for _ in 0..=numbers.next(3) {
                        let at = numbers.next(good.len() as u64) as usize;
                        bad[at] = [0, 0xff, 0x7f, bad[at] ^ 1][numbers.next(4) as usize];
                    }
                }
            }
            fs::write(&file, bad).unwrap();
            all += 1;
            refused += u64::from(read(&part).is_err());
        }
        fs::write(&file, good).unwrap();
    }
    assert!(refused > all / 4, "{refused} of {all}");
    assert_eq!(read(&part), Ok(whole));
}

/// Of 600 bits that changed, 46 were once shown in silence as other values.
#[test]
fn a_bit_that_changes_is_never_shown_as_another_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    archive(&path, &[&log()], None);
    let part = logdef_archive::parts(&path).remove(0);
    let given = |part: &Path| {
        let input = logdef_archive::open(part, 1 << 26).map_err(|error| error.to_string())?;
        let why = input.broken_off().map(str::to_owned);
        why.map_or_else(|| Ok(held(&[input])), Err)
    };
    let whole = given(&part).unwrap();
    let mut numbers = Numbers(5);
    let mut refused = 0;
    for name in TABLES {
        let file = part.join(name);
        let good = fs::read(&file).unwrap();
        for _ in 0..150 {
            let mut bad = good.clone();
            let bit = numbers.next(8 * good.len() as u64);
            bad[bit as usize / 8] ^= 1 << (bit % 8);
            fs::write(&file, bad).unwrap();
            match given(&part) {
                // A bit of what only other programs read.
                Ok(given) => assert_eq!(given, whole, "bit {bit} of {name}"),
                Err(why) => {
                    refused += 1;
                    assert_eq!(why.lines().count(), 1, "{why}");
                }
            }
        }
        fs::write(&file, good).unwrap();
    }
    assert!(refused > 500, "{refused} of 600");
    assert_eq!(given(&part).unwrap(), whole);
}

/// A pipe in place of a file was once waited for without end.
#[test]
fn a_pipe_in_place_of_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let part = part_without_sums(folder.path());
    for name in ["sums.txt", "frames.parquet"] {
        let file = part.join(name);
        let good = fs::read(&file).ok();
        let _ = fs::remove_file(&file);
        let made = Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(made.success());
        assert!(read(&part).unwrap_err().contains("it is no file"), "{name}");
        fs::remove_file(&file).unwrap();
        good.into_iter()
            .for_each(|good| fs::write(&file, good).unwrap());
    }
}

#[test]
fn what_is_no_table_of_ours_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let part = part_without_sums(folder.path());
    let records = part.join("records.parquet");
    let good = fs::read(&records).unwrap();
    let refused = |bytes: &[u8], why: &str| {
        fs::write(&records, bytes).unwrap();
        let error = read(&part).unwrap_err();
        assert!(error.contains(why) && error.lines().count() == 1, "{error}");
    };
    refused(b"", "too short");
    refused(b"no Parquet at all", "does not end as a Parquet file");
    refused(&good[..good.len() - 1], "does not end as a Parquet file");
    let mut long = good.clone();
    let end = long.len() - 8;
    long[end..end + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    refused(&long, "does not end as a Parquet file");
    // Another table in its place.
    let sites = fs::read(part.join("sites.parquet")).unwrap();
    refused(&sites, "has other columns");
    fs::write(&records, &good).unwrap();
    fs::remove_file(part.join("threads.parquet")).unwrap();
    assert!(read(&part).unwrap_err().contains("threads.parquet"));
}
