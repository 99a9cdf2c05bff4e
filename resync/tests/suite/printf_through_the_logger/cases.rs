//! The cases: formats, and the arguments that each is called with, in C and in Rust.

use logdef_wire::printf::{CType, Class, Conversion, Length, TABLE};

/// A table of values that a format is tried with. Each is defined in both preambles,
/// where an argument `v` stands for one of its values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    Ints,
    Uints,
    Int64s,
    Uint64s,
    Chars,
    WideChars,
    Doubles,
    LongDoubles,
    Strings,
    Wides,
    Pointers,
    /// One string, longer than the logger's bound.
    LongString,
}

/// An argument in C, and in Rust as it is logged and as it is passed to `snprintf`.
#[derive(Clone, Debug)]
pub struct Arg {
    pub c: String,
    pub rust: String,
    pub rust_printed: String,
}

/// A format, called with each value of a table or once.
#[derive(Debug)]
pub struct Group {
    /// As it stands between quotes.
    pub format: String,
    /// The same for a C library that lacks the length modifier.
    pub c_format: String,
    pub args: Vec<Arg>,
    pub table: Option<Kind>,
    pub in_rust: bool,
    /// Whether arguments are signed where the conversion is not, or the reverse.
    pub other_sign: bool,
    /// In Rust another value is logged: the one that C prints.
    pub converted: bool,
}

impl Group {
    /// How many values it is called with.
    pub fn values(&self) -> usize {
        self.table.map_or(1, |kind| kind.c_values().len())
    }
}

/// `long double`s by mantissa, exponent and sign.
const LONG_DOUBLES: [(u64, u16); 14] = [
    (0, 0),
    (0, 0x8000),
    (1, 0),
    (1 << 63, 1),
    (1 << 63, 0x3fff),
    (0xc90f_daa2_2168_c235, 0x4000),
    (0xa000_0000_0000_0000, 0xc000),
    (u64::MAX, 0x7ffe),
    (u64::MAX, 0x3ffe),
    (1 << 63, 0x7fff),
    (1 << 63, 0xffff),
    (3 << 62, 0x7fff),
    (0x8888_8888_8888_8888, 0x3ff0),
    (0xff7f_ffff_ffff_ffff, 0x403e),
];

const INTS: [i32; 14] = [
    0,
    1,
    -1,
    7,
    -42,
    127,
    128,
    255,
    -129,
    32_768,
    -32_769,
    // The beginning of a frame header.
    0xc1ce_a0c1_u32 as i32,
    i32::MAX,
    i32::MIN,
];

const INT64S: [i64; 12] = [
    0,
    1,
    -1,
    -33,
    256,
    65_535,
    u32::MAX as i64,
    -(1 << 31) - 1,
    // A whole frame header.
    0xc1ce_0102_0304_c1a5_u64 as i64,
    0x00c1_ce01_0203_04c1,
    i64::MAX,
    i64::MIN,
];

const CHARS: [i32; 8] = [0, 1, 10, 65, 127, 128, 255, -1];
const WIDE_CHARS: [u32; 6] = [0, 65, 0xe9, 0x20ac, 0x1f600, 0x10_ffff];
const POINTERS: [u64; 5] = [0, 1, 0xc1ce_0000, 0x7fff_ffff_f000, u64::MAX];

/// As many numbers again as there are edges, of any size: SplitMix64, the same ones
/// for the same `seed`.
fn more(count: usize, seed: u64) -> impl Iterator<Item = u64> {
    (1..=count as u64).map(move |n| {
        let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    })
}

fn ints() -> Vec<i32> {
    let more = more(INTS.len(), 1).map(|bits| (bits as i32) >> ((bits >> 32) % 32));
    INTS.into_iter().chain(more).collect()
}

fn int64s() -> Vec<i64> {
    let more = more(INT64S.len(), 2).map(|bits| (bits as i64) >> (bits % 64));
    INT64S.into_iter().chain(more).collect()
}

fn long_doubles() -> Vec<(u64, u16)> {
    // Normal ones: a leading one, and an exponent that is no end of the range.
    let more = more(LONG_DOUBLES.len(), 3).map(|bits| {
        let near = 0x3fff - 100 + bits % 200;
        (bits | 1 << 63, near as u16 | (bits >> 48) as u16 & 0x8000)
    });
    LONG_DOUBLES.into_iter().chain(more).collect()
}

