//! A log that is followed gives everything once: fast and slow threads, files that rotate
//! many times between two looks, forked children, restarts, a follower that was stopped.
//! What it gives equals what is in the folder in the end, each thread in order.

use logdef_resync::{Follow, Input, Merge, MergeOptions, News, Recovery, Survey, family, unmasked};
use logdef_wire::record::Glance;
use logdef_wire::{Run, frame};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Counts of each thread of each run, in the order in which they came.
type Threads = BTreeMap<(Run, u64), Vec<u64>>;

fn add(threads: &mut Threads, body: &[u8]) {
    if let Some(glance) = Glance::of(body)
        && let (Some(run), Some(sequence)) = (glance.run, glance.sequence)
    {
        let thread = (run, sequence.number().0);
        threads.entry(thread).or_default().push(sequence.count());
    }
}

/// What stands in the folder.
fn in_folder(log: &Path) -> Threads {
    let files = family(log);
    let inputs: Vec<_> = files
        .iter()
        .map(|file| Input::open(file).unwrap())
        .collect();
    let recovery = Recovery::of(&inputs).unwrap();
    let mut threads = Threads::new();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    while let Some(event) = merge.next().unwrap() {
        if let logdef_resync::Event::Frame(frame) = event {
            add(&mut threads, frame.body);
        }
    }
    threads
}

fn take(news: Vec<News>, threads: &mut Threads) {
    for news in news {
        let News::Frame { bytes, .. } = news else {
            panic!("{news:?}");
        };
        let mut scratch = Vec::new();
        let body = frame::decode(&bytes).unwrap().body;
        add(threads, unmasked(body, &mut scratch).unwrap());
    }
}

fn rotor(log: &Path, [size, records, fast, slow, children]: [u64; 5]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rotor"));
    command.arg(log);
    command.args([size, records, fast, slow, children].map(|number| number.to_string()));
    command.spawn().unwrap()
}

/// Follows programs that run one after another, looking once in `every` turns: 1 for always.
fn follow(programs: &[[u64; 5]], every: u32) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("app.log");
    let mut follow = Follow::new(&log);
    let mut threads = Threads::new();
    let deadline = Instant::now() + Duration::from_secs(300);
    for program in programs {
        let mut child = rotor(&log, *program);
        let mut looks = 0;
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the program does not end");
            looks += 1;
            if looks % every == 0 {
                take(follow.poll(), &mut threads);
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(child.wait().unwrap().success());
    }
    // What is held is given after a few looks.
    for _ in 0..30 {
        take(follow.poll(), &mut threads);
        while follow.has_more() {
            take(follow.poll(), &mut threads);
        }
    }
    let folder = in_folder(&log);
    for (thread, counts) in &threads {
        assert!(counts.is_sorted(), "{thread:?} is out of order");
    }
    assert!(threads == folder, "{} of {}", sum(&threads), sum(&folder));
    most_numbers_have_a_file(&log);
    let calls = |&[_, records, fast, slow, children]: &[u64; 5]| {
        records * fast + records.div_ceil(100) * slow + 20 * children
    };
    let calls: u64 = programs.iter().map(calls).sum();
    assert_eq!(sum(&threads) as u64, calls);
}

/// Rotation leaves few numbers out: one each time that a thread is kept from running after it has
/// made a file that another thread's file then follows, which happened twice in one of 1,900 runs.
fn most_numbers_have_a_file(log: &Path) {
    let files = family(log).into_iter();
    let number = |file: std::path::PathBuf| file.extension()?.to_str()?.parse().ok();
    let numbers: Vec<usize> = files.filter_map(number).collect();
    let highest = numbers.iter().copied().max().unwrap_or(0);
    assert!(
        highest <= numbers.len() + numbers.len() / 8 + 2,
        "{numbers:?}"
    );
    assert!(numbers.len() > 2, "{numbers:?}");
}

fn sum(threads: &Threads) -> usize {
    threads.values().map(Vec::len).sum()
}

#[test]
fn slow_threads_in_old_files_are_followed() {
    follow(&[[1 << 20, 40_000, 2, 2, 0]], 1);
}

#[test]
fn many_rotations_between_two_looks_are_followed() {
    follow(&[[256 << 10, 30_000, 3, 1, 0]], 60);
}

#[test]
fn forked_children_and_restarts_are_followed() {
    let program = [512 << 10, 10_000, 2, 1, 6];
    follow(&[program, program, program], 3);
}

/// No log of a program was once shown before all of it was read: the room for notes at its front was
/// taken for the end of the first chunk.
#[test]
fn the_chunks_of_a_log_say_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("app.log");
    let done = rotor(&log, [1 << 40, 20_000, 2, 1, 0]).wait().unwrap();
    assert!(done.success());
    let input = Input::open(&log).unwrap();
    let survey = Survey::of(&input).unwrap().expect("a survey");
    let mut merge = Merge::from_survey(&input, &survey, MergeOptions::default());
    let mut records = 0;
    while let Some(event) = merge.next().unwrap() {
        records += u64::from(matches!(event, logdef_resync::Event::Frame(_)));
    }
    assert!(!merge.contradicts_survey());
    assert!(records > 40_000, "{records}");
}
