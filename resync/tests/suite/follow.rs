//! A log is followed while it grows in every way that writers let it grow.

use crate::synth::{self, Random};
use logdef_resync::{Follow, News};
use logdef_wire::Run;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, symlink};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};

/// Offsets of the frames in some news; nothing else may be in it.
fn frames(news: Vec<News>) -> Vec<u64> {
    let offset = |news| match news {
        News::Frame { offset, .. } => offset,
        other => panic!("{other:?}"),
    };
    news.into_iter().map(offset).collect()
}

#[test]
fn an_appended_log_is_followed_byte_by_byte() {
    let log = synth::appended(Run(7), 2, 8, 1);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let mut follow = Follow::new(&path);
    assert_eq!(follow.poll(), []);
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    let mut seen = Vec::new();
    for (at, byte) in log.bytes.iter().enumerate() {
        file.write_all(&[*byte]).unwrap();
        let news = frames(follow.poll());
        let ended = log.frames.iter().filter(|frame| frame.end == at + 1);
        assert!(
            news.iter()
                .map(|at| *at as usize)
                .eq(ended.map(|frame| frame.start)),
            "{at}"
        );
        seen.extend(news);
    }
    assert_eq!(seen.len(), log.frames.len());
}

/// As the mapped writer does it: the length first, the body, the first byte last,
/// in several chunks at a time.
#[test]
fn a_mapped_log_is_followed_through_its_holes() {
    let log = synth::chunked(Run(7), 3, 60, 2048, 2);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let file = File::create(&path).unwrap();
    file.set_len(log.bytes.len() as u64 + 8192).unwrap();
    let mut follow = Follow::new(&path);
    let mut random = Random::new(3);
    // The frames of each chunk in order, chunks side by side.
    let mut chunks: Vec<Vec<_>> = vec![Vec::new(); log.bytes.len() / 2048];
    for frame in log.frames.iter().rev() {
        chunks[frame.start / 2048].push(frame.clone());
    }
    let mut written = BTreeSet::new();
    let mut seen = BTreeSet::new();
    while chunks.iter().any(|chunk| !chunk.is_empty()) {
        let first = chunks.iter().position(|chunk| !chunk.is_empty()).unwrap();
        let last = (first + 3).min(chunks.len());
        let Some(frame) = chunks[first + random.below(last - first)].pop() else {
            continue;
        };
        let bytes = &log.bytes[frame.clone()];
        let at = frame.start as u64;
        file.write_all_at(&bytes[6..10], at + 6).unwrap();
        seen.extend(frames(follow.poll()));
        assert!(!seen.contains(&at));
        file.write_all_at(&bytes[1..], at + 1).unwrap();
        seen.extend(frames(follow.poll()));
        assert!(!seen.contains(&at));
        file.write_all_at(&bytes[..1], at).unwrap();
        written.insert(at);
        let news = frames(follow.poll());
        assert!(
            news.iter().all(|at| !seen.contains(at)),
            "nothing is given twice"
        );
        seen.extend(news);
        assert!(seen.is_subset(&written));
    }
    for _ in 0..3 {
        seen.extend(frames(follow.poll()));
    }
    assert_eq!(seen, written);
}

