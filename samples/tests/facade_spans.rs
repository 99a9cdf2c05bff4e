//! Spans of `tracing` that are closed, filled in, filtered out and forked in unusual places: the log
//! has each with its number, its end, and its fields beside the events in it.

use logdef_resync::{Input, NoImages};
use logdef_wire::record::Kind;
use shown::{each_record, lossy, shown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tracing::field::Empty;
use tracing_subscriber::prelude::*;

mod shown;

#[derive(Debug)]
struct Read {
    text: String,
    span: Option<String>,
    parent: Option<String>,
    values: Vec<String>,
    kind: Option<Kind>,
    context: Vec<String>,
}

fn read(path: &Path) -> Vec<Read> {
    let mut found = Vec::new();
    each_record(
        &[Input::open(path).unwrap()],
        NoImages,
        |resolver, data, place| {
            let resolved = resolver.resolve(data, place);
            let key = |name: &str| {
                let mut pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
                let found = pairs.find(|(key, _)| key.as_raw() == Some(name.as_bytes()));
                found.map(|(_, value)| shown(value))
            };
            let mut text = Vec::new();
            resolved.message(&mut text);
            let context = resolved.context.iter();
            found.push(Read {
                text: lossy(&text),
                span: key("span"),
                parent: key("parent"),
                values: resolved.named().map(|(_, value)| shown(value)).collect(),
                kind: data.kind,
                context: context
                    .map(|(key, value)| format!("{}={}", lossy(key), shown(value)))
                    .collect(),
            });
        },
    );
    found
}

fn of<'r>(records: &'r [Read], text: &str) -> &'r Read {
    let mut found = records.iter().filter(|record| record.text == text);
    let first = found.next();
    assert!(found.next().is_none(), "{text} is there twice");
    first.unwrap_or_else(|| panic!("no {text:?} in {records:#?}"))
}

/// Closes spans where they were not made, and not in the order in which they were.
fn close_elsewhere() {
    let span = tracing::info_span!("given away", n = 1);
    thread::spawn(move || {
        let entered = span.entered();
        tracing::info!("in the span given away");
        drop(entered);
    })
    .join()
    .unwrap();
    let first = tracing::info_span!("first", n = 1).entered();
    let second = tracing::info_span!("second", m = 2).entered();
    drop(first);
    tracing::info!("the first is left");
    drop(second);
}

/// Fields that come late, to spans with and without events, and to one that another is in.
fn fill_in_late() {
    let outer = tracing::info_span!("outer", id = 7, late = Empty);
    let with_event = tracing::info_span!(parent: &outer, "with event");
    let without = tracing::info_span!(parent: &outer, "without", own = 1);
    with_event.in_scope(|| tracing::info!("before it came"));
    outer.record("late", "now");
    outer.in_scope(|| tracing::info!("after it came"));
    with_event.in_scope(|| tracing::info!("had an event before"));
    without.in_scope(|| tracing::info!("had none"));
}

/// More fields than a few, long ones, and integers that 64 bits do not hold.
fn fill_much() {
    let long = "long ".repeat(20);
    let spans = [
        tracing::info_span!("many", a = 1, b = 2u8, c = 3.5, d = true, e = "five"),
        tracing::info_span!("long", text = long),
        tracing::info_span!("wide", most = u128::MAX, least = i128::MIN),
        tracing::info_span!("nothing", not = Empty),
    ];
    for span in spans {
        span.in_scope(|| tracing::info!("in {}", span.metadata().unwrap().name()));
    }
    let longer = "x".repeat(300);
    tracing::info!(first = %longer, wide = u128::MAX, last = ?longer, "much text");
    tracing::info!(none = Empty, "a field without a value");
}

/// Spans that are off stand between some that are on.
fn pass_over_what_is_off() {
    logdef::set_filter("info,quiet=off").unwrap();
    let _outer = tracing::info_span!("loud", loud = 1).entered();
    let _off = tracing::info_span!(target: "quiet", "not there", quiet = 2).entered();
    tracing::info!("in what is off");
    let _inner = tracing::info_span!("louder", louder = 3).entered();
    tracing::info!("in both");
    logdef::set_filter("trace").unwrap();
}

