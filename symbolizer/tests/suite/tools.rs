//! Programs and libraries of the distribution whose debug files are installed: random addresses in
//! their functions, beside llvm-symbolizer and `addr2line`. Each difference is of a class, and the
//! classes are counted; what both tools answer and the symbolizer does not would be its fault.
//!
//! Of 170,000 addresses in 34 files of Debian 12 there was none. LLVM 14 had the same file, line and
//! inlined functions at all of them, and differed in names: 21,552 it does not find in supplementary
//! files of dwz, for 10,717 it has the plain name where there is a linkage name, and 142 have no
//! debug information, only a symbol. `addr2line` of binutils 2.40 has no lines where it cannot read
//! such files (29,070), loses inlined functions there (21,850), confuses files that are
//! included with those that include them (1,723), and has 132 other names or none.
//!
//! `LOGDEF_BINARIES=30` takes that many, `LOGDEF_SHOWN=10` shows that many differences of each class.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use logdef_symbolizer::{AddressKind, Locator, Options, Svma};

use crate::oracle::{self, Function, Place};
use crate::support::{self, have, run, skip};

const DEBUG_DIR: &str = "/usr/lib/debug";

/// Where programs and libraries are.
const PLACES: [&str; 4] = ["/usr/bin", "/usr/lib", "/usr/libexec", "/usr/sbin"];

/// Addresses of each.
const ADDRESSES: usize = 5000;

#[test]
fn what_both_tools_answer_is_the_answer_for_the_distributions_programs() {
    if !have("llvm-symbolizer") || !have("addr2line") {
        return;
    }
    let number = |name| std::env::var(name).ok().and_then(|it| it.parse().ok());
    let most: usize = number("LOGDEF_BINARIES").unwrap_or(2);
    let shown = number("LOGDEF_SHOWN").unwrap_or(2);
    let (mut total, mut against) = (0, 0);
    let mut classes = Classes::default();
    for binary in binaries().into_iter().take(most) {
        let of_one = compare(&binary, &mut classes);
        eprintln!(
            "{}: {} addresses, {} where both differ",
            binary.path.display(),
            of_one.0,
            of_one.1
        );
        total += of_one.0;
        against += of_one.1;
    }
    if total == 0 {
        skip::skip("no debug file of an installed program is here");
    }
    for (class, examples) in &classes.0 {
        eprintln!("{:7} {class}", examples.len());
        for example in examples.iter().take(shown) {
            eprintln!("{example}");
        }
    }
    eprintln!("{against} of {total} answers differ from what both tools say");
    assert!(against * 1000 <= total);
}

/// The difference of a tool that knows the place of a function and not its name.
const NAMELESS: &str = "has no name";

/// Differences, by what kind they are of.
#[derive(Default)]
struct Classes(BTreeMap<String, Vec<String>>);

/// Compares answers for one binary. Returns how many addresses there were, and for how many the two
/// tools agree with each other and not with the symbolizer.
fn compare(binary: &Binary, classes: &mut Classes) -> (usize, usize) {
    let functions = oracle::functions(&binary.debug);
    if functions.is_empty() {
        return (0, 0);
    }
    let addresses = oracle::code_addresses(&functions, ADDRESSES);
    let llvm = with_directories_once(oracle::llvm_chains(&binary.path, &addresses));
    let addr2line = with_directories_once(addr2line_chains(&binary.path, &addresses));
    let locator = Locator::new(Options {
        debug_dirs: vec![DEBUG_DIR.into()],
        ..Options::default()
    });
    let image = locator.open(&binary.path).unwrap();
    let mut against = 0;
    for ((address, llvm), addr2line) in addresses.iter().zip(&llvm).zip(&addr2line) {
        let ours = image.symbolize(*address, AddressKind::Exact);
        let ours: Vec<Place> = ours.frames().iter().map(Place::of).collect();
        let theirs = [("llvm", llvm), ("addr2line", addr2line)];
        let found = theirs.map(|(_, theirs)| difference(&ours, theirs, &functions));
        // A tool that has no name says nothing against one.
        let both = found.iter().all(|it| it.is_some_and(|it| it != NAMELESS))
            && difference(llvm, addr2line, &functions).is_none();
        against += usize::from(both);
        for ((whose, theirs), found) in theirs.iter().zip(found) {
            let Some(class) = found else { continue };
            let also = if both {
                ", and the other tool agrees with it"
            } else {
                ""
            };
            let example = format!(
                "    {}+{address:#x}\n      ours   {ours:?}\n      theirs {theirs:?}",
                binary.path.display()
            );
            let class = format!("{whose} {class}{also}");
            classes.0.entry(class).or_default().push(example);
        }
    }
    assert_eq!(image.complaints(), [""; 0]);
    (addresses.len(), against)
}

