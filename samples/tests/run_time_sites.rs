//! Call sites that are made at run time, from the call to the reader: before the log is open,
//! in threads, with every type of value and with key-value pairs.

use logdef::{CallSite, Level, NewCallSite, Passed, logdef, value};
use logdef_resync::{Input, LocatedImages};
use logdef_symbolizer::{Locator, Options};
use logdef_wire::record::Kind;
use shown::{each_record, lossy, shown};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

mod shown;

static CHANGES: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_change() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// A record as the reader has it.
#[derive(Debug, Default)]
struct Read {
    text: String,
    place: String,
    target: Option<String>,
    named: Vec<(String, String)>,
    pairs: Vec<(String, String)>,
    kind: Option<Kind>,
    caller: Option<String>,
}

fn read(path: &Path) -> Vec<Read> {
    let images = LocatedImages::new(Locator::new(Options {
        use_logged_paths: true,
        ..Options::default()
    }));
    let mut found = Vec::new();
    let inputs = [Input::open(path).unwrap()];
    each_record(&inputs, images, |resolver, data, place| {
        let stack = resolver.backtrace(data, place);
        let caller = stack.first().and_then(|entry| entry.functions.first());
        let caller = caller.and_then(|function| function.function.as_deref().map(str::to_owned));
        let resolved = resolver.resolve(data, place);
        assert!(resolved.is_complete(), "{resolved:?}");
        let mut text = Vec::new();
        resolved.message(&mut text);
        let pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
        let file = lossy(resolved.file.bytes.unwrap());
        found.push(Read {
            text: lossy(&text),
            place: format!("{file}:{}", data.line.unwrap()),
            target: resolved.target().map(lossy),
            named: resolved
                .named()
                .map(|(name, value)| (lossy(name), shown(value)))
                .collect(),
            pairs: pairs
                .map(|(key, value)| (lossy(key.as_raw().unwrap()), shown(value)))
                .collect(),
            kind: data.kind,
            caller,
        });
    });
    found
}

fn of<'r>(records: &'r [Read], text: &str) -> &'r Read {
    let mut found = records.iter().filter(|record| record.text == text);
    let first = found.next();
    assert!(found.next().is_none(), "{text} is there twice");
    first.unwrap_or_else(|| panic!("no {text:?} in {records:#?}"))
}

fn pairs(of: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = of.iter().map(|(key, value)| (&key[..], &value[..]));
    pairs.collect()
}

#[inline(never)]
fn fails(site: CallSite) {
    site.log(&[value("disk")]);
    std::hint::black_box(());
}

#[test]
fn sites_made_at_run_time_are_read_like_any_other() {
    let owned = String::from("src/facade.rs");
    let new = |level, template, args| {
        let site = NewCallSite::new(level, template, args);
        site.file("src/facade.rs", 7).module("app::net")
    };
    let early = new(Level::INFO, "early {n}", 1).names(&["n"]).register();
    early.log(&[value(&1u8)]);
    logdef!(Info, "early too {}", 2);

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::options()
        .sink(logdef::Sink::Mapped)
        .open(&path)
        .unwrap();
    assert!(logdef::on_change(count_change));

    let typed = NewCallSite::new(Level::INFO, "{a} {b} {c} {d} {e}", 6)
        .names(&["a", "b", "c", "d", "e", "f,\n"])
        .file(&owned, 8)
        .module("app::net")
        .target("access")
        .register();
    drop(owned);
    let wide = u128::MAX;
    let args = [
        value(&-5i64),
        value(&2.5f64),
        value("text"),
        value(&true),
        value(&wide),
    ];
    typed.log(&args);
    typed.log_pairs(
        &[
            value(&1u64),
            value(&1.0f64),
            value(""),
            value(&false),
            value(&'x'),
            value("f"),
        ],
        &[
            ("key", value(&-1i32)),
            ("other", value("v")),
            ("none", value(&None::<u8>)),
        ],
    );
    let printf = NewCallSite::printf(Level::WARN, "%s is %d%% full", 3)
        .names(&["", "", "extra"])
        .file("a.c", 1)
        .register();
    printf.log(&[value("disk"), value(&3_000_000_000u64), value(&9u8)]);

    let many: Vec<u32> = (0..100).collect();
    let many: Vec<Passed<'_>> = many.iter().map(value).collect();
    let template = "{} ".repeat(64) + "many";
    new(Level::INFO, &template, 70).register().log(&many);
    let names: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
    let much: Vec<_> = names.iter().map(|name| (&name[..], value(name))).collect();
    new(Level::INFO, "much", 0).register().log_pairs(&[], &much);

    let begin = new(Level::INFO, "request {id}", 1)
        .names(&["id"])
        .begin()
        .register();
    let end = new(Level::INFO, "", 0).end().register();
    begin.log_span(77, &[value(&4u8)], &[("parent", value(&76u64))]);
    end.log_span(77, &[], &[]);
    fails(new(Level::ERROR, "{} failed", 1).register());

    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let site = new(Level::INFO, "thread {}", 1).register();
            scope.spawn(move || site.log(&[value(&thread)]));
        }
    });

    // A filter names the target, and without one the module.
    let before = CHANGES.load(Ordering::Relaxed);
    logdef::set_filter("warn,access=info").unwrap();
    assert!(CHANGES.load(Ordering::Relaxed) > before);
    assert!(typed.is_on() && !early.is_on() && printf.is_on());
    assert!(logdef::is_possible(Level::INFO) && !logdef::is_possible(Level::DEBUG));
    logdef::set_filter("off,app=debug").unwrap();
    assert!(!typed.is_on() && early.is_on() && !printf.is_on());
    logdef::close();

    let records = read(&path);
    let first = of(&records, "early 1");
    assert_eq!(first.place, "src/facade.rs:7");
    assert_eq!(pairs(&first.named), [("n", "1")]);
    of(&records, "early too 2");
    let max = u128::MAX.to_string();
    let typed = of(&records, &format!("-5 2.5 text true {max}"));
    assert_eq!(typed.place, "src/facade.rs:8");
    assert_eq!(typed.target.as_deref(), Some("access"));
    assert_eq!(
        pairs(&typed.named)[..3],
        [("a", "-5"), ("b", "2.5"), ("c", "\"text\"")]
    );
    assert_eq!(pairs(&typed.named)[5], ("f__", "nil"));
    let with = of(&records, "1 1  false x");
    assert_eq!(
        pairs(&with.pairs),
        [("key", "-1"), ("other", "\"v\""), ("none", "nil")]
    );
    let disk = of(&records, "disk is 3000000000% full");
    assert_eq!(pairs(&disk.named), [("extra", "9")]);
    let numbers: String = (0..64).map(|n| format!("{n} ")).collect();
    of(&records, &(numbers + "many"));
    assert_eq!(of(&records, "much").pairs.len(), 64);
    let begin = of(&records, "request 4");
    assert_eq!(begin.kind, Some(Kind::BEGIN));
    assert_eq!(pairs(&begin.pairs), [("span", "77"), ("parent", "76")]);
    let end = of(&records, "");
    assert_eq!(
        (end.kind, pairs(&end.pairs)),
        (Some(Kind::END), vec![("span", "77")])
    );
    // In an optimized build with line tables only, what of the logger became part of `fails` has no
    // path by which it is known.
    if cfg!(debug_assertions) {
        let failed = of(&records, "disk failed");
        assert!(
            failed.caller.as_deref().unwrap().ends_with("fails"),
            "{failed:?}"
        );
    }
    for thread in 0..4 {
        of(&records, &format!("thread {thread}"));
    }
}
