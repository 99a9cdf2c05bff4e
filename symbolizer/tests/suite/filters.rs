//! Text of other origin: markup, and lines with raw addresses.

use std::sync::Arc;

use crate::support::{self, address_of, chain, compile, symbol};
use logdef_symbolizer::{
    AddressKind, Loaded, Locator, MappedCode, MarkupFilter, Options, Svma, TextFilter,
};
use logdef_wire::Avma;

#[test]
fn markup_is_replaced_by_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "-O1 -g -pie -fPIE", "chain.c", "program");
    let image = support::open(&path);
    let id: String = image
        .build_id()
        .unwrap()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let (outer, size) = symbol(&path, "outer");
    let inlined = (0..size)
        .map(|offset| Svma(outer.0 + offset))
        .find(|address| chain(&image, *address).len() == 3)
        .unwrap();
    let (table, _) = symbol(&path, "table");

    let mut filter = MarkupFilter::new(Locator::new(Options {
        image_dirs: vec![dir.path().to_owned()],
        ..Options::default()
    }));
    let mut line = |text: String| filter.line(&text);
    assert_eq!(line("{{{reset}}}".into()), None);
    let module = line(format!("{{{{{{module:0:program:elf:{id}}}}}}}")).unwrap();
    assert!(module.contains(path.to_str().unwrap()), "{module}");
    let base = 0x5_5000_0000_u64;
    assert_eq!(
        line(format!("{{{{{{mmap:{base:#x}:0x10000:load:0:rx:0x0}}}}}}")),
        None
    );

    let backtrace = line(format!(
        "crash: {{{{{{bt:2:{:#x}:pc}}}}}}",
        base + inlined.0
    ))
    .unwrap();
    let lines: Vec<&str> = backtrace.lines().collect();
    assert_eq!(lines.len(), 3);
    for (line, (number, function, place)) in lines.iter().zip([
        ("#2.2", "innermost", "chain.c:9:"),
        ("#2.1", "middle", "chain.c:14:"),
        ("#2 ", "outer", "chain.c:18:"),
    ]) {
        assert!(line.starts_with(&format!("crash:    {number}")), "{line}");
        assert!(line.contains(&format!("in {function} ")), "{line}");
        assert!(line.contains(place), "{line}");
        let offset = format!("<program+{:#x}>", inlined.0);
        assert!(line.ends_with(&offset), "{line}");
    }

    let code = line(format!("at {{{{{{pc:{:#x}}}}}}}.", base + outer.0)).unwrap();
    assert!(
        code.starts_with("at outer[") && code.ends_with("chain.c:17]."),
        "{code}"
    );
    let data = line(format!("{{{{{{data:{:#x}}}}}}}", base + table.0 + 8));
    assert_eq!(data.as_deref(), Some("table+0x8"));
}

#[test]
fn raw_addresses_in_text_are_followed_by_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "-O1 -g -pie -fPIE", "chain.c", "program");
    let image = support::open(&path);
    let (outer, _) = symbol(&path, "outer");
    let text = address_of(&path, &image, "first entry");
    let bias = 0x7f00_0000_0000_u64;
    let loaded = vec![Loaded {
        image: Arc::new(image),
        load_bias: bias,
    }];
    let line = format!(
        "pc {:#x}, string {:#x}, elsewhere 0x10",
        bias + outer.0,
        bias + text.0
    );
    let named = TextFilter::new(loaded, AddressKind::Exact).line(&line);
    let (before, after) = named.split_once(" <outer ").unwrap();
    assert_eq!(before, format!("pc {:#x}", bias + outer.0));
    assert!(after.contains("chain.c:17"), "{named}");
    assert!(after.ends_with(&format!(">, string {:#x}, elsewhere 0x10", bias + text.0)));
}

/// What glibc itself prints, for a program that moves and one that does not.
#[test]
fn what_backtrace_symbols_prints_is_followed_by_names() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [
        "-O0 -g -pie -fPIE",
        "-O0 -g -pie -fPIE -rdynamic",
        "-O0 -g -no-pie -fno-pie",
    ] {
        let path = compile(dir.path(), "gcc", flags, "crash.c", "crash");
        let printed = support::run(dir.path(), "./crash", &[]);
        let image = Arc::new(support::open(&path));
        let mut filter = TextFilter::new(Vec::new(), AddressKind::ReturnAddress)
            .with_images(Box::new(|path| (path == "./crash").then(|| image.clone())));
        let named: Vec<String> = printed.lines().map(|line| filter.line(line)).collect();
        for (line, place) in [
            (0, "innermost DIR/crash.c:8"),
            (1, "outer DIR/crash.c:16"),
            (2, "main DIR/crash.c:20"),
        ] {
            let place = place.replace("DIR", support::program("").to_str().unwrap());
            let place = place.replace("//", "/");
            assert!(
                named[line].contains(&format!(" <{place}")),
                "{flags}: {named:#?}"
            );
            assert!(named[line].starts_with(printed.lines().nth(line).unwrap()));
        }
    }
}

/// The same program's own list of mappings says where its images are.
#[test]
fn raw_addresses_are_named_by_the_mappings_of_the_process() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [
        "-O0 -g -pie -fPIE",
        "-O0 -g -no-pie -fno-pie",
        "-O0 -g -pie -fPIE -fuse-ld=lld",
    ] {
        if flags.ends_with("lld") && !support::have("ld.lld") {
            continue;
        }
        let path = compile(dir.path(), "gcc", flags, "crash.c", "crash");
        let printed = support::run(dir.path(), "./crash", &["maps"]);
        let path = path.canonicalize().unwrap();
        let image = Arc::new(support::open(&path));
        let (raw, maps) = printed.split_once("\n\n").unwrap();
        let first = maps.lines().find(|line| line.ends_with("/crash")).unwrap();
        let first = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
        let mapped = MappedCode::list(maps);
        let ours = mapped
            .iter()
            .find(|code| code.path == path.to_str().unwrap());
        let load_bias = image.load_bias_mapped(ours.unwrap()).unwrap();
        assert_eq!(load_bias, image.load_bias_from(Avma(first)), "{flags}");
        assert_eq!(load_bias == 0, flags.contains("-no-pie"));
        let mut filter = TextFilter::new(
            vec![Loaded { image, load_bias }],
            AddressKind::ReturnAddress,
        );
        let named = filter.line(raw);
        for place in [
            " <innermost ",
            "crash.c:8:",
            " <outer ",
            "crash.c:16:",
            " <main ",
        ] {
            assert!(named.contains(place), "{flags}: no {place} in {named}");
        }
    }
}
