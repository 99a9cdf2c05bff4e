//! Logs for the tests, and what a log holds.

use logdef_archive::{Archive, Unit, Written};
use logdef_resync::{
    Event, Input, Item, Items, Merge, MergeOptions, NoImages, Recovery, Standing, unmasked,
};
use logdef_wire::frame;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use std::path::{Path, PathBuf};

/// Random numbers that are the same in each run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % below
    }
}

/// Appends the frame of a body.
pub fn push(log: &mut Vec<u8>, body: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>) {
    let mut frame = vec![0; 1 << 14];
    let len = frame::encode(&mut frame, |encoder| body(encoder)).unwrap();
    log.extend_from_slice(&frame[..len]);
}

/// Archives logs into a folder.
pub fn archive(folder: &Path, logs: &[&[u8]], unit: Option<Unit>) -> Written {
    let inputs: Vec<_> = logs
        .iter()
        .enumerate()
        .map(|(index, log)| Input::from_bytes(format!("log {index}"), log.to_vec()))
        .collect();
    let recovery = Recovery::of(&inputs).unwrap();
    let archive = Archive::open(folder, unit).unwrap();
    let mut archive = archive.with_row_groups_of(1000);
    let files = vec![None; inputs.len()];
    archive.add(&inputs, &files, &recovery, NoImages).unwrap()
}

/// The parts of an archive as logs.
pub fn opened(folder: &Path) -> Vec<Input> {
    let parts = logdef_archive::parts(folder);
    let open = |part: &PathBuf| logdef_archive::open(part, 1 << 30).unwrap();
    parts.iter().map(open).collect()
}

/// The bodies of all frames of a log in their order, how far each can be trusted, and the verdict.
pub fn held(inputs: &[Input]) -> (Vec<(Vec<u8>, Standing)>, String) {
    let recovery = Recovery::of(inputs).unwrap();
    let mut options = MergeOptions::default();
    options.all_frames = true;
    options.gaps = false;
    let mut merge = Merge::new(inputs, &recovery, options);
    let mut frames = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event {
            frames.push((frame.body.to_vec(), frame.standing));
        }
    }
    (frames, recovery.losses().to_string())
}

/// The bodies of all frames of a log as they stand in it.
pub fn standing(input: &Input) -> Vec<Vec<u8>> {
    let mut items = Items::new(input);
    let mut scratch = Vec::new();
    let mut frames = Vec::new();
    while let Some(item) = items.next().unwrap() {
        match item {
            Item::Frame(frame) => {
                frames.push(unmasked(frame.body, &mut scratch).unwrap().to_vec());
            }
            other => panic!("{other:?}"),
        }
    }
    frames
}
