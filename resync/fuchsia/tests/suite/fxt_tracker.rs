//! Following a trace: tables per provider, replaced entries, times, and what is odd.

use logdef_fuchsia::fxt::{Arguments, Event, EventKind, ProcessRef};
use logdef_fuchsia::fxt::{
    Initialization, Item, KernelObject, Koid, Log, Metadata, ObjectKind, ProviderId, Raw, Record,
    Records, StringIndex, StringRecord, StringRef, Thread, ThreadIndex, ThreadRecord, ThreadRef,
    Ticks, Tracker, UserspaceObject, WarningKind,
};

type RawRecord = Record<Raw<'static>>;

fn info(id: u32, name: &'static str) -> RawRecord {
    Metadata::ProviderInfo {
        provider: ProviderId(id),
        name: name.as_bytes(),
    }
    .into()
}

fn section(id: u32) -> RawRecord {
    let provider = ProviderId(id);
    Metadata::ProviderSection { provider }.into()
}

fn rate(ticks_per_second: u64) -> RawRecord {
    Initialization { ticks_per_second }.into()
}

fn string(index: u16, text: &'static [u8]) -> RawRecord {
    let index = StringIndex::new(index);
    StringRecord { index, text }.into()
}

fn thread(index: u8, process: u64, thread: u64) -> RawRecord {
    ThreadRecord {
        index: ThreadIndex::new(index),
        thread: Thread::new(process, thread),
    }
    .into()
}

fn instant(time: u64, name: u16) -> RawRecord {
    Event {
        time: Ticks(time),
        thread: ThreadRef::Index(ThreadIndex::new(1).unwrap()),
        category: StringRef::Empty,
        name: StringRef::Index(StringIndex::new(name).unwrap()),
        args: Arguments::default(),
        kind: EventKind::Instant,
    }
    .into()
}

fn magic() -> RawRecord {
    Metadata::Magic.into()
}

/// What the events say, and what is odd, by record.
fn follow(records: &[RawRecord]) -> (Vec<String>, Vec<(usize, WarningKind)>, Tracker) {
    let mut bytes = Vec::new();
    for record in records {
        record.encode(&mut bytes).unwrap();
    }
    let mut tracker = Tracker::new();
    let (mut events, mut warnings) = (Vec::new(), Vec::new());
    for (n, item) in Records::new(&bytes).enumerate() {
        let Item::Record(found) = item else {
            panic!("{item:?}");
        };
        warnings.extend(tracker.track(&found).iter().map(|w| (n, w.kind)));
        match tracker.resolve(&found.record) {
            Record::Event(event) => events.push(format!(
                "{} {}/{} {}",
                event.time, event.thread.process, event.thread.thread, event.name
            )),
            Record::Log(log) => events.push(format!("{} {}", log.time, log.message)),
            _ => {}
        }
    }
    (events, warnings, tracker)
}

#[test]
fn every_provider_has_its_own_strings_threads_and_rate() {
    let (events, warnings, tracker) = follow(&[
        magic(),
        info(1, "one"),
        rate(1_000_000_000),
        string(1, b"of one"),
        thread(1, 10, 11),
        info(2, "two"),
        rate(1_000),
        string(1, b"of two"),
        thread(1, 20, 21),
        instant(5, 1),
        section(1),
        instant(5, 1),
        section(2),
        section(1),
        section(2),
        instant(6, 1),
    ]);
    assert_eq!(
        events,
        [
            "0.005000000 20/21 of two",
            "0.000000005 10/11 of one",
            "0.006000000 20/21 of two",
        ]
    );
    assert_eq!(warnings, []);
    assert_eq!(tracker.provider().name(), Some("two"));
    // Naming a provider again keeps its tables.
    let (events, warnings, _) = follow(&[
        magic(),
        info(1, "one"),
        string(1, b"text"),
        thread(1, 1, 1),
        info(1, "uno"),
        instant(0, 1),
    ]);
    assert_eq!(events, ["0.000000000 1/1 text"]);
    assert_eq!(warnings, []);
}

#[test]
fn an_entry_counts_until_it_is_replaced() {
    let (events, warnings, _) = follow(&[
        magic(),
        string(1, b"old"),
        thread(1, 1, 1),
        instant(0, 1),
        string(1, b"new"),
        thread(1, 2, 2),
        instant(1, 1),
    ]);
    assert_eq!(events, ["0.000000000 1/1 old", "0.000000001 2/2 new"]);
    // Provider 0 is at work until another is named, and nothing is wrong with that.
    assert_eq!(warnings, []);
}