fn doubles() -> Vec<f64> {
    let mut doubles = vec![
        0.0,
        1.0,
        0.5,
        2.5,
        2.675,
        9.995,
        999_999.5,
        1e15,
        1e23,
        123_456_789.123_456_79,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        1.0 / 3.0,
        f64::INFINITY,
        f64::NAN,
        f64::from_bits(0xc1ce_0102_0304_c1a5),
    ];
    doubles.extend(doubles.clone().into_iter().map(|d| -d));
    // Half of any size, half of a size that people log.
    let count = doubles.len() / 2;
    doubles.extend(more(count, 4).map(f64::from_bits));
    doubles.extend(more(count, 5).map(|bits| (bits >> (bits % 64)) as f64 / 1000.0));
    doubles
}

const STRINGS: [Option<&[u8]>; 9] = [
    None,
    Some(b""),
    Some(b"a"),
    Some(b"hello"),
    Some(b"hello, wide world; this is longer than every width and than 31 bytes"),
    Some(b"caf\xc3\xa9 \xff\xfe \xe2\x82"),
    Some(b"%d%s\n\t\x1b[0m\"\\?\x01"),
    Some(b"\xc1\xce\x01\x02\x03\x04\xc1\xa5"),
    Some(b"\xc1\xc1\xce\xc1\xce\xc1\xce\xc1\xda\xda\xc1\xce"),
];

const WIDES: [&str; 6] = [
    "",
    "a",
    "h\u{e9}llo",
    "\u{20ac}\u{20ac}",
    "\u{1f600}x\u{1f600}",
    "plain, and longer than all widths are",
];

impl Kind {
    pub const ALL: [Kind; 12] = [
        Kind::Ints,
        Kind::Uints,
        Kind::Int64s,
        Kind::Uint64s,
        Kind::Chars,
        Kind::WideChars,
        Kind::Doubles,
        Kind::LongDoubles,
        Kind::Strings,
        Kind::Wides,
        Kind::Pointers,
        Kind::LongString,
    ];

