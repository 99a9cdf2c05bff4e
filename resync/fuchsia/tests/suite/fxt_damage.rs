//! Damaged traces: whatever is done to a trace, reading it does not panic, every byte
//! is accounted for, and every record outside the damage is returned.

use crate::common::trace;
use logdef_fuchsia::fxt::{
    BIG_ENDIAN_MAGIC_BYTES, GapReason, Item, Located, MAGIC_BYTES, Problem, Reader, Record,
    Records, Tracker, WarningKind,
};
use std::cell::Cell;
use std::rc::Rc;

/// The items of `bytes`, having checked that they cover it without overlap.
fn items(bytes: &[u8]) -> Vec<Item<'_>> {
    let items: Vec<Item<'_>> = Records::new(bytes).collect();
    let mut at = 0;
    for item in &items {
        match item {
            Item::Record(found) => {
                assert_eq!(found.offset, at);
                assert_eq!(found.bytes, &bytes[at as usize..][..found.bytes.len()]);
                at += found.bytes.len() as u64;
            }
            Item::Gap(gap) => {
                assert_eq!(gap.offset, at);
                assert!(gap.len > 0);
                at += gap.len;
            }
        }
    }
    assert_eq!(at, bytes.len() as u64);
    items
}

fn is_record_at(items: &[Item<'_>], start: usize, end: usize) -> bool {
    items.iter().any(|item| {
        matches!(item, Item::Record(Located { offset, bytes, .. })
            if *offset == start as u64 && bytes.len() == end - start)
    })
}

/// The items of a stream, each as text, as they cannot outlive their reader.
fn streamed(input: impl std::io::Read) -> Vec<String> {
    let mut reader = Reader::new(input);
    let mut texts = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        texts.push(format!("{item:?}"));
    }
    texts
}

/// Delivers a byte at a time.
struct OneByOne<'a>(&'a [u8]);

impl std::io::Read for OneByOne<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.len().min(to.len()).min(1);
        self.0.read(&mut to[..n])
    }
}

#[test]
fn the_whole_trace_is_read_without_a_gap() {
    let (bytes, starts) = trace();
    let items = items(&bytes);
    assert_eq!(items.len(), starts.len() - 1);
    for pair in starts.windows(2) {
        assert!(is_record_at(&items, pair[0], pair[1]));
    }
}

#[test]
fn every_truncation_returns_what_is_whole_and_reports_the_tail() {
    let (bytes, starts) = trace();
    for len in 0..=bytes.len() {
        let items = items(&bytes[..len]);
        let whole = starts.iter().filter(|&&start| start <= len).count() - 1;
        let torn = len - starts[whole];
        for pair in starts[..=whole].windows(2) {
            assert!(is_record_at(&items, pair[0], pair[1]), "cut at {len}");
        }
        assert_eq!(items.len(), whole + usize::from(torn > 0), "cut at {len}");
        if torn > 0 {
            let Some(Item::Gap(gap)) = items.last() else {
                panic!("cut at {len}: {:?}", items.last());
            };
            assert_eq!((gap.offset, gap.len), (starts[whole] as u64, torn as u64));
            assert!(
                matches!(gap.reason, GapReason::Truncated { .. }),
                "cut at {len}: {gap}"
            );
            if let GapReason::Truncated { missing } = gap.reason
                && torn >= 8
            {
                assert_eq!(missing, (starts[whole + 1] - len) as u64);
            }
        }
        if len % 7 == 0 {
            let expected: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
            assert_eq!(streamed(OneByOne(&bytes[..len])), expected, "cut at {len}");
        }
    }
}

