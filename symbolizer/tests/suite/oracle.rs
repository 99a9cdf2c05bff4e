//! Whole chains of inlined functions, compared with those of llvm-symbolizer and of blazesym for
//! random addresses of three programs: optimized C++, optimized Rust, and this test itself, Rust
//! without optimization.
//!
//! What is no difference, and why, is in [`Place::new`], [`agree`], [`plain`] and [`tidy`]; beyond
//! that there was none when this was written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{self, compile, have, run};
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolizer};
use logdef_symbolizer::{AddressKind, StackFrame, Svma};

/// Addresses per program.
const ADDRESSES: usize = 2000;

#[test]
fn inline_chains_of_optimized_cpp_equal_those_of_llvm() {
    let dir = tempfile::tempdir().unwrap();
    for (compiler, debug) in [("g++", "-gdwarf-5"), ("clang++", "-gdwarf-4")] {
        if have(compiler) {
            let flags = format!("-O2 {debug} -std=c++17");
            let path = compile(dir.path(), compiler, &flags, "shapes.cpp", "shapes");
            compare(&path);
        }
    }
}

#[test]
fn inline_chains_of_optimized_rust_equal_those_of_llvm() {
    let dir = tempfile::tempdir().unwrap();
    compare(&compile(dir.path(), "rustc", "-O -g", "words.rs", "words"));
}

#[test]
fn inline_chains_of_plain_rust_equal_those_of_llvm() {
    compare(&std::env::current_exe().unwrap());
}

/// Fails if fewer than 99 of 100 chains agree; shows those that do not.
fn compare(path: &Path) {
    let functions = functions(path);
    let addresses = code_addresses(&functions, ADDRESSES);
    if have("llvm-symbolizer") {
        let theirs = llvm_chains(path, &addresses);
        compare_with("llvm-symbolizer", path, &functions, &addresses, &theirs);
    }
    let theirs = blazesym_chains(path, &addresses);
    compare_with("blazesym", path, &functions, &addresses, &theirs);
}

fn compare_with(
    whose: &str,
    path: &Path,
    functions: &[Function],
    addresses: &[Svma],
    theirs: &[Vec<Place>],
) {
    let image = support::open(path);
    let mut differences = BTreeMap::<String, usize>::new();
    for (address, theirs) in addresses.iter().zip(theirs) {
        let ours = image.symbolize(*address, AddressKind::Exact);
        let ours: Vec<Place> = ours.frames().iter().map(Place::of).collect();
        if !agree(&ours, theirs, functions) {
            let difference = format!("{address:#x}\n  ours   {ours:?}\n  theirs {theirs:?}");
            differences.insert(difference, 1);
        }
    }
    let name = path.file_name().unwrap().to_string_lossy();
    let different = differences.len();
    let all = addresses.len();
    eprintln!("{name}: {different} of {all} chains differ from {whose}");
    for difference in differences.keys().take(8) {
        eprintln!("{difference}");
    }
    assert!(different * 100 <= addresses.len());
    assert_eq!(image.complaints(), [""; 0]);
}

/// One function of a chain.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub function: String,
}

impl Place {
    /// A place as both sides would name it.
    pub fn new(file: &str, line: u32, function: &str) -> Place {
        // Where the compiler says line 0 there is no line, and LLVM may name the file of the
        // nearest STT_FILE symbol.
        let file = if line == 0 { String::new() } else { tidy(file) };
        let function = if function == "??" { "" } else { function };
        Place {
            file,
            line,
            function: plain(function),
        }
    }

    pub fn of(frame: &StackFrame) -> Place {
        Place::new(
            frame.file.as_deref().unwrap_or(""),
            frame.line.unwrap_or(0),
            frame.linkage_name.as_deref().unwrap_or(""),
        )
    }
}

/// Whether two chains are the same. Functions of equal code are folded into one that keeps all
/// their names: any of them will do.
pub fn agree(ours: &[Place], theirs: &[Place], functions: &[Function]) -> bool {
    let folded = |a: &str, b: &str| {
        let at = |name: &str| functions.iter().find(|it| it.name == name);
        matches!((at(a), at(b)), (Some(a), Some(b)) if a.address == b.address)
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(ours, theirs)| {
            (&ours.file, ours.line) == (&theirs.file, theirs.line)
                && (theirs.function.is_empty()
                    || ours.function == theirs.function
                    || folded(&ours.function, &theirs.function))
        })
}

