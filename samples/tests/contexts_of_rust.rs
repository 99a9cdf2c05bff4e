//! Contexts of Rust: scopes inside scopes, panics, and futures that are polled and dropped on
//! several threads. Each record has the pairs of its own context and of no other.

use logdef::{Context, logdef, value};
use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery};
use logdef_wire::Record;
use std::collections::HashMap;
use std::future::poll_fn;
use std::path::Path;
use std::task::{Poll, Waker};

/// Pairs of contexts by number: those of the parent and their own.
type Contexts = HashMap<u64, (Option<u64>, Vec<String>)>;

/// The pairs of each record, by its one argument.
fn read(path: &Path) -> HashMap<u64, Vec<String>> {
    let inputs = [Input::open(path).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let (mut contexts, mut records) = (Contexts::new(), HashMap::new());
    logdefs(path, &mut contexts);
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        if let Some(Record::Data(data)) = frame.record() {
            let number = data.args.unwrap().iter().next().unwrap();
            let mut pairs = Vec::new();
            let mut next = data.context;
            while let Some((parent, own)) = next.map(|id| &contexts[&id]) {
                pairs.extend(own.iter().cloned());
                next = *parent;
            }
            records.insert(number.as_uint().unwrap(), pairs);
        }
    }
    records
}

fn logdefs(path: &Path, contexts: &mut Contexts) {
    let bytes = std::fs::read(path).unwrap();
    let mut at = 0;
    while at < bytes.len() {
        let Ok(frame) = logdef_wire::frame::decode(&bytes[at..]) else {
            at += 1;
            continue;
        };
        if let Ok(Record::ContextLogdef(logdef)) = Record::decode(frame.body) {
            let pairs = logdef.keys.into_iter().flat_map(|keys| keys.iter());
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let pairs =
                pairs.map(|(key, value)| format!("{}={value:?}", text(key.as_raw().unwrap())));
            let of = (logdef.parent, pairs.collect());
            contexts.insert(logdef.id.unwrap(), of);
        }
        at += frame.len;
    }
}

struct OnDrop(u64);

impl Drop for OnDrop {
    fn drop(&mut self) {
        logdef!(Info, "%u dropped", self.0);
    }
}

#[test]
fn each_record_has_the_pairs_of_its_context() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    logdef!(Info, "%u", 0u64);
    let outer = Context::new(&[("request", value(&7u64)), ("user", value("ada"))]);
    outer.scope(|| {
        logdef!(Info, "%u", 1u64);
        outer
            .child(&[("part", value(&true))])
            .scope(|| logdef!(Info, "%u", 2u64));
        logdef!(Info, "%u", 3u64);
    });
    let panicked = std::panic::catch_unwind(|| {
        Context::new(&[("lost", value(&1u8))]).scope(|| panic!("in a context"));
    });
    assert!(panicked.is_err());
    logdef!(Info, "%u", 4u64);

    // Two tasks that take turns, each polled by another thread the second time.
    let task = |number: u64| {
        let own = Context::new(&[("task", value(&number))]);
        own.wrap(async move {
            let _dropped = OnDrop(number + 2);
            logdef!(Info, "%u begins", number);
            let mut waited = false;
            poll_fn(|_| {
                let done = waited;
                waited = true;
                if done { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            logdef!(Info, "%u ends", number + 1);
        })
    };
    let (mut one, mut two) = (Box::pin(task(10)), Box::pin(task(20)));
    let poll = |task: std::pin::Pin<&mut _>| {
        let mut context = std::task::Context::from_waker(Waker::noop());
        Future::poll(task, &mut context).is_ready()
    };
    assert!(!poll(one.as_mut()) && !poll(two.as_mut()));
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(poll(one.as_mut()))).join().unwrap();
        // Cancelled.
        scope.spawn(|| drop(two)).join().unwrap();
    });
    logdef!(Info, "%u", 5u64);
    drop(one);
    let long = "x".repeat(100_000);
    Context::new(&[("long", value(&long)), ("short", value("s"))])
        .scope(|| logdef!(Info, "%u", 6u64));
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();

    let found = read(&path);
    let outer = [
        "request=Uint(7)".to_owned(),
        "user=Raw([97, 100, 97])".to_owned(),
    ];
    for none in [0, 4, 5] {
        assert!(found[&none].is_empty(), "{found:?}");
    }
    assert_eq!(found[&1], outer);
    assert_eq!(
        found[&2],
        [&["part=Bool(true)".to_owned()], &outer[..]].concat()
    );
    assert_eq!(found[&3], outer);
    for (record, task) in [(10, 10), (11, 10), (12, 10), (20, 20), (22, 20)] {
        assert_eq!(found[&record], [format!("task=Uint({task})")], "{record}");
    }
    assert_eq!(found[&6].len(), 2);
}
