//! Names in programs of languages other than C, C++ and Rust, beside those that `addr2line` and the
//! language's own tool have for the same addresses.

use std::fs;
use std::path::Path;

use crate::oracle::{self, Place};
use crate::support::{self, chain, have, open, program, run};
use logdef_symbolizer::{AddressKind, Svma};

#[test]
fn fortran_is_named_as_linkers_know_it() {
    if have("gfortran") {
        let dir = tempfile::tempdir().unwrap();
        let path = support::compile(dir.path(), "gfortran", "-g -O1", "nested.f90", "nested");
        assert_begins(&path, "__work_MOD_inner", 3);
        assert_begins(&path, "__work_MOD_outer", 7);
        equals_addr2line(&path, "_MOD_");
    }
}

#[test]
#[ignore = "needs OCaml, which is large: .ci/nightly runs it"]
fn ocaml_is_named_as_linkers_know_it() {
    if have("ocamlopt") {
        let dir = tempfile::tempdir().unwrap();
        // The compiler writes beside the source.
        fs::copy(program("nested.ml"), dir.path().join("nested.ml")).unwrap();
        run(dir.path(), "ocamlopt", &["-g", "nested.ml", "-o", "nested"]);
        let path = dir.path().join("nested");
        assert_begins(&path, "camlNested__inner_", 1);
        assert_begins(&path, "camlNested__outer_", 2);
        equals_addr2line(&path, "camlNested__");
    }
}

#[test]
#[ignore = "needs Zig, which is large: .ci/nightly runs it where it is installed"]
fn zig_is_named_as_llvm_names_it() {
    if !have("zig") || !have("llvm-symbolizer") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for flags in ["-ODebug", "-OReleaseFast"] {
        let path = dir.path().join("nested");
        let output = format!("-femit-bin={}", path.display());
        let source = program("nested.zig");
        let source = source.to_str().unwrap();
        let build = ["build-exe", source, flags, "-fno-strip", &output];
        let cache = dir.path().join("cache");
        let caches =
            ["GLOBAL", "LOCAL"].map(|it| format!("ZIG_{it}_CACHE_DIR={}", cache.display()));
        let caches = caches.each_ref().map(String::as_str);
        run(dir.path(), "env", &[&caches[..], &["zig"], &build].concat());
        equals_llvm(&path, "nested.");
    }
    let flags = ["cc", "-g", "-O1", "-o", "chain"];
    let source = program("chain.c");
    run(
        dir.path(),
        "zig",
        &[&flags[..], &[source.to_str().unwrap()]].concat(),
    );
    equals_llvm(&dir.path().join("chain"), "main");
}

#[test]
#[ignore = "needs Go, which is large: .ci/nightly runs it"]
fn go_is_named_as_its_own_tool_names_it() {
    if !have("go") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nested");
    let source = program("nested.go");
    let cache = format!("GOCACHE={}", dir.path().join("cache").display());
    let build = [
        "go",
        "build",
        "-o",
        path.to_str().unwrap(),
        source.to_str().unwrap(),
    ];
    run(dir.path(), "env", &[&[cache.as_str()], &build[..]].concat());
    assert_begins(&path, "main.(*T).Inner", 8);

    let addresses = addresses_in(&path, "main.");
    let list: String = addresses.iter().map(|it| format!("{it:#x}\n")).collect();
    fs::write(dir.path().join("addresses"), list).unwrap();
    let command = "go tool addr2line \"$0\" < addresses";
    let theirs = run(dir.path(), "sh", &["-c", command, path.to_str().unwrap()]);
    let theirs: Vec<&str> = theirs.lines().collect();
    let image = open(&path);
    let (mut compared, mut different) = (0, Vec::new());
    for (address, theirs) in addresses.iter().zip(theirs.chunks_exact(2)) {
        let found = image.symbolize(*address, AddressKind::Exact);
        // It has the outermost function, and the line of the innermost.
        let (Some(inner), Some(outer)) = (found.frames().first(), found.frames().last()) else {
            continue;
        };
        let line = inner.line.unwrap_or(0);
        let ours = [
            outer.function.as_deref().unwrap_or("?").to_owned(),
            format!("{}:{line}", inner.file.as_deref().unwrap_or("?")),
        ];
        compared += 1;
        if ours != theirs {
            different.push(format!("{address:#x} {ours:?} {theirs:?}"));
        }
    }
    assert!(compared > 100, "{compared}");
    assert_eq!(different, [""; 0]);
}

