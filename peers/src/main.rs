//! logdef beside other loggers, at the same work on the same machine in the
//! same minutes. Prints one table; README.md says how to read it.
//!
//! Each measurement is a process of its own, so that no peer pays for another.
//! The peers alternate, and medians over the rounds are printed.

mod child;
mod histogram;
mod kill;
mod lttng;
mod peers;
mod table;

use child::Mode;
use peers::{PEERS, Peer};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is to be measured.
struct Plan {
    rounds: usize,
    /// Bytes that a run of the fastest peers writes, about.
    size: u64,
    kills: usize,
    directory: PathBuf,
    peers: Vec<&'static Peer>,
}

/// Bytes of a record of the fastest peers, about: what `--size` is divided by.
const RECORD: u64 = 100;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "--child") {
        return child::main(&args[1..]);
    }
    let plan = Plan::of(&args);
    let built = peers::build(&plan.peers);
    let mut rows: Vec<_> = built.iter().map(|peer| table::Row::new(peer)).collect();
    for round in 1..=plan.rounds {
        eprintln!("round {round} of {}", plan.rounds);
        for row in &mut rows {
            measure(&plan, row);
        }
    }
    for row in &mut rows {
        for threads in [1, 4] {
            for kill in 0..plan.kills {
                eprintln!("{}: kill {} of {}", row.peer.name, kill + 1, plan.kills);
                let directory = tempfile::tempdir_in(&plan.directory).unwrap();
                row.lost(threads, kill::lost(row.peer, threads, directory.path()));
            }
        }
    }
    table::print(&rows, &plan.directory, plan.size);
}

impl Plan {
    fn of(args: &[String]) -> Plan {
        let mut plan = Plan {
            rounds: 5,
            size: 200 << 20,
            kills: 5,
            directory: std::env::temp_dir(),
            peers: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| usage());
            match arg.as_str() {
                "--rounds" => plan.rounds = number(value()) as usize,
                "--size" => plan.size = number(value()),
                "--kills" => plan.kills = number(value()) as usize,
                "--directory" => plan.directory = value().into(),
                name => match PEERS.iter().find(|peer| peer.name == name) {
                    Some(peer) => plan.peers.push(peer),
                    None => usage(),
                },
            }
        }
        if plan.peers.is_empty() {
            plan.peers = PEERS.iter().collect();
        }
        plan
    }
}

fn usage() -> ! {
    eprintln!("usage: [--rounds N] [--size BYTES] [--kills N] [--directory DIR] [PEER ...]");
    eprintln!("BYTES may end in M or G; the peers are:");
    for peer in PEERS {
        eprintln!("  {:16} {}", peer.name, peer.about);
    }
    std::process::exit(2)
}

fn number(text: &str) -> u64 {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().unwrap_or_else(|_| usage()) << shift
}

fn measure(plan: &Plan, row: &mut table::Row) {
    let records = plan.size / RECORD / row.peer.slowness;
    for (mode, threads) in [
        (Mode::Doubles, 1),
        (Mode::Doubles, 2),
        (Mode::Strings, 1),
        (Mode::Latency, 1),
        (Mode::Paced, 1),
    ] {
        let directory = tempfile::tempdir_in(&plan.directory).unwrap();
        let records = match mode {
            Mode::Paced => 100_000,
            _ => records,
        };
        match run(row.peer, mode, threads, records, directory.path()) {
            Some(result) => row.add(mode, threads, result),
            None => eprintln!("{} failed at {mode:?}", row.peer.name),
        }
    }
}

/// What a run came to.
pub struct Result {
    /// Nanoseconds of wall time for a call.
    pub mean: f64,
    /// Nanoseconds of CPU time for a record, everybody's included.
    pub cpu: f64,
    /// Bytes of a record on disk.
    pub bytes: f64,
    /// Nanoseconds of single calls: p50, p99, p99.9, p99.99 and the longest.
    pub latency: [f64; 5],
}

fn run(peer: &Peer, mode: Mode, threads: usize, records: u64, directory: &Path) -> Option<Result> {
    let session = peer.needs_session.then(|| lttng::Session::start(directory));
    let helpers = session.as_ref().map_or(0.0, lttng::Session::cpu);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--child", peer.name, mode.name()])
        .args([threads.to_string(), records.to_string()])
        .arg(directory)
        .output()
        .unwrap();
    let helpers = session.as_ref().map_or(0.0, lttng::Session::cpu) - helpers;
    drop(session);
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let all = records as f64 * threads as f64;
    let (&[mean, cpu], latency) = numbers.split_first_chunk()?;
    Some(Result {
        mean,
        cpu: cpu + helpers / all,
        bytes: bytes_in(directory) as f64 / all,
        latency: latency.try_into().ok()?,
    })
}

/// Bytes of the files below a folder; one with two names counts once.
fn bytes_in(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let (mut seen, mut bytes) = (Vec::new(), 0);
    let mut folders = vec![directory.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let about = entry.path().symlink_metadata().unwrap();
            // LTTng's rings are no part of its trace.
            if about.is_dir() && entry.file_name() != lttng::RINGS {
                folders.push(entry.path());
            } else if about.is_file() && !seen.contains(&about.ino()) {
                seen.push(about.ino());
                bytes += about.len();
            }
        }
    }
    bytes
}
