//! The examples of QUERIES.md, run as they are printed.

use std::path::Path;
use std::process::{Command, Stdio};

use logdef_serve::service::{AppendFile, Service, Settings};

/// The fenced blocks of a page, with their language.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').unwrap())
        .collect()
}

#[test]
fn the_jq_examples_print_what_the_page_says() {
    if Command::new("jq")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        eprintln!("jq is not installed: nothing was tested");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let records = directory.path().join("records");
    let service = Service::bind(Settings::new(directory.path()), |each| {
        AppendFile::open(records, 1 << 20, each).map(|(file, _)| file)
    })
    .unwrap();
    let stop = service.stop_handle();
    let thread = std::thread::spawn(move || service.run());

    let test = std::env::current_exe().unwrap();
    let examples = test
        .parent()
        .and_then(Path::parent)
        .unwrap()
        .join("examples");
    let run = |script: &str| {
        let script = script.replace("/tmp/logdef-demo", directory.path().to_str().unwrap());
        let path = format!("{}:{}", examples.display(), std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-ec", &script])
            .env("PATH", path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}\n{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let page = include_str!("../QUERIES.md");
    let with_jq = &page[page.find("## With jq").unwrap()..];
    let blocks = blocks(with_jq);
    let [(_, setup), examples @ ..] = &blocks[..] else {
        panic!("no examples");
    };
    run(setup);
    let mut tested = 0;
    for pair in examples.chunks(2) {
        let [("sh", script), ("text", expected)] = pair else {
            panic!("{pair:?}");
        };
        assert_eq!(run(script), *expected, "{script}");
        tested += 1;
    }
    assert_eq!(tested, 4);
    stop.stop();
    thread.join().unwrap().unwrap();
}
