//! Random writers followed: threads in chunks or side by side, rotation, forks, restarts,
//! files that are removed or emptied, looks that come often or seldom. At the end, all that
//! stands in the folder was given, once, and each thread in its order.

use crate::synth::{self, EPOCH, Log, Random};
use logdef_resync::{Event, Follow, Input, Merge, MergeOptions, News, Recovery, family};
use logdef_wire::record::Glance;
use logdef_wire::{Record, Run, Tag, frame};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

const CHUNK: u64 = 2048;
/// Chunks of a file, after which another begins.
const CHUNKS: u64 = 4;

type Key = (Run, u64);

/// A thread, and its chunk: a file, where its next frame goes, and where the chunk ends.
struct Thread {
    key: Key,
    count: u64,
    chunk: Option<(PathBuf, u64, u64)>,
}

struct World {
    log: PathBuf,
    random: Random,
    threads: Vec<Thread>,
    /// The newest part, how many chunks it has, and how many parts there were.
    part: (PathBuf, u64),
    parts: Vec<PathBuf>,
    runs: u64,
    time: u64,
    written: BTreeSet<(Key, u64)>,
    /// Whether something was removed that may not have been read.
    is_some_lost: bool,
}

fn write_at(path: &Path, bytes: &[u8], at: u64) {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .unwrap();
    file.write_all_at(bytes, at).unwrap();
}

impl World {
    fn new(folder: &Path, seed: u64) -> World {
        let mut world = World {
            log: folder.join("app.log"),
            random: Random::new(seed),
            threads: Vec::new(),
            part: (PathBuf::new(), 0),
            parts: Vec::new(),
            runs: 0,
            time: EPOCH,
            written: BTreeSet::new(),
            is_some_lost: false,
        };
        world.rotate();
        world.run();
        world
    }

    /// Another process with some threads: a fork, or a restart.
    fn run(&mut self) {
        self.runs += 1;
        let run = Run(0x1000 + self.runs);
        for number in 0..1 + self.random.below(3) as u64 {
            self.threads.push(Thread {
                key: (run, number),
                count: 0,
                chunk: None,
            });
        }
    }

    fn rotate(&mut self) {
        let number = self.parts.len() + 1;
        let path = self.log.with_file_name(format!("app.log.{number:06}"));
        write_at(&path, &[], 0);
        let _ = fs::remove_file(&self.log);
        symlink(&path, &self.log).unwrap();
        self.parts.push(path.clone());
        self.part = (path, 0);
    }

    fn write(&mut self) {
        let index = self.random.below(self.threads.len());
        self.time += 1 + self.random.below(1000) as u64;
        let thread = &self.threads[index];
        let ((run, number), count) = (thread.key, thread.count);
        let mut log = Log::new();
        log.data(run, number, count, self.time, b"text");
        let len = log.bytes.len() as u64;
        let full = |chunk: &(PathBuf, u64, u64)| chunk.1 + len > chunk.2 || !chunk.0.exists();
        if thread.chunk.as_ref().is_none_or(full) {
            if self.part.1 == CHUNKS || !self.part.0.exists() {
                self.rotate();
            }
            let (path, chunks) = &mut self.part;
            let start = *chunks * CHUNK;
            *chunks += 1;
            let mut head = Log::new();
            head.preamble(run, Some(CHUNK)).thread(run, number, b"it");
            // The file grows by the chunk before anything is in it.
            let file = OpenOptions::new().write(true).open(&*path).unwrap();
            file.set_len(start + CHUNK).unwrap();
            write_at(path, &head.bytes, start);
            let at = start + head.bytes.len() as u64;
            self.threads[index].chunk = Some((path.clone(), at, start + CHUNK));
        }
        let thread = &mut self.threads[index];
        thread.count += 1;
        let (path, at, _) = thread.chunk.as_mut().unwrap();
        // The first byte comes last.
        write_at(path, &log.bytes[1..], *at + 1);
        write_at(path, &log.bytes[..1], *at);
        *at += len;
        self.written.insert(((run, number), count));
    }