    /// The name of its table.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The type of its values.
    pub fn c_type(self) -> &'static str {
        match self {
            Kind::Ints | Kind::Chars => "int",
            Kind::Uints => "unsigned",
            Kind::Int64s => "long",
            Kind::Uint64s => "unsigned long",
            Kind::WideChars => "wint_t",
            Kind::Doubles => "double",
            Kind::LongDoubles => "long double",
            Kind::Strings | Kind::LongString => "const char *",
            Kind::Wides => "const wchar_t *",
            Kind::Pointers => "void *",
        }
    }

    pub fn rust_type(self) -> &'static str {
        match self {
            Kind::Ints | Kind::Chars => "i32",
            Kind::Uints | Kind::WideChars => "u32",
            Kind::Int64s => "i64",
            Kind::Uint64s => "u64",
            Kind::Doubles => "f64",
            Kind::LongDoubles => "()",
            Kind::Strings | Kind::LongString => "Option<&'static CStr>",
            Kind::Wides => "(&'static str, &'static [i32])",
            Kind::Pointers => "*const u8",
        }
    }

    /// Its values as expressions.
    pub fn c_values(self) -> Vec<String> {
        let hex = |bits: u64| format!("0x{bits:x}u");
        match self {
            Kind::Ints => each(ints(), |n| format!("(int){}", hex(n as u32 as u64))),
            Kind::Uints => each(ints(), |n| hex(n as u32 as u64)),
            Kind::Int64s => each(int64s(), |n| format!("(long){}", hex(n as u64))),
            Kind::Uint64s => each(int64s(), |n| hex(n as u64)),
            Kind::Chars => CHARS.map(|n| n.to_string()).into(),
            Kind::WideChars => WIDE_CHARS.map(|n| n.to_string()).into(),
            Kind::Doubles => each(doubles(), |d| format!("of_bits({})", hex(d.to_bits()))),
            Kind::LongDoubles => each(long_doubles(), |(mantissa, head)| {
                format!("x87({}, {head})", hex(mantissa))
            }),
            Kind::Strings => STRINGS
                .map(|string| match string {
                    None => "NULL".to_owned(),
                    Some(bytes) => c_string(bytes),
                })
                .into(),
            Kind::Wides => WIDES.map(c_wide).into(),
            Kind::Pointers => POINTERS.map(|n| format!("(void *){}", hex(n))).into(),
            Kind::LongString => vec!["long_text()".to_owned()],
        }
    }

    pub fn rust_values(self) -> Vec<String> {
        match self {
            Kind::Ints => each(ints(), |n| n.to_string()),
            Kind::Uints => each(ints(), |n| (n as u32).to_string()),
            Kind::Int64s => each(int64s(), |n| n.to_string()),
            Kind::Uint64s => each(int64s(), |n| (n as u64).to_string()),
            Kind::Doubles => each(doubles(), |d| format!("f64::from_bits({})", d.to_bits())),
            Kind::LongDoubles => Vec::new(),
            Kind::Strings => STRINGS
                .map(|string| match string {
                    None => "None".to_owned(),
                    Some(bytes) => {
                        let hex: String = bytes.iter().map(|b| format!("\\x{b:02x}")).collect();
                        format!("Some(c\"{hex}\")")
                    }
                })
                .into(),
            Kind::Wides => WIDES
                .map(|text| format!("({text:?}, &[{}])", wide(text)))
                .into(),
            Kind::Pointers => POINTERS.map(|n| format!("{n}usize as *const u8")).into(),
            Kind::Chars | Kind::WideChars => self.c_values(),
            Kind::LongString => vec!["Some(long_text())".to_owned()],
        }
    }

    /// A value as an argument.
    fn arg(self) -> Arg {
        let printed = match self {
            Kind::Strings | Kind::LongString => "v.map_or(std::ptr::null(), CStr::as_ptr)",
            Kind::Wides => "v.1.as_ptr()",
            _ => "v",
        };
        Arg {
            c: "v".to_owned(),
            rust: if self == Kind::Wides { "v.0" } else { "v" }.to_owned(),
            rust_printed: printed.to_owned(),
        }
    }

    /// The same numbers by another sign.
    fn other_sign(self) -> Option<Kind> {
        Some(match self {
            Kind::Ints => Kind::Uints,
            Kind::Uints => Kind::Ints,
            Kind::Int64s => Kind::Uint64s,
            Kind::Uint64s => Kind::Int64s,
            _ => return None,
        })
    }
}

fn each<T>(values: Vec<T>, text: impl Fn(T) -> String) -> Vec<String> {
    values.into_iter().map(text).collect()
}

fn c_string(bytes: &[u8]) -> String {
    let octal: String = bytes.iter().map(|b| format!("\\{b:03o}")).collect();
    format!("\"{octal}\"")
}

fn c_wide(text: &str) -> String {
    let chars = text.chars().map(|c| match c {
        ' '..='~' => c.to_string(),
        c => format!("\\U{:08x}", c as u32),
    });
    format!("L\"{}\"", chars.collect::<String>())
}

/// The characters of a wide string, with its terminator.
fn wide(text: &str) -> String {
    let chars = text.chars().map(|c| (c as u32).to_string());
    chars.chain(["0".to_owned()]).collect::<Vec<_>>().join(", ")
}

/// What a form of the conversion table is tried with. None for `%n` and `%m`, which
/// [`particular`] has.
fn kind(c_type: CType, class: Class) -> Option<Kind> {
    Some(match c_type {
        CType::Int if class == Class::Char => Kind::Chars,
        CType::Int | CType::Int32 => Kind::Ints,
        CType::Unsigned | CType::Uint32 => Kind::Uints,
        CType::WideInt => Kind::WideChars,
        CType::Long
        | CType::LongLong
        | CType::IntMax
        | CType::SignedSize
        | CType::Ptrdiff
        | CType::Int64
        | CType::IntFast16
        | CType::IntFast32
        | CType::IntFast64 => Kind::Int64s,
        CType::UnsignedLong
        | CType::UnsignedLongLong
        | CType::UintMax
        | CType::Size
        | CType::UnsignedPtrdiff
        | CType::Uint64
        | CType::UintFast16
        | CType::UintFast32
        | CType::UintFast64 => Kind::Uint64s,
        CType::Double => Kind::Doubles,
        CType::LongDouble => Kind::LongDoubles,
        CType::CharPointer => Kind::Strings,
        CType::WideCharPointer => Kind::Wides,
        CType::VoidPointer if class == Class::Written => return None,
        CType::VoidPointer => Kind::Pointers,
        CType::None => return None,
    })
}

