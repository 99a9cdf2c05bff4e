//! What is read of a part in order is what a log made of it has, or it is refused.

use crate::made::{Numbers, archive, held, opened, push};
use logdef_archive::{Ordered, OrderedBatch};
use logdef_resync::{Input, Recovery};
use logdef_wire::record::{Preamble, ThreadLogdef};
use logdef_wire::{Magic, Run};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const EPOCH: u64 = 1_700_000_000_000_000_000;

fn record(log: &mut Vec<u8>, thread: u64, count: u64, time: u64) {
    push(log, |out| {
        out.uint(127)?;
        out.map(5)?;
        out.uint(4)?;
        out.uint(count % 3)?;
        out.uint(5)?;
        out.uint64(7)?;
        out.uint(7)?;
        out.uint64(thread << 40 | count)?;
        out.uint(8)?;
        out.uint64(EPOCH + time)?;
        out.uint(9)?;
        out.array(2)?;
        out.uint(count * thread)?;
        out.raw(b"some text")
    });
}

/// Records of three threads, many of which have the same time, and what names the threads in between.
fn log() -> Vec<u8> {
    let mut log = Vec::new();
    let preamble = Preamble {
        run: Some(Run(7)),
        ..Preamble::default()
    };
    push(&mut log, |out| preamble.encode(out));
    let mut counts = [0; 3];
    for step in 0..2500u64 {
        let thread = (step * step % 3) as usize;
        if step % 400 == 0 {
            let logdef = ThreadLogdef {
                run: Some(Run(7)),
                number: Some(logdef_wire::ThreadNumber(thread as u64)),
                name: Some(if step == 0 { b"first" } else { b"later" }),
                ..ThreadLogdef::default()
            };
            push(&mut log, |out| logdef.encode(out));
        }
        record(&mut log, thread as u64, counts[thread], step / 5);
        counts[thread] += 1;
    }
    log
}

fn kept(folder: &Path, logs: &[&[u8]]) -> PathBuf {
    archive(folder, logs, None);
    logdef_archive::parts(folder).pop().unwrap()
}

/// The bodies that are given in order, and whether these are all; `None` if it is refused.
fn given(part: &Path) -> Option<(Vec<Vec<u8>>, bool)> {
    given_of(&[part.to_owned()])
}

fn given_of(parts: &[PathBuf]) -> Option<(Vec<Vec<u8>>, bool)> {
    let mut ordered = Ordered::open(parts).ok()??;
    let mut batch = OrderedBatch::default();
    let (mut bodies, mut places) = (Vec::new(), HashMap::new());
    loop {
        let filled = ordered.fill(&mut batch);
        if filled.is_ok() {
            for (place, _) in batch.frames() {
                let next: &mut u64 = places.entry(place.input).or_default();
                assert_eq!(place.offset, *next);
                *next += 1;
            }
            bodies.extend(batch.frames().map(|(_, body)| body.to_vec()));
        }
        match filled {
            Ok(true) => {}
            ended => return Some((bodies, ended.is_ok())),
        }
    }
}

/// The bodies that a merge of the part gives as a log, and whether that log is clean; `None` if the log breaks
/// off before the first of the pieces that it is made in.
fn merged(part: &Path) -> Option<(Vec<Vec<u8>>, bool)> {
    let input = logdef_archive::open(part, 1 << 30).ok()?;
    let is_clean = Recovery::of(std::slice::from_ref(&input))
        .unwrap()
        .is_clean();
    Some((frames(&[input]), is_clean))
}

fn frames(inputs: &[Input]) -> Vec<Vec<u8>> {
    let (frames, _) = held(inputs);
    frames.into_iter().map(|(body, _)| body).collect()
}

#[test]
fn parts_of_the_same_time_are_given_in_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    for thread in 0..5u64 {
        let mut log = Vec::new();
        for count in 0..1500 {
            record(&mut log, thread, count, count * (thread + 1) / 3);
        }
        archive(&path, &[&log], None);
    }
    let parts = logdef_archive::parts(&path);
    assert_eq!(parts.len(), 5);
    let (bodies, is_all) = given_of(&parts).unwrap();
    assert!(is_all && bodies.len() == 7500);
    assert!(bodies == frames(&opened(&path)));
}

#[test]
fn a_log_that_lacks_nothing_is_given_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let part = kept(&folder.path().join("kept"), &[&log()]);
    let (bodies, is_all) = given(&part).expect("nothing is wrong with it");
    assert!(is_all && bodies.len() > 2500);
    assert!(bodies == merged(&part).unwrap().0);
    let tables = Ordered::open(&[part]).unwrap().unwrap().tables();
    let recovery = Recovery::of(&[Input::from_bytes("log", log())]).unwrap();
    assert_eq!(tables.runs(), recovery.tables().runs());
}