#[test]
fn rotation_is_noticed_after_the_old_file_was_read() {
    let (old, new) = (
        synth::appended(Run(7), 1, 4, 4),
        synth::appended(Run(8), 1, 3, 5),
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    fs::write(&path, &old.bytes[..old.frames[3].end]).unwrap();
    let mut follow = Follow::new(&path);
    assert_eq!(frames(follow.poll()).len(), 4);
    // The writer adds to the old file, renames it and begins a new one.
    fs::write(&path, &old.bytes).unwrap();
    fs::rename(&path, directory.path().join("app.log.1")).unwrap();
    assert_eq!(frames(follow.poll()).len(), old.frames.len() - 4);
    fs::write(&path, &new.bytes).unwrap();
    let news = follow.poll();
    assert_eq!(news.len(), new.frames.len());
    assert!(matches!(
        news[0],
        News::Frame {
            file: 1,
            offset: 0,
            ..
        }
    ));
}

/// A file was once followed under the name of another, since the link to the newest file led to it between
/// two questions: what was written to it later was not read, and of the other nothing.
#[test]
fn a_link_that_leads_elsewhere_from_one_moment_to_the_next_hides_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let logs = [8, 9].map(|run| synth::appended(Run(run), 1, 8, run));
    let names = ["app.log.1", "app.log.2"];
    let is_done = AtomicBool::new(false);
    let link = || {
        for name in names.iter().cycle() {
            symlink(name, at("new")).unwrap();
            fs::rename(at("new"), at("app.log")).unwrap();
            if is_done.load(Ordering::Relaxed) {
                break;
            }
        }
    };
    let follow = || {
        let records = logs.iter().map(|log| log.frames.len()).sum::<usize>();
        for round in 0..500 {
            let files = [0, 1].map(|one| {
                let mut file = File::create(at(names[one])).unwrap();
                file.write_all(&logs[one].bytes[..logs[one].frames[3].end])
                    .unwrap();
                file
            });
            let mut follow = Follow::new(&at("app.log"));
            let mut seen = frames(follow.poll()).len();
            for (mut file, log) in files.into_iter().zip(&logs) {
                file.write_all(&log.bytes[log.frames[3].end..]).unwrap();
            }
            seen += frames(soon(&mut follow)).len();
            assert_eq!(seen, records, "in round {round}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(link);
        let result = std::panic::catch_unwind(AssertUnwindSafe(follow));
        is_done.store(true, Ordering::Relaxed);
        result.unwrap();
    });
}

#[test]
fn damage_is_reported_only_when_it_stays() {
    let log = synth::appended(Run(7), 1, 6, 6);
    let mut bytes = log.bytes.clone();
    let hit = log.frames[5].clone();
    bytes[hit.start + 20] ^= 1;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    fs::write(&path, &bytes).unwrap();
    let mut follow = Follow::new(&path);
    let (frames, told): (Vec<_>, Vec<_>) = soon(&mut follow)
        .into_iter()
        .partition(|news| matches!(news, News::Frame { .. }));
    assert_eq!(frames.len(), log.frames.len() - 1);
    let [News::Damage { gap, .. }, News::Missing { count: 1, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(gap.offset..gap.end(), hit.start as u64..hit.end as u64);
}

#[test]
fn a_file_that_was_emptied_is_read_again_even_if_it_is_longer_by_now() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let old = synth::appended(Run(7), 1, 4, 4);
    fs::write(&path, &old.bytes).unwrap();
    let mut follow = Follow::new(&path);
    assert_eq!(frames(follow.poll()).len(), old.frames.len());
    // As `copytruncate` and `cp new.log app.log` do it: the same file, other bytes.
    for (run, records) in [(8, 2), (9, 40)] {
        let new = synth::appended(Run(run), 1, records, run);
        fs::write(&path, &new.bytes).unwrap();
        let mut news = follow.poll();
        assert_eq!(news.remove(0), News::Truncated { file: 0 });
        assert_eq!(frames(news).len(), new.frames.len());
    }
    assert_eq!(follow.poll(), []);
}

/// A rotated log gives the space of an old file back from its front on: that was reported as a file that
/// was truncated, and records after it were given again.
#[test]
fn a_file_that_its_program_gives_up_is_not_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let mut log = synth::appended(Run(7), 1, 40, 7);
    fs::write(&path, &log.bytes).unwrap();
    let mut follow = Follow::new(&path);
    assert_eq!(frames(follow.poll()).len(), log.frames.len());
    for end in [log.bytes.len() / 2, log.bytes.len()] {
        log.bytes[..end].fill(0);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&log.bytes, 0).unwrap();
        assert_eq!(soon(&mut follow), []);
    }
}

/// All that is new within a few looks.
fn soon(follow: &mut Follow) -> Vec<News> {
    (0..30).flat_map(|_| follow.poll()).collect()
}

