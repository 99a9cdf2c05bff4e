//! What a log can make the reader read. It names files and says what they should be; a log of a
//! kilobyte may name large ones, many times. One test alone: the bytes are counted for the process.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use logdef_symbolizer::{
    AddressKind, Digest, Fingerprint, Limits, Locator, Options, Refusal, Source, Svma,
};

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

/// The most memory that this process had so far, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let kib = line.unwrap().split_whitespace().next().unwrap();
    kib.parse::<u64>().unwrap() << 10
}

#[test]
fn what_a_log_names_costs_little_if_it_is_not_what_the_log_says() {
    let dir = tempfile::tempdir().unwrap();
    large_files_that_are_named_many_times(dir.path());
    a_wrong_file_is_never_in_memory(dir.path());
    debug_files_that_are_named_many_times(dir.path());
    what_names_no_code_is_not_read(dir.path());
    units_that_are_not_asked_for_are_not_read(dir.path());
}

/// A debug file is mostly a section that no name is in.
fn what_names_no_code_is_not_read(dir: &Path) {
    const SIZE: u64 = 48 << 20;
    let program = support::compile(dir, "gcc", "-O1 -g -Wl,--build-id", "chain.c", "padded");
    let debug = debug_file_of(&program, dir);
    fs::write(dir.join("macros"), vec![7; SIZE as usize]).unwrap();
    support::run(
        dir,
        "objcopy",
        &[
            "--only-keep-debug",
            "--add-section=.debug_macro=macros",
            "padded",
            debug.to_str().unwrap(),
        ],
    );
    support::run(dir, "strip", &["-s", "padded"]);
    let (address, _) = support::symbol(&debug, "main");
    let read = read_for_a_name(&program, address, dir);
    assert!(read < SIZE / 8, "{read} bytes");
}

/// A debug file of which almost all is a unit without code, after that of the program.
fn units_that_are_not_asked_for_are_not_read(dir: &Path) {
    const SIZE: u32 = 80 << 20;
    let program = support::compile(dir, "gcc", "-O1 -g -Wl,--build-id", "chain.c", "long");
    let debug = debug_file_of(&program, dir);
    let debug = debug.to_str().unwrap();
    support::run(dir, "objcopy", &["--only-keep-debug", "long", debug]);
    let dump = ["-O", "binary", "--set-section-flags=.debug_info=alloc"];
    let dump = [&dump[..], &["--only-section=.debug_info", debug, "units"]].concat();
    support::run(dir, "objcopy", &dump);
    let mut units = fs::read(dir.join("units")).unwrap();
    units.extend(SIZE.to_le_bytes());
    units.extend([4, 0, 0, 0, 0, 0, 8]); // version, abbreviations at 0, bytes in an address
    units.resize(units.len() + SIZE as usize - 7, 0);
    fs::write(dir.join("units"), units).unwrap();
    support::run(
        dir,
        "objcopy",
        &["--update-section=.debug_info=units", debug],
    );
    support::run(dir, "strip", &["-s", "long"]);
    let (address, _) = support::symbol(Path::new(debug), "main");
    let read = read_for_a_name(&program, address, dir);
    assert!(read < u64::from(SIZE) / 8, "{read} bytes");
}

/// Where the debug file of `program` is looked for by its build ID below `dir`.
fn debug_file_of(program: &Path, dir: &Path) -> PathBuf {
    let image = support::open(program);
    let id: Vec<String> = image.build_id().unwrap()[..]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let debug = dir.join(".build-id").join(&id[0]);
    fs::create_dir_all(&debug).unwrap();
    debug.join(id[1..].concat() + ".debug")
}

/// The bytes that are read to name the function at `address`, which has lines.
fn read_for_a_name(program: &Path, address: Svma, dir: &Path) -> u64 {
    let locator = Locator::new(Options {
        debug_dirs: vec![dir.to_owned()],
        ..Options::default()
    });
    let image = locator.open(program).unwrap();
    let before = bytes_read();
    let found = image.symbolize(address, AddressKind::Exact);
    assert_eq!(
        found.source(),
        Source::DebugInfo,
        "{:?}",
        image.complaints()
    );
    bytes_read() - before
}