#[test]
fn every_bit_flip_leaves_the_records_outside_it() {
    let (bytes, starts) = trace();
    let mut damaged = bytes.clone();
    let mut tracker_warnings = 0;
    let mut lost = Vec::new();
    for bit in 0..bytes.len() * 8 {
        damaged[bit / 8] ^= 1 << (bit % 8);
        let items = items(&damaged);
        for pair in starts.windows(2) {
            let hit = (pair[0]..pair[1]).contains(&(bit / 8));
            if !hit && !is_record_at(&items, pair[0], pair[1]) {
                let gaps: Vec<_> = items.iter().filter_map(gap).collect();
                lost.push((bit / 8, bit % 8, pair[0]..pair[1], gaps));
            }
        }
        // A gap names a place in the record that was hit.
        for item in &items {
            if let Item::Gap(gap) = item {
                let start = starts.iter().rfind(|&&start| start <= bit / 8).unwrap();
                assert!(gap.offset >= *start as u64, "bit {bit}: {gap}");
            }
        }
        let mut tracker = Tracker::new();
        for item in &items {
            if let Item::Record(found) = item {
                tracker_warnings += tracker.track(found).len();
                let _ = format!("{:?}", tracker.resolve(&found.record));
            }
        }
        if bit % 97 == 0 {
            let expected: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
            assert_eq!(streamed(&damaged[..]), expected, "bit {bit}");
            assert_eq!(streamed(OneByOne(&damaged)), expected, "bit {bit}");
        }
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(lost.is_empty(), "{}: {lost:#?}", lost.len());
    assert!(tracker_warnings > 0);
}

fn gap(item: &Item<'_>) -> Option<String> {
    match item {
        Item::Gap(gap) => Some(gap.to_string()),
        Item::Record(_) => None,
    }
}

fn gaps(bytes: &[u8]) -> Vec<(u64, u64, GapReason)> {
    items(bytes)
        .iter()
        .filter_map(|item| match item {
            Item::Gap(gap) => Some((gap.offset, gap.len, gap.reason)),
            Item::Record(_) => None,
        })
        .collect()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_size_of_zero_is_passed_over() {
    let bytes = words(&[
        0x0016_5478_4604_0010,
        0x04, // an event of no words
        1,
        2,
        0x0000_0000_0001_0033, // a thread
        10,
        11,
        0x0000_0001_0000_0029, // a log
        5,
    ]);
    assert_eq!(gaps(&bytes), [(8, 24, GapReason::ZeroSize)]);
}

#[test]
fn a_size_beyond_the_end_is_damage_if_records_follow_and_a_torn_tail_if_not() {
    let mut bytes = words(&[
        0x0016_5478_4604_0010,
        0x0000_0001_07e8_0ff9, // a log of 255 words, 253 of them text
        5,
    ]);
    assert_eq!(
        gaps(&bytes),
        [(8, 16, GapReason::Truncated { missing: 253 * 8 })]
    );
    bytes[10] = 0; // no text
    bytes[11] = 0;
    bytes.extend(words(&[0x0000_0001_0000_0029, 5, 0x0000_0001_0000_0029, 6]));
    assert_eq!(gaps(&bytes), [(8, 16, GapReason::BeyondEnd { words: 255 })]);
}

#[test]
fn an_inner_length_beyond_the_record_costs_that_record() {
    let log = [0x0000_0001_0000_0029, 5];
    let bytes = words(&[
        0x0016_5478_4604_0010,
        0x0000_0001_0009_0039, // a log of 9 bytes in one word
        5,
        0x6161_6161_6161_6161,
        log[0],
        log[1],
    ]);
    let [(8, 24, GapReason::Malformed(malformed))] = gaps(&bytes)[..] else {
        panic!("{:?}", gaps(&bytes));
    };
    assert_eq!(malformed.at, 16);
    assert_eq!(malformed.problem, Problem::EndsInside("message"));

    // An argument larger than its event, and one of no words.
    for (arg, size) in [(0x0003_0031, 3), (0x0003_0001, 0)] {
        let bytes = words(&[
            0x0016_5478_4604_0010,
            0x0000_0000_0110_0034,
            5,
            arg,
            log[0],
            log[1],
        ]);
        let [(8, 24, GapReason::Malformed(malformed))] = gaps(&bytes)[..] else {
            panic!("{:?}", gaps(&bytes));
        };
        assert_eq!(malformed.at, 16);
        assert_eq!(malformed.problem, Problem::ArgumentSize(size));
    }
}

#[test]
fn lengths_near_the_end_of_the_number_range_do_no_harm() {
    // Large blobs whose size word is as large as can be.
    for size in [u64::MAX, u64::MAX - 7, 1 << 63, u64::from(u32::MAX) * 8] {
        let bytes = words(&[0x0016_5478_4604_0010, 0x0000_0100_0000_004f, 0, size, 0]);
        assert_eq!(gaps(&bytes).len(), 1, "{size:#x}");
        assert_eq!(streamed(&bytes[..]).len(), 2);
    }
    // The largest size that a large record can claim.
    let bytes = words(&[0x0016_5478_4604_0010, 0x0000_010f_ffff_ffff, 0, 8, 0]);
    assert_eq!(gaps(&bytes).len(), 1);
    assert_eq!(streamed(&bytes[..]).len(), 2);
}

#[test]
fn a_big_endian_trace_is_refused_by_name() {
    let mut bytes = BIG_ENDIAN_MAGIC_BYTES.to_vec();
    bytes.extend([0; 64]);
    let found: Vec<_> = Records::new(&bytes).collect();
    let [Item::Gap(gap)] = found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(gap.reason, GapReason::BigEndian);
    let error = logdef_fuchsia::fxt::count(Reader::new(&bytes[..])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trace is big-endian; only little-endian traces can be read"
    );
}

#[test]
fn a_trace_joined_to_a_torn_one_is_found_at_any_alignment() {
    let (bytes, starts) = trace();
    for torn in [starts[5] + 3, starts[8] + 5, starts[20] + 4] {
        let mut joined = bytes[..torn].to_vec();
        joined.extend(&bytes);
        let items = items(&joined);
        for pair in starts.windows(2) {
            assert!(
                is_record_at(&items, torn + pair[0], torn + pair[1]),
                "torn at {torn}: {items:#?}"
            );
        }
    }
    assert!(bytes.starts_with(&MAGIC_BYTES));
}

#[test]
fn a_record_over_the_limit_is_passed_over_and_never_held() {
    use logdef_fuchsia::fxt::{LargeBlob, Plain, Thread, Writer};
    /// Fails if asked for more room than the limit allows.
    struct Watched<'a>(&'a [u8]);
    impl std::io::Read for Watched<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            assert!(to.len() <= 600 << 10, "{} bytes asked for", to.len());
            self.0.read(to)
        }
    }
    let data = vec![0x11; 3 << 20];
    let mut trace = Writer::new(Vec::new()).unwrap();
    let blob = LargeBlob::<Plain<'_>> {
        category: "c",
        name: "n",
        origin: None,
        data: &data,
    };
    trace.log(1, Thread::new(1, 2), "before").unwrap();
    trace.write(blob).unwrap();
    trace.log(2, Thread::new(1, 2), "after").unwrap();
    let bytes = trace.finish().unwrap();
    let mut reader = Reader::with_limit(Watched(&bytes), 100_000);
    let (mut logs, mut gaps) = (0, Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Gap(gap) => gaps.push(gap),
            Item::Record(found) => logs += usize::from(matches!(found.record, Record::Log(_))),
        }
    }
    assert_eq!(logs, 2);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].len, (3 << 20) + 5 * 8);
    assert!(matches!(gaps[0].reason, GapReason::TooLarge { .. }));
}

