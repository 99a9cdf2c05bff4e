//! The C header, compiled as C11 and as C++17, against a service that accepts only strict records.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use logdef_fuchsia::diagnostics::{LogError, LogsData, Property};
use logdef_fuchsia::structured::Profile;
use logdef_serve::client::ask;
use logdef_serve::service::{Request, Service, Settings};

mod common;
use common::Counted;

fn records_of_client_compiled_with(flags: &[&str]) -> Vec<LogsData> {
    let directory = tempfile::tempdir().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory.path().join("c_client");
    let compiled = Command::new("cc")
        .args(flags)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(here.join("include"))
        .arg(here.join("tests/c_client.c"))
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(compiled.success());

    let mut settings = Settings::new(directory.path());
    settings.profile = Profile::Strict;
    let service = Service::bind(settings, |_| Ok(Counted::default())).unwrap();
    let stop = service.stop_handle();
    let thread = std::thread::spawn(move || service.run());
    assert!(
        Command::new(&program)
            .arg(directory.path())
            .status()
            .unwrap()
            .success()
    );
    let start = Instant::now();
    let data = loop {
        let answer = ask(directory.path(), &Request::default()).unwrap();
        let arrays = serde_json::Deserializer::from_reader(answer).into_iter::<Vec<LogsData>>();
        let data: Vec<_> = arrays.flat_map(Result::unwrap).collect();
        if data.len() == 4 {
            break data;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{data:?}");
        std::thread::sleep(Duration::from_millis(2));
    };
    stop.stop();
    thread.join().unwrap().unwrap();
    data
}

fn assert_as_sent(data: &[LogsData]) {
    let keys = |index: usize| data[index].payload.as_ref().unwrap().keys.clone();
    let text = |text: &str| Property::Text(text.to_owned());
    assert_eq!(
        keys(0),
        [
            ("empty", text("")),
            ("floating", Property::Double(2.5)),
            ("latin1", text("gr??")),
            ("left_out", Property::SignedInt(1)),
            ("no", Property::Boolean(false)),
            ("signed", Property::SignedInt(-5)),
            ("surrogate", text("???")),
            ("text", text("gr\u{fc}\u{df}")),
            ("unsigned", Property::UnsignedInt(u64::MAX)),
            ("yes", Property::Boolean(true)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    );
    // Text too long for a record is cut, and an invalid name is left out and counted.
    let names: Vec<_> = keys(1).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["fits", "large", "left_out"]);
    for index in [0, 1] {
        let Property::Text(text) = &keys(1)[index].1 else {
            panic!("{:?}", keys(1));
        };
        assert!(text.ends_with("x..."), "{index}");
    }
    assert_eq!(keys(1)[2].1, Property::SignedInt(1));
    let payload = data[3].payload.as_ref().unwrap();
    let message = payload.message.as_ref().unwrap();
    assert!(message.len() > 31_000 && message.ends_with("x..."));
    assert_eq!(payload.keys.len(), 12);
    let left_out = ("left_out".to_owned(), Property::SignedInt(19));
    assert!(payload.keys.contains(&left_out), "{:?}", payload.keys);
    assert_eq!(data[1].metadata.raw_severity, Some(0x2e));
    assert_eq!(
        data[2].metadata.errors,
        [LogError::DroppedLogs { count: 3 }]
    );
}

#[test]
fn the_header_works_in_c11() {
    assert_as_sent(&records_of_client_compiled_with(&["-std=c11"]));
}

#[test]
fn the_header_works_in_cpp17() {
    assert_as_sent(&records_of_client_compiled_with(&[
        "-x",
        "c++",
        "-std=c++17",
        "-lstdc++",
    ]));
}
