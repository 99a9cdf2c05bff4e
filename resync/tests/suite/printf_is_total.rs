//! Any format with any arguments gives some text, bounded, and says where `printf`
//! would have had nothing to print.

use logdef_resync::render::{CompiledFormat, MAX_COUNT, MAX_TEXT, MAX_USES};
use logdef_wire::{Array, Value};

fn render(format: &[u8], args: &[Value<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    CompiledFormat::new(format).render(args, &mut out);
    out
}

fn text(format: &str, args: &[Value<'_>]) -> String {
    String::from_utf8(render(format.as_bytes(), args)).unwrap()
}

/// The most that a record's text may have, a mark included.
fn bound(format: &[u8], args: &[Value<'_>]) -> usize {
    let strings: usize = args
        .iter()
        .filter_map(|arg| arg.as_raw())
        .map(<[u8]>::len)
        .sum();
    format.len() + MAX_USES * strings + MAX_TEXT + 64
}

/// `array` of msgpack, its objects given.
fn array(len: u32, objects: &[u8]) -> Array<'_> {
    Array::from_objects(len, objects).unwrap()
}

#[test]
fn missing_arguments_are_marked_and_the_rest_is_printed() {
    assert_eq!(
        text("%d, %s and %f.", &[Value::Uint(1)]),
        "1, %!s(missing) and %!f(missing)."
    );
    assert_eq!(text("%5.2lf|", &[]), "%!f(missing)|");
    assert_eq!(
        text("%m %n %p", &[]),
        "%!m(missing) %!n(missing) %!p(missing)"
    );
    assert_eq!(text("%*d", &[]), "%!d(missing)%!(width missing)");
    assert_eq!(text("%.*f", &[Value::Uint(2)]), "%!f(missing)");
    assert_eq!(text("%3$d", &[Value::Uint(2)]), "%!d(missing)");
}

#[test]
fn arguments_of_another_type_are_shown_as_what_they_are() {
    let objects = [1, 0xa1, b'x'];
    let values = [
        (Value::Nil, "nil"),
        (Value::Uint(7), "int=7"),
        (Value::Int(-7), "int=-7"),
        (Value::Float(1.5), "float=1.5"),
        (Value::Float(1e300), "float=1e300"),
        (Value::Raw(b"abc"), "raw=abc"),
        (Value::Array(array(2, &objects)), "array of 2"),
        (Value::Map(Default::default()), "map of 0"),
        (Value::Ext(-1, &[1, 2, 3]), "ext -1 of 3"),
    ];
    let takes = |conversion: &str, shown: &str| match conversion {
        "d" | "x" | "c" | "lc" | "m" => shown.starts_with("int"),
        "s" | "ls" => shown.starts_with("raw") || shown == "nil",
        "p" => shown.starts_with("int") || shown == "nil",
        _ => shown.starts_with("float"),
    };
    for conversion in ["d", "x", "f", "Lf", "e", "s", "ls", "p", "m"] {
        for (value, shown) in values {
            let text = text(&format!("<%{conversion}>"), &[value]);
            let letter = conversion.trim_start_matches(['l', 'L']);
            let mark = format!("<%!{letter}({shown})>");
            assert_eq!(
                text == mark,
                !takes(conversion, shown),
                "{conversion}: {text}"
            );
        }
    }
    assert_eq!(text("%d", &[Value::Bool(true)]), "1");
    assert_eq!(text("%s", &[Value::Bool(true)]), "%!s(bool=true)");
    assert_eq!(text("%lc", &[Value::Uint(0xd800)]), "%!c(int=55296)");
    assert_eq!(
        text("%Lf", &[Value::Raw(b"eleven bytes")]),
        "%!f(raw=eleven bytes)"
    );
    assert_eq!(
        text("%*.*d", &[Value::Raw(b"w"), Value::Nil, Value::Uint(3)]),
        "3%!(width raw=w)%!(precision nil)"
    );
}

#[test]
fn what_rust_callers_may_log_besides_is_printed_plainly() {
    // A double where C has a long double; characters as text; integers that no int
    // holds.
    assert_eq!(text("%Lg", &[Value::Float(0.1)]), "0.1");
    assert_eq!(
        text("%c|%3lc", &[Value::Raw("é".as_bytes()), Value::Raw(b"x")]),
        "é|  x"
    );
    assert_eq!(
        text("%d %u", &[Value::Uint(1 << 40), Value::Uint(u64::MAX)]),
        "1099511627776 18446744073709551615"
    );
    assert_eq!(text("%d", &[Value::Uint(u64::MAX)]), "18446744073709551615");
    assert_eq!(text("%d", &[Value::Int(i64::MIN)]), "-9223372036854775808");
    assert_eq!(text("%x", &[Value::Int(-1 << 40)]), "ffffff0000000000");
}

#[test]
fn excessive_widths_and_precisions_are_cut_and_marked() {
    let spaces = " ".repeat(MAX_COUNT - 1);
    assert_eq!(
        text("%999999999d", &[Value::Uint(7)]),
        format!("{spaces}7%!(width 999999999)")
    );
    assert_eq!(
        text("%*d", &[Value::Uint(1 << 31), Value::Uint(7)]),
        format!("{spaces}7%!(width 2147483648)")
    );
    assert_eq!(
        text("%*d", &[Value::Int(-1 << 31), Value::Uint(7)]),
        format!("7{spaces}%!(width 2147483648)")
    );
    let huge = Value::Int(i64::MIN);
    assert_eq!(
        text("%*s", &[huge, Value::Nil]).len(),
        MAX_COUNT + "%!(width 9223372036854775808)".len()
    );
    assert_eq!(
        text("%*d", &[Value::Uint(u64::MAX), Value::Uint(7)]),
        "7%!(width int=18446744073709551615)"
    );
    let zeros = "0".repeat(MAX_COUNT);
    for format in ["%.99999f", "%.99999Lf"] {
        assert_eq!(
            text(format, &[Value::Float(1.0)]),
            format!("1.{zeros}%!(precision 99999)")
        );
    }
    let zeros = "0".repeat(MAX_COUNT - 1);
    assert_eq!(
        text("%.4294967296x", &[Value::Uint(1)]),
        format!("{zeros}1%!(precision 4294967295)")
    );
    // A string is no longer than it is, whatever the precision.
    assert_eq!(text("%.99999s", &[Value::Raw(b"abc")]), "abc");
    // An unknown conversion prints the number, and does not obey it.
    assert_eq!(text("%999999999y", &[]), "%999999999y");
    let cut = format!("{}%!(width {})", " ".repeat(MAX_COUNT), MAX_COUNT + 1);
    assert_eq!(
        text(&format!("%{}s", MAX_COUNT + 1), &[Value::Raw(b"")]),
        cut
    );
    assert_eq!(
        text(&format!("%{MAX_COUNT}s"), &[Value::Raw(b"")]).len(),
        MAX_COUNT
    );
}

#[test]
fn directives_without_end_or_beyond_all_arguments_stand_as_they_are() {
    for format in [
        "%",
        "50%",
        "%-5",
        "%5.",
        "%*",
        "%.*",
        "%ll",
        "%1$",
        "%w32",
        "%4097$d",
        "%99999999999$s",
    ] {
        assert_eq!(text(format, &[Value::Uint(1), Value::Uint(2)]), format);
    }
}

#[test]
fn the_text_of_a_record_is_bounded() {
    let numbers = vec![Value::Uint(1); 5000];
    let far = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x7f];
    let near_zero = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let far = vec![Value::Raw(&far); 4096];
    let near_zero = vec![Value::Raw(&near_zero); 4096];
    let string = [Value::Raw(&[b'x'; 10_000])];
    // Each with whether that is more than a record's text may be.
    let cases: [(String, &[Value<'_>], bool); 11] = [
        ("%d".repeat(10_000), &[], false),
        ("%d".repeat(4096), &numbers, false),
        ("%4096d".repeat(10_000), &numbers, true),
        ("%m%999999999f".repeat(10_000), &[], true),
        ("%1$4096d".repeat(10_000), &numbers, true),
        ("%Lf".repeat(4096), &far, true),
        ("%1$.0Le".repeat(1000), &far[..1], true),
        ("%1$.4096Lg".repeat(10_000), &near_zero, true),
        ("%1$s".repeat(10_000), &string, true),
        ("%1$*1$.*1$d".repeat(10_000), &numbers, false),
        ("%%%".repeat(10_000), &[], false),
    ];
    for (format, args, is_cut) in cases {
        let text = render(format.as_bytes(), args);
        let shown = &format[..format.len().min(12)];
        let bound = bound(format.as_bytes(), args);
        assert!(text.len() <= bound, "{shown}: {}", text.len());
        assert_eq!(
            text.ends_with(b"%!(cut)"),
            is_cut,
            "{shown}: {}",
            text.len()
        );
    }
    // What is ordinary is never cut.
    let long = vec![b'x'; 3 << 20];
    assert_eq!(
        render(b"%s%s", &[Value::Raw(&long), Value::Raw(b"end")]).len(),
        long.len() + 3
    );
    assert_eq!(render(&long, &[]), long);
}

#[test]
fn more_directives_than_anybody_writes_are_cut() {
    let args = [Value::Raw(b"x")];
    assert_eq!(render(&b"%1$.0s".repeat(1 << 14), &args), b"");
    assert_eq!(render(&b"%1$.0s".repeat(20_000), &args), b"%!(cut)");
}

#[test]
fn an_array_of_arguments_gives_the_text_of_its_values() {
    // 5, -2, "ab", 1.5, nil
    let mut objects = vec![
        5, 0xfe, 0xa2, b'a', b'b', 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0,
    ];
    let mut out = Vec::new();
    CompiledFormat::new(b"%d %d %s %g %s").render_array(array(5, &objects), &mut out);
    assert_eq!(out, b"5 -2 ab 1.5 (null)");
    out.clear();
    CompiledFormat::new(b"%d %d").render_array(array(5, &objects), &mut out);
    assert_eq!(out, b"5 -2");
    out.clear();
    CompiledFormat::new(b"%d %d").render_array(array(0, &[]), &mut out);
    assert_eq!(out, b"%!d(missing) %!d(missing)");
    out.clear();
    objects = (0..40).collect();
    CompiledFormat::new(&b"%d,".repeat(40)).render_array(array(40, &objects), &mut out);
    assert!(out.starts_with(b"0,1,2,") && out.ends_with(b"38,39,"));
}

#[test]
fn text_is_appended_and_rendering_again_gives_the_same() {
    let format = CompiledFormat::new(b"<%s %5d %08.3f>");
    let args = [Value::Raw(b"a"), Value::Int(-3), Value::Float(2.5)];
    let mut out = b"before ".to_vec();
    format.render(&args, &mut out);
    format.render(&args, &mut out);
    assert_eq!(out, b"before <a    -3 0002.500><a    -3 0002.500>");
    assert_eq!(format.args(), 3);
}

#[test]
fn random_bytes_are_formats_for_random_arguments() {
    const BYTES: &[u8] = b"%%%%%%**..$$0123456789-+ #'Ihlqjztwf8diouxXbBeEfFgGaAcspnmCSLy\x00\xff";
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    let mut random = Random(4);
    let objects = [1, 0xa1, b'x'];
    let raws: Vec<Vec<u8>> = (0..24)
        .map(|n| (0..n).map(|_| random.next() as u8).collect())
        .collect();
    let mut out = Vec::new();
    for _ in 0..if slow { 2_000_000 } else { 50_000 } {
        let format: Vec<u8> = (0..random.next() % 40)
            .map(|_| BYTES[(random.next() % BYTES.len() as u64) as usize])
            .collect();
        let args: Vec<_> = (0..random.next() % 6)
            .map(|_| {
                let word = random.next() >> (random.next() % 64);
                match random.next() % 10 {
                    0 => Value::Nil,
                    1 => Value::Bool(word & 1 == 1),
                    2 | 3 => Value::Uint(word),
                    4 | 5 => Value::Int(-((word >> 1) as i64) - 1),
                    6 => Value::Float(f64::from_bits(word)),
                    7 => Value::Array(array(2, &objects)),
                    8 => Value::Ext(word as i8, &objects),
                    _ => Value::Raw(&raws[word as usize % raws.len()]),
                }
            })
            .collect();
        out.clear();
        CompiledFormat::new(&format).render(&args, &mut out);
        assert!(
            out.len() <= bound(&format, &args),
            "{}",
            format.escape_ascii()
        );
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
