//! Strings, characters, pointers, errno; and formats that are odd or wrong.

use logdef_wire::Value;

use super::args::Args;
use super::grid::grid;

#[test]
fn strings_characters_and_pointers_in_every_layout() {
    let strings: [Option<&[u8]>; 7] = [
        Some(b"\0"),
        Some(b"a\0"),
        Some(b"hello\0"),
        Some(b"hello, wide world; this is longer than every width\0"),
        Some(b"caf\xc3\xa9 \xff\xfe \xe2\x82\0"),
        Some(b"%d%s\n\t\x1b[0m\0"),
        None,
    ];
    let mut cases = grid("s", "s", &strings, Args::string);
    cases += grid(
        "c",
        "c",
        &[0, 1, 65, 127, 128, 255, 256, 0x2041, -1, -191],
        Args::int,
    );
    cases += grid("p", "p", &[0, 1, 0x7fff_ffff_f000, u64::MAX], Args::uint);
    cases += grid("lc", "lc", &[0, 65, 127], Args::int);
    cases += grid("C", "C", &[66], Args::int);
    assert!(cases > 30_000, "{cases}");
}

#[test]
fn wide_strings_and_characters_are_utf_8() {
    // SAFETY: the name is terminated, there is no base locale to be consumed, and the
    // locale in use, which only this thread sees, is never freed.
    let locale = unsafe {
        let locale = libc::newlocale(
            libc::LC_CTYPE_MASK,
            c"C.UTF-8".as_ptr(),
            std::ptr::null_mut(),
        );
        assert!(!locale.is_null(), "this system has no locale C.UTF-8");
        libc::uselocale(locale)
    };
    assert!(!locale.is_null());
    let texts = [
        "",
        "a",
        "h\u{e9}llo",
        "\u{20ac}\u{20ac}",
        "\u{1f600}x\u{1f600}",
        "plain, and longer than all widths are",
    ];
    let wide = texts.map(|text| text.chars().map(u32::from).chain([0]).collect::<Vec<u32>>());
    let pairs: Vec<_> = texts.iter().zip(&wide).collect();
    let mut cases = 0;
    for conversion in ["ls", "S"] {
        cases += grid(conversion, conversion, &pairs, |args, (text, wide)| {
            args.wide_string(wide, text)
        });
    }
    cases += grid("lc", "lc", &[0xe9, 0x20ac, 0x1f600, 0x10_ffff], Args::int);
    for precision in 0..12 {
        for (text, wide) in &pairs {
            let format = format!("<%.{precision}ls|%7.{precision}S>");
            let args = Args::default()
                .wide_string(wide, text)
                .wide_string(wide, text);
            assert!(args.compare(format.as_bytes()));
            cases += 1;
        }
    }
    assert!(cases > 10_000, "{cases}");
}

#[test]
fn every_errno_by_text_and_by_name() {
    for errno in -2..300 {
        for format in [
            "%m", "%#m", "%.3m", "%40m|", "%-40m|", "%#40m|", "%#-40m|", "%040m", "%+#m", "%#09.4m",
        ] {
            let args = Args::default().errno(errno);
            assert!(args.compare_with(format.as_bytes(), format.as_bytes(), errno));
        }
    }
    let args = Args::default().int(1).errno(2).int(3);
    assert!(args.compare_with(b"%d %m %d", b"%d %m %d", 2));
    let args = Args::default().int(1).int(30).errno(2);
    assert!(args.compare_with(b"%2$*1$d %m %1$d %m", b"%2$*1$d %m %1$d %m", 2));
}

#[test]
fn formats_that_are_odd_or_wrong() {
    let two = || Args::default().int(3).int(4);
    for format in [
        "",
        "%%",
        "100%% sure",
        "%5%|",
        "%-5%|",
        "%ll%|",
        "%.3%|",
        "%y",
        "%y %d",
        "%-#'+ 0I12.5y|",
        "% y",
        "%05y",
        "%-05y",
        "%*y|%d",
        "%.*y|%d",
        "%*.*y",
        "%*%|%d",
        "%hld",
        "%hhhd",
        "%llld",
        "%w7d",
        "%.-5d",
        "%0$d",
        "%-1$d",
        "%1$d %d",
        "%d %2$d %d",
        "%*5d",
        "%*0$d",
        "%2$d %1$d",
        "%2$*1$d|",
        "%1$-5d|",
        "%1$*2$.*1$d",
        "%007d",
        "%+-+-5d|",
        "%  d",
        "%d%d",
        "%d\u{e9}%d",
        "%\u{e9}",
        "%1$y %d",
        "%2$y %d",
        "%1$% %d",
        "%hd %jd",
        "%'d",
        "%I5d",
        "%!",
        "%(",
        "%{d}",
        "%\n%d",
        "%k",
        "%v",
        "%D",
        "%1$2$d",
        "%.1.2d",
        "%5.d",
        "%.d",
        "%#.d",
        "%1$1d",
    ] {
        assert!(two().compare(format.as_bytes()), "{format}");
    }
    assert!(
        Args::default()
            .double(1.5)
            .double(2.5)
            .double(3.5)
            .compare(b"%hf %jf %zf")
    );
    let mut written = 0u64;
    let mut args = Args::default().int(3);
    args.values.push(Value::Nil);
    args.word(&raw mut written as u64);
    assert!(args.int(4).compare(b"%d%n %d"));
    assert_eq!(written, 1); // glibc did write, so the pointer was taken.
    for format in ["%", "ab%", "%5", "%-", "%.", "%l", "%d %99999999999d"] {
        assert!(!two().compare(format.as_bytes()), "{format}");
    }
}
