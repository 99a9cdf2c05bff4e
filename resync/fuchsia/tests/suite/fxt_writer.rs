//! The writing session: which references it chooses, what it refuses, and that its
//! bytes are those of the format.

use logdef_fuchsia::fxt::{
    Argument, BlobKind, Decoded, Error, Event, EventKind, Initialization, Item, Koid, LargeBlob,
    MAX_LOG_LEN, Metadata, Plain, ProviderId, Raw, Record, RecordType, Records, StringIndex,
    StringRecord, StringRef, Thread, ThreadRef, TickRate, WriteError, Writer,
};

const THREAD: Thread = Thread {
    process: Koid(10),
    thread: Koid(11),
};

fn new() -> Writer<Vec<u8>> {
    Writer::new(Vec::new()).unwrap()
}

/// The records of `bytes`, by their sizes alone.
fn records(bytes: &[u8]) -> Vec<Record<Raw<'_>>> {
    let mut rest = bytes;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let words = usize::from(u16::from_le_bytes([rest[0], rest[1]]) >> 4);
        let (record, after) = rest.split_at(words * 8);
        records.push(Decoded::decode(record).unwrap().record);
        rest = after;
    }
    records
}

fn kinds(bytes: &[u8]) -> Vec<RecordType> {
    records(bytes).iter().map(Record::kind).collect()
}

#[test]
fn a_small_trace_has_exactly_these_bytes() {
    let mut trace = new();
    trace
        .provider(ProviderId(1), "p", TickRate::NANOSECONDS)
        .unwrap();
    trace.process_name(Koid(10), "proc").unwrap();
    trace.log(5, THREAD, "hi").unwrap();
    trace
        .write(Event::instant(6, THREAD, "c", "n").args(&[Argument::new("k", 7)]))
        .unwrap();
    let words: Vec<u64> = trace
        .finish()
        .unwrap()
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(
        words,
        [
            0x0016_5478_4604_0010,
            0x0010_0000_0011_0020, // provider 1, 1 byte of name
            0x70,
            0x21,
            1_000_000_000,
            0x0000_0004_0001_0022, // string 1
            0x636f_7270,
            0x0000_0000_0101_0027, // process, name 1
            10,
            0x0001_0033, // thread 1
            10,
            11,
            0x0000_0001_0002_0039, // log, 2 bytes, thread 1
            5,
            0x6968,
            0x8001_8001_0110_0064, // instant, strings spelled out
            6,
            0x63,
            0x6e,
            0x0000_0007_8001_0021, // argument
            0x6b,
        ]
    );
}

#[test]
fn a_string_is_registered_when_it_comes_back() {
    let mut trace = new();
    for time in 0..3_u64 {
        trace
            .write(Event::instant(time, THREAD, "cat", "cat"))
            .unwrap();
    }
    let bytes = trace.finish().unwrap();
    assert_eq!(
        kinds(&bytes),
        [
            RecordType::METADATA,
            RecordType::THREAD,
            RecordType::STRING, // the name is the category again
            RecordType::EVENT,
            RecordType::EVENT,
            RecordType::EVENT,
        ]
    );
    let index = StringRef::Index(StringIndex::new(1).unwrap());
    let names: Vec<_> = records(&bytes)
        .iter()
        .filter_map(|record| match record {
            Record::Event(event) => Some((event.category, event.name)),
            _ => None,
        })
        .collect();
    assert_eq!(
        names,
        [
            (StringRef::Inline(b"cat"), index),
            (index, index),
            (index, index)
        ]
    );
}

#[test]
fn the_256th_thread_is_spelled_out() {
    let mut trace = new();
    for thread in 1..=300_u64 {
        trace.log(0, Thread::new(1, thread), "").unwrap();
    }
    let bytes = trace.finish().unwrap();
    let threads: Vec<ThreadRef> = records(&bytes)
        .iter()
        .filter_map(|record| match record {
            Record::Log(log) => Some(log.thread),
            _ => None,
        })
        .collect();
    assert!(matches!(threads[254], ThreadRef::Index(index) if index.get() == 255));
    assert_eq!(threads[255], ThreadRef::Inline(Thread::new(1, 256)));
    assert_eq!(threads[299], ThreadRef::Inline(Thread::new(1, 300)));
}

#[test]
fn a_full_string_table_keeps_its_entries_and_spells_the_rest_out() {
    let mut trace = new();
    for n in 0..32_768 {
        trace.register(&format!("s{n}")).unwrap();
    }
    for _ in 0..3 {
        trace
            .write(Event::instant(0, THREAD, "s32766", "s32767"))
            .unwrap();
    }
    let bytes = trace.finish().unwrap();
    let records = records(&bytes);
    let strings: Vec<u16> = records
        .iter()
        .filter_map(|record| match record {
            Record::String(string) => Some(string.index.unwrap().get()),
            _ => None,
        })
        .collect();
    assert!(strings.iter().copied().eq(1..=32_767));
    let Record::Event(event) = records.last().unwrap() else {
        panic!("the last record is an event");
    };
    assert_eq!(
        event.category,
        StringRef::Index(StringIndex::new(32_767).unwrap())
    );
    assert_eq!(event.name, StringRef::Inline(b"s32767"));
}