/// The chains without a fault of both tools: where a unit's directory is a relative path, they put it
/// in front of itself, since DWARF 5 lists it among the directories too.
fn with_directories_once(mut chains: Vec<Vec<Place>>) -> Vec<Vec<Place>> {
    for place in chains.iter_mut().flatten() {
        let parts: Vec<&str> = place.file.split('/').collect();
        let twice = |length: &usize| parts[..*length] == parts[*length..2 * length];
        let found = (1..=parts.len() / 2).find(twice);
        if let (Some(length), false) = (found, place.file.starts_with('/')) {
            place.file = parts[length..].join("/");
        }
    }
    chains
}

/// What another tool has differently, if anything.
fn difference(ours: &[Place], theirs: &[Place], functions: &[Function]) -> Option<&'static str> {
    if ours == theirs {
        return None;
    }
    let known = |place: &&Place| !place.function.is_empty() || place.line != 0;
    if !theirs.iter().any(|it| known(&it)) {
        return ours.iter().any(|it| known(&it)).then_some("knows nothing");
    }
    if ours.is_empty() {
        return Some("knows something, the symbolizer nothing");
    }
    if oracle::agree(ours, theirs, functions) {
        let is_nameless = theirs.iter().any(|it| it.function.is_empty());
        // Aliases of one address are names of one function.
        return is_nameless.then_some(NAMELESS);
    }
    if ours.len() > theirs.len() {
        return Some("has fewer inlined functions");
    }
    if ours.len() < theirs.len() {
        return Some("has more inlined functions");
    }
    if theirs.iter().all(|it| it.line == 0) {
        return Some("has no line");
    }
    let differs = |by: fn(&Place, &Place) -> bool| ours.iter().zip(theirs).any(|(a, b)| by(a, b));
    let name = differs(|a, b| a.function != b.function);
    let file = differs(|a, b| a.file != b.file);
    let line = differs(|a, b| a.line != b.line);
    Some(match (name, file, line) {
        (true, false, false) => "has another name",
        (false, true, false) => "has another file",
        (false, false, _) => "has another line",
        (false, true, true) => "has another file and line",
        (true, ..) => "has another name and place",
    })
}

/// A program or library, and its debug file.
struct Binary {
    path: PathBuf,
    debug: PathBuf,
}

/// Those whose debug file is installed, in an order that looks random and is the same every time.
fn binaries() -> Vec<Binary> {
    let mut files = BTreeSet::new();
    for place in PLACES {
        list(Path::new(place), &mut files);
    }
    let mut binaries: Vec<Binary> = files
        .into_iter()
        .filter_map(|path| {
            let debug = debug_file(&path)?;
            Some(Binary { path, debug })
        })
        .collect();
    let mut random = support::Random(30);
    for last in (1..binaries.len()).rev() {
        binaries.swap(last, random.below(last as u64 + 1) as usize);
    }
    // Of each directory one, then of each the second: the C library has 250 that are alike.
    let mut seen = BTreeMap::<PathBuf, usize>::new();
    binaries.sort_by_cached_key(|binary| {
        let seen = seen
            .entry(binary.path.parent().unwrap().into())
            .or_default();
        *seen += 1;
        *seen
    });
    binaries
}

/// The debug file of an ELF file by the build ID in its first pages.
fn debug_file(path: &Path) -> Option<PathBuf> {
    const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(4096).read_to_end(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let note = head.windows(NOTE.len()).position(|it| it == NOTE)?;
    let id = head.get(note + NOTE.len()..)?.get(..20)?;
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let debug = format!("{DEBUG_DIR}/.build-id/{}/{}.debug", &id[..2], &id[2..]);
    fs::exists(&debug).ok()?.then(|| debug.into())
}

fn list(dir: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && entry.path() != Path::new(DEBUG_DIR) => {
                list(&entry.path(), files);
            }
            Ok(kind) if kind.is_file() => {
                files.insert(entry.path());
            }
            _ => {}
        }
    }
}

/// What `addr2line` answers: for each address a line with it, then pairs of lines, function and
/// `file:line`.
fn addr2line_chains(path: &Path, addresses: &[Svma]) -> Vec<Vec<Place>> {
    let dir = tempfile::tempdir().unwrap();
    let list: String = addresses.iter().map(|it| format!("{it:#x}\n")).collect();
    fs::write(dir.path().join("addresses"), list).unwrap();
    let command = "addr2line -a -f -i -e \"$0\" < addresses 2>/dev/null";
    let output = run(dir.path(), "sh", &["-c", command, path.to_str().unwrap()]);
    let mut chains: Vec<Vec<Place>> = Vec::new();
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            chains.push(Vec::new());
            continue;
        }
        let place = lines.next().unwrap();
        let place = place.split(" (discriminator").next().unwrap();
        let (file, number) = place.rsplit_once(':').unwrap();
        let known = |text: &'_ str| {
            if text == "??" {
                String::new()
            } else {
                text.to_owned()
            }
        };
        let place = Place::new(&known(file), number.parse().unwrap_or(0), &known(line));
        if !place.function.is_empty() || place.line != 0 {
            chains.last_mut().unwrap().push(place);
        }
    }
    assert_eq!(chains.len(), addresses.len());
    chains
}
