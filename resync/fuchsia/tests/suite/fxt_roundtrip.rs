//! Random traces, written and read: what comes out is what went in. And random
//! bytes: what decodes encodes to the same bytes but for what should be zero.

use std::borrow::Cow;

use logdef_fuchsia::fxt::{
    Argument, Arguments, Blob, BlobKind, BlobOrigin, Decoded, Event, EventKind, Initialization,
    Item, KernelObject, Koid, LargeBlob, Layer, Log, Metadata, ObjectKind, Plain, ProcessRef,
    Profiler, ProviderEvent, ProviderId, Raw, RawArgument, Reader, Record, Records, Resolved,
    Scheduling, Strict, StringIndex, StringRef, Thread, ThreadIndex, ThreadRef, ThreadState,
    ThreadWord, TickRate, Ticks, Time, Tracker, UserspaceObject, Value, Writer,
};
use proptest::prelude::*;

/// What a record is made of, in no layer.
#[derive(Clone, Debug)]
struct Seed {
    which: u8,
    kind: u8,
    numbers: [u64; 4],
    texts: [String; 2],
    bytes: Vec<u8>,
    args: Vec<(String, ArgumentSeed)>,
}

#[derive(Clone, Debug)]
enum ArgumentSeed {
    Null,
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F64(u64),
    Text(String),
    Pointer(u64),
    Koid(u64),
    Bool(bool),
    Blob(Vec<u8>),
    Unknown(u8, u32, Vec<u8>),
}

/// Few different strings, so that references are shared; some long, some odd.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-d]{0,2}",
        1 => "[a-zäß☃\\x00-\\x1f]{0,40}",
        1 => (0..2000_usize).prop_map(|len| "long ".repeat(len / 5)),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_u64, any::<u64>(), Just(u64::MAX), Just(1_u64 << 63)]
}

fn words() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u64>(), 0..5)
        .prop_map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn argument() -> impl Strategy<Value = ArgumentSeed> {
    prop_oneof![
        Just(ArgumentSeed::Null),
        any::<i32>().prop_map(ArgumentSeed::I32),
        any::<u32>().prop_map(ArgumentSeed::U32),
        any::<i64>().prop_map(ArgumentSeed::I64),
        number().prop_map(ArgumentSeed::U64),
        // Not a NaN, which equals nothing.
        any::<f64>()
            .prop_filter("a number", |f| !f.is_nan())
            .prop_map(|f| ArgumentSeed::F64(f.to_bits())),
        text().prop_map(ArgumentSeed::Text),
        number().prop_map(ArgumentSeed::Pointer),
        number().prop_map(ArgumentSeed::Koid),
        any::<bool>().prop_map(ArgumentSeed::Bool),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(ArgumentSeed::Blob),
        (11..16_u8, any::<u32>(), words()).prop_map(|(k, d, b)| ArgumentSeed::Unknown(k, d, b)),
    ]
}

fn seed() -> impl Strategy<Value = Seed> {
    (
        0..14_u8,
        any::<u8>(),
        [number(), number(), number(), number()],
        [text(), text()],
        proptest::collection::vec(any::<u8>(), 0..100),
        proptest::collection::vec((text(), argument()), 0..=5),
    )
        .prop_map(|(which, kind, numbers, texts, bytes, args)| Seed {
            which,
            kind,
            numbers,
            texts,
            bytes,
            args,
        })
}

