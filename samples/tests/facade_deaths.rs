//! Programs that log by `log` and `tracing` are killed at random moments, as they are, in a forked
//! child, and with their rights given up: each round that had returned is in the log, once, with
//! its own places, targets, fields and span.

use logdef_resync::{
    Account, Event, Input, Merge, MergeOptions, Recovery, Resolved, Resolver, push_value,
};
use logdef_samples::smash::Random;
use logdef_samples::workshop::Workshop;
use logdef_wire::Record;
use logdef_wire::record::Kind;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const THREADS: u64 = 3;
const KILLS: u64 = 8;
const PATIENCE: Duration = Duration::from_secs(200);

#[test]
fn killed_programs_with_facades_have_lost_nothing() {
    campaign("plain");
}

#[test]
fn killed_children_of_programs_with_facades_have_lost_nothing() {
    campaign("fork");
}

#[test]
fn killed_programs_with_facades_that_gave_up_their_rights_have_lost_nothing() {
    campaign("confined");
}

fn campaign(how: &str) {
    let victim = Workshop::open().built.join("facades");
    let mut random = Random(how.len() as u64);
    let mut rounds = 0;
    for _ in 0..KILLS {
        let folder = tempfile::tempdir().unwrap();
        let returned = run(&victim, folder.path(), how, &mut random);
        check(&folder.path().join("log"), &returned);
        rounds += returned.iter().sum::<u64>();
    }
    assert!(rounds > 0);
}

/// Runs a victim and kills it with all of its children; returns how many rounds of each thread
/// had returned.
fn run(victim: &Path, folder: &Path, how: &str, random: &mut Random) -> Vec<u64> {
    let counts = folder.join("counts");
    fs::write(&counts, vec![0; 8 * THREADS as usize]).unwrap();
    let returned = || -> Vec<u64> {
        let bytes = fs::read(&counts).unwrap();
        let words = bytes.chunks_exact(8);
        words
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
            .collect()
    };
    let mut command = Command::new(victim);
    command.arg(folder.join("log")).arg(&counts);
    command.arg(THREADS.to_string()).arg(how).process_group(0);
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while returned().contains(&0) {
        assert!(began.elapsed() < PATIENCE, "it does not log");
        assert!(child.try_wait().unwrap().is_none(), "it died");
        std::thread::yield_now();
    }
    let scale = random.below(15);
    std::thread::sleep(Duration::from_micros(random.below(1 << scale)));
    // SAFETY: kills the group that the victim leads.
    let killed = unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    assert_eq!(killed, 0);
    child.wait().unwrap();
    returned()
}

/// What was found of a round.
#[derive(Debug, Default)]
struct Round {
    spans: Vec<(Kind, String)>,
    event: Option<String>,
    record: bool,
}

type Rounds = BTreeMap<(u64, u64), Round>;

fn check(log: &Path, returned: &[u64]) {
    let inputs = [Input::open(log).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    assert!(recovery.accounts().iter().all(Account::is_undamaged));
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let (mut rounds, mut of_span) = (Rounds::new(), HashMap::new());
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        if let Some(Record::Data(data)) = frame.record() {
            take(
                &resolver.resolve(&data, frame.place),
                &mut rounds,
                &mut of_span,
            );
        }
    }
    for (thread, returned) in returned.iter().enumerate() {
        for round in 0..*returned {
            let found = rounds.get(&(thread as u64, round));
            let found = found.unwrap_or_else(|| panic!("round {round} of {thread} is not there"));
            let span = found.event.as_ref().expect("an event");
            let both = [Kind::BEGIN, Kind::END].map(|kind| (kind, span.clone()));
            assert_eq!(found.spans, both, "round {round} of {thread}");
            assert!(found.record, "round {round} of {thread}");
        }
    }
}

/// Takes in a record.
fn take(record: &Resolved<'_>, rounds: &mut Rounds, of_span: &mut HashMap<String, (u64, u64)>) {
    let mut text = Vec::new();
    record.message(&mut text);
    let text = String::from_utf8(text).unwrap();
    assert!(record.is_complete(), "{text}");
    if text == "parent" {
        return;
    }
    let file = String::from_utf8_lossy(record.file.bytes.unwrap());
    assert!(file.ends_with("src/bin/facades.rs"), "{file}");
    let target = record.target();
    let value = |name: &str| {
        let pairs = record.data.keys.into_iter().flat_map(|keys| keys.iter());
        let named = pairs.filter_map(|(key, value)| Some((key.as_raw()?, value)));
        let mut all = record.named().chain(named);
        let (_, value) = all.find(|(key, _)| *key == name.as_bytes())?;
        let mut text = Vec::new();
        push_value(value, &mut text);
        Some(String::from_utf8(text).unwrap())
    };
    let number = |name| value(name).unwrap().parse::<u64>().unwrap();
    match record.data.kind {
        Some(Kind::BEGIN) => {
            let key = (number("thread"), number("round"));
            let span = value("span").unwrap();
            of_span.insert(span.clone(), key);
            rounds
                .entry(key)
                .or_default()
                .spans
                .push((Kind::BEGIN, span));
        }
        Some(kind) => {
            let span = value("span").unwrap();
            let key = of_span[&span];
            rounds.entry(key).or_default().spans.push((kind, span));
        }
        None if target == Some(b"story") => {
            let round = number("round");
            assert_eq!(text, format!("event {}", round * 3));
            let found = rounds.entry((number("thread"), round)).or_default();
            assert_eq!(found.event.replace(value("span").unwrap()), None);
        }
        None => {
            assert_eq!(target, Some(&b"tale"[..]));
            let thread = text.rsplit(' ').next().unwrap().parse().unwrap();
            let round = number("round");
            assert_eq!(value("half").unwrap(), format!("{:?}", round as f64 / 2.0));
            let found = rounds.entry((thread, round)).or_default();
            assert!(
                !std::mem::replace(&mut found.record, true),
                "{thread} {round}"
            );
        }
    }
}
