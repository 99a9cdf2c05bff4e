//! The processes that tests of the service and of the stream start, and kill.
//!
//! ```text
//! parts reads PATH                 a stream, and never looks at its records
//! parts writes PATH COUNT [log]    numbered records to a stream, or a line of a log for each
//! parts serves FOLDER              the log service there, until SIGTERM
//! ```
//!
//! Each says so when others can meet it, and what it has done.

use logdef_fuchsia::structured::{RecordWriter, Severity};
use logdef_serve::service::{LogStorage, Service, Settings};
use logdef_serve::stream::{LogStream, Next, StreamRetriever, StreamSettings, StreamSource};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["reads", path] => read(path),
        ["writes", path, count] => write(&serving(path), number(count)),
        ["writes", path, count, "log"] => log(serving(path), number(count)),
        ["serves", folder] => serve(Path::new(folder)),
        _ => {
            eprintln!("usage: parts reads PATH | writes PATH COUNT [log] | serves FOLDER");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn number(text: &str) -> i64 {
    text.parse().expect("a number")
}

fn read(path: &str) {
    let mut retriever = StreamRetriever::connect(path).unwrap();
    println!("connected");
    while !matches!(retriever.next(SOON), Ok(Next::Ended)) {}
}

/// A source that retrievers can connect to.
fn serving(path: &str) -> StreamSource {
    // A retriever may have no core for a while.
    let settings = StreamSettings {
        deadline: None,
        wait: SOON,
        ..StreamSettings::default()
    };
    let source = StreamSource::bind(path, settings).unwrap();
    println!("serving");
    source
}

/// To write nothing is to wait for the signal: a process that asks whether the place is taken
/// is a retriever too, for an instant.
fn wait_for_a_retriever(source: &StreamSource, count: i64) {
    while source.retrievers() == 0 || count == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn write(source: &StreamSource, count: i64) {
    wait_for_a_retriever(source, count);
    let mut buffer = [0; 128];
    for number in 0..count {
        let mut writer = RecordWriter::new(&mut buffer, number, Severity::INFO).unwrap();
        writer.argument("message", "a number").unwrap();
        writer.argument("number", number).unwrap();
        source.write(writer.finish()).unwrap();
        if (number + 1) % 10_000 == 0 {
            println!("written {}", number + 1);
        }
    }
}

fn log(source: StreamSource, count: i64) {
    wait_for_a_retriever(&source, count);
    logdef::open("/dev/null").unwrap();
    LogStream::install(logdef::Level::TRACE, source);
    for number in 0..count {
        logdef::logdef!(Info, "%s is %d", "a number", number);
        if (number + 1) % 1000 == 0 {
            println!("written {}", number + 1);
        }
    }
}

fn serve(folder: &Path) {
    let mut settings = Settings::new(folder);
    settings.component_bytes = 256 << 10;
    let service = Service::bind(settings, |each| {
        let records = folder.join("records.log");
        LogStorage::open(records, 1 << 30, each).map(|(storage, _)| storage)
    });
    let service = service.unwrap();
    service.stop_handle().on_signals().unwrap();
    println!("serving");
    service.run().unwrap();
    println!("ended");
}
