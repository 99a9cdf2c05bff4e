//! A program logs for a long time, rotates, forks, is killed now and then and started
//! again over the files that it left, while descriptors and the disk are taken away and given back. What it takes of
//! the machine stays flat, over all its lives; every call that returned has left its record or was
//! counted; and of what it wrote, as much is kept as was asked for. `LOGDEF_SOAK_SECONDS` says how long: 10 by default;
//! `LOGDEF_SOAK_SEED` when what is taken away.

use logdef_samples::disk::Disk;
use logdef_samples::frames::{self, Frame, Value};
use logdef_samples::smash::Random;
use logdef_samples::workshop::Workshop;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const FILE_SIZE: u64 = 16 << 20;
const FILES: u64 = 4;
const RECORDS_OF_A_CHILD: u64 = 3;
/// What a thread's chunk may take beyond the bound.
const CHUNK: u64 = 2 << 20;
/// What may be used of the disk for all lives: the files that are kept, chunks, and what is the file system's own.
const MOST: u64 = FILE_SIZE * FILES + CHUNK * (THREADS as u64 + 1) + (8 << 20);
/// What may be used more for a moment where the log's descriptors were closed: each thread may have a chunk beyond
/// the newest file's size before the oldest parts are given back.
const MORE: u64 = CHUNK * (THREADS as u64 + 1);
/// Descriptors that may be open at any time: standard ones and a folder that is looked at, the files that are kept and as
/// many that are about to go; and for each thread the file that it is making, and one that it empties.
const DESCRIPTORS: usize = 4 + 2 * FILES as usize + 2 * THREADS;
/// At how many looks on end more than `MOST` may be in use then: a moment of a busy machine.
const MOMENTS: u32 = 50;
/// Bytes of frames that the kept files hold at least: all but one, and what chunks that were begun leave empty.
const LEAST: u64 = FILE_SIZE * (FILES - 1) - CHUNK * (THREADS as u64 + 1);
/// When this number of calls have returned without a full disk, all files that are kept were begun since: a frame has
/// more than 128 bytes on average.
const CALLS_FOR_ALL: u64 = FILE_SIZE * (FILES + 2) / 128;
/// How long after a disk was full for an instant records may still be held back: the pause
/// of a second, and one more on a busy machine. A longer fullness doubles pauses, which
/// add its own length at most.
const RECOVERY: Duration = Duration::from_secs(2);
/// What a busy machine may need to log as much as is waited for.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn a_program_that_logs_for_long_takes_no_more_than_at_the_start() {
    let seconds = std::env::var("LOGDEF_SOAK_SECONDS").map_or(10, |text| text.parse().unwrap());
    let seed = std::env::var("LOGDEF_SOAK_SEED").map_or(17, |text| text.parse().unwrap());
    let Some(disk) = Disk::mount("ext4", 256) else {
        return;
    };
    let folder = disk.path("log");
    fs::create_dir(&folder).unwrap();
    let mut soak = Soak {
        // The build, minutes on a busy machine, does not count as time in which the program ran.
        program: Workshop::open().built.join("soaker"),
        before: used(disk.root()),
        disk,
        folder,
        most: MOST,
        above: 0,
        random: Random(seed),
        dropped: 0,
    };
    let start = Instant::now();
    let mut lives = 0;
    while lives < 2 || start.elapsed() < Duration::from_secs(seconds) {
        soak.live(lives, if seconds > 120 { 60 } else { 7 });
        lives += 1;
    }
    println!(
        "{lives} lives in {seconds} s, {} calls dropped",
        soak.dropped
    );
    assert!(
        soak.dropped > 0,
        "the disk was full, and no call was dropped"
    );
}

/// What the program counts, in a file that outlives it.
struct Counts(tempfile::NamedTempFile);

impl Counts {
    const WORDS: usize = 3 * THREADS + 2;

    fn new() -> Counts {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(8 * Counts::WORDS as u64).unwrap();
        Counts(file)
    }

