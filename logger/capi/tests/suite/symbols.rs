//! What the shared library exports and says of itself.

use crate::installed::prefix;
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;

/// The functions of the C ABI. They are only ever added to.
const FUNCTIONS: &[&str] = &[
    "logdef_ask",
    "logdef_ask_at",
    "logdef_at_most_every",
    "logdef_close",
    "logdef_context_current",
    "logdef_context_enter",
    "logdef_context_init",
    "logdef_emit",
    "logdef_emit_at",
    "logdef_emit_text",
    "logdef_enabled",
    "logdef_enabled_now",
    "logdef_kinds",
    "logdef_modules_changed",
    "logdef_open",
    "logdef_open_with",
    "logdef_reopen",
    "logdef_reserve",
    "logdef_set_backtrace_depth",
    "logdef_set_backtrace_level",
    "logdef_set_filter",
    "logdef_set_level",
    "logdef_state",
    "logdef_sync",
    "logdef_version",
    "logdef_write",
];

/// By which copies of the logger in one process find each other.
const MEETING: &str = "logdef_meeting_v1";

#[test]
fn the_library_exports_the_functions_of_the_header_and_no_more() {
    let data = std::fs::read(prefix().join("lib/liblogdef.so")).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let exported: BTreeSet<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .map(|symbol| symbol.name().unwrap())
        .collect();
    let expected = FUNCTIONS.iter().chain(&[MEETING]).copied().collect();
    assert_eq!(exported, expected);
}

/// The header declares what is exported, in the same number of places.
#[test]
fn the_header_declares_every_function() {
    let header = std::fs::read_to_string(prefix().join("include/logdef.h")).unwrap();
    for function in FUNCTIONS {
        let declared = header
            .split(';')
            .filter(|text| text.contains(&format!("{function}(")) && text.contains("NOTHROW_"));
        assert_eq!(declared.count(), 1, "{function}");
    }
    assert_eq!(
        header.matches(") LOGDEF_NOTHROW_;").count(),
        FUNCTIONS.len()
    );
}

/// The soname is what programs look for; a library that is closed stays mapped;
/// its thread-local memory is there before a signal handler wants it.
#[test]
fn the_library_says_how_it_is_to_be_loaded() {
    use object::elf;
    let data = std::fs::read(prefix().join("lib/liblogdef.so")).unwrap();
    let file = ElfFile64::<object::Endianness>::parse(&*data).unwrap();
    let endian = file.endian();
    let header = file.elf_header();
    let segments = header.program_headers(endian, &*data).unwrap();
    let dynamic = segments
        .iter()
        .find_map(|segment| {
            use object::read::elf::ProgramHeader;
            segment.dynamic(endian, &*data).unwrap()
        })
        .unwrap();
    let value = |tag| {
        let entry = dynamic.iter().find(|entry| entry.tag(endian) == tag);
        entry.map_or(0, |entry| entry.d_val(endian))
    };
    let sections = header.sections(endian, &*data).unwrap();
    let (_, index) = sections.dynamic(endian, &*data).unwrap().unwrap();
    let strings = sections.strings(endian, &*data, index).unwrap();
    let soname = strings.get(value(elf::DT_SONAME) as u32).unwrap();
    assert_eq!(soname, b"liblogdef.so.0");
    assert_ne!(value(elf::DT_FLAGS_1) & elf::DF_1_NODELETE.0, 0);
    if cfg!(target_arch = "x86_64") {
        assert_ne!(value(elf::DT_FLAGS) & elf::DF_STATIC_TLS.0, 0);
    }
}