/// A function in the symbol table.
pub struct Function {
    address: u64,
    size: u64,
    name: String,
}

pub fn functions(path: &Path) -> Vec<Function> {
    let listing = run(Path::new("."), "nm", &["-S", path.to_str().unwrap()]);
    let functions = listing.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, size, kind, name] = words[..] else {
            return None;
        };
        let number = |text| u64::from_str_radix(text, 16).ok();
        "tTwW".contains(kind).then_some(Function {
            address: number(address)?,
            size: number(size)?,
            name: plain(name),
        })
    });
    functions.collect()
}

/// Addresses drawn from the functions of a program, the same ones every time.
pub fn code_addresses(functions: &[Function], count: usize) -> Vec<Svma> {
    let total: u64 = functions.iter().map(|it| it.size).sum();
    let mut random = support::Random(20_261);
    let mut addresses: Vec<Svma> = (0..count)
        .map(|_| {
            let mut at = random.below(total);
            let function = functions.iter().find(|it| {
                let here = at < it.size;
                if !here {
                    at -= it.size;
                }
                here
            });
            Svma(function.unwrap().address + at)
        })
        .collect();
    addresses.sort_unstable();
    addresses
}

/// What llvm-symbolizer answers, from its plain format: for each address pairs of lines, function
/// and `file:line:column`, ended by an empty line.
pub fn llvm_chains(path: &Path, addresses: &[Svma]) -> Vec<Vec<Place>> {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = addresses
        .iter()
        .map(|address| format!("{address:#x}\n"))
        .collect();
    fs::write(dir.path().join("addresses"), lines).unwrap();
    let command = "llvm-symbolizer --no-demangle --inlines --obj=\"$0\" < addresses";
    let output = run(dir.path(), "sh", &["-c", command, path.to_str().unwrap()]);
    let chains: Vec<Vec<Place>> = output
        .split("\n\n")
        .filter(|chain| !chain.trim().is_empty())
        .map(|chain| {
            let lines: Vec<&str> = chain.lines().collect();
            lines.chunks_exact(2).filter_map(place).collect()
        })
        .collect();
    assert_eq!(chains.len(), addresses.len());
    chains
}

/// What blazesym answers: files and lines, for where there is no llvm-symbolizer. Its names are the
/// plain ones of the debug information and not compared. It has the outermost function first.
fn blazesym_chains(path: &Path, addresses: &[Svma]) -> Vec<Vec<Place>> {
    let symbolizer = Symbolizer::new();
    let source = Source::Elf(Elf::new(path));
    let addresses: Vec<u64> = addresses.iter().map(|address| address.0).collect();
    let found = symbolizer.symbolize(&source, Input::VirtOffset(&addresses));
    let place = |code: Option<&CodeInfo<'_>>| {
        let path = code.map_or(String::new(), |code| code.to_path().display().to_string());
        Place::new(&path, code.and_then(|code| code.line).unwrap_or(0), "")
    };
    let chains = found.unwrap().into_iter().map(|found| {
        let Some(symbol) = found.as_sym() else {
            return Vec::new();
        };
        let inlined = symbol.inlined.iter().rev();
        let inlined = inlined.map(|it| place(it.code_info.as_ref()));
        inlined
            .chain([place(symbol.code_info.as_deref())])
            .collect()
    });
    chains.collect()
}

fn place(lines: &[&str]) -> Option<Place> {
    let mut parts = lines[1].rsplitn(3, ':');
    let _column = parts.next()?;
    let line: u32 = parts.next()?.parse().ok()?;
    let file = parts.next()?;
    let unknown = |text: &str| text.starts_with("??");
    if unknown(lines[0]) && unknown(file) {
        return None;
    }
    Some(Place::new(file, line, lines[0]))
}

/// A path without `.` and `..`; LLVM leaves them in, `addr2line` too, but not always the same ones.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A linkage name without the suffix of a copy or a part. LLVM takes the name of the outermost
/// function from the symbol table, where parts have names of their own; DWARF names the function.
fn plain(name: &str) -> String {
    let suffixes = [
        ".llvm.",
        ".cold",
        ".part.",
        ".isra.",
        ".constprop.",
        ".lto_priv.",
    ];
    let ends = suffixes.iter().filter_map(|suffix| name.find(suffix));
    name[..ends.min().unwrap_or(name.len())].to_owned()
}