/// Makes the parts of a record in one layer.
trait Make<'s, L: Layer> {
    fn text(&self, text: &'s str) -> L::Text;
    fn spelled(&self, text: &'s str) -> L::Spelled;
    fn thread(&self, process: u64, thread: u64) -> L::Thread;
    fn process(&self, process: u64) -> L::Process;
    fn time(&self, ticks: u64) -> L::Time;
    fn bytes(&self, bytes: &'s [u8]) -> L::Bytes;
    fn args(&self, args: &'s [(String, ArgumentSeed)]) -> L::Args;
}

fn value<'s, T>(seed: &'s ArgumentSeed, text: impl Fn(&'s str) -> T) -> Value<'s, T> {
    match seed {
        ArgumentSeed::Null => Value::Null,
        ArgumentSeed::I32(v) => Value::I32(*v),
        ArgumentSeed::U32(v) => Value::U32(*v),
        ArgumentSeed::I64(v) => Value::I64(*v),
        ArgumentSeed::U64(v) => Value::U64(*v),
        ArgumentSeed::F64(v) => Value::F64(f64::from_bits(*v)),
        ArgumentSeed::Text(v) => Value::Text(text(v)),
        ArgumentSeed::Pointer(v) => Value::Pointer(*v),
        ArgumentSeed::Koid(v) => Value::Koid(Koid(*v)),
        ArgumentSeed::Bool(v) => Value::Bool(*v),
        ArgumentSeed::Blob(v) => Value::Blob(v),
        ArgumentSeed::Unknown(kind, data, body) => Value::Unknown {
            kind: *kind,
            data: *data,
            body,
        },
    }
}

fn arguments<'s, T>(
    args: &'s [(String, ArgumentSeed)],
    text: impl Fn(&'s str) -> T,
) -> Vec<Argument<'s, T>> {
    args.iter()
        .map(|(name, seed)| Argument {
            name: text(name),
            value: value(seed, &text),
            extra: &[],
        })
        .collect()
}

struct InPlain;

impl<'s> Make<'s, Plain<'s>> for InPlain {
    fn text(&self, text: &'s str) -> &'s str {
        text
    }
    fn spelled(&self, text: &'s str) -> &'s str {
        text
    }
    fn thread(&self, process: u64, thread: u64) -> Thread {
        Thread::new(process, thread)
    }
    fn process(&self, process: u64) -> Koid {
        Koid(process)
    }
    fn time(&self, ticks: u64) -> Ticks {
        Ticks(ticks)
    }
    fn bytes(&self, bytes: &'s [u8]) -> &'s [u8] {
        bytes
    }
    fn args(&self, args: &'s [(String, ArgumentSeed)]) -> &'s [Argument<'s, &'s str>] {
        arguments(args, |text| text).leak()
    }
}

struct InResolved;

impl<'s> Make<'s, Resolved<'s>> for InResolved {
    fn text(&self, text: &'s str) -> Cow<'s, str> {
        text.into()
    }
    fn spelled(&self, text: &'s str) -> Cow<'s, str> {
        text.into()
    }
    fn thread(&self, process: u64, thread: u64) -> Thread {
        Thread::new(process, thread)
    }
    fn process(&self, process: u64) -> Koid {
        Koid(process)
    }
    fn time(&self, ticks: u64) -> Time {
        Time {
            nanos: ticks.into(),
            ticks: Ticks(ticks),
        }
    }
    fn bytes(&self, bytes: &'s [u8]) -> &'s [u8] {
        bytes
    }
    fn args(&self, args: &'s [(String, ArgumentSeed)]) -> Vec<Argument<'s, Cow<'s, str>>> {
        arguments(args, |text| text.into())
    }
}

/// References of every form, defined or not.
struct InRaw;

impl InRaw {
    fn reference<'s>(&self, text: &'s str) -> StringRef<'s> {
        match text.len() {
            0 => StringRef::Empty,
            len if len % 3 == 0 => StringRef::Index(StringIndex::new(len as u16).unwrap()),
            _ => StringRef::Inline(text.as_bytes()),
        }
    }
}

impl<'s> Make<'s, Raw<'s>> for InRaw {
    fn text(&self, text: &'s str) -> StringRef<'s> {
        self.reference(text)
    }
    fn spelled(&self, text: &'s str) -> &'s [u8] {
        text.as_bytes()
    }
    fn thread(&self, process: u64, thread: u64) -> ThreadRef {
        match ThreadIndex::new(thread as u8).filter(|_| process.is_multiple_of(2)) {
            Some(index) => ThreadRef::Index(index),
            None => ThreadRef::Inline(Thread::new(process, thread)),
        }
    }
    fn process(&self, process: u64) -> ProcessRef {
        match ThreadIndex::new(process as u8).filter(|_| process.is_multiple_of(2)) {
            Some(index) => ProcessRef::Index(index),
            None => ProcessRef::Inline(Koid(process)),
        }
    }
    fn time(&self, ticks: u64) -> Ticks {
        Ticks(ticks)
    }
    fn bytes(&self, bytes: &'s [u8]) -> &'s [u8] {
        bytes
    }
    fn args(&self, args: &'s [(String, ArgumentSeed)]) -> Arguments<'s> {
        let args: &'s [RawArgument<'s>] = arguments(args, |text| self.reference(text)).leak();
        Arguments::from(args)
    }
}

fn build<'s, L: Layer>(seed: &'s Seed, make: &impl Make<'s, L>) -> Record<L> {
    let [a, b, c, d] = seed.numbers;
    let [s, t] = &seed.texts;
    let (s, t) = (s.as_str(), t.as_str());
    let cut = (0..=s.len().min(255)).rfind(|&at| s.is_char_boundary(at));
    let short = &s[..cut.unwrap_or(0)];
    let args = || make.args(&seed.args);
    let time = make.time(a);
    match seed.which {
        0 | 1 => Event {
            time,
            thread: make.thread(b, c),
            category: make.text(s),
            name: make.text(t),
            args: args(),
            kind: match seed.kind % 12 {
                0 => EventKind::Instant,
                1 => EventKind::Counter { id: d },
                2 => EventKind::DurationBegin,
                3 => EventKind::DurationEnd,
                4 => EventKind::DurationComplete { end: make.time(d) },
                5 => EventKind::AsyncBegin { id: d },
                6 => EventKind::AsyncInstant { id: d },
                7 => EventKind::AsyncEnd { id: d },
                8 => EventKind::FlowBegin { id: d },
                9 => EventKind::FlowStep { id: d },
                10 => EventKind::FlowEnd { id: d },
                _ => EventKind::Unknown(11 + seed.kind % 5),
            },
        }
        .into(),
        2 => Log {
            time,
            thread: make.thread(b, c),
            message: make.spelled(s),
        }
        .into(),
        3 => Blob {
            name: make.text(s),
            kind: BlobKind(seed.kind),
            data: make.bytes(&seed.bytes),
        }
        .into(),
        4 => UserspaceObject {
            process: make.process(b),
            pointer: a,
            name: make.text(s),
            args: args(),
        }
        .into(),
        5 => KernelObject {
            kind: ObjectKind(seed.kind),
            koid: Koid(a),
            name: make.text(s),
            args: args(),
        }
        .into(),
        6 => Scheduling::ContextSwitch {
            time,
            cpu: b as u16,
            outgoing: Koid(c),
            outgoing_state: ThreadState(seed.kind & 15),
            incoming: Koid(d),
            args: args(),
        }
        .into(),
        7 => Scheduling::ThreadWakeup {
            time,
            cpu: b as u16,
            thread: Koid(c),
            args: args(),
        }
        .into(),
        8 => Scheduling::LegacyContextSwitch {
            time,
            cpu: b as u8,
            outgoing: make.thread(b, c),
            outgoing_state: ThreadState(seed.kind & 15),
            outgoing_priority: c as u8,
            incoming: make.thread(c, d),
            incoming_priority: d as u8,
        }
        .into(),
        9 => LargeBlob {
            category: make.text(s),
            name: make.text(t),
            origin: seed.kind.is_multiple_of(2).then(|| BlobOrigin {
                time,
                thread: make.thread(b, c),
                args: args(),
            }),
            data: make.bytes(&seed.bytes),
        }
        .into(),
        10 => Profiler::Module {
            time,
            // Odd, and so spelled out in every layer.
            process: make.process(b | 1),
            thread: ThreadWord::Standard,
            module: c as u16,
            name: make.spelled(short),
            build_id: make.bytes(&seed.bytes),
        }
        .into(),
        11 => Profiler::Mapping {
            time,
            process: make.process(b | 1),
            thread: match seed.kind % 3 {
                0 => ThreadWord::Standard,
                1 => ThreadWord::Missing,
                _ => ThreadWord::NonZero(Koid(c | 1)),
            },
            module: c as u16,
            start: b,
            range: c,
            vaddr: d,
            flags: seed.kind & 7,
        }
        .into(),
        12 => Profiler::Backtrace {
            time,
            thread: make.thread(b, c),
            frames: make.bytes(&seed.bytes[..seed.bytes.len() / 8 * 8]),
        }
        .into(),
        _ => match seed.kind % 2 {
            0 => Metadata::ProviderInfo {
                provider: ProviderId(a as u32 % 3),
                name: make.spelled(short),
            }
            .into(),
            _ => Metadata::ProviderEvent {
                provider: ProviderId(a as u32),
                event: ProviderEvent(seed.kind & 15),
            }
            .into(),
        },
    }
}

fn is_reading(record: &Record<Raw<'_>>) -> bool {
    !matches!(
        record,
        Record::String(_)
            | Record::Thread(_)
            | Record::Initialization(_)
            | Record::Metadata(Metadata::Magic)
    )
}

/// Delivers at most `len` bytes at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    len: usize,
}

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let len = to.len().min(self.len);
        self.rest.read(&mut to[..len])
    }
}

fn cases() -> ProptestConfig {
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    ProptestConfig {
        cases: if slow { 20_000 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_a_session_writes_is_what_is_read(
        seeds in proptest::collection::vec(seed(), 0..40),
        chunk in 1..200_usize,
    ) {
        let mut trace = Writer::new(Vec::new()).unwrap();
        trace.provider(ProviderId(7), "first", TickRate::NANOSECONDS).unwrap();
        for seed in &seeds {
            trace.write(build::<Plain<'_>>(seed, &InPlain)).unwrap();
        }
        let bytes = trace.finish().unwrap();

        let mut tracker = Tracker::new();
        let mut strict = Strict::default();
        let mut copied = Vec::new();
        // The first is the provider's own.
        let mut expected = seeds.iter();
        let mut is_first = true;
        for item in Records::new(&bytes) {
            let Item::Record(found) = item else { panic!("{item:?}") };
            copied.extend_from_slice(found.bytes);
            prop_assert_eq!(strict.check(&found).next(), None);
            for warning in tracker.track(&found) {
                prop_assert!(warning.kind.is_legal(), "{}", warning);
            }
            if !is_reading(&found.record) || std::mem::take(&mut is_first) {
                continue;
            }
            let seed = expected.next().expect("no more records than written");
            let expected = build::<Resolved<'_>>(seed, &InResolved);
            prop_assert_eq!(tracker.resolve(&found.record), expected);
        }
        prop_assert_eq!(expected.len(), 0);
        prop_assert_eq!(&copied, &bytes);

        // The same items in pieces of any size.
        let pieces = Pieces { rest: &bytes, len: chunk };
        let mut reader = Reader::new(pieces);
        for item in Records::new(&bytes) {
            let streamed = reader.next().unwrap().map(|item| format!("{item:?}"));
            prop_assert_eq!(streamed, Some(format!("{item:?}")));
        }
        prop_assert_eq!(reader.next().unwrap(), None);
    }

    #[test]
    fn raw_records_survive_encoding_and_decoding(seed in seed(), extra in words()) {
        let record = build::<Raw<'_>>(&seed, &InRaw);
        // Appended words cannot be distinguished from the missing one.
        let extra: &[u8] = match record {
            Record::Profiler(Profiler::Mapping { .. } | Profiler::Module { .. }) => &[],
            _ => &extra,
        };
        let decoded = Decoded { record, extra };
        let mut bytes = Vec::new();
        decoded.encode(&mut bytes).unwrap();
        let mut again = Vec::new();
        let (record, rest) = {
            let read = Decoded::decode(&bytes).unwrap();
            read.encode(&mut again).unwrap();
            (format!("{:?}", read.record), read.extra.to_vec())
        };
        prop_assert_eq!(&again, &bytes);
        prop_assert_eq!(rest, extra);
        prop_assert_eq!(record, format!("{:?}", decoded.record));
    }

    #[test]
    fn what_decodes_encodes_to_its_bytes_but_for_what_should_be_zero(
        which in 0..60_usize,
        flips in proptest::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let (trace, starts) = crate::common::trace();
        let which = which % (starts.len() - 1);
        let mut bytes = trace[starts[which]..starts[which + 1]].to_vec();
        for flip in flips {
            let bit = flip.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let Ok(decoded) = Decoded::decode(&bytes) else { return Ok(()) };
        let mut strict = Vec::new();
        decoded.encode(&mut strict).unwrap();
        prop_assert_eq!(strict.len(), bytes.len());
        // Bits that were set may be cleared, none is set.
        prop_assert!(strict.iter().zip(&bytes).all(|(s, b)| s & !b == 0));
        // And it is the same record.
        let again = Decoded::decode(&strict).unwrap();
        prop_assert_eq!(format!("{again:?}"), format!("{decoded:?}"));
    }

    #[test]
    fn no_bytes_do_harm(words in proptest::collection::vec(
        prop_oneof![any::<u64>(), (0..16_u64, 0..5_u64).prop_map(|(k, n)| k | n << 4)],
        0..200,
    )) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut tracker = Tracker::new();
        let mut at = 0;
        for item in Records::new(&bytes) {
            match item {
                Item::Record(found) => {
                    prop_assert_eq!(found.offset, at);
                    tracker.track(&found);
                    tracker.resolve(&found.record);
                    at += found.bytes.len() as u64;
                }
                Item::Gap(gap) => {
                    prop_assert_eq!(gap.offset, at);
                    at += gap.len;
                }
            }
        }
        prop_assert_eq!(at, bytes.len() as u64);
    }
}

#[test]
fn initialization_of_other_rates_is_exact() {
    let mut trace = Writer::new(Vec::new()).unwrap();
    let rate = TickRate::new(3).unwrap();
    trace.provider(ProviderId(1), "thirds", rate).unwrap();
    trace.log(u64::MAX, Thread::new(1, 1), "end").unwrap();
    trace
        .write(Initialization {
            ticks_per_second: 1,
        })
        .unwrap();
    trace.log(u64::MAX, Thread::new(1, 1), "end").unwrap();
    let bytes = trace.finish().unwrap();
    let mut tracker = Tracker::new();
    let mut times = Vec::new();
    for item in Records::new(&bytes) {
        let Item::Record(found) = item else {
            panic!("{item:?}");
        };
        tracker.track(&found);
        if let Record::Log(log) = tracker.resolve(&found.record) {
            times.push(log.time.to_string());
        }
    }
    assert_eq!(
        times,
        [
            "6148914691236517205.000000000",
            "18446744073709551615.000000000"
        ]
    );
}