#[test]
fn trouble_with_a_file_is_reported_once_and_does_not_end_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let [first, second, third] = [7, 8, 9].map(|run| synth::appended(Run(run), 1, 3, run));
    fs::write(&path, &first.bytes).unwrap();
    let mut follow = Follow::new(&path);
    assert_eq!(frames(soon(&mut follow)).len(), first.frames.len());

    // Deleted, and still written by the process that has it open.
    let mut open = OpenOptions::new().append(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    open.write_all(&second.bytes).unwrap();
    let mut news = soon(&mut follow);
    assert!(matches!(news.pop(), Some(News::Unreadable { .. })));
    assert_eq!(frames(news).len(), second.frames.len());

    // A directory takes its name, and gives it back.
    fs::create_dir(&path).unwrap();
    let [News::Unreadable { why, .. }] = &soon(&mut follow)[..] else {
        panic!("one line");
    };
    assert!(why.contains("directory"), "{why}");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, &third.bytes).unwrap();
    let news = soon(&mut follow);
    assert_eq!(frames(news).len(), third.frames.len());
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// It was read once, whatever there was of it.
#[test]
fn a_file_that_is_being_compressed_is_read_when_it_is_whole() {
    let log = synth::appended(Run(7), 2, 40, 1);
    let packed = gzip(&log.bytes);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let mut file = File::create(directory.path().join("app.log.1.gz")).unwrap();
    let mut follow = Follow::new(&path);
    let mut written = 0;
    for part in [0, 5, packed.len() / 2, packed.len() - 1] {
        file.write_all(&packed[written..part]).unwrap();
        written = part;
        for _ in 0..10 {
            assert!(frames(follow.poll()).is_empty(), "{part}");
        }
        assert!(follow.lacks_some(), "{part}");
    }
    file.write_all(&packed[written..]).unwrap();
    let mut seen = Vec::new();
    for _ in 0..10 {
        seen.extend(frames(follow.poll()));
    }
    assert_eq!(seen.len(), log.frames.len());
    assert!(!follow.lacks_some());
}

/// What was written over it, or after it, was never read: it had the inode of a file that is read once.
#[test]
fn a_compressed_file_that_is_another_now_is_read_again() {
    let logs = [1, 2, 3].map(|seed| synth::appended(Run(seed), 2, 40, seed));
    let directory = tempfile::tempdir().unwrap();
    let packed = directory.path().join("app.log.1.gz");
    let mut follow = Follow::new(&directory.path().join("app.log"));
    let given =
        |follow: &mut Follow| -> usize { (0..10).map(|_| frames(follow.poll()).len()).sum() };
    fs::write(&packed, gzip(&logs[0].bytes)).unwrap();
    assert_eq!(given(&mut follow), logs[0].frames.len());
    // The kernel counts the time of a change in ticks.
    let touch = |seconds: u64| {
        let file = OpenOptions::new().append(true).open(&packed).unwrap();
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(60 - seconds);
        file.set_modified(time).unwrap();
    };
    fs::write(&packed, gzip(&logs[1].bytes)).unwrap();
    touch(0);
    assert_eq!(given(&mut follow), logs[1].frames.len());
    let mut file = OpenOptions::new().append(true).open(&packed).unwrap();
    file.write_all(&gzip(&logs[2].bytes)).unwrap();
    touch(30);
    assert!(given(&mut follow) >= logs[2].frames.len());
    assert_eq!(given(&mut follow), 0);
}

#[test]
fn a_compressed_file_that_was_cut_is_read_up_to_there_and_that_is_said() {
    let log = synth::appended(Run(7), 2, 40, 1);
    let packed = gzip(&log.bytes);
    let directory = tempfile::tempdir().unwrap();
    let file = File::create(directory.path().join("app.log.1.gz")).unwrap();
    file.write_all_at(&packed[..packed.len() / 2], 0).unwrap();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    file.set_modified(earlier).unwrap();
    let mut follow = Follow::new(&directory.path().join("app.log"));
    let polled = (0..10).flat_map(|_| follow.poll());
    let (given, others): (Vec<_>, Vec<_>) =
        polled.partition(|news| matches!(news, News::Frame { .. }));
    assert!(given.len() > log.frames.len() / 3);
    let cut = others
        .iter()
        .filter(|news| matches!(news, News::BrokenOff { .. }));
    assert_eq!(cut.count(), 1, "{others:?}");
}