#[test]
fn entries_for_index_zero_and_a_rate_of_zero_are_ignored() {
    let (events, warnings, _) = follow(&[
        magic(),
        rate(1_000_000),
        rate(0),
        string(0, b"x"),
        thread(0, 1, 1),
        string(1, b"text"),
        thread(1, 2, 2),
        instant(u64::MAX, 1),
    ]);
    assert_eq!(events, ["18446744073709.551615000 2/2 text"]);
    assert_eq!(
        warnings,
        [
            (2, WarningKind::ZeroTickRate),
            (3, WarningKind::StringIndexZero),
            (4, WarningKind::ThreadIndexZero),
        ]
    );
}

#[test]
fn the_magic_number_empties_all_tables_when_it_comes_again() {
    let (events, warnings, _) = follow(&[
        magic(),
        info(1, "one"),
        string(1, b"text"),
        thread(1, 1, 1),
        magic(),
        section(1),
        instant(0, 1),
    ]);
    assert_eq!(events, ["0.000000000 0/0 <string 1>"]);
    assert_eq!(
        warnings,
        [
            (4, WarningKind::MagicAgain),
            (5, WarningKind::UnnamedProvider(ProviderId(1))),
            (6, WarningKind::UndefinedThread(1)),
            (6, WarningKind::UndefinedString(1)),
        ]
    );
}

#[test]
fn a_trace_without_the_magic_number_is_read_and_warned_of_once() {
    let (events, warnings, _) = follow(&[
        string(1, b"text"),
        thread(1, 1, 1),
        instant(0, 1),
        instant(1, 1),
    ]);
    assert_eq!(events.len(), 2);
    assert_eq!(warnings, [(0, WarningKind::NoMagic)]);
}

#[test]
fn text_that_is_not_utf8_is_mended_and_warned_of_except_in_object_names() {
    let (events, warnings, tracker) = follow(&[
        magic(),
        string(1, b"a\xffb"),
        thread(1, 1, 1),
        instant(0, 1),
        Log {
            time: Ticks(1),
            thread: ThreadRef::Inline(Thread::new(1, 1)),
            message: b"\xc3\x28" as &[u8],
        }
        .into(),
        KernelObject {
            kind: ObjectKind::PROCESS,
            koid: Koid(1),
            name: StringRef::Inline(b"\xfe"),
            args: Arguments::default(),
        }
        .into(),
    ]);
    assert_eq!(
        events,
        ["0.000000000 1/1 a\u{fffd}b", "0.000000001 \u{fffd}("]
    );
    assert_eq!(
        warnings,
        [
            (1, WarningKind::NotUtf8("string")),
            (4, WarningKind::NotUtf8("log message")),
        ]
    );
    let process = tracker.provider().kernel_object(Koid(1)).unwrap();
    assert_eq!(&*process.name, "\u{fffd}");
}

#[test]
fn objects_are_found_by_koid_and_by_process_and_pointer() {
    let (_, _, tracker) = follow(&[
        magic(),
        thread(1, 7, 8),
        string(1, b"label"),
        UserspaceObject {
            process: ProcessRef::Index(ThreadIndex::new(1).unwrap()),
            pointer: 0x1000,
            name: StringRef::Index(StringIndex::new(1).unwrap()),
            args: Arguments::default(),
        }
        .into(),
        KernelObject {
            kind: ObjectKind::THREAD,
            koid: Koid(8),
            name: StringRef::Inline(b"main"),
            args: Arguments::default(),
        }
        .into(),
    ]);
    let provider = tracker.provider();
    assert_eq!(provider.userspace_object(Koid(7), 0x1000), Some("label"));
    assert_eq!(provider.userspace_object(Koid(8), 0x1000), None);
    assert_eq!(
        provider.kernel_object(Koid(8)).unwrap().kind,
        ObjectKind::THREAD
    );
}

#[test]
fn more_providers_than_there_are_tables_for_share_the_last() {
    let mut records = vec![magic()];
    records.extend((1..5000).map(|id| info(id, "p")));
    records.extend([section(1), section(4999)]);
    let (_, warnings, tracker) = follow(&records);
    assert_eq!(tracker.providers().len(), 4096);
    assert_eq!(warnings.len(), 5000 - 4096);
    assert!(
        warnings
            .iter()
            .all(|(_, kind)| *kind == WarningKind::TooManyProviders)
    );
    assert_eq!(tracker.provider().id(), ProviderId(4999));
}
