//! Builds small programs with the compilers at hand and asks the tools at hand about them.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses its own part"
)]

#[path = "../../../samples/src/skip.rs"]
pub mod skip;

pub use skip::has as have;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use logdef_symbolizer::{Image, Locator, Options, Svma};

/// The path of one of the programs' sources.
pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

/// Runs a tool in `dir` and returns what it printed; panics if it fails.
pub fn run(dir: &Path, tool: &str, args: &[&str]) -> String {
    let output = Command::new(tool)
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(
        output.status.success(),
        "{tool} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles a program's source into `dir/output` with `flags` (split at spaces).
pub fn compile(dir: &Path, compiler: &str, flags: &str, source: &str, output: &str) -> PathBuf {
    let source = program(source);
    let mut args: Vec<&str> = flags.split_whitespace().collect();
    args.extend([source.to_str().unwrap(), "-o", output]);
    run(dir, compiler, &args);
    dir.join(output)
}

/// The image in a file, with no directories to search.
pub fn open(path: &Path) -> Image {
    Locator::new(Options::default()).open(path).unwrap()
}

/// A symbol's address and size, from `nm`.
pub fn symbol(path: &Path, name: &str) -> (Svma, u64) {
    let listing = run(Path::new("."), "nm", &["-S", path.to_str().unwrap()]);
    let line = listing
        .lines()
        .find(|line| line.ends_with(&format!(" {name}")))
        .unwrap_or_else(|| panic!("no {name} in {}", path.display()));
    let mut numbers = line
        .split_whitespace()
        .map_while(|word| u64::from_str_radix(word, 16).ok());
    (Svma(numbers.next().unwrap()), numbers.next().unwrap_or(0))
}

/// The functions at an address, innermost first, as `name file:line`, files without directories.
pub fn chain(image: &Image, address: Svma) -> Vec<String> {
    image
        .symbolize(address, logdef_symbolizer::AddressKind::Exact)
        .frames()
        .iter()
        .map(|frame| {
            let file = frame.file.as_deref().unwrap_or("?");
            format!(
                "{} {}:{}",
                frame.function.as_deref().unwrap_or("?"),
                file.rsplit('/').next().unwrap(),
                frame.line.unwrap_or(0)
            )
        })
        .collect()
}

/// The address in `image` at which `text` stands with a NUL after it.
pub fn address_of(path: &Path, image: &Image, text: &str) -> Svma {
    let file = fs::read(path).unwrap();
    let mut wanted = text.as_bytes().to_vec();
    wanted.push(0);
    let offset = file
        .windows(wanted.len())
        .position(|window| window == wanted)
        .unwrap_or_else(|| panic!("no {text:?} in {}", path.display()));
    let segment = image
        .segments()
        .iter()
        .find(|segment| segment.file.contains(&offset))
        .unwrap();
    Svma(segment.address.0 + (offset - segment.file.start) as u64)
}

/// Numbers that look random and are the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number less than `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