/// Spans begin and end while what is on changes.
fn change_filters_meanwhile() {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..200 {
                let filter = ["off", "info", "trace,facade_spans=warn", "trace"][round % 4];
                logdef::set_filter(filter).unwrap();
            }
            logdef::set_filter("trace").unwrap();
            done.store(true, Ordering::Release);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let span = tracing::info_span!("changing", round = 1, late = Empty);
                    let _entered = span.enter();
                    tracing::info!("while it changes");
                    span.record("late", 2);
                    log::warn!("by log");
                }
            });
        }
    });
}

/// A child is forked in a span; parent and child log in it, and both end it.
fn fork_in_a_span() {
    let span = tracing::info_span!("forked", n = 1).entered();
    // SAFETY: the child logs and ends, without what other threads may have been at.
    let child = unsafe { libc::fork() };
    if child == 0 {
        tracing::info!("by the child");
        drop(span);
        // SAFETY: ends the child, which has nothing to clean up.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the status may be written to.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    tracing::info!("by the parent");
}

fn check(records: &[Read]) {
    let context = |text: &str| of(records, text).context.join(" ");
    let given = of(records, "in the span given away");
    assert_eq!(
        (context("in the span given away"), given.kind),
        ("n=1".to_owned(), None)
    );
    assert_eq!(context("the first is left"), "m=2 n=1");

    assert_eq!(context("before it came"), "id=7");
    assert_eq!(context("after it came"), "late=\"now\" id=7");
    assert_eq!(context("had an event before"), "id=7");
    assert_eq!(context("had none"), "own=1 late=\"now\" id=7");

    assert_eq!(context("in many"), "a=1 b=2 c=3.5 d=true e=\"five\"");
    assert_eq!(context("in long"), format!("text={:?}", "long ".repeat(20)));
    let wide = format!("wide most={} least={}", u128::MAX, i128::MIN);
    assert_eq!(of(records, &wide).kind, Some(Kind::BEGIN));
    assert_eq!(format!("wide {}", context("in wide")), wide);
    assert_eq!(context("in nothing"), "");
    let much = &of(records, "much text").values;
    let longer = "x".repeat(300);
    let expected = [
        format!("\"{longer}\""),
        u128::MAX.to_string(),
        format!("{:?}", format!("{longer:?}")),
    ];
    assert_eq!(much[..], expected);

    let [loud, louder] = ["loud loud=1", "louder louder=3"].map(|text| of(records, text));
    let off = of(records, "in what is off");
    assert_eq!(
        (&off.span, &off.context.join(" ")[..]),
        (&loud.span, "loud=1")
    );
    assert_eq!(louder.parent, loud.span);
    assert_eq!(context("in both"), "louder=3 loud=1");
}

/// Each span that began has one end, but for the forked one, which each process ends.
fn check_ends(records: &[Read]) {
    let begins = records
        .iter()
        .filter(|record| record.kind == Some(Kind::BEGIN));
    for begin in begins {
        let ends = records
            .iter()
            .filter(|record| record.kind == Some(Kind::END) && record.span == begin.span);
        let expected = 1 + usize::from(begin.text == "forked n=1");
        assert_eq!(ends.count(), expected, "{begin:?}");
    }
    let forked = of(records, "forked n=1");
    for text in ["by the child", "by the parent"] {
        let event = of(records, text);
        assert_eq!(
            (&event.span, &event.context.join(" ")[..]),
            (&forked.span, "n=1")
        );
    }
}

#[test]
fn spans_keep_their_numbers_ends_and_fields_wherever_they_are_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    logdef_log::init().unwrap();
    let registry = tracing_subscriber::registry().with(logdef_tracing::layer());
    tracing::subscriber::set_global_default(registry).unwrap();
    close_elsewhere();
    fill_in_late();
    fill_much();
    pass_over_what_is_off();
    change_filters_meanwhile();
    fork_in_a_span();
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();
    let records = read(&path);
    check(&records);
    check_ends(&records);
}
