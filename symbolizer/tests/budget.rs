//! What a log can make the reader read. It names files and says what they should be; a log of a
//! kilobyte may name large ones, many times. One test alone: the bytes are counted for the process.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use logdef_symbolizer::{Digest, Fingerprint, Limits, Locator, Options, Refusal};

/// Bytes that this process has read from files so far.
fn bytes_read() -> u64 {
    let counters = fs::read_to_string("/proc/self/io").unwrap();
    let count = counters.lines().find_map(|it| it.strip_prefix("rchar: "));
    count.unwrap().parse().unwrap()
}

/// Asks for the image at `path` with that many wrong digests. Returns the reasons.
fn ask(locator: &Locator, path: &Path, times: u8) -> Vec<String> {
    let path = path.to_str().unwrap().as_bytes();
    let size = fs::metadata(Path::new(str::from_utf8(path).unwrap()))
        .unwrap()
        .len();
    let mut reasons = Vec::new();
    for wrong in 0..times {
        let wanted = Fingerprint {
            size: Some(size),
            digest: Some(Digest::Sha1([wrong; 20])),
            build_id: Some(vec![wrong; 20]),
        };
        for found in [
            locator.image(path, &wanted),
            locator.for_symbols(path, &wanted),
        ] {
            reasons.push(found.unwrap_err().refused.remove(0).1.to_string());
        }
    }
    reasons
}

fn locator(limits: Limits) -> Locator {
    Locator::new(Options {
        use_logged_paths: true,
        limits,
        ..Options::default()
    })
}

#[test]
fn a_log_that_names_large_files_many_times_costs_little() {
    let dir = tempfile::tempdir().unwrap();
    let hole = dir.path().join("hole");
    let file = File::create(&hole).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(b"\x7fELF\x02\x01\x01", 0).unwrap();

    let before = bytes_read();
    let reasons = ask(&locator(Limits::default()), &hole, 8);
    let read = bytes_read() - before;
    assert!(reasons.iter().all(|it| it.contains("hole")), "{reasons:?}");
    assert!(read < 1 << 20, "{read} bytes of a hole");

    // A file that is all there is read once for its digest and once for its build ID, by
    // whatever names it goes.
    const SIZE: u64 = 8 << 20;
    let full = dir.path().join("full");
    fs::write(&full, vec![7; SIZE as usize]).unwrap();
    let other_name = dir.path().join("link");
    symlink(&full, &other_name).unwrap();
    let locator_of_one = locator(Limits::default());
    let before = bytes_read();
    for path in [&full, &other_name] {
        ask(&locator_of_one, path, 8);
    }
    let read = bytes_read() - before;
    assert!((SIZE..SIZE * 5 / 2).contains(&read), "{read} bytes");

    // And there is an end to many files.
    let limits = Limits {
        total_size: 3 * SIZE,
        ..Limits::default()
    };
    let bounded = locator(limits);
    let before = bytes_read();
    let mut refused = 0;
    for number in 0..10 {
        let copy = dir.path().join(format!("copy{number}"));
        fs::copy(&full, &copy).unwrap();
        let copied = SIZE;
        let wanted = Fingerprint {
            size: Some(copied),
            digest: Some(Digest::Sha1([1; 20])),
            build_id: None,
        };
        let error = bounded
            .image(copy.to_str().unwrap().as_bytes(), &wanted)
            .unwrap_err();
        refused += usize::from(matches!(error.refused[..], [(_, Refusal::TooMany { .. })]));
    }
    // Copying may be done by reading.
    let read = bytes_read() - before;
    assert!(read < 14 * SIZE, "{read} bytes");
    assert_eq!(refused, 7);
}
