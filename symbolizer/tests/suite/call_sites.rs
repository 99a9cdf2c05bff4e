//! The section of call sites, read from images of every kind.

use crate::support::{compile, have, open, run};
use logdef_symbolizer::{CallSite, Svma};
use logdef_wire::site::{ArgKind, flags};

#[test]
fn the_records_of_every_kind_of_image_are_read() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in ["gcc", "clang"] {
        if !have(compiler) {
            continue;
        }
        for (name, flags) in [
            ("pie", "-pie -fPIE"),
            ("fixed", "-no-pie -fno-pie"),
            ("shared", "-shared -fPIC"),
            ("relr", "-pie -fPIE -Wl,-z,pack-relative-relocs"),
            ("lld", "-pie -fPIE -fuse-ld=lld"),
            ("stripped", "-pie -fPIE -s"),
        ] {
            if name == "lld" && !have("ld.lld") {
                continue;
            }
            let path = compile(dir.path(), compiler, flags, "records.c", name);
            let image = open(&path);
            let sites = image.call_sites();
            assert_eq!((sites.records(), sites.unread()), (5, 2), "{name}");
            let [early, late] = &sites.iter().collect::<Vec<_>>()[..] else {
                panic!("{name}: {sites:?}");
            };
            let text = |site: &CallSite| {
                (
                    String::from_utf8_lossy(&site.file.bytes).into_owned(),
                    site.line,
                    String::from_utf8_lossy(&site.format.bytes).into_owned(),
                    site.level.0,
                    site.flags,
                )
            };
            let backtrace = flags::BACKTRACE;
            let wanted = ("a.c".into(), 70000, "%d is %s".into(), 0x50, backtrace);
            assert_eq!(text(early), wanted, "{name}");
            let wanted = ("b.c".into(), 7, "%u later %c".into(), 0x33, flags::LIMITED);
            assert_eq!(text(late), wanted, "{name}");
            assert_eq!(early.function.as_deref(), Some(&b"main"[..]));
            assert_eq!(late.module.as_deref(), Some(&b"some.module"[..]));
            assert_eq!((&late.function, &early.module), (&None, &None));
            assert_eq!(early.kinds, [ArgKind::INT, ArgKind::CSTR, ArgKind(200)]);
            // Where there are none, they are those of the format.
            assert_eq!(late.kinds, [ArgKind::UINT, ArgKind::CHAR]);

            let format = early.format.address;
            assert_eq!(image.string_at(format, 100), Some(&b"%d is %s"[..]));
            assert_eq!(sites.literal_at(format), Some(&b"%d is %s"[..]));
            // No site logs from the middle of a string.
            assert_eq!(sites.literal_at(Svma(format.0 + 1)), None);
        }
    }
}

#[test]
fn images_without_call_sites_have_none() {
    let dir = tempfile::tempdir().unwrap();
    let silent = open(&compile(dir.path(), "gcc", "", "chain.c", "silent"));
    assert!(silent.call_sites().is_empty());
    assert_eq!(silent.call_sites().records(), 0);

    compile(dir.path(), "gcc", "-g", "records.c", "program");
    run(
        dir.path(),
        "objcopy",
        &["--only-keep-debug", "program", "debug"],
    );
    let debug = open(&dir.path().join("debug"));
    assert!(debug.is_debug_file() && debug.call_sites().is_empty());
}