    fn remove_oldest(&mut self) {
        let oldest = self.parts.iter().find(|part| part.exists());
        if let Some(oldest) = oldest.filter(|oldest| **oldest != self.part.0) {
            fs::remove_file(oldest).unwrap();
            self.is_some_lost = true;
        }
    }

    /// What `copytruncate` does to a file that is appended to.
    fn copy_and_truncate(&mut self) {
        let run = Run(0x9000);
        let path = self.log.with_file_name("app.log.9");
        if self.random.below(4) == 0 && path.exists() {
            OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(&path)
                .unwrap();
            self.is_some_lost = true;
        }
        let len = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let count = self.written.range(((run, 0), 0)..).count() as u64;
        let mut log = Log::new();
        if count == 0 {
            log.preamble(run, None);
        }
        self.time += 1;
        log.data(run, 0, count, self.time, b"appended");
        write_at(&path, &log.bytes, len);
        self.written.insert(((run, 0), count));
    }

    fn step(&mut self) {
        match self.random.below(60) {
            0 => self.run(),
            1 => self.rotate(),
            2 => self.remove_oldest(),
            3..6 => self.copy_and_truncate(),
            _ => self.write(),
        }
    }
}

/// The identity of a data record.
fn identity(body: &[u8]) -> Option<(Key, u64)> {
    let glance = Glance::of(body)?;
    let sequence = glance.sequence?;
    Some(((glance.run?, sequence.number().0), sequence.count()))
}

fn take(news: Vec<News>, world: &World, given: &mut Vec<(Key, u64)>, what: &str) {
    for news in news {
        match news {
            News::Frame { bytes, .. } => {
                let body = frame::decode(&bytes).unwrap().body;
                if body[0] == Tag::DATA.0 {
                    given.extend(identity(body));
                } else {
                    assert!(Record::decode(body).is_ok());
                }
            }
            News::Missing { .. } | News::Truncated { .. } if world.is_some_lost => {}
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// What a view of the folder shows, thread by thread.
fn in_folder(log: &Path) -> BTreeMap<Key, Vec<u64>> {
    let files = family(log);
    let inputs: Vec<_> = files[1..]
        .iter()
        .map(|file| Input::open(file).unwrap())
        .collect();
    let recovery = Recovery::of(&inputs).unwrap();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut threads = BTreeMap::<_, Vec<_>>::new();
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some((key, count)) = identity(frame.body)
        {
            threads.entry(key).or_default().push(count);
        }
    }
    threads
}

#[test]
fn what_was_followed_is_what_stands_in_the_folder() {
    for seed in 0..if synth::slow() { 100 } else { 12 } {
        let folder = tempfile::tempdir().unwrap();
        let mut world = World::new(folder.path(), seed);
        let mut follow = Follow::new(&world.log);
        let what = format!("seed {seed}");
        let mut given = Vec::new();
        let every = [1, 7, 60, 300][world.random.below(4)];
        for step in 0..600 {
            world.step();
            if step % every == 0 {
                take(follow.poll(), &world, &mut given, &what);
            }
        }
        // As long as what does not come is waited for.
        for _ in 0..50 {
            take(follow.poll(), &world, &mut given, &what);
        }
        let mut threads = BTreeMap::<_, Vec<_>>::new();
        for (key, count) in given {
            assert!(world.written.contains(&(key, count)), "{what}: invented");
            threads.entry(key).or_default().push(count);
        }
        for (key, counts) in &threads {
            let is_once = counts.is_sorted_by(|one, other| one < other);
            assert!(is_once, "{what}: {key:?}: {counts:?}");
        }
        for (key, counts) in in_folder(&world.log) {
            let given = threads.get(&key).map_or(&[][..], |given| given);
            let in_folder = given.iter().filter(|count| counts.contains(count));
            assert!(
                in_folder.eq(&counts),
                "{what}: {key:?}: {given:?}, {counts:?}"
            );
        }
    }
}
