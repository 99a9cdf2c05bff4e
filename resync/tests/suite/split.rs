//! However an input is split, its parts together hold each frame once.

use crate::synth::{self, Log, Random};
use logdef_resync::{Input, Item, Items, split};
use logdef_wire::Run;

fn offsets(items: &mut Items<'_>) -> Vec<(u64, u64)> {
    let mut offsets = Vec::new();
    while let Some(item) = items.next().unwrap() {
        if let Item::Frame(frame) = item {
            offsets.push((frame.offset, frame.end()));
        }
    }
    offsets
}

fn log() -> Log {
    let mut log = synth::chunked(Run(7), 2, 30, 1024, 1);
    log.append(&synth::appended(Run(8), 2, 10, 2));
    log
}

#[test]
fn a_log_split_anywhere_reads_as_the_whole() {
    let mut damaged = log();
    let mut random = Random::new(9);
    for _ in 0..6 {
        let at = random.below(damaged.bytes.len());
        damaged.bytes[at] ^= 0x55;
    }
    for bytes in [log().bytes, damaged.bytes] {
        let input = Input::from_bytes("log", bytes);
        let whole = offsets(&mut Items::new(&input));
        for at in (0..=input.len()).step_by(3) {
            let mut parts = offsets(&mut split::part(&input, 0..at).unwrap());
            parts.extend(offsets(&mut split::part(&input, at..input.len()).unwrap()));
            assert_eq!(parts, whole, "split at {at}");
        }
    }
}

/// Another writer's frame may hold frames; a part that starts inside does not
/// enter it.
#[test]
fn a_frame_within_a_frame_belongs_to_the_part_of_the_outer_one() {
    let inner = log();
    let mut body = vec![0x63, 0x81, 0x00, 0xdb];
    body.extend((inner.bytes.len() as u32).to_be_bytes());
    body.extend(&inner.bytes);
    let mut outer = Log::new();
    outer
        .preamble(Run(1), None)
        .unmasked(&body)
        .preamble(Run(1), None);
    let input = Input::from_bytes("outer", outer.bytes);
    let whole = offsets(&mut Items::new(&input));
    assert_eq!(whole.len(), 3);
    for at in (0..=input.len()).step_by(7) {
        let mut parts = offsets(&mut split::part(&input, 0..at).unwrap());
        parts.extend(offsets(&mut split::part(&input, at..input.len()).unwrap()));
        assert_eq!(parts, whole, "split at {at}");
    }
}

#[test]
fn ranges_cover_the_input_once() {
    let input = Input::from_bytes("log", vec![0; 1001]);
    let ranges = split::ranges(&input, 7);
    assert_eq!(ranges.len(), 7);
    assert_eq!((ranges[0].start, ranges[6].end), (0, 1001));
    assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
}
