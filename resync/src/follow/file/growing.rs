//! A file that is written while it is followed: what a look finds of it, and what the next
//! makes of that.

use super::tests::Seen;
use super::*;
use crate::read::input::Source;
use logdef_wire::record::Data;
use logdef_wire::{Record, Run, frame};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

/// Bytes that change while they are followed.
#[derive(Clone, Debug)]
struct Growing {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// How many reads are left until one fails, as on a server that starts again.
    until_failure: Arc<AtomicI64>,
}

impl Source for Growing {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.until_failure.fetch_sub(1, Ordering::Relaxed) == 0 {
            return Err(io::ErrorKind::StaleNetworkFileHandle.into());
        }
        let bytes = self.bytes.lock().unwrap();
        let rest = &bytes[(offset as usize).min(bytes.len())..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

impl Growing {
    const CHUNK: usize = 16 << 10;

    fn of_chunks(chunks: usize) -> (Growing, Followed) {
        let growing = Growing {
            bytes: Arc::new(Mutex::new(vec![0; chunks * Self::CHUNK])),
            until_failure: Arc::new(AtomicI64::new(-1)),
        };
        let len = (chunks * Self::CHUNK) as u64;
        let input = Input::from_source("growing", growing.clone(), len);
        let mut file = Followed::new("app.log".into(), (0, 0), input);
        file.is_fixed = false;
        (growing, file)
    }

    /// Writes the preamble that opens a chunk; where it ends.
    fn open_chunk(&self, chunk: usize) -> usize {
        let preamble = Preamble {
            run: Some(Run(7)),
            chunk: Some(Self::CHUNK as u64),
            ..Preamble::default()
        };
        self.write(chunk * Self::CHUNK, &Record::Preamble(preamble))
    }

    /// Writes a frame; where it ends.
    fn write(&self, at: usize, record: &Record<'_>) -> usize {
        let mut bytes = self.bytes.lock().unwrap();
        let room = &mut bytes[at..];
        at + frame::encode(room, |encoder| record.encode(encoder)).unwrap()
    }
}

#[test]
fn a_chunk_is_read_behind_the_room_for_notes_that_its_preamble_leaves() {
    let (growing, mut file) = Growing::of_chunks(2);
    let mut seen = Seen::default();
    assert!(file.read(&mut seen).unwrap());
    let preamble = growing.open_chunk(0);
    growing.open_chunk(1);
    assert!(file.read(&mut seen).unwrap());
    // The thread comes to run again.
    let first = preamble + Preamble::ROOM_FOR_NOTES as usize;
    let data = Data {
        format_text: Some(b"here"),
        ..Data::default()
    };
    let end = growing.write(first, &Record::Data(data));
    assert!(file.read(&mut seen).unwrap());
    let note = growing.write(preamble, &Record::Data(data));
    assert!(note < first);
    growing.write(end, &Record::Data(data));
    assert!(file.read(&mut seen).unwrap());
    let expected = [0, Growing::CHUNK, first, preamble, end];
    assert_eq!(seen.frames, expected.map(|at| at as u64));
    assert!(seen.news.is_empty(), "{:?}", seen.news);
}

#[test]
fn a_chunk_is_read_behind_one_whose_thread_has_not_come_to_write() {
    let (growing, mut file) = Growing::of_chunks(6);
    growing.open_chunk(0);
    let mut seen = Seen::default();
    // Claimed in the order of their numbers, and opened in another.
    for chunk in [4, 2, 3, 1, 5] {
        assert!(file.read(&mut seen).unwrap());
        growing.open_chunk(chunk);
    }
    assert!(file.read(&mut seen).unwrap());
    let chunks = seen.frames.iter().map(|at| at / Growing::CHUNK as u64);
    assert_eq!(chunks.collect::<Vec<_>>(), [0, 4, 2, 3, 1, 5]);
    assert!(seen.news.is_empty(), "{:?}", seen.news);
}

/// Two frames in an opened chunk, and where the three begin and end.
fn two_frames(growing: &Growing) -> [usize; 4] {
    let text = [b'x'; 300];
    let data = Record::Data(Data {
        format_text: Some(&text),
        ..Data::default()
    });
    let first = growing.open_chunk(0);
    let second = growing.write(first, &data);
    [0, first, second, growing.write(second, &data)]
}

/// A follower once took a frame whose length it read half stored for one of ten bytes, and the rest of it
/// for damage.
#[test]
fn a_frame_is_given_whatever_was_read_of_it_before_it_was_whole() {
    let (growing, _) = Growing::of_chunks(1);
    let [opens, first, second, end] = two_frames(&growing);
    let whole = growing.bytes.lock().unwrap().clone();
    let length = frame::RESERVED_OFFSET..frame::HEADER_LEN;
    // A front that was read before the rest, and a length that came byte by byte.
    let fronts = (1..=second - first).map(|front| 0..front);
    let lengths = length.clone().skip(1);
    let lengths = lengths.map(|stored| stored..second - first);
    for (unread, length) in fronts
        .map(|it| (it, 0..0))
        .chain(lengths.map(|it| (it, 0..6)))
    {
        for (is_last, gets_full) in [(false, false), (true, false), (false, true)] {
            let (growing, mut file) = Growing::of_chunks(1);
            let mut early = whole.clone();
            early[first..][unread.clone()].fill(0);
            early[first..][length.clone()].fill(0);
            if is_last {
                early[second..].fill(0);
            }
            *growing.bytes.lock().unwrap() = early;
            let mut seen = Seen::default();
            assert!(file.read(&mut seen).unwrap());
            *growing.bytes.lock().unwrap() = whole.clone();
            for _ in 0..8 {
                seen.room = if gets_full { 1 } else { usize::MAX };
                file.read(&mut seen).unwrap();
            }
            seen.frames.sort();
            let expected = [opens, first, second].map(|at| at as u64);
            assert_eq!(seen.frames, expected, "{unread:?} {is_last} {gets_full}");
            assert!(
                seen.news.is_empty(),
                "{unread:?} {is_last}: {:?}",
                seen.news
            );
            assert!(file.has_passed(first as u64) && !file.has_passed(end as u64));
        }
    }
}

/// What was pending was once forgotten when a read failed, and what had been given was given again.
#[test]
fn nothing_is_lost_nor_given_twice_when_a_read_fails() {
    for fails in 0..40 {
        let (growing, mut file) = Growing::of_chunks(3);
        let mut seen = Seen::default();
        let chunks = [0, 1, 2].map(|chunk| growing.open_chunk(chunk));
        assert!(file.read(&mut seen).unwrap());
        let data = Record::Data(Data {
            format_text: Some(b"here"),
            ..Data::default()
        });
        for at in chunks {
            let behind = growing.write(at, &data);
            growing.write(behind, &data);
        }
        growing.until_failure.store(fails, Ordering::Relaxed);
        let failed = (0..5).filter(|_| file.read(&mut seen).is_err()).count();
        assert!(failed <= 1, "{failed}");
        let mut once = seen.frames.clone();
        once.sort();
        once.dedup();
        assert_eq!((once.len(), seen.frames.len()), (9, 9), "{fails}");
        assert!(seen.news.is_empty(), "{fails}: {:?}", seen.news);
    }
}