/// It is large, and all there. It has the size that the log says, so its digest decides.
fn a_wrong_file_is_never_in_memory(dir: &Path) {
    const SIZE: u64 = 96 << 20;
    let file = File::create(dir.join("large")).unwrap();
    file.write_all_at(b"\x7fELF\x02\x01\x01", 0).unwrap();
    for at in (0..SIZE).step_by(1 << 20) {
        file.write_all_at(&[5; (1 << 20) - 64], at + 64).unwrap();
    }
    file.set_len(SIZE).unwrap();
    let before = peak();
    let reasons = ask(&locator(Limits::default()), &dir.join("large"), 3);
    let more = peak() - before;
    assert!(reasons[0].contains("has digest"), "{reasons:?}");
    assert!(reasons[1].contains("has no build ID"), "{reasons:?}");
    assert!(more < SIZE / 4, "{more} bytes");
}

/// Many images ask for the same debug file, which is another: it is read once. Then each asks
/// for one of its own: there is an end to them.
fn debug_files_that_are_named_many_times(dir: &Path) {
    const SIZE: u64 = 4 << 20;
    const IMAGES: u64 = 12;
    let program = support::compile(dir, "gcc", "-O1 -s", "chain.c", "linked");
    let debug = dir.join("linked.debug");
    fs::write(&debug, "before").unwrap();
    let link = format!("--add-gnu-debuglink={}", debug.display());
    let objcopy = Command::new("objcopy").arg(link).arg(&program).status();
    assert!(objcopy.unwrap().success());
    fs::write(&debug, vec![7; SIZE as usize]).unwrap();
    let ask = |locator: &Locator, program: &Path| {
        let image = locator.open(program).unwrap();
        image.symbolize(Svma(0x1000), AddressKind::Exact);
        image.complaints().concat()
    };
    let shared = locator(Limits::default());
    let before = bytes_read();
    for _ in 0..IMAGES {
        assert!(ask(&shared, &program).contains("has CRC"));
    }
    let read = bytes_read() - before;
    assert!((SIZE..2 * SIZE).contains(&read), "{read} bytes");

    let bounded = locator(Limits {
        total_size: 3 * SIZE,
        ..Limits::default()
    });
    let mut refused = 0;
    for number in 0..IMAGES {
        let own = dir.join(number.to_string());
        fs::create_dir(&own).unwrap();
        fs::copy(&debug, own.join("linked.debug")).unwrap();
        fs::copy(&program, own.join("linked")).unwrap();
        let complaint = ask(&bounded, &own.join("linked"));
        refused += u64::from(complaint.contains("too much was read"));
    }
    assert_eq!(refused, IMAGES - 3);
}

fn large_files_that_are_named_many_times(dir: &Path) {
    let hole = dir.join("hole");
    let file = File::create(&hole).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(b"\x7fELF\x02\x01\x01", 0).unwrap();

    let before = bytes_read();
    let reasons = ask(&locator(Limits::default()), &hole, 8);
    let read = bytes_read() - before;
    assert!(reasons.iter().all(|it| it.contains("hole")), "{reasons:?}");
    assert!(read < 1 << 20, "{read} bytes of a hole");

    // A file that is all there is read once for its digest, by whatever names it goes.
    const SIZE: u64 = 8 << 20;
    let full = dir.join("full");
    fs::write(&full, vec![7; SIZE as usize]).unwrap();
    let other_name = dir.join("link");
    symlink(&full, &other_name).unwrap();
    let locator_of_one = locator(Limits::default());
    let before = bytes_read();
    for path in [&full, &other_name] {
        ask(&locator_of_one, path, 8);
    }
    let read = bytes_read() - before;
    assert!((SIZE..SIZE * 3 / 2).contains(&read), "{read} bytes");

    // And there is an end to many files.
    let limits = Limits {
        total_size: 3 * SIZE,
        ..Limits::default()
    };
    let bounded = locator(limits);
    let before = bytes_read();
    let mut refused = 0;
    for number in 0..10 {
        let copy = dir.join(format!("copy{number}"));
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
