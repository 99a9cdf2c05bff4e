//! A small log of a real program is damaged in every simple way there is, and
//! the reader must lose what was touched and nothing else.

use logdef_resync::{Gap, GapKind, Item, Items};
use logdef_samples::frames;
use logdef_samples::smash::{Blow, Random};
use logdef_samples::workshop::{Workshop, run};
use std::fs;
use std::sync::OnceLock;

/// The log of a short run of the sample shop.
fn log() -> &'static [u8] {
    static LOG: OnceLock<Vec<u8>> = OnceLock::new();
    LOG.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.log");
        run(Workshop::open()
            .command("orders")
            .arg(&path)
            .args(["0", "12"]));
        let bytes = fs::read(path).unwrap();
        // Of the zeros between the frames a few will do.
        let mut log = Vec::new();
        for frame in frames::scan(&bytes) {
            if frame.tag == 0 && !log.is_empty() {
                log.resize(log.len() + 20, 0);
            }
            log.extend_from_slice(&bytes[frame.range]);
        }
        log
    })
}

/// What the reader makes of bytes: its frames as they stand, and its gaps.
/// Every byte is in one of them.
fn read(bytes: &[u8]) -> (Vec<&[u8]>, Vec<Gap>) {
    let mut items = Items::of_bytes(bytes);
    let (mut frames, mut gaps) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(item) = items.next().unwrap() {
        let (start, len) = (item.offset(), item.end() - item.offset());
        assert_eq!(start, at, "a byte is in no item or in two");
        assert!(len > 0);
        at += len;
        match item {
            Item::Frame(_) => frames.push(&bytes[start as usize..at as usize]),
            Item::Gap(gap) => gaps.push(gap),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(at, bytes.len() as u64);
    (frames, gaps)
}

fn originals() -> Vec<&'static [u8]> {
    frames::scan(log())
        .into_iter()
        .map(|frame| &log()[frame.range])
        .collect()
}

#[test]
fn a_whole_log_has_the_frames_that_the_other_reader_finds() {
    let (frames, _) = read(log());
    assert_eq!(frames, originals());
    assert!(frames.len() > 30, "{}", frames.len());
}

#[test]
fn each_flipped_byte_costs_the_frame_it_is_in() {
    let whole = frames::scan(log());
    let mut bytes = log().to_vec();
    for at in 0..bytes.len() {
        for mask in [1 << (at % 8), 0xff] {
            bytes[at] ^= mask;
            let mut expected = originals();
            if let Some(touched) = whole.iter().position(|frame| frame.range.contains(&at)) {
                expected.remove(touched);
            }
            let (frames, gaps) = read(&bytes);
            assert_eq!(frames, expected, "byte {at} ^ {mask:#x}");
            assert!(
                gaps.iter()
                    .any(|gap| (gap.offset..gap.end()).contains(&(at as u64)))
            );
            bytes[at] ^= mask;
        }
    }
}

#[test]
fn each_cut_leaves_the_frames_before_it_and_is_no_damage() {
    let whole = frames::scan(log());
    for len in 0..log().len() {
        let (frames, gaps) = read(&log()[..len]);
        let left = whole.iter().filter(|frame| frame.range.end <= len).count();
        assert_eq!(frames, originals()[..left], "cut at {len}");
        for Gap { kind, .. } in gaps {
            assert!(
                matches!(kind, GapKind::Torn(_) | GapKind::Padding),
                "cut at {len}: {kind}"
            );
        }
    }
}

#[test]
fn many_random_blows_invent_no_record_and_hide_none() {
    let originals = originals();
    let mut random = Random(3);
    let rounds = match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => 100_000,
        None => 1_000,
    };
    for round in 0..rounds {
        let mut bytes = log().to_vec();
        for _ in 0..1 + random.below(5) {
            let at = random.below(bytes.len() as u64 - 1) as usize;
            let len = 1 + random.below((bytes.len() - at) as u64 / 4 + 1) as usize;
            let len = len.min(bytes.len() - at);
            let blow = match random.below(9) {
                0..3 => Blow::Flip { at },
                3..5 => Blow::Zero { at, len },
                5..7 => Blow::Remove { at, len },
                7 => Blow::Insert { at, len },
                _ => Blow::Cut { at: at.max(100) },
            };
            blow.deal(&mut bytes);
            if bytes.len() < 100 {
                break;
            }
        }
        let (frames, _) = read(&bytes);
        for frame in &frames {
            assert!(
                originals.contains(frame),
                "round {round}: a record that nobody wrote"
            );
        }
        let other: Vec<_> = frames::scan(&bytes)
            .into_iter()
            .map(|frame| &bytes[frame.range])
            .collect();
        assert_eq!(frames, other, "round {round}");
    }
}
