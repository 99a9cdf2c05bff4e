//! Strings come back from every kind of image, and only from where the program cannot write.

use crate::support::{self, address_of, compile, have, open};
use logdef_symbolizer::Svma;

const FORMAT: &str = "value is %d in %s\n";

#[test]
fn a_format_string_is_read_back_from_every_kind_of_image() {
    let dir = tempfile::tempdir().unwrap();
    let kinds = [
        ("pie", "-pie -fPIE"),
        ("fixed", "-no-pie -fno-pie"),
        ("shared", "-shared -fPIC"),
        ("static", "-static"),
        ("stripped", "-pie -fPIE -s"),
        ("optimized", "-O2"),
    ];
    for compiler in ["gcc", "clang"] {
        if !have(compiler) {
            continue;
        }
        for (name, flags) in kinds {
            let path = compile(dir.path(), compiler, flags, "chain.c", name);
            let image = open(&path);
            let address = address_of(&path, &image, FORMAT);
            assert_eq!(image.string_at(address, 100), Some(FORMAT.as_bytes()));
            // From the middle too, and no longer than asked for.
            let tail = &FORMAT.as_bytes()[9..];
            assert_eq!(image.string_at(Svma(address.0 + 9), 100), Some(tail));
            assert_eq!(
                image.string_at(address, FORMAT.len()),
                Some(FORMAT.as_bytes())
            );
            assert_eq!(image.string_at(address, FORMAT.len() - 1), None);
        }
    }
}

#[test]
fn text_that_the_program_may_have_changed_is_no_string_of_the_image() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "", "chain.c", "program");
    let image = open(&path);
    let address = address_of(&path, &image, "not a constant");
    assert_eq!(image.string_at(address, 100), None);
    for address in [1 << 40, u64::MAX] {
        assert_eq!(image.string_at(Svma(address), 100), None);
    }
}

#[test]
fn tables_of_pointers_lead_to_their_strings() {
    let dir = tempfile::tempdir().unwrap();
    let kinds = [
        ("fixed", "-no-pie -fno-pie"),
        ("pie", "-pie -fPIE"),
        ("shared", "-shared -fPIC"),
        ("relr", "-pie -fPIE -Wl,-z,pack-relative-relocs"),
    ];
    for (name, flags) in kinds {
        let path = compile(dir.path(), "gcc", flags, "chain.c", name);
        let image = open(&path);
        let (table, size) = support::symbol(&path, "table");
        assert_eq!(size, 16);
        for (index, text) in ["first entry", "second entry"].into_iter().enumerate() {
            let entry = Svma(table.0 + 8 * index as u64);
            let string = image.pointer_at(entry).unwrap();
            assert_eq!(
                image.string_at(string, 100),
                Some(text.as_bytes()),
                "{name}"
            );
        }
        assert_eq!(image.pointer_at(Svma(1 << 40)), None);
    }
}
