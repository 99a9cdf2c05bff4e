//! Victims are killed at random moments, or die of their own hand while other
//! threads log: what calls have returned for must be in the file, byte for
//! byte, once, and nothing else. The reader here is the samples' own, which
//! shares no code with the writer.

use logdef_resync::{Account, GapKind, Input, Recovery};
use logdef_samples::copy::copy_program;
use logdef_samples::skip::skip;
use logdef_samples::smash::Random;
use logdef_samples::witness::Witness;
use logdef_samples::workshop::{self, Workshop};
use std::cell::RefCell;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn killed_programs_of_another_c_library_have_lost_nothing_either() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let Some([in_c, in_rust]) = workshop.musl_victims(folder.path()) else {
        skip("musl-gcc or Rust's target for x86_64 musl is missing");
        return;
    };
    campaign(&in_c, 3, true, &Length::Kills(25));
    campaign(&in_rust, 4, false, &Length::Kills(25));
    for (victim, name) in [(in_c, " victim "), (in_rust, " victim::log_calls")] {
        let plan = Plan {
            threads: 1,
            end: Some(("segv", 200)),
            ..Plan::default()
        };
        let run = Run::new(folder.path(), 1000, plan);
        run.see_end(&victim, "segv");
        let view = workshop.command("logdef").arg(&run.log).output().unwrap();
        let view = String::from_utf8(view.stdout).unwrap();
        let mut stack = view.lines().filter(|line| line.contains("    #"));
        assert!(stack.any(|line| line.contains(name)), "{view}");
        run.check();
    }
}

#[test]
fn a_killed_c_program_has_lost_no_record_of_a_call_that_returned() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    workshop.compile(&["samples/c/victim.c"], &victim, &[]);
    campaign(&victim, 1, true, &Length::wanted());
}

/// A library that is loaded first makes it see such pages.
#[test]
fn a_killed_c_program_has_lost_nothing_on_pages_of_64_kib_either() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    Workshop::open().compile(&["samples/c/victim.c"], &at("victim"), &[]);
    let source = "logger/tests/pages/large_pages.c";
    let mut compiler = Command::new("cc");
    compiler.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    compiler.args(["-shared", "-fPIC", "-O1", source, "-ldl", "-o"]);
    workshop::run(compiler.arg(at("large_pages.so")));
    let script = format!(
        "#!/bin/sh\nexec env LD_PRELOAD={} {} \"$@\"\n",
        at("large_pages.so").display(),
        at("victim").display()
    );
    fs::write(at("start.sh"), script).unwrap();
    fs::set_permissions(at("start.sh"), Permissions::from_mode(0o755)).unwrap();
    copy_program(&at("start.sh"), &at("start"));
    campaign(&at("start"), 5, true, &Length::Kills(25));
}

#[test]
fn a_killed_rust_program_has_lost_no_record_of_a_call_that_returned() {
    campaign(
        &Workshop::open().built.join("victim"),
        2,
        false,
        &Length::wanted(),
    );
}

/// A group of processes that may have little memory; the kernel kills the one
/// that wants more. Needs the right to make one.
#[test]
fn a_program_that_eats_all_memory_has_lost_nothing_either() {
    let victim = Workshop::open().built.join("victim");
    for seed in 0..3 {
        let Some(group) = MemoryGroup::new(seed, 24 << 20) else {
            skip("no memory group can be made here");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            threads: 4,
            end: Some(("eat", 2_000)),
            ..Plan::default()
        };
        let run = Run::new(folder.path(), seed, plan);
        let join = format!("echo $$ > {} && ", group.procs().display());
        let mut child = run.start(&victim, &join);
        let status = run.wait_for(&mut child);
        assert_eq!(status.signal(), Some(9), "{status}");
        let returned = run.check();
        assert!(returned >= 2_000, "seed {seed}: {returned} calls returned");
    }
}

/// How long a campaign lasts: a number of kills of each program, or seconds.
enum Length {
    Kills(u64),
    Seconds(u64),
}