#[test]
fn every_provider_has_tables_of_its_own() {
    let mut trace = new();
    let (a, b) = (ProviderId(1), ProviderId(2));
    trace.provider(a, "a", TickRate::NANOSECONDS).unwrap();
    trace.register("x").unwrap();
    trace.provider(b, "b", TickRate::NANOSECONDS).unwrap();
    trace.register("y").unwrap();
    trace.select(a).unwrap();
    trace.select(a).unwrap();
    trace.register("x").unwrap();
    trace.register("z").unwrap();
    let bytes = trace.finish().unwrap();
    let strings: Vec<(u16, &[u8])> = records(&bytes)
        .iter()
        .filter_map(|record| match record {
            Record::String(string) => Some((string.index.unwrap().get(), string.text)),
            _ => None,
        })
        .collect();
    assert_eq!(
        strings,
        [(1, b"x" as &[u8]), (1, b"y" as &[u8]), (2, b"z" as &[u8])]
    );
    let sections = records(&bytes)
        .iter()
        .filter(|r| matches!(r, Record::Metadata(Metadata::ProviderSection { .. })))
        .count();
    assert_eq!(sections, 1);
}

#[track_caller]
fn assert_refused<'a>(record: impl Into<Record<Plain<'a>>>, message: &str) {
    let mut trace = new();
    let error = trace.write(record).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert!(matches!(error, Error::Refused(_)));
    // The session continues, and nothing of the record is in it.
    trace.log(1, THREAD, "still here").unwrap();
    let bytes = trace.finish().unwrap();
    assert_eq!(records(&bytes).last().unwrap().kind(), RecordType::LOG);
}

#[test]
fn what_cannot_be_encoded_is_refused_with_its_limit() {
    let args = [Argument::new("a", 1); 16];
    assert_refused(
        Event::instant(0, THREAD, "c", "n").args(&args),
        "number of arguments is 16, the limit is 15",
    );
    let long = "x".repeat(32_768);
    assert_refused(
        Event::instant(0, THREAD, "c", &long),
        "event name length is 32768, the limit is 32767",
    );
    assert_refused(
        Event::instant(0, THREAD, "c", &long[..32_750]),
        "record size in words is 4097, the limit is 4095",
    );
    assert_refused(
        Metadata::ProviderInfo {
            provider: ProviderId(1),
            name: &long[..256],
        },
        "provider name length is 256, the limit is 255",
    );
    assert_refused(
        Initialization {
            ticks_per_second: 0,
        },
        "tick rate is zero",
    );
    assert_refused(
        Event::new(EventKind::Unknown(16), 0, THREAD, "c", "n"),
        "event type is 16, the limit is 15",
    );
    assert_refused(
        Metadata::ProviderSection {
            provider: ProviderId(9),
        },
        "a section of a provider that was never named",
    );
    assert_refused(
        StringRecord {
            index: StringIndex::new(1),
            text: "mine",
        },
        "table entries are the session's own to write",
    );
}

#[test]
fn the_longest_log_message_fits_whatever_the_thread() {
    let text = "x".repeat(MAX_LOG_LEN + 17);
    let mut trace = new();
    trace.log(0, THREAD, &text[..MAX_LOG_LEN + 16]).unwrap();
    assert!(matches!(
        trace.log(0, THREAD, &text),
        Err(Error::Refused(WriteError::TooLarge {
            value: 4096,
            limit: 4095,
            ..
        }))
    ));
    for thread in 0..300_u64 {
        trace
            .log(0, Thread::new(0, thread), &text[..MAX_LOG_LEN])
            .unwrap();
    }
    trace.finish().unwrap();
}

#[test]
fn small_integers_take_the_32_bit_types() {
    let args = [
        Argument::new("a", -1_i64),
        Argument::new("b", i64::MIN),
        Argument::new("c", 1_u64),
        Argument::new("d", u64::MAX),
    ];
    assert_eq!(args.map(|arg| arg.value.kind()), [1, 3, 2, 4]);
}

#[test]
fn records_are_never_split_between_writes() {
    struct Whole(usize);
    impl std::io::Write for Whole {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // Panics if the bytes end inside a record.
            self.0 += kinds(bytes).len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut trace = Writer::new(Whole(0)).unwrap();
    let text = "x".repeat(1000);
    for time in 0..1000_u64 {
        trace
            .log(time, THREAD, &text[..time as usize % 1000])
            .unwrap();
    }
    trace
        .blob("b", BlobKind::DATA, &[1; 32_700])
        .expect("fits its record");
    assert_eq!(trace.finish().unwrap().0, 1 + 1 + 1000 + 1);
}

#[test]
fn nothing_follows_a_failed_write() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no space"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut trace = Writer::new(Full).unwrap();
    assert_eq!(trace.flush().unwrap_err().to_string(), "no space");
    assert_eq!(
        trace.flush().unwrap_err().to_string(),
        "an earlier write failed"
    );
}

#[test]
fn a_large_blob_takes_any_size() {
    let data = vec![1; 100_000];
    let mut trace = new();
    trace
        .write(LargeBlob::<Plain<'_>> {
            category: "c",
            name: "n",
            origin: None,
            data: &data,
        })
        .unwrap();
    trace
        .write(Event::complete(1, 2, THREAD, "c", "n"))
        .unwrap();
    let len = trace.bytes_written();
    let bytes = trace.finish().unwrap();
    assert_eq!(bytes.len() as u64, len);
    let found: Vec<Item<'_>> = Records::new(&bytes).collect();
    let blob = found.iter().find_map(|item| match item {
        Item::Record(found) => match found.record {
            Record::LargeBlob(blob) => Some(blob),
            _ => None,
        },
        Item::Gap(gap) => panic!("{gap}"),
    });
    assert_eq!(blob.unwrap().data, data);
}
