//! The power fails, thousands of times. Threads log into a mapped file while its
//! pages are copied now and then; what a disk may hold after a cut is then drawn
//! from the copies. Of each page that is any version since the last sync that ended,
//! of each sector even, and of the file's size as well. Whatever the disk holds, the
//! records that the sync covered are there, and no record that was not logged.
//!
//! `fdatasync` never reaches the kernel here: the copy that is made in its stead is
//! all that a sync can rely on.

use logdef::{Sink, logdef};
use logdef_resync::{Input, Item, Items, Options, Recovery};
use logdef_samples::frames;
use logdef_samples::smash::Random;
use logdef_samples::story;
use logdef_wire::Record;
use logdef_wire::msgpack::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

const PAGE: usize = 4096;
const SECTOR: usize = 512;
const THREADS: usize = 3;
const ROUNDS: u64 = 12;
/// Copies that are made between two syncs.
const STEPS: u64 = 4;
/// Calls of a thread from one copy to the next, at most.
const CALLS: u64 = 6;

#[test]
fn what_a_sync_covers_survives_every_power_cut() {
    let history = History::get();
    let mut random = Random(5);
    let cuts = match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => 20_000,
        None => 300,
    };
    let (mut whole, mut damaged) = (0, 0);
    for number in 0..cuts {
        let cut = history.cut(&mut random);
        let image = history.image(&cut, &mut random);
        match history.check(&cut, &image) {
            Ok(true) => whole += 1,
            Ok(false) => damaged += 1,
            Err(what) => panic!("cut {number}, {cut:?}: {what}"),
        }
    }
    let (copies, frames) = (history.versions.len(), history.frames.len());
    println!(
        "{frames} frames in {} bytes, {copies} copies, {} syncs; {cuts} cuts: {whole} left no \
         damage, {damaged} some",
        history.versions[copies - 1].bytes.len(),
        history.syncs.len()
    );
    assert!(whole > 0 && damaged > 0);
}

/// The test of the test: a disk that forgets what it had to keep.
#[test]
fn a_disk_that_forgets_a_synced_sector_is_caught() {
    let history = History::get();
    let mut random = Random(6);
    for _ in 0..200 {
        let cut = history.cut(&mut random);
        let Some(victim) = history.versions[cut.base].frames.last() else {
            continue;
        };
        let mut image = history.image(&cut, &mut random);
        let sector = victim / SECTOR * SECTOR;
        image[sector..sector + SECTOR].fill(0);
        assert!(history.check(&cut, &image).is_err(), "{cut:?}");
    }
}

/// What was copied of the file, and when it was synced.
struct History {
    versions: Vec<Version>,
    syncs: Vec<Sync>,
    /// Every frame there ever was, by its offset: frames do not move.
    frames: BTreeMap<usize, Original>,
}

/// The file at one moment.
struct Version {
    bytes: Vec<u8>,
    /// Where the frames stand that it holds whole.
    frames: BTreeSet<usize>,
}

/// A sync that succeeded.
struct Sync {
    /// The version that went to the disk.
    base: usize,
    /// The first version that was copied after its end.
    end: usize,
}

struct Original {
    bytes: Vec<u8>,
    /// Thread and count of a data record.
    sequence: Option<(u64, u64)>,
}

/// A moment at which the power fails.
#[derive(Debug)]
struct Cut {
    /// What the last sync made sure of.
    base: usize,
    /// The last version there was.
    last: usize,
}