#[test]
fn a_log_that_lacks_something_is_refused() {
    let refused = |why: &str, logs: &[&[u8]]| {
        let folder = tempfile::tempdir().unwrap();
        let part = kept(&folder.path().join("kept"), logs);
        assert!(given(&part).is_none(), "{why}");
    };
    let whole = log();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    refused("damaged", &[&damaged]);
    refused("cut", &[&whole[..whole.len() - 3]]);
    let mut hole = Vec::new();
    for count in [0, 1, 3] {
        record(&mut hole, 0, count, count);
    }
    refused("a record is missing", &[&hole]);
    let mut late = Vec::new();
    for count in [5, 6] {
        record(&mut late, 0, count, count);
    }
    refused("the first records are missing", &[&late]);
    let mut odd = Vec::new();
    push(&mut odd, |out| out.bytes(&[127, 0x81, 8, 9]));
    refused("a record without an identity", &[&odd]);
    // What an earlier part has.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut more = whole.clone();
    record(&mut more, 9, 0, 1 << 40);
    assert!(given(&kept(&path, &[&whole])).is_some());
    record(&mut more, 9, 1, 1 << 41);
    assert!(
        given(&kept(&path, &[&more])).is_some(),
        "a thread of its own"
    );
    record(&mut more, 9, 2, 1 << 42);
    assert!(
        given(&kept(&path, &[&more])).is_none(),
        "the rest of a thread"
    );
    // All together lack nothing.
    let (bodies, is_all) = given_of(&logdef_archive::parts(&path)).unwrap();
    assert!(is_all && bodies == frames(&opened(&path)));
}

/// Of an image without a load bias, what logged is found out from the backtraces of all its records.
#[test]
fn backtraces_are_given_where_the_image_is_known_by_its_preamble() {
    for load_bias in [Some(0x5500_0000), None] {
        let mut log = Vec::new();
        let preamble = Preamble {
            run: Some(Run(7)),
            magic: Some(Magic(3)),
            load_bias,
            ..Preamble::default()
        };
        push(&mut log, |out| preamble.encode(out));
        for count in 0..9u64 {
            push(&mut log, |out| {
                out.bytes(&[127, 0x85, 0])?;
                out.uint64(3)?;
                out.uint(5)?;
                out.uint64(7)?;
                out.uint(7)?;
                out.uint64(count)?;
                out.uint(8)?;
                out.uint64(EPOCH + count)?;
                out.uint(10)?;
                out.array(2)?;
                out.uint(0x5500_1000 + count)?;
                out.uint(0x5500_2000)
            });
        }
        let folder = tempfile::tempdir().unwrap();
        let part = kept(&folder.path().join("kept"), &[&log]);
        let (bodies, is_all) = given(&part).unwrap();
        assert_eq!(is_all, load_bias.is_some());
        assert!(!is_all || bodies == merged(&part).unwrap().0);
    }
}

#[test]
fn what_a_changed_part_gives_is_what_its_log_begins_with() {
    let folder = tempfile::tempdir().unwrap();
    let part = kept(&folder.path().join("kept"), &[&log()]);
    // They would find each change.
    fs::remove_file(part.join("sums.txt")).unwrap();
    let mut numbers = Numbers(5);
    let (mut whole, mut broken, mut refused) = (0, 0, 0);
    for name in ["records.parquet", "threads.parquet", "frames.parquet"] {
        let file = part.join(name);
        let good = fs::read(&file).unwrap();
        for _ in 0..120 {
            let mut bad = good.clone();
            let at = numbers.next(good.len() as u64) as usize;
            bad[at] ^= 1 << numbers.next(8);
            fs::write(&file, bad).unwrap();
            let Some((bodies, is_all)) = given(&part) else {
                refused += 1;
                continue;
            };
            *(if is_all { &mut whole } else { &mut broken }) += 1;
            let Some((expected, is_clean)) = merged(&part) else {
                assert!(!is_all, "{name} {at}");
                continue;
            };
            let same = expected
                .iter()
                .zip(&bodies)
                .take_while(|(one, other)| one == other);
            assert_eq!(same.count(), bodies.len(), "{name} {at}");
            assert!(
                !is_all || is_clean && bodies.len() == expected.len(),
                "{name} {at}"
            );
        }
        fs::write(&file, good).unwrap();
    }
    assert!(
        whole > 20 && broken > 5 && refused > 20,
        "{whole} {broken} {refused}"
    );
}
