//! Debug files as distributions ship them: every one that is installed on this machine is read, and
//! nothing in it is refused. The more packages of debug files (`-dbg`,
//! `-debuginfo`) there are, the more it says; without any it passes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Random;
use logdef_symbolizer::{AddressKind, Image, Locator, Options, Source, Svma};

const DEBUG_DIR: &str = "/usr/lib/debug";

/// Addresses of each file that are asked for.
const ADDRESSES: usize = 8;

#[test]
fn every_debug_file_of_the_machine_is_read() {
    let most = match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => usize::MAX,
        None => 30,
    };
    let mut files = Vec::new();
    list(Path::new(DEBUG_DIR), &mut files);
    let mut random = Random(17);
    // A run of the first few sees those of several packages.
    for last in (1..files.len()).rev() {
        files.swap(last, random.below(last as u64 + 1) as usize);
    }
    let locator = Locator::new(Options {
        debug_dirs: vec![DEBUG_DIR.into()],
        ..Options::default()
    });
    let (mut read, mut named, mut complaints) = (0, 0, Vec::new());
    for path in files.iter().take(most) {
        let Ok(image) = locator.open(path) else {
            continue;
        };
        named += ask(&image, &mut random);
        complaints.extend(image.complaints());
        read += 1;
    }
    eprintln!(
        "{read} of {} debug files read, {named} addresses named, {} complaints",
        files.len(),
        complaints.len()
    );
    assert_eq!(complaints, [""; 0], "{complaints:#?}");
}

/// Asks for addresses in the code of an image. Returns how many had a line.
fn ask(image: &Image, random: &mut Random) -> usize {
    let code: Vec<_> = image
        .segments()
        .iter()
        .filter(|it| it.executable && it.memory_size != 0)
        .collect();
    let mut named = 0;
    for segment in code {
        for _ in 0..ADDRESSES {
            let address = Svma(segment.address.0 + random.below(segment.memory_size));
            let found = image.symbolize(address, AddressKind::Exact);
            named += usize::from(found.source() == Source::DebugInfo);
        }
    }
    named
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list(&entry.path(), files),
            // What several debug files share has no code of its own.
            Ok(kind)
                if kind.is_file() && !entry.path().starts_with(format!("{DEBUG_DIR}/.dwz")) =>
            {
                files.push(entry.path());
            }
            _ => {}
        }
    }
    files.sort_unstable();
}
