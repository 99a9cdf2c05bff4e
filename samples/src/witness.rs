//! Reads the logs of [`crate::story`] and checks them: every record is one of the story,
//! stands once, and finds before it, in its own chunk, everything that it refers to.

use crate::frames::{self, Frame, Value};
use crate::story;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What was read in the files of one log.
#[derive(Debug)]
pub struct Witness {
    seed: u64,
    counts: BTreeMap<u64, BTreeSet<u64>>,
    numbers: BTreeMap<u64, i128>,
    /// Its files are of one chunk each, whose size stands in no preamble.
    appended: bool,
    /// Data records.
    pub records: u64,
}

/// What a chunk has defined so far.
#[derive(Default)]
struct Chunk {
    range: Range<usize>,
    images: BTreeSet<(Option<i128>, Option<i128>)>,
    strings: BTreeMap<(Option<i128>, Option<i128>), Vec<u8>>,
    addresses: BTreeSet<i128>,
    threads: BTreeSet<i128>,
}

impl Witness {
    /// A witness that has read nothing yet of the story of `seed`.
    pub fn new(seed: u64) -> Self {
        Witness {
            seed,
            counts: BTreeMap::new(),
            numbers: BTreeMap::new(),
            appended: false,
            records: 0,
        }
    }

    /// A witness that has read nothing yet of the story of `seed`, as the append sink writes it.
    pub fn of_appended(seed: u64) -> Self {
        Witness {
            appended: true,
            ..Witness::new(seed)
        }
    }

    /// Reads a file.
    ///
    /// # Panics
    ///
    /// At the first thing that is not as it should be.
    pub fn read(&mut self, log: &[u8]) {
        let mut chunk = Chunk::default();
        if self.appended {
            chunk.range = 0..log.len();
        }
        for frame in frames::scan(log) {
            match frame.tag {
                0 => {
                    if let Some(size) = frame.int(13) {
                        assert!(chunk.range.end <= frame.range.start, "a chunk in a chunk");
                        let range = frame.range.start..frame.range.start + size as usize;
                        chunk = Chunk {
                            range,
                            ..Chunk::default()
                        };
                    }
                    chunk.images.insert((frame.int(0), frame.int(5)));
                }
                1 => {
                    let string = frame.raw(2).expect("a string").to_vec();
                    chunk.strings.insert((frame.int(0), frame.int(1)), string);
                }
                2 => {
                    let _ = chunk.addresses.insert(frame.int(1).expect("an address"));
                }
                3 => {
                    let _ = chunk.threads.insert(frame.int(4).expect("a number"));
                }
                127 => self.read_record(&chunk, &frame),
                _ => {}
            }
        }
    }

    fn read_record(&mut self, chunk: &Chunk, frame: &Frame) {
        let what = format!("seed {}, frame at {:#x}", self.seed, frame.range.start);
        assert!(
            chunk.range.contains(&(frame.range.end - 1)),
            "{what}: outside its chunk"
        );
        let image = (frame.int(0), frame.int(5));
        assert!(chunk.images.contains(&image), "{what}: no preamble");
        let string = |field| {
            let string = chunk.strings.get(&(frame.int(0), frame.int(field)));
            string.unwrap_or_else(|| panic!("{what}: no string of field {field}"))
        };
        assert!(string(1).starts_with(b"samples/"), "{what}: file");
        let (thread, count) = self.thread_and_count(frame, string(4), &what);
        let backtrace = frame.fields.get(&10).and_then(Value::array);
        for address in backtrace.unwrap_or_default() {
            let address = address.int().expect("an address");
            assert!(chunk.addresses.contains(&address), "{what}: an address");
        }
        let sequence = frame.int(7).expect(&what);
        assert_eq!(sequence & 0xff_ffff_ffff, count.into(), "{what}: count");
        let number = *self.numbers.entry(thread).or_insert(sequence >> 40);
        assert_eq!(sequence >> 40, number, "{what}: thread number");
        assert!(chunk.threads.contains(&number), "{what}: no thread");
        assert!(
            self.counts.entry(thread).or_default().insert(count),
            "{what}: twice"
        );
        self.records += 1;
    }

    /// Thread and count of a record, after its format, arguments, level and
    /// backtrace were found to be what the story says.
    fn thread_and_count(&self, frame: &Frame, format: &[u8], what: &str) -> (u64, u64) {
        let args = frame.fields.get(&9).and_then(Value::array).expect(what);
        let number = |at: usize| u64::try_from(args[at].int().expect(what)).expect(what);
        let (count, thread) = (number(0), number(1));
        let format = std::str::from_utf8(format).expect(what);
        let expected = story::FORMATS[story::kind(self.seed, thread, count)];
        if let Some((format, site)) = format.split_once(story::AT_SITE) {
            assert_eq!(format, expected, "{what}: format");
            let site = u64::from_str_radix(site, 16).expect(what);
            assert_eq!(site, (thread * 37 + count) % story::SITES, "{what}: site");
        } else {
            assert_eq!(format, expected, "{what}: format");
        }
        assert_eq!(args, story::args(self.seed, thread, count), "{what}");
        let is_error = story::is_error(count);
        let level = if is_error { 0x50 } else { 0x30 };
        assert_eq!(frame.int(3), Some(level), "{what}: level");
        let backtrace = frame.fields.get(&10).and_then(Value::array);
        assert_eq!(
            backtrace.is_some_and(|stack| !stack.is_empty()),
            is_error,
            "{what}: backtrace"
        );
        (thread, count)
    }

    /// Swears that of each thread every record is there whose call had
    /// returned, at most one more, and nothing else.
    ///
    /// # Panics
    ///
    /// If that is not so.
    pub fn swear(mut self, returned: &[u64]) {
        let seed = self.seed;
        for (thread, returned) in (0..).zip(returned) {
            let seen = self.counts.remove(&thread).unwrap_or_default();
            let len = seen.len() as u64;
            let missing = (0..len).find(|count| !seen.contains(count));
            assert_eq!(
                missing, None,
                "seed {seed}, thread {thread}: of {returned} returned, a record is missing"
            );
            assert!(
                (*returned..=returned + 1).contains(&len),
                "seed {seed}, thread {thread}: {returned} calls returned, {len} records are there"
            );
        }
        let others = self.counts;
        assert!(
            others.is_empty(),
            "seed {seed}: threads that were not: {others:?}"
        );
    }
}