    fn words(&self) -> Vec<u64> {
        let mut bytes = vec![0; 8 * Counts::WORDS];
        self.0.as_file().read_exact_at(&mut bytes, 0).unwrap();
        let words = bytes.chunks(8);
        words
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }

    /// One number of each thread: 0 for calls that returned, 1 for those up to the last that left a record, 2
    /// for those that were dropped.
    fn of_threads(&self, part: usize) -> Vec<u64> {
        self.words()[part * THREADS..][..THREADS].to_vec()
    }

    fn returned(&self) -> u64 {
        self.of_threads(0).iter().sum()
    }

    fn dropped(&self) -> u64 {
        self.of_threads(2).iter().sum()
    }

    /// How many children have ended, and how many of their calls were dropped.
    fn of_children(&self) -> [u64; 2] {
        let words = self.words();
        [words[3 * THREADS], words[3 * THREADS + 1]]
    }
}

/// What a process takes, as the kernel counts it.
#[derive(Clone, Copy, Debug)]
struct Usage {
    mappings: usize,
    descriptors: usize,
    resident_kib: u64,
    /// Used blocks of the whole disk, in bytes.
    disk: u64,
}

impl Usage {
    fn of(pid: u32, disk: &Disk) -> Option<Usage> {
        let of = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
        let status = of("status")?;
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(Usage {
            mappings: of("maps")?.lines().count(),
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
            resident_kib: resident.trim().trim_end_matches(" kB").parse().ok()?,
            disk: used(disk.root()),
        })
    }

    /// Fails if it is more than at the start of the same life.
    fn assert_as(&self, first: &Usage) {
        let mappings = first.mappings + 16 * THREADS;
        assert!(self.mappings <= mappings, "{first:?} {self:?}");
        assert!(self.descriptors <= DESCRIPTORS, "{self:?}");
        // What is resident of the log's own pages is bounded by the threads' windows.
        let resident = first.resident_kib + CHUNK / 1024 * 2 * THREADS as u64;
        assert!(self.resident_kib <= resident, "{first:?} {self:?}");
    }
}

/// Bytes in use on the file system, also those of files without a name.
fn used(path: &Path) -> u64 {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a string that ends in NUL, and a place for the answer.
    let result = unsafe { libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) };
    assert_eq!(result, 0);
    // SAFETY: the call succeeded, so it has filled it.
    let stat = unsafe { stat.assume_init() };
    (stat.f_blocks - stat.f_bfree) * stat.f_frsize
}

/// A program that is killed when the test looks no longer, because of a failure too.
struct Soaker(Child);

impl Drop for Soaker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Since when the disk has not been full.
struct Calm {
    /// When the disk became full, of fullnesses with no recovery between them the first time.
    begun: Instant,
    /// From when on each call must leave its record again; `None` while the disk is full.
    recovered: Option<Instant>,
    /// Calls that had returned when the test first looked after that.
    calls: Option<u64>,
}

impl Calm {
    fn new() -> Calm {
        let now = Instant::now();
        Calm {
            begun: now,
            recovered: Some(now),
            calls: Some(0),
        }
    }

    fn has_recovered(&self) -> bool {
        self.recovered.is_some_and(|at| at < Instant::now())
    }

    /// Whether so much was logged since then that all files which are kept were begun after it.
    fn is_long(&mut self, counts: &Counts) -> bool {
        let returned = counts.returned();
        if self.calls.is_none() && self.has_recovered() {
            self.calls = Some(returned);
        }
        self.calls
            .is_some_and(|calls| returned - calls >= CALLS_FOR_ALL)
    }

    /// The disk is full from here until `end` is called.
    fn interrupt(&mut self) {
        // Pauses grow on if it fills again before the last one has ended.
        if self.has_recovered() {
            self.begun = Instant::now();
        }
        self.recovered = None;
        self.calls = None;
    }

    fn end(&mut self) {
        self.recovered = Some(Instant::now() + self.begun.elapsed() + RECOVERY);
    }
}

