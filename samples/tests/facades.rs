//! Records of `log` and `tracing` in one log, as the reader has them: places, targets, typed
//! fields, key-values, spans and what is off.

use logdef::{Context, value};
use logdef_resync::{Input, NoImages};
use logdef_wire::Level;
use logdef_wire::record::Kind;
use shown::{each_record, lossy, shown};
use std::cell::Cell;
use std::fmt;
use std::path::Path;
use tracing_subscriber::prelude::*;

mod shown;

/// A record as the reader has it.
#[derive(Debug)]
struct Read {
    text: String,
    level: Level,
    line: u64,
    target: Option<String>,
    module: String,
    /// Named values, then key-values.
    values: Vec<(String, String)>,
    kind: Option<Kind>,
    /// Pairs of its context.
    context: Vec<String>,
}

fn read(path: &Path) -> Vec<Read> {
    let mut found = Vec::new();
    let inputs = [Input::open(path).unwrap()];
    each_record(&inputs, NoImages, |resolver, data, place| {
        let resolved = resolver.resolve(data, place);
        assert_eq!(resolved.file.bytes, Some(file!().as_bytes()));
        let mut text = Vec::new();
        resolved.message(&mut text);
        let pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
        let pairs = pairs.map(|(key, value)| (lossy(key.as_raw().unwrap()), shown(value)));
        let named = resolved.named();
        let named = named.map(|(name, value)| (lossy(name), shown(value)));
        let context = resolved.context.iter();
        let context = context.map(|(key, value)| format!("{}={}", lossy(key), shown(value)));
        found.push(Read {
            text: lossy(&text),
            level: data.level.unwrap(),
            line: data.line.unwrap(),
            target: resolved.target().map(lossy),
            module: lossy(resolved.module().unwrap()),
            values: named.chain(pairs).collect(),
            kind: data.kind,
            context: context.collect(),
        });
    });
    found
}

impl Read {
    fn value(&self, name: &str) -> &str {
        let mut values = self.values.iter();
        let found = values.find_map(|(key, value)| (key == name).then_some(&value[..]));
        found.unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(key, _)| key == name)
    }
}

fn of<'r>(records: &'r [Read], text: &str) -> &'r Read {
    let mut found = records.iter().filter(|record| record.text == text);
    let first = found.next();
    assert!(found.next().is_none(), "{text} is there twice");
    first.unwrap_or_else(|| panic!("no {text:?} in {records:#?}"))
}

thread_local! {
    static PRINTED: Cell<u32> = const { Cell::new(0) };
}

/// Counts how often it is printed, and logs meanwhile.
#[derive(Debug)]
struct Counted;

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PRINTED.set(PRINTED.get() + 1);
        f.write_str("counted")
    }
}

/// Logs by both facades; says in which lines.
fn log_by_log() -> u32 {
    let line = line!() + 1;
    log::info!("{} of {}", 1, "two");
    log::warn!("whole");
    log::error!(target: "disk", "failed: {}", 2.5);
    log::info!(count = 3u64, part = 0.5, ok = true, name = "n", neg = -1, any:debug = [1]; "kv");
    for round in 0..3 {
        log::debug!("round {round}");
    }
    log::trace!(target: &format!("made{}", 7), "at run time");
    line
}

fn log_by_tracing() {
    tracing::info!(
        user = "ada",
        ms = 1.5,
        n = -3,
        big = u128::MAX,
        "hello {}",
        5
    );
    tracing::warn!(target: "audit", what = ?Some(1), "braces {{}}");
    tracing::info!(only = 1u8, fields = %"f");
    let outer = tracing::info_span!("outer", id = 7u64, late = tracing::field::Empty);
    let entered = outer.enter();
    tracing::debug!("inside");
    outer.record("late", "now");
    let inner = tracing::warn_span!("{inner}");
    inner.follows_from(&outer);
    std::thread::scope(|scope| {
        scope.spawn(|| inner.in_scope(|| tracing::info!("on a thread")));
    });
    drop(inner);
    drop(entered);
    let error: Box<dyn std::error::Error> = "went wrong".into();
    tracing::error!(error = &*error, "failed");
}

/// What `tracing-log` makes of a record of `log`.
fn log_by_tracing_log() {
    let log = || {
        tracing::event!(
            name: "log event",
            target: "log",
            tracing::Level::WARN,
            { log.target = "socket", log.module_path = "net::poll", log.file = file!(), log.line = 77u32 },
            "from afar {}",
            tracing::Span::current().is_none()
        );
    };
    log();
    tracing::info_span!("connection", peer = 3u8).in_scope(log);
    logdef::set_filter("trace,socket=error").unwrap();
    log();
    logdef::set_filter("trace").unwrap();
}

/// Contexts of the log around and in a span, and a value that uses its span while it is printed.
fn log_in_contexts() {
    let shop = Context::new(&[("shop", value("north"))]);
    shop.scope(|| {
        let span = tracing::info_span!("visit", visitor = 9u8, item = tracing::field::Empty);
        let _entered = span.enter();
        tracing::info!("in the span: {}", Nosy);
        shop.child(&[("shelf", value(&3u8))])
            .scope(|| tracing::info!("in a context that is younger"));
    });
    tracing::info!("in no span");
}

/// Changes the span that it is printed in.
struct Nosy;

impl fmt::Display for Nosy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tracing::Span::current().record("item", "bread");
        tracing::info!("from within");
        f.write_str("nosy")
    }
}