/// Every set of the flags that change a text, and two that do not.
fn flag_sets() -> Vec<String> {
    let set = |set: u32| {
        let flags = "-+ #0".chars().enumerate();
        let flags = flags.filter(|(i, _)| set >> i & 1 == 1);
        flags.map(|(_, c)| c).collect()
    };
    let mut sets: Vec<String> = (0..32).map(set).collect();
    sets.extend(["'".into(), "I0".into()]);
    sets
}

/// Widths and precisions as they are written, with the arguments of their `*`s.
fn layouts() -> Vec<(String, Vec<i32>)> {
    let widths = [
        ("", None),
        ("1", None),
        ("12", None),
        ("*", Some(25)),
        ("*", Some(-9)),
    ];
    let precisions = [
        ("", None),
        (".", None),
        (".1", None),
        (".4", None),
        (".17", None),
        (".*", Some(0)),
        (".*", Some(-3)),
        (".*", Some(30)),
    ];
    let mut layouts = Vec::new();
    for (width, width_arg) in widths {
        for (precision, precision_arg) in precisions {
            let stars = width_arg.into_iter().chain(precision_arg).collect();
            layouts.push((format!("{width}{precision}"), stars));
        }
    }
    layouts
}

/// All cases, with `density` formats for each form of the conversion table, and ten
/// times as many where it has no length modifier.
pub fn groups(density: usize) -> Vec<Group> {
    let mut looks = Vec::new();
    for flags in flag_sets() {
        for (layout, stars) in layouts() {
            looks.push((format!("{flags}{layout}"), stars));
        }
    }
    // All looks are seen, in an order in which neighbours have little in common.
    let mut looks = looks.iter().cycle().step_by(547);
    let mut groups = Vec::new();
    for row in TABLE {
        for form in row.forms {
            let Some(kind) = kind(form.c_type, form.class) else {
                continue;
            };
            let plain = form.length == Length::None;
            let formats = if plain { 10 * density } else { density };
            for (look, stars) in looks.by_ref().take(formats) {
                groups.push(group(look, stars, row.conversion, form.length, kind, false));
            }
            if let Some(other) = kind.other_sign() {
                let (look, stars) = looks.next().unwrap();
                groups.push(group(look, stars, row.conversion, form.length, other, true));
            }
        }
    }
    groups.extend(particular());
    groups
}

fn group(
    look: &str,
    stars: &[i32],
    conversion: Conversion,
    length: Length,
    kind: Kind,
    other_sign: bool,
) -> Group {
    let c_length = match length {
        Length::W8 | Length::Wf8 => "hh",
        Length::W16 => "h",
        Length::W32 => "",
        Length::W64 | Length::Wf16 | Length::Wf32 | Length::Wf64 => "l",
        known => known.spelling(),
    };
    let letter = conversion.0 as char;
    let mut args: Vec<Arg> = stars.iter().map(same).collect();
    let printed = printed_type(conversion, length);
    let mut value = kind.arg();
    if let Some(printed) = printed {
        // Rust prints the value that is passed, where C converts it first.
        value.rust = format!("v as {printed}");
    }
    args.push(value);
    Group {
        format: format!("<%{look}{}{letter}>", length.spelling()),
        c_format: format!("<%{look}{c_length}{letter}>"),
        args,
        table: Some(kind),
        in_rust: kind != Kind::LongDoubles,
        other_sign,
        converted: printed.is_some_and(|printed| printed != kind.rust_type()),
    }
}

/// The type of Rust that an integer directive converts its argument to.
fn printed_type(conversion: Conversion, length: Length) -> Option<&'static str> {
    let types = match length {
        Length::Char | Length::W8 | Length::Wf8 => ["i8", "u8"],
        Length::Short | Length::W16 => ["i16", "u16"],
        Length::None | Length::W32 => ["i32", "u32"],
        _ => ["i64", "u64"],
    };
    match conversion.0 {
        b'd' | b'i' => Some(types[0]),
        b'u' | b'o' | b'x' | b'X' | b'b' | b'B' => Some(types[1]),
        _ => None,
    }
}