impl History {
    fn get() -> &'static History {
        static HISTORY: OnceLock<History> = OnceLock::new();
        HISTORY.get_or_init(History::record)
    }

    fn cut(&self, random: &mut Random) -> Cut {
        let last = random.below(self.versions.len() as u64) as usize;
        let ended = self.syncs.iter().rfind(|sync| sync.end <= last);
        Cut {
            base: ended.map_or(0, |sync| sync.base),
            last,
        }
    }

    /// What the disk may hold.
    fn image(&self, cut: &Cut, random: &mut Random) -> Vec<u8> {
        // Some disks are quick, some lag behind.
        let lag = 1 + random.below(4);
        let torn = random.below(2) == 0;
        let any = |random: &mut Random| match random.below(lag) {
            0 => cut.base + random.below((cut.last - cut.base + 1) as u64) as usize,
            1 => cut.last,
            _ => cut.base,
        };
        let len = self.versions[any(random)].bytes.len();
        let mut image = vec![0; len];
        for (page, bytes) in image.chunks_mut(PAGE).enumerate() {
            let mut version = any(random);
            let is_torn = torn && random.below(4) == 0;
            for (sector, bytes) in bytes.chunks_mut(SECTOR).enumerate() {
                if is_torn {
                    version = any(random);
                }
                let at = page * PAGE + sector * SECTOR;
                // What a file was not yet long enough for is zeros.
                if let Some(there) = self.versions[version].bytes.get(at..at + bytes.len()) {
                    bytes.copy_from_slice(there);
                }
            }
        }
        image
    }

    /// Whether what the reader makes of an image is right; says if that is undamaged.
    fn check(&self, cut: &Cut, image: &[u8]) -> Result<bool, String> {
        let mut items = Items::of_bytes(image);
        let (mut at, mut found, mut data) = (0, BTreeSet::new(), BTreeSet::new());
        let mut promises = Vec::new();
        while let Some(item) = items.next().map_err(|error| error.to_string())? {
            let (offset, end) = (item.offset(), item.end());
            if offset != at {
                return Err(format!("byte {at:#x} is in no item, or in two"));
            }
            at = end;
            let Item::Frame(frame) = item else { continue };
            let original = self.frames.get(&(offset as usize));
            let Some(original) = original.filter(|original| original.bytes == frame.bytes) else {
                return Err(format!("nobody wrote the frame at {offset:#x}"));
            };
            found.insert(offset as usize);
            data.extend(original.sequence);
            if let Ok(Record::Durable(durable)) = Record::decode(frame.body) {
                let threads = durable.threads.into_iter().flat_map(|map| map.iter());
                let named = threads.filter(|(_, last)| *last != Value::Nil);
                promises.extend(named.map(|(thread, last)| (thread.as_uint(), last.as_uint())));
            }
        }
        if at != image.len() as u64 {
            return Err(format!("the reader ends at {at:#x} of {:#x}", image.len()));
        }
        if let Some(lost) = self.versions[cut.base].frames.difference(&found).next() {
            return Err(format!(
                "the frame at {lost:#x} was synced and is not there"
            ));
        }
        let lost = self.frames.iter().find(|(offset, original)| {
            let there = image.get(**offset..**offset + original.bytes.len());
            there == Some(&original.bytes) && !found.contains(offset)
        });
        if let Some((lost, _)) = lost {
            return Err(format!("the frame at {lost:#x} is whole and was not found"));
        }
        for promise in promises {
            let (Some(thread), Some(last)) = promise else {
                return Err(format!("no promise: {promise:?}"));
            };
            let lost = (0..=last).find(|count| !data.contains(&(thread, *count)));
            if let Some(lost) = lost {
                return Err(format!(
                    "durable up to {last} of thread {thread}, and {lost} is not there"
                ));
            }
        }
        check_recovery(image, data.len() as u64)
    }

    /// Logs, copies and syncs.
    fn record() -> History {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        logdef::options().sink(Sink::Mapped).open(&path).unwrap();
        *DISK.lock().unwrap() = Disk {
            path: Some(path),
            // Before everything there was nothing.
            copies: vec![Vec::new()],
            synced: None,
        };
        let (allowed, ready) = (AtomicU64::new(0), [const { AtomicU64::new(0) }; THREADS]);
        let mut syncs = Vec::new();
        let mut covered = Vec::new();
        thread::scope(|scope| {
            for (number, ready) in (0..).zip(&ready) {
                let allowed = &allowed;
                scope.spawn(move || log_calls(number, allowed, ready));
            }
            // In a thread of its own: its system calls are trapped for good.
            let syncing = scope.spawn(|| {
                trap::fdatasync();
                for _ in 0..ROUNDS {
                    for _ in 0..STEPS {
                        let goal = allowed.fetch_add(CALLS, Ordering::Release) + CALLS;
                        // While they log, and when they have.
                        copy();
                        while ready
                            .iter()
                            .any(|n| n.load(Ordering::Acquire) < goal - CALLS / 2)
                        {
                            thread::yield_now();
                        }
                        copy();
                    }
                    allowed.fetch_add(CALLS, Ordering::Release);
                    let returned = ready.each_ref().map(|n| n.load(Ordering::Acquire));
                    logdef::sync().unwrap();
                    let mut disk = DISK.lock().unwrap();
                    let base = disk.synced.take().expect("the sync has synced nothing");
                    let end = disk.copies.len();
                    syncs.push(Sync { base, end });
                    covered.push(returned);
                }
                copy();
            });
            let synced = syncing.join();
            // No thread waits for what has failed.
            allowed.store(u64::MAX, Ordering::Release);
            synced.unwrap();
        });
        copy();

        let copies = std::mem::take(&mut DISK.lock().unwrap().copies);
        let scanned: Vec<_> = copies.iter().map(|bytes| frames::scan(bytes)).collect();
        let last = copies.last().unwrap();
        let frames = scanned.last().unwrap().iter().map(|frame| {
            let original = Original {
                bytes: last[frame.range.clone()].to_vec(),
                sequence: frame.is_data().then(|| {
                    let sequence = frame.int(7).unwrap() as u64;
                    (sequence >> 40, sequence & 0xff_ffff_ffff)
                }),
            };
            (frame.range.start, original)
        });
        let frames: BTreeMap<_, _> = frames.collect();
        for (sync, returned) in syncs.iter().zip(covered) {
            let on_disk: BTreeSet<_> = scanned[sync.base].iter().filter_map(logged).collect();
            for (thread, returned) in (0..).zip(returned) {
                let lost = (0..returned).find(|count| !on_disk.contains(&(thread, *count)));
                assert_eq!(lost, None, "thread {thread}: returned, and not synced");
            }
        }
        let versions = copies
            .into_iter()
            .zip(scanned)
            .map(|(bytes, frames)| Version {
                bytes,
                frames: frames.iter().map(|frame| frame.range.start).collect(),
            });
        let versions = versions.collect();
        History {
            versions,
            syncs,
            frames,
        }
    }
}

