//! A log that has lost all but its data records: preambles, strings, threads,
//! backtraces. With the executable at hand its text is the same as before;
//! without it, numbers stand where strings stood.

use logdef_resync::{Images, Input, LocatedImages, NoImages};
use logdef_samples::frames;
use logdef_samples::workshop::{Workshop, run};
use logdef_symbolizer::{Locator, Options};
use shown::{each_record, lossy};
use std::path::Path;
use std::process::Command;

mod shown;

/// File, line and message of each record, in the order of their times.
fn lines(log: &[u8], images: impl Images) -> Vec<String> {
    let inputs = [Input::from_bytes("log", log.to_vec())];
    let mut lines = Vec::new();
    each_record(&inputs, images, |resolver, data, place| {
        let resolved = resolver.resolve(data, place);
        let file = resolved.file.bytes.map_or("?".to_owned(), lossy);
        let mut message = Vec::new();
        resolved.message(&mut message);
        lines.push(format!(
            "{file}:{}: {}",
            data.line.unwrap(),
            lossy(&message)
        ));
    });
    lines
}

fn images_in(folder: &Path) -> LocatedImages {
    LocatedImages::new(Locator::new(Options {
        image_dirs: vec![folder.to_owned()],
        ..Options::default()
    }))
}

/// The data records of a log and nothing else.
fn bare(log: &[u8]) -> Vec<u8> {
    let frames = frames::scan(log);
    let data = frames.iter().filter(|frame| frame.is_data());
    data.flat_map(|frame| &log[frame.range.clone()])
        .copied()
        .collect()
}

#[test]
fn a_log_without_logdefs_reads_the_same_with_the_executables() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.log");
    let server = workshop.compile_server(folder.path());
    run(Command::new(server).arg(&path).args(["0", "60"]));
    let log = std::fs::read(path).unwrap();

    let whole = lines(&log, NoImages);
    assert!(
        whole
            .iter()
            .any(|line| line.starts_with("samples/c/server.c:"))
    );
    assert!(
        whole
            .iter()
            .any(|line| line.starts_with("samples/c/compress.c:"))
    );
    assert_eq!(lines(&bare(&log), images_in(folder.path())), whole);
}

#[test]
fn a_log_without_logdefs_shows_numbers_without_the_executable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.log");
    run(Workshop::open()
        .command("orders")
        .arg(&path)
        .args(["0", "20"]));
    let log = std::fs::read(path).unwrap();

    let whole = lines(&log, NoImages);
    let left = lines(&bare(&log), NoImages);
    assert_eq!(left.len(), whole.len());
    for (left, whole) in left.iter().zip(&whole) {
        let line = |text: &str| text.split(':').nth(1).unwrap().to_owned();
        assert_eq!(line(left), line(whole));
        assert!(left.starts_with("?:") && left.contains(": ?0x"), "{left}");
    }
    // The arguments are there, with their types: order, pieces, goods, price.
    let third = |line: &String| line.contains(" 3, 9, \"salt\", 7.65, \"");
    assert!(left.iter().any(third), "{left:#?}");
}