impl Length {
    /// A hundred kills, or what `LOGDEF_KILLS` or `LOGDEF_KILL_SECONDS` say.
    fn wanted() -> Length {
        let number = |name| {
            let text = std::env::var(name).ok()?;
            Some(text.parse().expect("a number"))
        };
        match (number("LOGDEF_KILLS"), number("LOGDEF_KILL_SECONDS")) {
            (Some(kills), _) => Length::Kills(kills),
            (None, Some(seconds)) => Length::Seconds(seconds),
            (None, None) => Length::Kills(100),
        }
    }
}

/// How a victim lives and dies.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    threads: u64,
    rotate: Option<u64>,
    appends: bool,
    many_sites: bool,
    /// What a thread does, and after how many calls; without it, the victim is killed.
    end: Option<(&'static str, u64)>,
}

impl Plan {
    /// One of all kinds of life and death; three in four are killed.
    fn random(random: &mut Random, in_c: bool) -> Plan {
        let ends = ["abort", "segv", "exit", "exec"];
        let after = 1 << random.below(14);
        Plan {
            threads: [1, 4, 16][random.below(3) as usize],
            // The smallest files that there are: a new one every few hundred calls.
            rotate: (random.below(2) == 0).then_some(128 << 10),
            appends: random.below(8) == 0,
            many_sites: in_c && random.below(2) == 0,
            end: ends
                .get(random.below(16) as usize)
                .map(|end| (*end, 1 + random.below(after))),
        }
    }
}

fn campaign(victim: &Path, seed: u64, in_c: bool, length: &Length) {
    let folder = tempfile::tempdir().unwrap();
    println!("victims log in {}", place(folder.path()));
    let mut random = Random(seed);
    let (mut kills, mut opening, mut at_work, mut by_itself, mut records) = (0, 0, 0, 0, 0);
    let start = Instant::now();
    let goes_on = |kills| match length {
        Length::Kills(wanted) => kills < *wanted,
        Length::Seconds(wanted) => start.elapsed() < Duration::from_secs(*wanted),
    };
    while goes_on(kills) {
        let plan = Plan::random(&mut random, in_c);
        let run = Run::new(folder.path(), kills, plan);
        match plan.end {
            Some((end, _)) => run.see_end(victim, end),
            None => run.kill(victim, &mut random),
        }
        let has_begun = !run.files().is_empty();
        let returned = run.check();
        kills += 1;
        opening += u64::from(has_begun && returned == 0);
        at_work += u64::from(returned > 0);
        by_itself += u64::from(plan.end.is_some());
        records += returned;
    }
    println!(
        "{kills} deaths: {opening} between the log's first name and its first record, {at_work} \
         at work, {by_itself} of these by their own hand; {records} records acknowledged"
    );
    assert!(at_work * 2 > kills, "most were killed before they logged");
}

/// Nothing here takes as long, on whatever machine.
const PATIENCE: Duration = Duration::from_secs(200);

/// A victim's files. If the test fails, all that is known of them is printed.
struct Run {
    seed: u64,
    plan: Plan,
    folder: PathBuf,
    log: PathBuf,
    counts: PathBuf,
    began: Instant,
    /// What happened to the victim.
    fate: RefCell<String>,
    /// The file that was read last.
    read: RefCell<PathBuf>,
}

impl Run {
    fn new(folder: &Path, seed: u64, plan: Plan) -> Run {
        let folder = folder.join(seed.to_string());
        let log = folder.join("logs").join("log");
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        let counts = folder.join("counts");
        fs::write(&counts, vec![0; 8 * plan.threads as usize]).unwrap();
        Run {
            seed,
            plan,
            log,
            counts,
            folder,
            began: Instant::now(),
            fate: RefCell::default(),
            read: RefCell::default(),
        }
    }

