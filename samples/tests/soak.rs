//! A program logs for a long time, rotates, forks, is killed now and then and started
//! again, while descriptors and the disk are taken away and given back. What it takes of
//! the machine stays flat, and every call that returned has left its record or was
//! counted. `LOGDEF_SOAK_SECONDS` says how long: 10 by default; `LOGDEF_SOAK_SEED` when what
//! is taken away.

use logdef_samples::disk::Disk;
use logdef_samples::frames::{self, Frame, Value};
use logdef_samples::smash::Random;
use logdef_samples::workshop::Workshop;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
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

#[test]
fn a_program_that_logs_for_long_takes_no_more_than_at_the_start() {
    let seconds = std::env::var("LOGDEF_SOAK_SECONDS").map_or(10, |text| text.parse().unwrap());
    let Some(disk) = Disk::mount("ext4", 256) else {
        return;
    };
    let seed = std::env::var("LOGDEF_SOAK_SEED").map_or(17, |text| text.parse().unwrap());
    let mut random = Random(seed);
    // The build, minutes on a busy machine, does not count as time in which the program ran.
    let program = Workshop::open().built.join("soaker");
    let start = Instant::now();
    let mut lives = 0;
    while start.elapsed() < Duration::from_secs(seconds) {
        let left = Duration::from_secs(seconds).saturating_sub(start.elapsed());
        let life = left.min(Duration::from_secs(if seconds > 120 { 60 } else { 7 }));
        live(&program, &disk, lives, life, &mut random);
        lives += 1;
    }
    println!("{lives} lives in {seconds} s");
}

/// How long after a disk was full for an instant records may still be held back: the pause
/// of a second, and one more on a busy machine. A longer fullness doubles pauses, which
/// add its own length at most.
const RECOVERY: Duration = Duration::from_secs(2);

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

/// One program from start to SIGKILL, and what it left.
fn live(program: &Path, disk: &Disk, number: u32, life: Duration, random: &mut Random) {
    let folder = disk.path(&format!("life-{number}"));
    fs::create_dir(&folder).unwrap();
    let counts = tempfile::NamedTempFile::new().unwrap();
    counts.as_file().set_len(8 * (THREADS as u64 + 2)).unwrap();
    let before = used(disk.root());
    let child = Command::new(program)
        .args([&folder.join("log"), counts.path()])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut soaker = Soaker(child);
    let recovered = watch(&mut soaker.0, disk, before, life, random);
    let to_the_end = recovered < Instant::now();
    drop(soaker);

    let mut returned = vec![0; 8 * (THREADS + 2)];
    counts.as_file().read_exact_at(&mut returned, 0).unwrap();
    let returned: Vec<u64> = returned
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    check(&folder, &returned[..THREADS], to_the_end);
    check_children(&folder, returned[THREADS], returned[THREADS + 1]);
    fs::remove_dir_all(&folder).unwrap();
}

/// Looks at the program until its time is over; fills the disk now and then.
/// From when on each call must have left its record again.
fn watch(
    child: &mut Child,
    disk: &Disk,
    before: u64,
    life: Duration,
    random: &mut Random,
) -> Instant {
    let start = Instant::now();
    let (mut begun, mut recovered) = (start, start);
    let mut first = None;
    while start.elapsed() < life {
        thread::sleep(Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none(), "it died by itself");
        if random.below(20) == 0 {
            // Pauses grow on if it fills again before the last one has ended.
            if recovered < Instant::now() {
                begun = Instant::now();
            }
            let ballast = disk.fill();
            thread::sleep(Duration::from_millis(random.below(1500)));
            fs::remove_file(ballast).unwrap();
            recovered = Instant::now() + begun.elapsed() + RECOVERY;
            continue;
        }
        let Some(usage) = Usage::of(child.id(), disk) else {
            continue;
        };
        let first = *first.get_or_insert(usage);
        let bound = FILE_SIZE * FILES + CHUNK * (THREADS as u64 + 1) + (8 << 20);
        assert!(usage.disk - before <= bound, "{usage:?}, before {before}");
        assert!(
            usage.mappings <= first.mappings + 16 * THREADS,
            "{first:?} {usage:?}"
        );
        assert!(
            usage.descriptors <= first.descriptors + 16,
            "{first:?} {usage:?}"
        );
        // What is resident of the log's own pages is bounded by the threads' windows.
        let windows = CHUNK / 1024 * 2 * THREADS as u64;
        assert!(
            usage.resident_kib <= first.resident_kib + windows,
            "{first:?} {usage:?}"
        );
    }
    recovered
}

/// Each thread's records are there from some count on to the last that returned, but for
/// those that are counted as dropped. If `to_the_end`, the last one is there too.
fn check(folder: &Path, returned: &[u64], to_the_end: bool) {
    let mut counts: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    for frame in files(folder).flat_map(|file| frames::scan(&fs::read(file).unwrap())) {
        if let Some([count, thread, _text]) = args(&frame) {
            let (count, thread) = (number(count).unwrap(), number(thread).unwrap());
            let dropped = frame.int(13).unwrap_or(0) as u64;
            let twice = counts.entry(thread).or_default().insert(count, dropped);
            assert_eq!(
                twice, None,
                "record {count} of thread {thread} stands twice"
            );
        }
    }
    for (thread, returned) in (0..).zip(returned) {
        let counts = counts.remove(&thread).unwrap_or_default();
        let missing = missing(&counts);
        assert_eq!(
            missing, None,
            "thread {thread} of {returned}: lost without a count"
        );
        let end = counts.last_key_value().map_or(0, |(count, _)| count + 1);
        assert!(
            !to_the_end || end >= *returned,
            "thread {thread}: {returned} calls returned, the log ends at {end}"
        );
    }
}

/// Each record of the children is there, from the first child on of which there is one, or
/// was counted by that child. `ended` have ended; the one after them may have been at it.
fn check_children(folder: &Path, ended: u64, dropped: u64) {
    let mut found = BTreeSet::new();
    for frame in files(folder).flat_map(|file| frames::scan(&fs::read(file).unwrap())) {
        if let Some([count, child]) = args(&frame) {
            let record = (number(child), number(count));
            assert!(found.insert(record), "{record:?} twice");
        }
    }
    // The window that is kept may be shorter than a second, which each child has.
    let Some(&(first, _)) = found.first() else {
        return;
    };
    let first = first.unwrap();
    let there = found.iter().filter(|(child, _)| *child < Some(ended));
    let there = there.count() as u64;
    let missing = (ended.saturating_sub(first) * RECORDS_OF_A_CHILD).saturating_sub(there);
    assert!(
        missing <= dropped,
        "{missing} missing of children from {first} to {ended}, {dropped} dropped"
    );
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

/// The files of a log, without the link to the newest.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.is_symlink())
}

/// The arguments of a data record.
fn args(frame: &Frame) -> Option<&[Value]> {
    frame.fields.get(&9).filter(|_| frame.is_data())?.array()
}

fn number(value: &Value) -> Option<u64> {
    value.int()?.try_into().ok()
}
