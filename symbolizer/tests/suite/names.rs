//! Names and lines for addresses in images of every kind.

use crate::support::{self, chain, compile, have, open, symbol};
use logdef_symbolizer::{AddressKind, Source, Svma, demangle};

#[test]
fn inlined_functions_are_named_innermost_first() {
    let dir = tempfile::tempdir().unwrap();
    let debug_formats = [
        "-gdwarf-4",
        "-gdwarf-5",
        "-gdwarf-5 -gz=zlib",
        "-gdwarf-4 -gz=zlib",
    ];
    for compiler in ["gcc", "clang"] {
        if !have(compiler) {
            continue;
        }
        for debug in debug_formats {
            for kind in ["-pie -fPIE", "-no-pie -fno-pie", "-shared -fPIC"] {
                let flags = format!("-O1 {debug} {kind}");
                let path = compile(dir.path(), compiler, &flags, "chain.c", "program");
                assert_inlined_chain(&path, &flags);
            }
        }
    }
}

/// Some instruction of `outer` belongs to `innermost`, inlined by way of `middle`.
fn assert_inlined_chain(path: &std::path::Path, how: &str) {
    let image = open(path);
    let (start, size) = symbol(path, "outer");
    let full = (0..size)
        .map(|offset| chain(&image, Svma(start.0 + offset)))
        .find(|chain| chain.len() == 3)
        .unwrap_or_else(|| panic!("nothing is inlined, {how}"));
    assert_eq!(
        full,
        [
            "innermost chain.c:9",
            "middle chain.c:14",
            "outer chain.c:18"
        ],
        "{how}"
    );
}

#[test]
fn a_return_address_belongs_to_the_call_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "-O1 -g", "chain.c", "program");
    let image = open(&path);
    // `fail` ends with a call that never returns: the address after it is another function's.
    let (start, size) = symbol(&path, "fail");
    let end = Svma(start.0 + size);
    let caller = image.symbolize(end, AddressKind::ReturnAddress);
    assert_eq!(caller.frames()[0].function.as_deref(), Some("fail"));
    assert_eq!(caller.frames()[0].line, Some(24));
    let next = image.symbolize(end, AddressKind::Exact);
    assert_ne!(
        next.frames().first().and_then(|it| it.function.as_deref()),
        Some("fail")
    );
}

#[test]
fn without_debug_information_symbol_tables_name_functions() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "-O1 -rdynamic", "chain.c", "program");
    let (outer, size) = symbol(&path, "outer");
    let (fail, _) = symbol(&path, "fail");
    let image = open(&path);
    let found = image.symbolize(Svma(outer.0 + size - 1), AddressKind::Exact);
    assert_eq!(found.source(), Source::SymbolTable);
    assert_eq!(chain(&image, outer), ["outer ?:0"]);
    assert_eq!(chain(&image, fail), ["fail ?:0"]);

    // Without .symtab the exported functions remain; the static one is gone.
    support::run(dir.path(), "strip", &["program"]);
    let image = open(&path);
    assert_eq!(chain(&image, outer), ["outer ?:0"]);
    assert_eq!(chain(&image, fail), [] as [&str; 0]);
}

#[test]
fn padding_is_named_after_no_neighbour() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "", "padding.S", "padded");
    let image = open(&path);
    let (unsized_, _) = symbol(&path, "unsized");
    let (sized, size) = symbol(&path, "sized");
    assert_eq!(size, 1);
    assert_eq!(chain(&image, Svma(unsized_.0 + 1)), ["unsized ?:0"]);
    assert_eq!(chain(&image, sized), ["sized ?:0"]);
    // Once it was `unsized`, which lies before `sized`.
    let padding = chain(&image, Svma(sized.0 + 4));
    assert_eq!(padding, [] as [&str; 0]);
    // No code lies there: `__ehdr_start` covered everything up to the first function.
    assert_eq!(chain(&image, Svma(0x18)), [] as [&str; 0]);
}

