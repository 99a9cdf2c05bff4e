//! What a record costs by `logdef!`, `log` and `tracing`, beside `tracing`'s own ways to a file.
//!
//! ```text
//! facades [ROUNDS [CALLS]]      9 rounds, 300000 calls
//! ```
//!
//! Each figure is CPU time for a call, of a process of its own, of all its threads until all is
//! written to a fresh file: the median and the range of rounds that alternate between all ways.

use logdef::logdef;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

/// A way to log: its name, what sets it up, and what is called in the loop.
type Way = (&'static str, fn(&Path) -> Kept, fn(u64));

/// What must live until the end, and be dropped before the clock is read.
type Kept = Option<WorkerGuard>;

const HOST: &str = "example.org";

const WAYS: [Way; 21] = [
    ("`logdef!`, printf", logdef_alone, |n| {
        logdef!(
            Info,
            "request %lu took %lu from %s",
            n,
            7u64,
            black_box(HOST)
        );
    }),
    ("`logdef!`, `{}`", logdef_alone, |n| {
        logdef!(Info, "request {} took {} from {}", n, 7u64, black_box(HOST));
    }),
    ("`logdef!`, `{name}`", logdef_alone, |n| {
        let (us, host) = (7u64, black_box(HOST));
        logdef!(Info, "request {n} took {us} from {host}");
    }),
    (
        "`logdef!`, a `Display` that is formatted",
        logdef_alone,
        |n| {
            logdef!(Info, "request {} from {}", n, address(n));
        },
    ),
    ("`logdef!`, off", logdef_alone, |n| {
        logdef!(Debug, "request {} took {} from {}", n, 7u64, HOST);
    }),
    ("`log`, three arguments", log, log_three),
    ("`log`, no argument", log, |_| log::info!("request")),
    ("`log`, off by level", log, |n| log::debug!("request {n}")),
    (
        "`log`, off by target",
        log,
        |n| log::info!(target: "noisy", "request {n}"),
    ),
    ("`tracing`, three fields", tracing, tracing_fields),
    ("`tracing`, formatted message", tracing, tracing_message),
    (
        "`tracing`, span with two fields: two records",
        tracing,
        tracing_span,
    ),
    (
        "`tracing`, the same with two events in it: four records",
        tracing,
        tracing_span_with_events,
    ),
    ("`tracing`, off by level", tracing, |n| tracing::debug!(n)),
    (
        "`tracing`, off by target",
        tracing,
        |n| tracing::info!(target: "noisy", n),
    ),
    ("fmt to a file, three fields", to_file, tracing_fields),
    ("fmt to a file, formatted message", to_file, tracing_message),
    (
        "fmt to a file, span: two lines",
        to_file_with_spans,
        tracing_span,
    ),
    (
        "fmt to a file, the same with two events in it: four lines",
        to_file_with_spans,
        tracing_span_with_events,
    ),
    ("appender, lossless, three fields", appender, tracing_fields),
    (
        "appender, lossless, formatted message",
        appender,
        tracing_message,
    ),
];

fn address(n: u64) -> std::net::SocketAddr {
    ([10, 0, 0, n as u8], 80).into()
}

fn log_three(n: u64) {
    log::info!("request {} took {} from {}", n, 7u64, black_box(HOST));
}

fn tracing_fields(n: u64) {
    tracing::info!(n, us = 7u64, host = black_box(HOST), "request");
}

fn tracing_message(n: u64) {
    tracing::info!("request {} took {} from {}", n, 7u64, black_box(HOST));
}

fn tracing_span(n: u64) {
    tracing::info_span!("request", n, host = black_box(HOST)).in_scope(|| ());
}

fn tracing_span_with_events(n: u64) {
    tracing::info_span!("request", n, host = black_box(HOST)).in_scope(|| {
        tracing_fields(n);
        tracing_fields(n);
    });
}

fn logdef_alone(folder: &Path) -> Kept {
    logdef::open(folder.join("log")).expect("a log");
    logdef::set_filter("info,noisy=off").expect("a filter");
    None
}

fn log(folder: &Path) -> Kept {
    logdef_log::init().expect("no logger before");
    logdef_alone(folder)
}

fn tracing(folder: &Path) -> Kept {
    let subscriber = tracing_subscriber::registry().with(logdef_tracing::layer());
    tracing::subscriber::set_global_default(subscriber).expect("none before");
    logdef_alone(folder)
}

fn text(folder: &Path) -> File {
    File::create(folder.join("text")).expect("a file")
}

fn to_file(folder: &Path) -> Kept {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_ansi(false);
    subscriber.with_writer(Mutex::new(text(folder))).init();
    None
}

fn to_file_with_spans(folder: &Path) -> Kept {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_ansi(false);
    let subscriber = subscriber.with_span_events(FmtSpan::NEW | FmtSpan::CLOSE);
    subscriber.with_writer(Mutex::new(text(folder))).init();
    None
}

fn appender(folder: &Path) -> Kept {
    let builder = NonBlockingBuilder::default().lossy(false);
    let (writer, guard) = builder.finish(text(folder));
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_ansi(false);
    subscriber.with_writer(writer).init();
    Some(guard)
}

/// CPU time of this process, of all its threads.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// In a process of its own: prints picoseconds for a call.
fn measure((_, set_up, call): &Way, folder: &Path, calls: u64) {
    let kept = set_up(folder);
    (0..1000).for_each(|n| call(black_box(n)));
    let before = cpu_ns();
    (0..calls).for_each(|n| call(black_box(n)));
    drop(kept);
    println!("{}", (cpu_ns() - before) * 1000 / calls);
}

/// Measures a way in a process of its own.
fn measured(way: usize, calls: &str) -> Result<f64, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["measure", &way.to_string(), calls]);
    let output = command.arg(folder.path()).env_remove("LOGDEF").output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.trim().parse::<u64>().map_err(|_| WAYS[way].0)? as f64 / 1000.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, way, calls, folder] = &arguments[..]
        && word == "measure"
    {
        measure(
            &WAYS[way.parse::<usize>()?],
            Path::new(folder),
            calls.parse()?,
        );
        return Ok(());
    }
    let rounds = arguments.first().map_or(Ok(9), |rounds| rounds.parse())?;
    let calls = arguments.get(1).map_or("300000", String::as_str);
    let mut figures = vec![Vec::new(); WAYS.len()];
    for _ in 0..rounds {
        for (way, figures) in figures.iter_mut().enumerate() {
            figures.push(measured(way, calls)?);
        }
    }
    println!("| way | CPU ns a call: median | least to most |\n|---|--:|--:|");
    for ((name, ..), mut figures) in WAYS.iter().zip(figures) {
        figures.sort_by(f64::total_cmp);
        let (least, most) = (figures[0], figures[figures.len() - 1]);
        let median = figures[figures.len() / 2];
        println!("| {name} | {median:.1} | {least:.1} to {most:.1} |");
    }
    Ok(())
}
