//! Death after every single instruction of a log call. `stepped` walks through
//! the call by the CPU's trap flag and, after each instruction, looks at the
//! log's files, which are then what a kill at that place would leave; and it
//! kills itself, at as many of these places as there is time for. At each of
//! them the records of earlier calls are there, byte for byte; of this call's
//! frames there are the first few, whole; and nothing else but what reads as
//! torn.

#![cfg(target_arch = "x86_64")]

use logdef_resync::{Input, Recovery};
use logdef_samples::frames;
use logdef_samples::sights::{FILES, Sight};
use logdef_samples::workshop::{Workshop, run};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

#[test]
fn a_warm_call_may_be_cut_anywhere() {
    walk("a warm call", 0, 5, 3);
}

#[test]
fn a_threads_first_call_may_be_cut_anywhere() {
    walk("a first call", 0, 5, 0);
}

#[test]
fn a_call_with_a_long_text_may_be_cut_anywhere() {
    walk("a call with a long text", 0, 3000, 2);
}

#[test]
fn a_call_that_starts_a_new_file_may_be_cut_anywhere() {
    // The smallest files that there are.
    const FILE: u64 = 128 << 10;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let output = run(&mut stepped(&log, FILE, 1000, &["count"]));
    let calls = String::from_utf8(output.stdout).unwrap();
    let calls = calls.trim().parse().unwrap();
    walk("a call that starts a new file", FILE, 1000, calls);
}

/// Real deaths on each walk. Each takes as many traps as it has instructions before it; what is
/// seen after every instruction says the same of all places.
fn kills() -> u64 {
    match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => 500,
        None => 6,
    }
}

fn stepped(log: &Path, file: u64, text: usize, more: &[&str]) -> Command {
    let mut command = Workshop::open().command("stepped");
    command.arg(log).arg(file.to_string());
    command.arg(text.to_string()).args(more);
    command
}

fn walk(name: &str, file: u64, text: usize, calls: u32) {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("log"), folder.path().join("sights"));
    let calls = calls.to_string();
    let look = [&*calls, "look", out.to_str().unwrap()];
    let output = run(&mut stepped(&log, file, text, &look));
    let steps: u64 = String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let sights = Sight::written(&fs::read(out).unwrap());
    let (before, after) = (&sights[0], sights.last().unwrap());
    let (before, after) = (frames_of(before), frames_of(after));
    let added = added(&before, &after);
    assert!(!added.is_empty(), "{name}: the call left nothing");
    for sight in &sights {
        let what = format!("{name}, after {} instructions", sight.step);
        judge(sight, &what);
        let seen = self::added(&before, &frames_of(sight));
        assert!(added.starts_with(&seen), "{what}: {seen:x?} of {added:x?}");
    }
    // Places spread evenly, over many runs of the same.
    let (mut killed, mut without, mut whole) = (0, 0, 0);
    let stride = (steps / kills()).max(1);
    for place in (0..steps - 1).step_by(stride as usize) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let kill = [&*calls, "kill", &place.to_string()];
        let output = stepped(&log, file, text, &kill).output().unwrap();
        // The clock can make the call shorter by some instructions, so that it
        // gets to its end.
        let status = output.status;
        assert!(
            status.signal() == Some(9) || status.success(),
            "{name}: {status}"
        );
        let what = format!("{name}, killed after {place} instructions");
        let sight = Sight::of(&log, place);
        judge(&sight, &what);
        // Other bytes in another run, but as many frames.
        let frames = frames_of(&sight).len();
        assert!(
            (before.len()..=after.len()).contains(&frames),
            "{what}: {frames} frames"
        );
        killed += 1;
        without += u64::from(frames == before.len());
        whole += u64::from(frames == after.len());
    }
    println!(
        "{name}: {steps} instructions, {} sights, {} frames; of {killed} killed, {without} left \
         nothing of the call and {whole} all of it",
        sights.len(),
        added.len()
    );
    assert!(sights.len() > 3 && without > 0);
}

/// A frame: its file, its place there, its bytes.
type Found = (&'static str, usize, Vec<u8>);

fn frames_of(sight: &Sight) -> Vec<Found> {
    let files = FILES.iter().zip(&sight.files);
    let frames = files.flat_map(|(name, bytes)| {
        let frames = frames::scan(bytes).into_iter();
        frames.map(|frame| (*name, frame.range.start, bytes[frame.range].to_vec()))
    });
    frames.collect()
}

/// The frames that were not there `before`, all of which must be there still.
fn added(before: &[Found], now: &[Found]) -> Vec<Found> {
    let mut old = before.iter().peekable();
    let mut new = now.to_vec();
    new.retain(|frame| old.next_if_eq(&frame).is_none());
    assert_eq!(old.next(), None, "a frame of an earlier call is gone");
    new
}

/// What the reader makes of it: as many frames, others torn at most, and no
/// damage.
fn judge(sight: &Sight, what: &str) {
    let files = FILES.iter().zip(&sight.files);
    let inputs: Vec<_> = files
        .map(|(name, bytes)| Input::from_bytes(format!("log{name}"), bytes.clone()))
        .collect();
    let recovery = Recovery::of(&inputs).unwrap();
    let accounts = recovery.accounts();
    assert!(
        recovery
            .accounts()
            .iter()
            .all(logdef_resync::Account::is_undamaged),
        "{what}: {accounts:#?}"
    );
    let torn: u64 = accounts.iter().map(|account| account.torn.count).sum();
    // What the call reserved: its definitions and its record.
    assert!(torn <= 8, "{what}: {torn} are torn");
    let found: u64 = accounts.iter().map(|account| account.frames.count).sum();
    assert_eq!(found, frames_of(sight).len() as u64, "{what}");
}
