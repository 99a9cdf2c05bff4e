//! The main job, seen at work: a C program with four threads and a shared
//! library, and a Rust program with three, log until they are killed with
//! SIGKILL in the middle. Their logs are joined, the joined file is smashed in
//! several places, and the `logdef` command shows what is left, and says what
//! is not.
//!
//! ```text
//! cargo run --release --bin demo
//! ```
//!
//! What it makes lies in `demo-logs` beside the program, or in the folder that is its argument.

use logdef_samples::frames;
use logdef_samples::smash::Blow;
use logdef_samples::workshop::Workshop;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

fn main() -> ExitCode {
    println!("# Building liblogdef, the logdef command and the two programs.\n");
    let workshop = Workshop::open();
    let folder = match env::args_os().nth(1) {
        Some(folder) => PathBuf::from(folder),
        None => {
            let usual = workshop.built.join("demo-logs");
            let _ = fs::remove_dir_all(&usual);
            usual
        }
    };
    fs::create_dir_all(&folder).expect("a folder for the demo");
    let folder = fs::canonicalize(folder).expect("the folder is there");

    let server = workshop.compile_server(&folder);
    let logs = [
        (Command::new(server), folder.join("server.log")),
        (workshop.command("orders"), folder.join("orders.log")),
    ];
    let mut joined = Vec::new();
    for (mut program, log) in logs {
        kill_in_the_middle(&mut program, &log);
        joined.extend(fs::read(&log).expect("the program opened its log"));
    }
    let written = data_records(&joined);
    println!(
        "\n# cat server.log orders.log > damaged.log: {} bytes, {written} records.",
        joined.len()
    );

    println!("# Then it is smashed:");
    for blow in blows(&joined) {
        blow.deal(&mut joined);
        println!("#   {blow}");
    }
    let damaged = folder.join("damaged.log");
    fs::write(&damaged, &joined).expect("the damaged log is written");
    let left = data_records(&joined);

    let shown = ["view", "check"].map(|verb| show(workshop, verb, &damaged));
    let read = records_read(workshop, &damaged);
    println!("\n# {written} records were written, {left} of them survive the blows.");
    if shown != [true, true] || read != left {
        println!("# The reader found {read}.");
        return ExitCode::FAILURE;
    }
    println!("# The reader found every one. Look for yourself:");
    // In quotes: the folder may have a space in its name.
    println!("#   {:?} view {damaged:?}", workshop.built.join("logdef"));
    ExitCode::SUCCESS
}

/// Starts a program that logs and kills it, with no warning, as soon as it has
/// logged for a while.
fn kill_in_the_middle(program: &mut Command, log: &Path) {
    println!(
        "# Running {} until it is killed.",
        program.get_program().display()
    );
    let mut child = program
        .arg(log)
        .arg("2000")
        .spawn()
        .expect("the program starts");
    while !fs::read(log).is_ok_and(|bytes| is_at_work(&bytes)) {
        assert!(
            child.try_wait().expect("a child").is_none(),
            "it ended by itself"
        );
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("SIGKILL");
    let status = child.wait().expect("a child");
    println!("#   {status}");
}

/// Whether a program has logged for a while, errors with backtraces among it.
fn is_at_work(log: &[u8]) -> bool {
    let frames = frames::scan(log);
    let backtraces = frames.iter().filter(|frame| frame.fields.contains_key(&10));
    data_records(log) > 30 && backtraces.filter(|frame| frame.is_data()).count() > 3
}

fn data_records(log: &[u8]) -> usize {
    frames::scan(log)
        .iter()
        .filter(|frame| frame.is_data())
        .count()
}

/// Blows to frames that hold records: a flipped bit, a lost sector, missing and
/// foreign bytes, and an end that is cut off. The last comes first, so that no
/// blow moves the place of another.
fn blows(log: &[u8]) -> [Blow; 5] {
    let frames = frames::scan(log);
    let data: Vec<_> = frames.iter().filter(|frame| frame.is_data()).collect();
    let within = |percent: usize| data[data.len() * percent / 100].range.start + 33;
    [
        Blow::Cut {
            at: data[data.len() - 1].range.end - 20,
        },
        Blow::Insert {
            at: within(80),
            len: 200,
        },
        Blow::Remove {
            at: within(60),
            len: 300,
        },
        Blow::Zero {
            at: within(40) / 512 * 512,
            len: 512,
        },
        Blow::Flip { at: within(20) },
    ]
}

/// The command, to be run on the damaged log by its name.
fn logdef(workshop: &Workshop, log: &Path, verb: &[&str]) -> Command {
    let mut command = workshop.command("logdef");
    command
        .current_dir(log.parent().expect("a folder"))
        .args(verb)
        .arg(log.file_name().expect("a file"));
    command
}

/// Runs a verb of the command for the reader of the demo. Whether it ended as
/// it should: 0, or 3 for damage found.
fn show(workshop: &Workshop, verb: &str, log: &Path) -> bool {
    println!("\n$ logdef {verb} damaged.log");
    let status = logdef(workshop, log, &[verb]).status();
    matches!(status.expect("logdef runs").code(), Some(0 | 3))
}

/// How many records the command reads.
fn records_read(workshop: &Workshop, log: &Path) -> usize {
    let output = logdef(workshop, log, &["view", "-o", "json"]).output();
    let text = output.expect("logdef runs").stdout;
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .count()
}