/// The function whose linkage name begins with `name` has that name, and begins at that line.
fn assert_begins(path: &Path, name: &str, line: u32) {
    let (address, full) = functions(path)
        .into_iter()
        .map(|(start, _, full)| (start, full))
        .find(|(_, full)| full.starts_with(name))
        .unwrap();
    let file = path.with_extension("");
    let file = file.file_name().unwrap().to_str().unwrap();
    let found = chain(&open(path), address);
    let [only] = &found[..] else {
        panic!("{found:?}")
    };
    let (function, place) = only.split_once(' ').unwrap();
    let (source, found) = place.split_once(':').unwrap();
    assert_eq!(function, full);
    assert!(source.starts_with(&format!("{file}.")), "{source}");
    assert_eq!(found, line.to_string());
}

/// The outermost function and the innermost line are those of `addr2line`.
fn equals_addr2line(path: &Path, part: &str) {
    let image = open(path);
    let addresses = addresses_in(path, part);
    assert!(!addresses.is_empty());
    for address in addresses {
        let number = format!("{address:#x}");
        let theirs = run(
            Path::new("."),
            "addr2line",
            &["-f", "-e", path.to_str().unwrap(), &number],
        );
        let theirs: Vec<&str> = theirs.lines().collect();
        let found = image.symbolize(address, AddressKind::Exact);
        let (inner, outer) = (&found.frames()[0], found.frames().last().unwrap());
        assert_eq!(outer.function.as_deref(), Some(theirs[0]), "{number}");
        let place = theirs[1].split(" (disc").next().unwrap();
        let file = inner.file.as_deref().unwrap();
        assert_eq!(format!("{file}:{}", inner.line.unwrap()), place, "{number}");
    }
}

/// Chains of functions, files and lines are those of llvm-symbolizer.
fn equals_llvm(path: &Path, part: &str) {
    let (image, addresses) = (open(path), addresses_in(path, part));
    assert!(!addresses.is_empty());
    let functions = oracle::functions(path);
    for (address, theirs) in addresses.iter().zip(oracle::llvm_chains(path, &addresses)) {
        let ours = image.symbolize(*address, AddressKind::Exact);
        let ours: Vec<Place> = ours.frames().iter().map(Place::of).collect();
        assert!(
            oracle::agree(&ours, &theirs, &functions),
            "{address:#x} {ours:?} {theirs:?}"
        );
    }
}

/// Every fourth address in the functions whose name contains `part`.
fn addresses_in(path: &Path, part: &str) -> Vec<Svma> {
    let found = functions(path).into_iter();
    let found = found.filter(|(_, size, name)| *size > 0 && name.contains(part));
    let addresses = |(start, size, _): (Svma, u64, String)| {
        (0..size)
            .step_by(4)
            .map(move |offset| Svma(start.0 + offset))
    };
    found.flat_map(addresses).collect()
}

/// Address, size and linkage name of each function, from `nm`.
fn functions(path: &Path) -> Vec<(Svma, u64, String)> {
    let listing = run(Path::new("."), "nm", &["-S", path.to_str().unwrap()]);
    let function = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (start, size) = (number(words.next()?)?, number(words.next()?)?);
        let is_code = matches!(words.next()?, "T" | "t");
        is_code.then_some((Svma(start), size, words.next()?.to_owned()))
    };
    listing.lines().filter_map(function).collect()
}