/// The file that leaves nothing of the disk, until it is removed.
struct Ballast(PathBuf);

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A disk, and the log on it that each life adds to.
struct Soak {
    program: PathBuf,
    disk: Disk,
    folder: PathBuf,
    /// Bytes in use before there was a log.
    before: u64,
    /// What may be in use in this life.
    most: u64,
    /// Looks on end that found more than `MOST`.
    above: u32,
    random: Random,
    /// Calls that were dropped in all lives.
    dropped: u64,
}

impl Soak {
    /// One program from start to SIGKILL, and what it left.
    fn live(&mut self, number: u64, seconds: u64) {
        let counts = Counts::new();
        // Every second life ends while calls are dropped, and two of four have their log's descriptors closed.
        let (ends_calm, closes) = (number.is_multiple_of(2), (number / 2).is_multiple_of(2));
        self.most = MOST + if closes { MORE } else { 0 };
        let child = Command::new(&self.program)
            .args([&self.folder.join("log"), counts.0.path()])
            .args([number, self.random.next(), u64::from(closes)].map(|word| word.to_string()))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut soaker = Soaker(child);
        let life = Duration::from_secs(seconds);
        let (mut calm, ballast) = self.watch(&mut soaker.0, &counts, life, ends_calm);
        let to_the_end = calm.has_recovered();
        let is_long = calm.is_long(&counts);
        drop(soaker);
        drop(ballast);

        self.dropped += counts.dropped();
        let found = Found::of(&self.folder);
        found.check(number, &counts, to_the_end);
        found.check_children(number, counts.of_children());
        let bytes = found.bytes;
        println!("life {number}: {bytes} bytes kept, to the end: {to_the_end}, calm: {is_long}");
        assert!(!is_long || bytes >= LEAST, "{bytes} bytes are kept");
    }

    /// Looks at the program until its time is over; fills the disk now and then, once in the first life until calls
    /// are dropped. Returns when the disk has not been full for long if it `ends_calm`, else while calls are dropped.
    fn watch(
        &mut self,
        child: &mut Child,
        counts: &Counts,
        life: Duration,
        ends_calm: bool,
    ) -> (Calm, Option<Ballast>) {
        let start = Instant::now();
        let (mut calm, mut first) = (Calm::new(), None);
        loop {
            thread::sleep(Duration::from_millis(200));
            assert!(child.try_wait().unwrap().is_none(), "it died by itself");
            let is_long = calm.is_long(counts);
            let is_over = start.elapsed() >= life;
            if is_over && !ends_calm {
                calm.interrupt();
                return (calm, Some(self.fill(counts, true)));
            }
            if is_over && is_long {
                return (calm, None);
            }
            assert!(start.elapsed() < life + PATIENCE, "it logs too little");
            let is_first = self.dropped + counts.dropped() == 0 && first.is_some();
            if is_first || (!is_over && self.random.below(20) == 0) {
                calm.interrupt();
                drop(self.fill(counts, is_first));
                calm.end();
            } else if let Some(usage) = Usage::of(child.id(), &self.disk) {
                self.assert_bounded(&usage);
                usage.assert_as(first.get_or_insert(usage));
            }
        }
    }

    /// Fails if more of the disk is in use than the log was allowed, or more than its files for long.
    fn assert_bounded(&mut self, usage: &Usage) {
        let used = usage.disk.saturating_sub(self.before);
        assert!(used <= self.most, "{used} of {}: {usage:?}", self.most);
        self.above = if used > MOST { self.above + 1 } else { 0 };
        assert!(self.above < MOMENTS, "{used} in use for long: {usage:?}");
    }

    /// Leaves nothing of the disk for up to a second and a half, or until a call was dropped.
    fn fill(&mut self, counts: &Counts, until_dropped: bool) -> Ballast {
        let path = self.disk.fill();
        if until_dropped {
            // The log gives back its oldest parts, which are taken too.
            let mut ballast = File::options().append(true).open(&path).unwrap();
            let (start, before) = (Instant::now(), counts.dropped());
            while counts.dropped() == before {
                assert!(start.elapsed() < PATIENCE, "no call is dropped");
                while ballast.write_all(&[1; 4096]).is_ok() {}
            }
        } else {
            thread::sleep(Duration::from_millis(self.random.below(1500)));
        }
        Ballast(path)
    }
}