#[test]
fn references_that_nothing_defines_are_warned_of_and_read_as_placeholders() {
    let bytes = words(&[
        0x0016_5478_4604_0010,
        0x0002_0001_0700_0024, // instant on thread 7, category 1, name 2
        5,
    ]);
    let mut tracker = Tracker::new();
    let mut seen = Vec::new();
    for item in items(&bytes) {
        let Item::Record(found) = item else { continue };
        seen.extend(tracker.track(&found).iter().map(|w| (w.offset, w.kind)));
        if let Record::Event(event) = tracker.resolve(&found.record) {
            assert_eq!(
                (&*event.category, &*event.name),
                ("<string 1>", "<string 2>")
            );
            assert_eq!(event.thread.thread.0, 0);
        }
    }
    assert_eq!(
        seen,
        [
            (8, WarningKind::UndefinedThread(7)),
            (8, WarningKind::UndefinedString(1)),
            (8, WarningKind::UndefinedString(2)),
        ]
    );
}

#[test]
fn an_input_that_is_no_trace_gives_gaps_only() {
    let text = "No trace at all, but some lines of text.\n".repeat(100);
    for item in items(text.as_bytes()) {
        assert!(matches!(item, Item::Gap(_)), "{item:?}");
    }
    assert_eq!(items(&[]), []);
    let zeros = [0; 4096];
    assert_eq!(gaps(&zeros), [(0, 4096, GapReason::ZeroSize)]);
}