/// What the whole reader says of an image: it counts each byte and each data record
/// once, and what is missing between a thread's records.
fn check_recovery(image: &[u8], data: u64) -> Result<bool, String> {
    let input = Input::from_bytes("log", image.to_vec());
    let mut options = Options::default();
    options.cores = 1;
    let recovery = Recovery::with(&[input], &options, |_| {}).map_err(|error| error.to_string())?;
    let account = &recovery.accounts()[0];
    let parts = [
        account.frames,
        account.padding,
        account.torn,
        account.damage,
    ];
    let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    if bytes != image.len() as u64 {
        return Err(format!("{bytes} bytes of {} accounted for", image.len()));
    }
    let strange = account.suspect + account.repeated + account.malformed + account.untracked;
    if account.data() != data || strange > 0 {
        return Err(format!("{data} records, and the reader says {account:#?}"));
    }
    for thread in recovery.threads() {
        if thread.lost != thread.last - thread.first + 1 - thread.records {
            return Err(format!("miscounted: {thread:?}"));
        }
    }
    Ok(recovery
        .accounts()
        .iter()
        .all(logdef_resync::Account::is_undamaged))
}

/// Thread and count of a record, from its own arguments.
fn logged(frame: &frames::Frame) -> Option<(u64, u64)> {
    let args = frame.fields.get(&9).filter(|_| frame.is_data())?.array()?;
    Some((args[1].int()? as u64, args[0].int()? as u64))
}

/// Logs as much as is allowed, and says how many calls have returned.
fn log_calls(thread: u64, allowed: &AtomicU64, returned: &AtomicU64) {
    for count in 0..ROUNDS * (STEPS + 1) * CALLS {
        while count >= allowed.load(Ordering::Acquire) {
            thread::sleep(Duration::from_micros(10));
        }
        // Some of these look like frames.
        let text = story::text(7, thread, count);
        let text = &text[..text.len().min(900)];
        logdef!(Info, "record %llu of thread %llu: %s", count, thread, text);
        returned.store(count + 1, Ordering::Release);
    }
}

/// What is kept of the file.
struct Disk {
    path: Option<PathBuf>,
    copies: Vec<Vec<u8>>,
    /// The copy that the sync under way is about.
    synced: Option<usize>,
}

static DISK: Mutex<Disk> = Mutex::new(Disk {
    path: None,
    copies: Vec::new(),
    synced: None,
});

fn copy() {
    let mut disk = DISK.lock().unwrap();
    let bytes = fs::read(disk.path.as_ref().unwrap()).unwrap();
    disk.copies.push(bytes);
}

/// `fdatasync` as a copy.
mod trap {
    use super::{DISK, copy};
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

    /// Every `fdatasync` of the calling thread copies the file, and does no more.
    pub fn fdatasync() {
        let code = |code: u32, jf, k| sock_filter {
            code: code as u16,
            jt: 0,
            jf,
            k,
        };
        let mut program = [
            code(BPF_LD | BPF_W | BPF_ABS, 0, 0),
            code(BPF_JMP | BPF_JEQ | BPF_K, 1, libc::SYS_fdatasync as u32),
            code(BPF_RET | BPF_K, 0, libc::SECCOMP_RET_TRAP),
            code(BPF_RET | BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: the action and the program are valid while the calls last, and the
        // handler has the signature that SA_SIGINFO asks for.
        let done = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = trapped as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut())
                | libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
        };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }

    /// The signal comes where the system call would have been, which is no place that
    /// holds a lock: this may do what any function may.
    extern "C" fn trapped(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        copy();
        let mut disk = DISK.lock().unwrap();
        disk.synced = Some(disk.copies.len() - 1);
        drop(disk);
        // A disk takes its time, and threads log meanwhile.
        std::thread::sleep(std::time::Duration::from_millis(2));
        // SAFETY: the kernel hands the context of the call, whose result this is.
        let context = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        (context.gregs[libc::REG_RAX as usize] = 0);
        #[cfg(target_arch = "aarch64")]
        (context.regs[0] = 0);
    }
}
