//! Bytes as a log: the frames that are found are those that a slow search finds, each
//! byte is in one item, and it is the same however the bytes come in.

use logdef_resync::{Input, Item, Items, Source, split};
use logdef_wire::frame;
use std::io;

/// Panics if something does not hold.
pub fn exercise(bytes: &[u8]) {
    let input = Input::from_bytes("bytes", bytes.to_vec());
    let mut items = Items::new(&input);
    let (found, frames) = walk(&mut items, bytes.len() as u64);
    let work = items.work();
    assert!(work.summed <= 2 * bytes.len() as u64 + 1024 * work.candidates);
    assert_eq!(frames, slowly(bytes));

    let trickle = Trickle(bytes.to_vec());
    let source = Input::from_source("source", trickle, input.len());
    let (streamed, _) = walk(&mut Items::new(&source), input.len());
    assert_eq!(streamed, found);

    let at = input.len() * bytes.first().copied().unwrap_or(0) as u64 / 255;
    let mut parts = Vec::new();
    for range in [0..at, at..input.len()] {
        let mut part = split::part(&input, range).expect("memory can be read");
        while let Some(item) = part.next().expect("memory can be read") {
            if let Item::Frame(frame) = item {
                parts.push((frame.offset, frame.end()));
            }
        }
    }
    assert_eq!(parts, frames, "split at {at}");
}

/// Bytes that come a few at a time.
#[derive(Debug)]
struct Trickle(Vec<u8>);

impl Source for Trickle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or(&[]);
        let len = rest.len().min(buffer.len()).min(1 + rest.len() % 13);
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

type Range = (u64, u64);

/// All items, as text, and where the frames stand.
fn walk(items: &mut Items<'_>, len: u64) -> (Vec<String>, Vec<Range>) {
    let (mut all, mut frames) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(item) = items.next().expect("memory can be read") {
        all.push(format!("{item:?}"));
        let (start, end) = (item.offset(), item.end());
        if let Item::Frame(_) = item {
            frames.push((start, end));
        }
        assert!(start == at && end > start, "items follow each other");
        at = end;
    }
    assert_eq!(at, len, "every byte is in an item");
    (all, frames)
}

/// The frames, looked for at each byte.
fn slowly(bytes: &[u8]) -> Vec<Range> {
    let mut frames = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match frame::decode(&bytes[at..]) {
            Ok(frame) => {
                frames.push((at as u64, (at + frame.len) as u64));
                at += frame.len;
            }
            Err(_) => at += 1,
        }
    }
    frames
}
