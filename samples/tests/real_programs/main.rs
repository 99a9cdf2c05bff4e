//! Programs that others wrote, moved over to logdef by `samples/real/rust.sh`, are killed with
//! SIGKILL under load. Of each request that a client had its answer to, all records are in the log,
//! with their own file, line, target, level, fields and span.

mod merino;
mod mini_redis;

use logdef_resync::Log;
use logdef_resync::records::Record;
use logdef_samples::smash::Random;
use logdef_wire::Level;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CLIENTS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that was moved over, as `samples/real/rust.sh` left it.
struct Program {
    sources: PathBuf,
    executable: PathBuf,
}

/// What differs between the programs.
struct Story {
    /// The name of the package.
    package: &'static str,
    executable: &'static str,
    /// What it is called with before the port.
    arguments: &'static [&'static str],
    /// The file in which its `main` opens a log.
    log: &'static str,
    /// Sends requests to a port until one fails, and counts those that were answered.
    ask: fn(u16, usize, &AtomicU64) -> io::Result<()>,
    /// Compares the records with how many requests of each client were answered.
    check: fn(&Places, &[Record], &[u64]),
}

#[test]
#[ignore = "samples/real/rust.sh builds the program"]
fn mini_redis_by_tracing_has_lost_nothing() {
    mini_redis::STORY.play();
}

#[test]
#[ignore = "samples/real/rust.sh builds the program"]
fn merino_by_log_has_lost_nothing() {
    merino::STORY.play();
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Story {
    /// Kills the program as many times as `LOGDEF_KILLS` says.
    fn play(&self) {
        let work = variable("LOGDEF_REAL_RUST").expect("where samples/real/rust.sh works");
        let program = Program {
            sources: Path::new(&work).join(self.package),
            executable: Path::new(&work).join("target/debug").join(self.executable),
        };
        let kills = variable("LOGDEF_KILLS").map_or(10, |kills| kills.parse().unwrap());
        let places = Places::of(&program.sources);
        let mut random = Random(self.package.len() as u64);
        let (mut answered, mut records) = (0, 0);
        for _ in 0..kills {
            let folder = tempfile::tempdir().unwrap();
            let of_clients = self.kill(&program, folder.path(), &mut random);
            let log = Log::open(folder.path().join(self.log)).unwrap();
            let losses = log.losses();
            assert_eq!((losses.missing, losses.dropped, losses.damaged), (0, 0, 0));
            let found: Result<Vec<_>, _> = log.records().collect();
            let found = found.unwrap();
            (self.check)(&places, &found, &of_clients);
            answered += of_clients.iter().sum::<u64>();
            records += found.len();
        }
        println!(
            "{}: {kills} kills, {answered} requests answered, {records} records, 0 lost",
            self.package
        );
    }

    /// Runs the program, asks it, and kills it; returns how many requests of each client were
    /// answered.
    fn kill(&self, program: &Program, folder: &Path, random: &mut Random) -> Vec<u64> {
        let port = free_port();
        let mut command = Command::new(&program.executable);
        command.args(self.arguments).arg(port.to_string());
        command.current_dir(folder).env("LOGDEF", "trace");
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        wait_until(&mut child, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let counts: [AtomicU64; CLIENTS] = Default::default();
        thread::scope(|scope| {
            for (client, count) in counts.iter().enumerate() {
                // It ends by an error: the program is killed.
                scope.spawn(move || (self.ask)(port, client, count));
            }
            wait_until(&mut child, || {
                counts.iter().all(|count| count.load(Ordering::Acquire) > 0)
            });
            let scale = random.below(19);
            thread::sleep(Duration::from_micros(random.below(1 << scale)));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        counts.map(AtomicU64::into_inner).to_vec()
    }
}

/// A port that nothing listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn wait_until(child: &mut Child, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        let ended = child.try_wait().unwrap();
        if ended.is_some() || began.elapsed() > PATIENCE {
            // The threads that ask end with it.
            let _ = child.kill();
            panic!("it does not answer: {ended:?}");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The lines of a program's sources.
struct Places(HashMap<&'static str, String>);

/// What a call site is known by.
#[derive(Clone, Copy)]
struct Place<'p> {
    level: Level,
    target: &'p str,
    file: &'static str,
    /// What the line holds.
    call: &'static str,
}

impl Places {
    fn of(sources: &Path) -> Places {
        let files = ["src/server.rs", "src/cmd/set.rs", "src/lib.rs"];
        let texts = files.into_iter().filter_map(|file| {
            let text = fs::read_to_string(sources.join(file));
            Some((file, text.ok()?))
        });
        Places(texts.collect())
    }

    /// Asserts that a record says where its call is.
    fn assert_at(&self, place: Place<'_>, record: &Record) {
        let mut lines = self.0[place.file].lines();
        let line = 1 + lines
            .position(|line| line.trim_start().starts_with(place.call))
            .unwrap();
        let said = (
            record.level(),
            record.target(),
            record.file(),
            record.line(),
        );
        let expected = (
            Some(place.level),
            Some(place.target),
            Some(place.file),
            Some(line as u64),
        );
        assert_eq!(said, expected, "{record}");
    }
}
