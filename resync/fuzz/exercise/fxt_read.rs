//! Everything that reads a trace, done to bytes of any kind, and what must hold
//! whatever they are. The fuzz target and the test that replays its corpus share it.

use logdef_fuchsia::fxt::{
    Decoded, Format, GapReason, Item, Reader, Records, Strict, Tracker, check, count, dump,
};

/// Delivers a few bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.len().min(to.len()).min(1 + self.0.len() % 13);
        self.0.read(&mut to[..n])
    }
}

/// Panics if something does not hold.
pub fn exercise(bytes: &[u8]) {
    let mut tracker = Tracker::new();
    let mut strict = Strict::default();
    // Without a limit, as a slice has none.
    let mut reader = Reader::with_limit(Trickle(bytes), u64::MAX);
    let mut at = 0;
    let mut is_refused = false;
    for item in Records::new(bytes) {
        // A stream gives what a slice gives.
        let streamed = reader.next().expect("slices can be read");
        let streamed = streamed.expect("as many items as in the slice");
        match (item, streamed) {
            (Item::Record(found), Item::Record(streamed)) => {
                assert_eq!(found.offset, at);
                assert_eq!(
                    (found.offset, found.bytes),
                    (streamed.offset, streamed.bytes)
                );
                at += found.bytes.len() as u64;
                tracker.track(&found);
                tracker.resolve(&found.record);
                // What decodes encodes to the same bytes, but for what should be zero.
                let decoded = Decoded {
                    record: found.record,
                    extra: found.extra,
                };
                let mut written = Vec::new();
                decoded.encode(&mut written).expect("what decodes encodes");
                assert_eq!(written.len(), found.bytes.len());
                assert!(written.iter().zip(found.bytes).all(|(w, b)| w & !b == 0));
                let is_same = written == found.bytes;
                assert_eq!(strict.check(&found).next().is_none(), is_same);
            }
            (Item::Gap(gap), Item::Gap(streamed)) => {
                assert_eq!(gap, streamed);
                assert_eq!(gap.offset, at);
                assert!(gap.len > 0);
                at += gap.len;
                is_refused = gap.reason == GapReason::BigEndian;
            }
            (item, streamed) => panic!("{item:?} from a slice, {streamed:?} from a stream"),
        }
    }
    assert!(reader.next().expect("slices can be read").is_none());
    if is_refused {
        assert!(count(Reader::new(bytes)).is_err());
        return;
    }
    // Every byte is accounted for.
    assert_eq!(at, bytes.len() as u64);
    let counted = count(Reader::new(bytes)).expect("slices can be read");
    assert_eq!(counted.bytes, at);
    for format in [Format::Text, Format::Json] {
        let dumped = dump(Reader::new(bytes), std::io::sink(), format).expect("slices can be read");
        assert_eq!(dumped, counted);
        check(Reader::new(bytes), std::io::sink(), format).expect("slices can be read");
    }
}