/// An argument that is written alike in both languages.
fn same(text: impl ToString) -> Arg {
    let text = text.to_string();
    Arg {
        c: text.clone(),
        rust: text.clone(),
        rust_printed: text,
    }
}

fn string(text: &str) -> Arg {
    Arg {
        c: format!("{text:?}"),
        rust: format!("{text:?}"),
        rust_printed: format!("c{text:?}.as_ptr()"),
    }
}

/// A string without a terminator, at the end of the last page that may be read.
fn guarded(text: &str) -> Arg {
    Arg {
        c: format!("guarded({text:?}, {})", text.len()),
        rust: format!("{text:?}.as_bytes()"),
        rust_printed: format!("guarded({text:?}.as_bytes())"),
    }
}

fn guarded_wide(text: &str) -> Arg {
    let chars = wide(text);
    let chars = chars.strip_suffix(", 0").unwrap();
    let len = text.chars().count();
    Arg {
        c: format!(
            "(const wchar_t *)guarded((const char *){}, 4 * {len})",
            c_wide(text)
        ),
        rust: format!("{text:?}"),
        rust_printed: format!("guarded(&[{chars}].map(i32::to_ne_bytes).concat())"),
    }
}

/// Calls of several arguments, numbered ones, and what a grid does not reach.
fn particular() -> Vec<Group> {
    let written = Arg {
        c: "&written".to_owned(),
        rust: "&raw mut WRITTEN".to_owned(),
        rust_printed: "&raw mut WRITTEN".to_owned(),
    };
    let mut calls = vec![
        ("no arguments, 100%%", vec![]),
        ("%5%|%-5%|", vec![]),
        ("%d %s %f", vec![same(3), string("three"), same("3.25")]),
        (
            "%s:%d in %.3f ms",
            vec![string("host"), same(443), same("2.5")],
        ),
        ("%2$s %1$d %2$s", vec![same(-7), string("b")]),
        ("%2$*1$d|%1$d", vec![same(9), same(-1)]),
        ("%3$.*1$f %2$s", vec![same(2), string("x"), same("1e10")]),
        ("%m", vec![]),
        ("%#m %d %m", vec![same(1)]),
        ("%30m|%-30m|%.4m", vec![]),
        ("%2$d %m %1$d %m", vec![same(1), same(2)]),
        ("%d%n %d", vec![same(3), written.clone(), same(4)]),
        ("%n", vec![written]),
        ("<%.*s>", vec![same(6), guarded("abcdef")]),
        ("<%.6s>", vec![guarded("abcdef")]),
        ("<%.0s>", vec![guarded("")]),
        ("<%9.3s>", vec![guarded("xyz")]),
        ("<%2$.*1$s>", vec![same(4), guarded("four")]),
        ("<%.*ls>", vec![same(3), guarded_wide("abc")]),
        ("<%-9.2S>", vec![guarded_wide("yz")]),
    ];
    let many = "%d".repeat(32);
    calls.push((&many, (0..32).map(|n| same(n * n * n - 500)).collect()));
    let mut groups: Vec<Group> = calls
        .into_iter()
        .map(|(format, args)| Group {
            format: format.to_owned(),
            c_format: format.to_owned(),
            args,
            table: None,
            in_rust: true,
            other_sign: false,
            converted: false,
        })
        .collect();
    groups.push(group(
        "",
        &[],
        Conversion(b's'),
        Length::None,
        Kind::LongString,
        false,
    ));
    let long = groups.last_mut().unwrap();
    long.format = "%s".to_owned();
    long.c_format = "%s".to_owned();
    // Not to be had in Rust, where the compiler refuses them.
    for format in [
        "%y %d",
        "%-#'+ 0I12.5y|",
        "%.-5d",
        "%hld %d",
        "%k",
        "%d %!",
        "%d %(",
        "%w7d",
    ] {
        groups.push(Group {
            format: format.to_owned(),
            c_format: format.to_owned(),
            args: vec![same(3), same(4)],
            table: None,
            in_rust: false,
            other_sign: false,
            converted: false,
        });
    }
    groups
}
