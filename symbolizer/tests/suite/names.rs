//! Names and lines for addresses in images of every kind.

use crate::support::{self, chain, compile, have, open, symbol};
use logdef_symbolizer::{AddressKind, Source, Svma};

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
fn cpp_and_rust_names_are_readable() {
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