/// What the files of a log hold.
#[derive(Default)]
struct Found {
    /// By life and thread the counts of its records, and how many calls each says were dropped before it.
    threads: BTreeMap<(u64, u64), BTreeMap<u64, u64>>,
    /// Life, child and count of each record of a child.
    children: BTreeSet<(u64, u64, u64)>,
    /// The length of all frames.
    bytes: u64,
}

impl Found {
    /// Reads all files, without the link to the newest.
    fn of(folder: &Path) -> Found {
        let mut found = Found::default();
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        for path in paths.filter(|path| !path.is_symlink()) {
            for frame in frames::scan(&fs::read(path).unwrap()) {
                found.add(&frame);
            }
        }
        found
    }

    fn add(&mut self, frame: &Frame) {
        self.bytes += frame.range.len() as u64;
        match *numbers(frame).as_slice() {
            [count, thread, life] if has_text(frame) => {
                let dropped = frame.int(13).unwrap_or(0) as u64;
                let thread = self.threads.entry((life, thread)).or_default();
                let twice = thread.insert(count, dropped);
                assert_eq!(twice, None, "record {count} of life {life} stands twice");
            }
            [count, child, life] => {
                let record = (life, child, count);
                assert!(self.children.insert(record), "{record:?} twice");
            }
            _ => {}
        }
    }

    /// Each thread's records, of earlier lives too, are there from some count on, but for those that are counted as
    /// dropped. Of this life all are there up to the last one that was written; if `to_the_end`, that is the
    /// last that returned.
    fn check(&self, life: u64, counts: &Counts, to_the_end: bool) {
        for (thread, counts) in &self.threads {
            let missing = missing(counts);
            assert_eq!(
                missing, None,
                "{thread:?} (life, thread): lost without a count"
            );
        }
        let (returned, written) = (counts.of_threads(0), counts.of_threads(1));
        for (thread, (returned, written)) in (0..).zip(returned.iter().zip(&written)) {
            let last = self.threads.get(&(life, thread));
            let last = last.and_then(|counts| counts.last_key_value());
            let end = last.map_or(0, |(count, _)| count + 1);
            let least = if to_the_end { returned } else { written };
            assert!(
                end >= *least,
                "thread {thread}: {returned} calls returned, {written} written, the log ends at {end}"
            );
        }
    }

    /// Each record of the life's children is there, from the first child on of which there is one, or
    /// was counted by that child. `ended` have ended; the one after them may have been at it.
    fn check_children(&self, life: u64, [ended, dropped]: [u64; 2]) {
        let mut children = self.children.range((life, 0, 0)..(life, ended, 0));
        let there = children.clone().count() as u64;
        // The window that is kept may be shorter than a second, which each child has.
        let Some((_, first, _)) = children.next() else {
            return;
        };
        let missing = ((ended - first) * RECORDS_OF_A_CHILD).saturating_sub(there);
        assert!(
            missing <= dropped,
            "{missing} missing of children from {first} to {ended}, {dropped} dropped"
        );
    }
}

/// The first count before which more are missing than were counted as dropped.
fn missing(counts: &BTreeMap<u64, u64>) -> Option<u64> {
    let mut last = None;
    for (&count, &dropped) in counts {
        if let Some(last) = last
            && count - last - 1 != dropped
        {
            return Some(count);
        }
        last = Some(count);
    }
    None
}

/// The arguments of a data record.
fn args(frame: &Frame) -> &[Value] {
    let args = frame.fields.get(&9).filter(|_| frame.is_data());
    args.and_then(Value::array).unwrap_or_default()
}

/// The three numbers with which the records of the program begin.
fn numbers(frame: &Frame) -> Vec<u64> {
    let numbers = args(frame).iter().map_while(Value::int);
    numbers.map(|number| number.try_into().unwrap()).collect()
}

fn has_text(frame: &Frame) -> bool {
    args(frame).len() == 4
}
