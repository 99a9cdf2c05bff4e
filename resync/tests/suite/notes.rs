//! What notes say of records that are not here: what the writer gave up to make room, and
//! how many calls a run made in all.

use crate::synth::{EPOCH, Log};
use logdef_resync::{Input, Losses, NoImages, Recovery, rewrite};
use logdef_wire::msgpack::{Encoder, Map};
use logdef_wire::record::{Note, NoteKind};
use logdef_wire::{Record, Run};

const RUN: Run = Run(9);
const CHUNK: usize = 2048;
const SECOND: u64 = 1_000_000_000;

/// Chunks of 10 records each, of two threads in turn.
fn chunks(number: u64) -> Log {
    let mut log = Log::new();
    for chunk in 0..number {
        log.preamble(RUN, Some(CHUNK as u64));
        for record in 0..10 {
            let count = chunk / 2 * 10 + record;
            let time = EPOCH + (chunk * 10 + record) * SECOND;
            log.data(RUN, chunk % 2, count, time, b"");
        }
        log.zeros((chunk as usize + 1) * CHUNK - log.bytes.len());
    }
    log
}

fn losses(bytes: &[u8]) -> Losses {
    let inputs = [Input::from_bytes("log", bytes.to_vec())];
    Recovery::of(&inputs).unwrap().losses()
}

/// A copy of each kind.
fn copies(bytes: &[u8]) -> [Vec<u8>; 2] {
    let inputs = [Input::from_bytes("log", bytes.to_vec())];
    let recovery = Recovery::of(&inputs).unwrap();
    let (mut recovered, mut merged) = (Vec::new(), Vec::new());
    rewrite::recover(&inputs, &recovery, &mut NoImages, &mut recovered).unwrap();
    rewrite::merge(&inputs, &recovery, &mut merged).unwrap();
    [recovered, merged]
}

/// A note that chunks 2 and 3, the second of each thread, were given up.
fn pruned(log: &mut Log, names_threads: bool) {
    let mut buffer = [0; 64];
    let mut encoder = Encoder::new(&mut buffer);
    for thread in 0..2 {
        encoder.uint(thread).unwrap();
        encoder.uint(20).unwrap();
    }
    let at = log.bytes.len() as i64;
    log.record(&Record::Note(Note {
        run: Some(RUN),
        kind: Some(NoteKind::PRUNED),
        time: Some(EPOCH + 70 * SECOND),
        start: Some(2 * CHUNK as i64 - at),
        size: Some(2 * CHUNK as u64),
        threads: Map::from_objects(2, encoder.written())
            .ok()
            .filter(|_| names_threads),
        ..Note::default()
    }));
}

#[test]
fn what_the_writer_gave_up_is_pruned_and_not_lost() {
    let mut whole = chunks(6);
    whole.bytes[2 * CHUNK..4 * CHUNK].fill(0);
    let lost = losses(&whole.bytes);
    assert_eq!((lost.missing, lost.pruned), (20, 0), "{lost:?}");
    assert!(lost.damaged > 0);
    for names_threads in [true, false] {
        let mut log = whole.clone();
        pruned(&mut log, names_threads);
        let found = losses(&log.bytes);
        assert_eq!((found.missing, found.pruned), (0, 20), "{found:?}");
        assert!(found.is_clean() && !found.at_least, "{found:?}");
    }
    let mut log = whole.clone();
    pruned(&mut log, true);
    for copy in copies(&log.bytes) {
        let found = losses(&copy);
        assert_eq!((found.missing, found.pruned), (0, 20), "{found:?}");
    }
}

#[test]
fn threads_of_which_nothing_was_spared_are_pruned() {
    let mut log = Log::new();
    log.preamble(RUN, None);
    log.data(RUN, 7, 0, EPOCH, b"");
    pruned(&mut log, true);
    let found = losses(&log.bytes);
    assert_eq!((found.missing, found.pruned), (0, 40), "{found:?}");
}

fn ended(log: &mut Log, calls: u64, dropped: Option<u64>, time: u64) {
    log.record(&Record::Note(Note {
        run: Some(RUN),
        kind: Some(NoteKind::END),
        time: Some(time),
        calls: Some(calls),
        dropped,
        ..Note::default()
    }));
}

#[test]
fn a_run_that_ended_shows_what_is_lost_after_its_last_records() {
    let time = EPOCH + 100 * SECOND;
    for (calls, dropped, missing, found_dropped) in [
        (40, None, 0, 0),
        (43, None, 3, 0),
        (43, Some(2), 1, 2),
        (43, Some(3), 0, 3),
    ] {
        let mut log = chunks(4);
        ended(&mut log, calls, dropped, time);
        for bytes in [&[log.bytes.clone()][..], &copies(&log.bytes)].concat() {
            let found = losses(&bytes);
            assert_eq!(
                (found.missing, found.dropped),
                (missing, found_dropped),
                "{found:?}"
            );
            assert_eq!(found.is_clean(), missing + found_dropped == 0);
        }
    }
    // Records that are later than the note revoke it.
    let mut log = chunks(4);
    ended(&mut log, 43, None, EPOCH + SECOND);
    assert!(losses(&log.bytes).is_clean());
    // Without the front of the run, whole threads may be in other files.
    let mut log = chunks(4);
    log.bytes.drain(..CHUNK);
    ended(&mut log, 43, None, time);
    let found = losses(&log.bytes);
    assert_eq!((found.missing, found.pruned), (0, 10 + 3), "{found:?}");
}
