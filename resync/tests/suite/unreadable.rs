//! A medium that does not give some of its sectors: a gap, and not the end.

use crate::synth::{self, Log, Random};
use logdef_resync::{
    Damage, Event, GapKind, Input, Item, Items, Merge, MergeOptions, Recovery, Source,
};
use logdef_wire::Run;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

const SECTOR: usize = 4096;

/// Bytes of which some sectors fail.
#[derive(Debug)]
struct Medium {
    bytes: Vec<u8>,
    broken: BTreeSet<usize>,
    error: i32,
}

impl Medium {
    fn of(log: &Log, broken: &BTreeSet<usize>) -> Medium {
        Medium {
            bytes: log.bytes.clone(),
            broken: broken.clone(),
            error: libc::EIO,
        }
    }

    fn input(self) -> Input {
        let len = self.bytes.len() as u64;
        Input::from_source("medium", self, len)
    }
}

impl Source for Medium {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let offset = offset as usize;
        if self.broken.contains(&(offset / SECTOR)) && offset < self.bytes.len() {
            return Err(io::Error::from_raw_os_error(self.error));
        }
        // As the kernel does it: up to where the trouble begins.
        let rest = self.bytes.get(offset..).unwrap_or(&[]);
        let len = (1..)
            .map(|sectors| (offset / SECTOR + sectors) * SECTOR)
            .find(|end| *end >= self.bytes.len() || self.broken.contains(&(end / SECTOR)))
            .map_or(0, |end| end - offset)
            .min(rest.len())
            .min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

/// Ranges in order, those that touch made one.
fn joined(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// The bytes of broken sectors.
fn bytes_of(broken: &BTreeSet<usize>, len: usize) -> Vec<Range<u64>> {
    let sectors = broken.iter().map(|sector| {
        let (start, end) = (sector * SECTOR, len.min((sector + 1) * SECTOR));
        start as u64..end as u64
    });
    joined(sectors)
}

fn is_whole(frame: &Range<usize>, broken: &BTreeSet<usize>) -> bool {
    (frame.start / SECTOR..=(frame.end - 1) / SECTOR).all(|sector| !broken.contains(&sector))
}

#[test]
fn sectors_that_cannot_be_read_are_gaps() {
    let logs = [
        synth::appended(Run(7), 3, 1500, 31),
        synth::chunked(Run(8), 3, 1500, 3 * SECTOR, 32),
    ];
    for (log, seed) in logs.iter().flat_map(|log| (0..40).map(move |n| (log, n))) {
        let mut random = Random::new(seed);
        let sectors = log.bytes.len().div_ceil(SECTOR);
        let count = random.below(sectors);
        let broken: BTreeSet<usize> = (0..count).map(|_| random.below(sectors)).collect();
        let input = Medium::of(log, &broken).input();

        let (mut frames, mut unreadable) = (Vec::new(), Vec::new());
        let mut items = Items::new(&input);
        let mut at = 0;
        while let Some(item) = items.next().unwrap() {
            let (start, end) = (item.offset(), item.end());
            match item {
                Item::Frame(_) => frames.push(start as usize..end as usize),
                Item::Gap(gap) if gap.kind == GapKind::Damage(Damage::Unreadable) => {
                    unreadable.push(start..end);
                }
                _ => {}
            }
            assert_eq!(start, at, "seed {seed}");
            at = end;
        }
        assert_eq!(at, log.bytes.len() as u64);
        let whole = log.frames.iter().filter(|frame| is_whole(frame, &broken));
        assert!(whole.eq(&frames), "seed {seed}");
        let expected = bytes_of(&broken, log.bytes.len());
        assert_eq!(joined(unreadable.clone()), expected, "seed {seed}");

        let data = frames.iter().filter(|frame| log.is_data(frame)).count();
        let inputs = [input];
        let recovery = Recovery::of(&inputs).unwrap();
        let account = &recovery.accounts()[0];
        assert_eq!(account.data(), data as u64);
        let listed = account.gaps.iter().map(|report| report.gap);
        let listed = listed.filter(|gap| gap.kind == GapKind::Damage(Damage::Unreadable));
        assert!(listed.map(|gap| gap.offset..gap.end()).eq(unreadable));
        assert_eq!(recovery.is_clean(), broken.is_empty());
        let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
        let mut merged = 0;
        while let Some(event) = merge.next().unwrap() {
            merged += usize::from(matches!(event, Event::Frame(_)));
        }
        assert_eq!(merged, data, "seed {seed}");
    }
}

#[test]
fn another_error_is_one() {
    let log = synth::appended(Run(7), 3, 1500, 31);
    let medium = Medium {
        error: libc::ESTALE,
        ..Medium::of(&log, &BTreeSet::from([3]))
    };
    let error = Recovery::of(&[medium.input()]).unwrap_err();
    assert_eq!(error.cause().raw_os_error(), Some(libc::ESTALE));
    assert!(error.to_string().starts_with("medium: "), "{error}");
}

/// What is gone when it is sought again is in no account: a merge would be a log that looks whole.
#[test]
fn a_file_that_is_cut_after_it_was_recovered_is_not_merged() {
    let log = synth::appended(Run(1), 2, 50, 7);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.log");
    std::fs::write(&path, &log.bytes).unwrap();
    let inputs = [Input::open(&path).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    let merged = |out: &mut Vec<u8>| logdef_resync::rewrite::merge(&inputs, &recovery, out);
    assert!(recovery.check_whole(&inputs).is_ok());
    merged(&mut Vec::new()).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(log.bytes.len() as u64 / 2).unwrap();
    let error = merged(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("cut while it was read"));
    assert!(recovery.check_whole(&inputs).is_err());
    // Recovered again, it is damaged.
    let recovery = Recovery::of(&inputs).unwrap();
    assert!(!recovery.is_clean());
    let gone = inputs[0].gone_from().unwrap();
    let damage = recovery.accounts()[0].damage.bytes;
    assert!(gone <= log.bytes.len() as u64 / 2 && damage >= log.bytes.len() as u64 / 2);
}