    /// Starts the victim, from a shell that does something else `first`. Its memory
    /// is not to be written to a disk when it dies.
    fn start(&self, victim: &Path, first: &str) -> Child {
        let shell = format!(r#"ulimit -c 0; {first}exec "$0" "$@""#);
        let mut command = Command::new("sh");
        command.arg("-c").arg(shell).arg(victim);
        command.arg(&self.log).arg(&self.counts);
        command.arg(self.plan.threads.to_string());
        command.arg(self.seed.to_string());
        if let Some(bytes) = self.plan.rotate {
            command.arg(format!("rotate={bytes}"));
        }
        if self.plan.appends {
            command.arg("append=1");
        }
        if self.plan.many_sites {
            command.arg("sites=1");
        }
        if let Some((end, count)) = self.plan.end {
            command.arg(format!("{end}={count}"));
        }
        command.stderr(fs::File::create(self.stderr()).unwrap());
        command.spawn().unwrap()
    }

    /// Lets the victim run until it dies by itself.
    fn see_end(&self, victim: &Path, end: &str) {
        let mut child = self.start(victim, "");
        let status = self.wait_for(&mut child);
        let as_told = match end {
            "abort" => status.signal() == Some(6),
            "segv" => status.signal() == Some(11),
            "exit" => status.code() == Some(3),
            _ => status.success(),
        };
        assert!(as_told, "{end}: {status}");
    }

    fn wait_for(&self, child: &mut Child) -> ExitStatus {
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if self.began.elapsed() > PATIENCE {
                self.end(child);
                panic!("it does not end");
            }
            thread::sleep(Duration::from_millis(1));
        };
        self.fate.replace(format!("ended by itself: {status}"));
        status
    }

    /// Runs the victim for a random while and kills it.
    fn kill(&self, victim: &Path, random: &mut Random) {
        let mut child = self.start(victim, "");
        if random.below(8) == 0 {
            // One in eight is killed while it opens its log, the others at work.
            while self.files().is_empty() {
                self.is_alive(&mut child);
                thread::yield_now();
            }
            thread::sleep(Duration::from_micros(random.below(500)));
        } else {
            while self.returned().iter().all(|count| *count == 0) {
                self.is_alive(&mut child);
            }
            // Between a microsecond and a sixteenth of a second, each order of
            // magnitude alike: the start holds as many surprises as the rest.
            let scale = random.below(17);
            thread::sleep(Duration::from_micros(random.below(1 << scale)));
        }
        let status = self.end(&mut child);
        assert_eq!(status.signal(), Some(9), "it died by itself: {status}");
    }

    /// Kills it, if it is not dead.
    fn end(&self, child: &mut Child) -> ExitStatus {
        child.kill().unwrap();
        let status = child.wait().unwrap();
        self.fate.replace(format!("killed: {status}"));
        status
    }

