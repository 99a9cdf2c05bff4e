//! Every bit of a small log flipped, every length cut: what was not touched is
//! read, what was touched is accounted for, and nothing is invented.

use crate::synth::{self, Log};
use logdef_resync::{GapKind, Input, Item, Items, Recovery, Torn};
use logdef_wire::Run;
use std::ops::Range;

fn logs() -> Vec<Log> {
    let records = if synth::slow() { 600 } else { 12 };
    let chunk = if synth::slow() { 4096 } else { 1024 };
    let logs = vec![
        synth::appended(Run(7), 3, records, 1),
        synth::chunked(Run(7), 2, records, chunk, 2),
    ];
    assert!(!synth::slow() || logs.iter().all(|log| log.bytes.len() >= 64 << 10));
    logs
}

type Gaps = Vec<(Range<usize>, GapKind)>;

/// The frames and gaps of some bytes; checks that they leave no byte out.
fn walk(bytes: &[u8]) -> (Vec<Range<usize>>, Gaps) {
    let mut items = Items::of_bytes(bytes);
    let (mut frames, mut gaps) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(item) = items.next().unwrap() {
        let (start, end) = (item.offset() as usize, item.end() as usize);
        assert_eq!(start, at, "items follow each other");
        assert!(end > start);
        at = end;
        match item {
            Item::Frame(_) => frames.push(start..end),
            Item::Gap(gap) => gaps.push((start..end, gap.kind)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(at, bytes.len(), "every byte is in an item");
    (frames, gaps)
}

#[test]
fn an_untouched_log_is_read_whole() {
    for log in logs() {
        let (frames, gaps) = walk(&log.bytes);
        assert_eq!(frames, log.frames);
        assert!(
            gaps.iter().all(|(_, kind)| *kind == GapKind::Padding),
            "{gaps:?}"
        );
        let inputs = [Input::from_bytes("log", log.bytes)];
        let recovery = Recovery::of(&inputs).unwrap();
        assert!(recovery.is_clean() && recovery.lost() == 0);
    }
}

#[test]
fn a_flipped_bit_costs_the_frame_it_is_in() {
    for mut log in logs() {
        for bit in 0..log.bytes.len() * 8 {
            let at = bit / 8;
            log.bytes[at] ^= 1 << (bit % 8);
            let (frames, gaps) = walk(&log.bytes);
            let intact = log.frames.iter().filter(|frame| !frame.contains(&at));
            assert!(frames.iter().eq(intact), "bit {bit}");
            // One gap holds the frame that was hit, or the zero that no longer
            // is one; all others are padding.
            let mut marked = gaps.iter().filter(|(_, kind)| *kind != GapKind::Padding);
            let (range, _) = marked
                .next()
                .unwrap_or_else(|| panic!("bit {bit} went unnoticed"));
            assert!(range.contains(&at), "bit {bit} is not in {range:?}");
            assert!(marked.next().is_none(), "bit {bit}");
            if let Some(frame) = log.frames.iter().find(|frame| frame.contains(&at)) {
                let zeros = &log.bytes[frame.end..range.end.max(frame.end)];
                assert!(
                    range.start <= frame.start && zeros.iter().all(|byte| *byte == 0),
                    "bit {bit}"
                );
            }
            log.bytes[at] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn a_cut_at_any_length_is_torn_and_no_damage() {
    for log in logs() {
        for len in 0..log.bytes.len() {
            let (frames, gaps) = walk(&log.bytes[..len]);
            let intact = log.frames.iter().filter(|frame| frame.end <= len);
            assert!(frames.iter().eq(intact), "cut at {len}");
            let cut = log
                .frames
                .iter()
                .find(|frame| frame.start < len && len < frame.end);
            let torn: Vec<_> = gaps
                .iter()
                .filter(|(_, kind)| *kind != GapKind::Padding)
                .collect();
            match cut {
                Some(frame) => {
                    let expected = (frame.start..len, GapKind::Torn(Torn::Cut));
                    assert_eq!(torn, [&expected], "cut at {len}");
                }
                None => assert!(torn.is_empty(), "cut at {len}: {torn:?}"),
            }
        }
    }
}

#[test]
fn a_cut_log_that_was_appended_to_is_torn_where_the_next_begins() {
    let log = synth::appended(Run(7), 2, 6, 3);
    let next = synth::appended(Run(8), 2, 6, 4);
    for len in 0..log.bytes.len() {
        let cut = log
            .frames
            .iter()
            .find(|frame| frame.start < len && len < frame.end);
        if cut.is_some_and(|frame| next.bytes.starts_with(&log.bytes[len..frame.end])) {
            // What was appended happens to complete the frame.
            continue;
        }
        let mut both = Log::new();
        both.raw(&log.bytes[..len]).append(&next);
        let inputs = [Input::from_bytes("both", both.bytes)];
        let recovery = Recovery::of(&inputs).unwrap();
        assert!(
            recovery.is_clean(),
            "cut at {len}: {:?}",
            recovery.accounts()
        );
        assert_eq!(recovery.accounts()[0].damage.count, 0);
    }
}