fn what_is_off_is_not_printed() {
    logdef::set_filter("warn,audit=off,disk=debug").unwrap();
    log::info!("{}", Counted);
    tracing::info!("{}", Counted);
    tracing::error!(target: "audit", "{}", Counted);
    log::info!(target: "other", "{}", Counted);
    assert_eq!(PRINTED.get(), 0);
    assert_eq!(log::max_level(), log::LevelFilter::Debug);
    assert!(log::log_enabled!(target: "disk", log::Level::Debug));
    assert!(!log::log_enabled!(target: "disk", log::Level::Trace));
    assert!(!log::log_enabled!(log::Level::Info));
    logdef::set_filter("off").unwrap();
    assert_eq!(log::max_level(), log::LevelFilter::Off);
    logdef::set_filter("trace").unwrap();
    assert_eq!(log::max_level(), log::LevelFilter::Trace);
    tracing::info!("on again {}", Counted);
    log::info!("on again too {}", Counted);
    assert_eq!(PRINTED.get(), 2);
}

fn check_log(records: &[Read], line: u64) {
    let first = of(records, "1 of two");
    assert_eq!((first.level, first.line), (Level::INFO, line));
    assert_eq!(
        (first.target.as_deref(), &first.module[..]),
        (None, module_path!())
    );
    assert_eq!(of(records, "whole").line, line + 1);
    assert_eq!(of(records, "failed: 2.5").target.as_deref(), Some("disk"));
    let kv = of(records, "kv");
    let values: Vec<&str> = kv.values.iter().map(|(_, value)| &value[..]).collect();
    assert_eq!(values, ["3", "0.5", "true", "\"n\"", "-1", "\"[1]\""]);
    for round in 0..3 {
        of(records, &format!("round {round}"));
    }
    assert_eq!(of(records, "at run time").target.as_deref(), Some("made7"));
}

fn check_tracing(records: &[Read]) {
    let hello = of(records, "hello 5");
    assert_eq!((hello.value("user"), hello.value("ms")), ("\"ada\"", "1.5"));
    assert_eq!(hello.value("n"), "-3");
    assert!(!hello.has("span") && !hello.has("message"));
    assert_eq!(
        (hello.level, &hello.module[..]),
        (Level::INFO, module_path!())
    );
    let braces = of(records, "braces {}");
    assert_eq!(braces.target.as_deref(), Some("audit"));
    assert_eq!(braces.value("what"), "\"Some(1)\"");
    assert_eq!(of(records, "only=1 fields=f").value("only"), "1");

    let outer = of(records, "outer id=7 late=None");
    assert_eq!((outer.kind, outer.value("id")), (Some(Kind::BEGIN), "7"));
    let number = outer.value("span");
    assert_eq!(of(records, "inside").value("span"), number);
    // What was not recorded then is not in it: it was once, as no value.
    let late = of(records, "outer: recorded");
    assert!(!late.has("id"), "{late:?}");
    assert_eq!(
        (late.value("span"), late.value("late")),
        (number, "\"now\"")
    );
    assert_eq!(of(records, "inside").context, ["id=7"]);
    assert_eq!(of(records, "on a thread").context, ["late=\"now\"", "id=7"]);
    assert_eq!(outer.context, [""; 0]);
    let inner = of(records, "{inner}");
    assert_eq!((inner.value("parent"), inner.level), (number, Level::WARN));
    assert_eq!(of(records, "{inner}: follows").value("follows"), number);
    let on_thread = of(records, "on a thread");
    assert_eq!(on_thread.value("span"), inner.value("span"));
    let ends = records
        .iter()
        .filter(|record| record.kind == Some(Kind::END));
    let ends: Vec<&Read> = ends.collect();
    let spans: Vec<&str> = ends.iter().map(|end| end.value("span")).collect();
    assert_eq!(spans[..2], [inner.value("span"), number]);
    assert!(
        ends.iter()
            .all(|end| end.value("busy_ns").parse::<u64>().unwrap() > 0)
    );
    assert_eq!(of(records, "failed").value("error"), "\"went wrong\"");
    assert_eq!(of(records, "failed").context, [""; 0]);
}

fn check_tracing_log(records: &[Read]) {
    let [outside, inside] = ["from afar true", "from afar false"].map(|text| of(records, text));
    for record in [outside, inside] {
        assert_eq!((record.level, record.line), (Level::WARN, 77));
        assert_eq!(record.target.as_deref(), Some("socket"));
        assert_eq!(record.module, "net::poll");
        assert!(!record.has("log.target"));
    }
    let connection = of(records, "connection peer=3");
    assert_eq!(inside.value("span"), connection.value("span"));
    assert_eq!(
        (outside.has("span"), &inside.context[..]),
        (false, &["peer=3".to_owned()][..])
    );
}

fn check_contexts(records: &[Read]) {
    let context = |text| &of(records, text).context[..];
    assert_eq!(
        context("in the span: nosy"),
        ["visitor=9", "shop=\"north\""]
    );
    let late = ["item=\"bread\"", "visitor=9", "shop=\"north\""];
    assert_eq!(context("from within"), late);
    let younger = ["shelf=3", "shop=\"north\""];
    assert_eq!(context("in a context that is younger"), younger);
    assert_eq!(context("in no span"), [""; 0]);
}

#[test]
fn records_of_log_and_tracing_are_read_with_all_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    logdef_log::init().unwrap();
    assert!(logdef_log::init().is_err(), "there is one already");
    let layer = logdef_tracing::layer().busy(true);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
    let line = log_by_log();
    log_by_tracing();
    log_by_tracing_log();
    log_in_contexts();
    what_is_off_is_not_printed();
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();
    let records = read(&path);
    check_log(&records, line.into());
    check_tracing(&records);
    check_tracing_log(&records);
    check_contexts(&records);
    of(&records, "on again counted");
    of(&records, "on again too counted");
    assert_eq!(records.len(), 33);
}