    fn is_alive(&self, child: &mut Child) {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it died before it logged: {status}");
        }
        if self.began.elapsed() > PATIENCE {
            self.end(child);
            panic!("it does not log");
        }
    }

    fn stderr(&self) -> PathBuf {
        self.folder.join("stderr")
    }

    /// How many calls of each thread have returned.
    fn returned(&self) -> Vec<u64> {
        let bytes = fs::read(&self.counts).unwrap();
        let words = bytes.chunks_exact(8);
        words
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
            .collect()
    }

    /// The log's files, in the order of their names.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.log.parent().unwrap()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths.filter(|path| !path.is_symlink()).collect();
        files.sort();
        files
    }

    /// Checks what is left, removes it, and says how many calls had returned.
    fn check(self) -> u64 {
        let returned = self.returned();
        let mut witness = if self.plan.appends {
            Witness::of_appended(self.seed)
        } else {
            Witness::new(self.seed)
        };
        let inputs = self.inputs(|log| witness.read(log));
        self.check_verdict(&inputs, witness.records);
        witness.swear(&returned);
        fs::remove_dir_all(&self.folder).unwrap();
        returned.iter().sum()
    }

    fn inputs(&self, mut read: impl FnMut(&[u8])) -> Vec<Input> {
        let input = |path: PathBuf| {
            let log = fs::read(&path).unwrap();
            self.read.replace(path.clone());
            read(&log);
            Input::from_bytes(path.display().to_string(), log)
        };
        self.files().into_iter().map(input).collect()
    }

    /// What the other reader says: as many records, and no damage. What a death
    /// leaves unfinished is torn.
    fn check_verdict(&self, inputs: &[Input], records: u64) {
        let recovery = Recovery::of(inputs).unwrap();
        let accounts = recovery.accounts();
        let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
        assert_eq!(sum(|account| account.data()), records, "records");
        assert!(
            recovery.accounts().iter().all(Account::is_undamaged),
            "there is damage"
        );
        // One call at most of each thread, whose frames lie side by side: all of
        // their lengths are stored before the first is finished.
        let torn = sum(unfinished_calls);
        assert!(torn <= self.plan.threads, "{torn} calls are torn");
    }

    /// Prints what can be known of a failure from afar.
    fn testify(&self) {
        let Run { seed, plan, .. } = self;
        let (age, fate) = (self.began.elapsed(), self.fate.borrow());
        eprintln!("seed {seed}, {plan:?}, {age:?} after its start; the victim: {fate}");
        eprintln!("in {}", place(&self.folder));
        eprintln!("read last: {}", self.read.borrow().display());
        eprintln!("calls that returned: {:?}", self.returned());
        let stderr = fs::read_to_string(self.stderr()).unwrap_or_default();
        eprintln!("it said: {stderr:?}");
        let inputs = self.inputs(|_| ());
        let recovery = Recovery::of(&inputs).unwrap();
        for account in recovery.accounts() {
            let Account { name, bytes, .. } = account;
            let (frames, data) = (account.frames.count, account.data());
            eprintln!("{name}: {bytes} bytes, {frames} frames, {data} records");
            let gaps = account.gaps.iter();
            let strange = gaps.filter(|report| report.gap.kind != GapKind::Padding);
            for report in strange.take(20) {
                let (gap, lost) = (report.gap, report.lost);
                let end = gap.end();
                eprintln!("  {:#x}..{end:#x}: {}, {lost} lost", gap.offset, gap.kind);
            }
            let (holes, malformed) = (&account.holes, &account.malformed_list);
            eprintln!("  holes {holes:?}, malformed {malformed:?}");
        }
        for thread in recovery.threads() {
            eprintln!("{thread:?}");
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if thread::panicking() {
            self.testify();
        }
    }
}

/// A folder, the file system that it is in, and the room there.
fn place(folder: &Path) -> String {
    let said = Command::new("df").args(["-T", "-k"]).arg(folder).output();
    let said = said.map_or_else(|error| error.to_string().into(), |said| said.stdout);
    let said = String::from_utf8_lossy(&said).into_owned();
    let disk = said.lines().last().unwrap_or_default();
    format!("{}: {disk}", folder.display())
}

/// Runs of torn frames.
fn unfinished_calls(account: &Account) -> u64 {
    let gaps = account.gaps.iter().map(|report| &report.gap);
    let torn = gaps.filter(|gap| matches!(gap.kind, GapKind::Torn(_)));
    let mut end = None;
    let starts_anew = torn.filter(|gap| {
        let is_next = end == Some(gap.offset);
        end = Some(gap.offset + gap.len);
        !is_next
    });
    starts_anew.count() as u64
}

/// See the test of it.
struct MemoryGroup {
    path: PathBuf,
}

impl MemoryGroup {
    fn new(seed: u64, bytes: u64) -> Option<MemoryGroup> {
        // The one before may not be gone yet.
        let name = format!("logdef-kill-{}-{seed}", std::process::id());
        for (root, limit, swap) in [
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max"),
            (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.memsw.limit_in_bytes",
            ),
        ] {
            let path = Path::new(root).join(&name);
            if fs::create_dir(&path).is_err() {
                continue;
            }
            let group = MemoryGroup { path };
            // A folder of an ordinary file system has no such files.
            let set = |file, value: &str| {
                let path = group.path.join(file);
                path.exists() && fs::write(path, value).is_ok()
            };
            if set(limit, &bytes.to_string()) {
                // Without swap there is none to forbid.
                set(swap, "0");
                return Some(group);
            }
        }
        None
    }

    fn procs(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}