#[test]
fn cpp_names_are_readable() {
    if !have("g++") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "g++", "-O0 -g", "shapes.cpp", "shapes");
    let linkage_name = "_ZNK8geometry3BoxIiE4areaEv";
    let (address, _) = symbol(&path, linkage_name);
    let image = open(&path);
    let found = image.symbolize(address, AddressKind::Exact);
    let frame = &found.frames()[0];
    assert_eq!(
        frame.function.as_deref(),
        Some("geometry::Box<int>::area() const")
    );
    assert_eq!(frame.linkage_name.as_deref(), Some(linkage_name));
    assert_eq!((frame.line, frame.inlined), (Some(22), false));
}

#[test]
fn rust_names_are_readable() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(
        dir.path(),
        "rustc",
        "-g -C symbol-mangling-version=v0",
        "words.rs",
        "words",
    );
    let image = open(&path);
    let listing = support::run(dir.path(), "nm", &["words"]);
    let line = listing
        .lines()
        .find(|line| line.ends_with("5words5count"))
        .unwrap();
    let address = u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap();
    assert_eq!(chain(&image, Svma(address)), ["words::count words.rs:10"]);
}

/// Compares names with those of two other tools. Where these agree and ours differs, the test counts the
/// name by its known fault, and allows few other differences.
#[test]
fn names_of_the_cpp_library_read_as_other_tools_read_them() {
    if !have("g++") || !have("llvm-cxxfilt") || !have("c++filt") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let library = support::run(dir.path(), "g++", &["-print-file-name=libstdc++.so.6"]);
    let listing = support::run(dir.path(), "nm", &["-D", "--defined-only", library.trim()]);
    let name = |line: &str| Some(line.split(' ').next_back()?.split('@').next()?.to_owned());
    let mut names: Vec<String> = listing.lines().filter_map(name).collect();
    names.retain(|name| name.starts_with("_Z"));
    names.sort_unstable();
    names.dedup();
    std::fs::write(dir.path().join("names"), names.join("\n")).unwrap();
    let read_by = |tool: &str| {
        let output = support::run(dir.path(), "sh", &["-c", &format!("{tool} < names")]);
        output.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (llvm, gnu) = (read_by("llvm-cxxfilt"), read_by("c++filt"));
    let (mut compared, mut parameter, mut reference, mut others) = (0, 0, 0, Vec::new());
    for ((name, llvm), gnu) in names.iter().zip(&llvm).zip(&gnu) {
        // `std::ostream` is an abbreviation in the linkage name; of what, only they spell out.
        let is_short = ["NSo", "NSi", "NSd", "NSs"]
            .iter()
            .any(|it| name.contains(it));
        if llvm != gnu || llvm == name || is_short {
            continue;
        }
        compared += 1;
        let ours = demangle(name);
        // Types of numbers are written in front or after, as one likes.
        if ours == *llvm || ours.contains("(long)") {
            continue;
        }
        if loses_a_parameter(&ours, llvm) {
            parameter += 1;
        } else if ours.contains("&::") || ours.contains("*::") || ours.contains("const::") {
            reference += 1;
        } else {
            others.push(format!("{name}\n  ours   {ours}\n  theirs {llvm}"));
        }
    }
    eprintln!(
        "{compared} names of {}: {parameter} of template constructors lose their first parameter, \
         {reference} have the `&` of a nested type behind the outer one, {} are different otherwise",
        names.len(),
        others.len()
    );
    for other in others.iter().take(8) {
        eprintln!("{other}");
    }
    assert!(compared * 2 > names.len());
    assert!((parameter + reference) * 50 <= compared);
    assert!(others.len() * 500 <= compared);
}

/// Whether all that `theirs` has more is one parameter at the front of the last list.
fn loses_a_parameter(ours: &str, theirs: &str) -> bool {
    let same = |(a, b): &(char, char)| a == b;
    let front = ours.chars().zip(theirs.chars()).take_while(same).count();
    let behind = ours.chars().rev().zip(theirs.chars().rev());
    let back = behind.take_while(same).count();
    theirs.len() > ours.len() && front + back >= ours.len() && ours[..front].contains('(')
}