/// Zeros are passed over many words at a time; what ends them is found wherever it stands.
#[test]
fn records_and_magic_numbers_are_found_behind_zeros_of_any_length() {
    let records = words(&[0x0000_0001_0000_0029, 5, 0x0000_0001_0000_0029, 6]);
    let magic = words(&[0x0016_5478_4604_0010]);
    for zeros in 8..200 {
        let front = [&magic[..], &vec![0; zeros]].concat();
        let trace = [&front[..], &magic[..], &records[..]].concat();
        assert_eq!(gaps(&trace), [(8, zeros as u64, GapReason::ZeroSize)]);
        if zeros % 8 == 0 {
            let trace = [&front[..], &records[..]].concat();
            assert_eq!(gaps(&trace), [(8, zeros as u64, GapReason::ZeroSize)]);
        }
    }
}

/// An input that has holes, and counts what was read of it.
struct Sparse {
    bytes: Vec<u8>,
    at: usize,
    read: Rc<Cell<u64>>,
}

/// As pages are.
const PAGE: usize = 512;

impl std::io::Read for Sparse {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let got = (&self.bytes[self.at..]).read(buffer)?;
        self.at += got;
        self.read.set(self.read.get() + got as u64);
        Ok(got)
    }
}

impl Sparse {
    fn skip_hole(&mut self, most: u64) -> std::io::Result<u64> {
        let is_hole = |at: &usize| {
            let end = self.bytes.len().min(at + PAGE);
            self.bytes[*at..end].iter().all(|byte| *byte == 0)
        };
        let pages = (self.at.next_multiple_of(PAGE)..self.bytes.len()).step_by(PAGE);
        let here = self.bytes.len().min(self.at.next_multiple_of(PAGE));
        let zeros = self.bytes[self.at..here].iter().all(|byte| *byte == 0);
        let end = pages
            .take_while(is_hole)
            .last()
            .map_or(here, |at| at + PAGE);
        let hole = if zeros {
            end.min(self.bytes.len()) - self.at
        } else {
            0
        };
        let skipped = (hole as u64).min(most) & !7;
        self.at += skipped as usize;
        Ok(skipped)
    }
}

#[test]
fn holes_are_passed_over_as_the_zeros_that_they_are() {
    let (whole, _) = trace();
    let mut skipped_most = 0;
    for seed in 0..300_usize {
        let mut bytes = Vec::new();
        for part in 0..1 + seed % 4 {
            let cut = whole.len() * (1 + (seed * 7 + part * 3) % 9) / 9;
            bytes.extend(&whole[..cut - seed % 3]);
            bytes.resize(bytes.len() + (seed * 37 + part) % 5 * 300_001, 0);
            if seed % 5 == 1 {
                // A record whose size reaches far beyond what may be held.
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                bytes.extend((15 | 40_000_u64 << 4).to_le_bytes());
            }
        }
        let found = |reader: &mut Reader<Sparse>| {
            let mut found = String::new();
            while let Some(item) = reader.next().unwrap() {
                match item {
                    Item::Gap(gap) => found += &format!("{gap}\n"),
                    Item::Record(record) => {
                        found += &format!("{} {:?}\n", record.offset, record.record)
                    }
                }
            }
            found
        };
        let read = Rc::new(Cell::new(0));
        let sparse = || Sparse {
            bytes: bytes.clone(),
            at: 0,
            read: read.clone(),
        };
        let mut plain = Reader::with_limit(sparse(), 100_000);
        let plain = found(&mut plain);
        let read_all = read.take();
        let mut skipping = Reader::with_limit(sparse(), 100_000).over_holes(Sparse::skip_hole);
        assert!(found(&mut skipping) == plain, "{seed}");
        skipped_most = skipped_most.max(read_all - read.take());
    }
    assert!(skipped_most > 1_000_000, "{skipped_most}");
}
