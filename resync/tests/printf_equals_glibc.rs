//! The text of a record equals what the C library's `snprintf` writes for the same
//! call: over a grid of conversion, flags, width, precision, length and edge value,
//! and over random formats. `LOGDEF_SLOW=1` makes it a million random ones.
//!
//! One function calls `snprintf` with any list of arguments, by the way that the
//! System V ABI of x86_64 passes them: so that is where this test runs. What it
//! leaves out, because glibc has no answer to compare with:
//!
//! - formats for which `snprintf` returns -1: a directive cut off by the format's
//!   end, a width beyond `INT_MAX`, a wide character that is no character;
//! - `%1$`, cut off likewise, where glibc prints half of it; `%1$Ld` and `%1$qd`, which
//!   glibc takes for `%1$d`, unlike `%Ld` and `%qd`;
//! - a `0` flag with a negative `*` beside numbered arguments or unknown conversions,
//!   where glibc pads on the right with zeros (`%2$0*1$.1f` of -5 and 2.5 gives `2.500`);
//! - x87's pseudo-denormals, which no operation gives and of which glibc prints one
//!   value in decimal and another in hexadecimal;
//! - widths and precisions above `MAX_COUNT`, where a mark takes the place of
//!   thousands of blanks;
//! - length modifiers that C defines for another kind of conversion (`%hs`, `%Lc`),
//!   with which glibc reads another type than the table says;
//! - `%w8d` to `%wf64d`, which glibc knows from 2.38 on: compared with the `%hhd` to
//!   `%ld` that they mean on Linux;
//! - wide characters outside ASCII in the C locale, whose text is an error there:
//!   compared in `C.UTF-8`, which differs in nothing else.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

use std::arch::x86_64::__m128i;
use std::ffi::CString;

use logdef_resync::render::CompiledFormat;
use logdef_wire::Value;

/// Arguments, both as a record holds them and as a C caller passes them.
#[derive(Default)]
struct Args<'a> {
    values: Vec<Value<'a>>,
    /// The three general registers that `snprintf` has left, then the stack.
    registers: Vec<u64>,
    stack: Vec<u64>,
    floats: Vec<f64>,
}

impl<'a> Args<'a> {
    fn word(&mut self, word: u64) {
        match self.registers.len() {
            3 => self.stack.push(word),
            _ => self.registers.push(word),
        }
    }

    fn int(mut self, value: i64) -> Self {
        self.values.push(match u64::try_from(value) {
            Ok(value) => Value::Uint(value),
            Err(_) => Value::Int(value),
        });
        self.word(value as u64);
        self
    }

    fn uint(mut self, value: u64) -> Self {
        self.values.push(Value::Uint(value));
        self.word(value);
        self
    }

    fn double(mut self, value: f64) -> Self {
        self.values.push(Value::Float(value));
        self.floats.push(value);
        self
    }

    fn long_double(mut self, bytes: &'a [u8; 10]) -> Self {
        self.values.push(Value::Raw(bytes));
        if self.stack.len() % 2 == 1 {
            self.stack.push(0);
        }
        let (low, high) = bytes.split_first_chunk().unwrap();
        self.stack.push(u64::from_le_bytes(*low));
        self.stack
            .push(u16::from_le_bytes(high.try_into().unwrap()) as u64);
        self
    }

    /// A string and its terminator; the record has it without.
    fn string(mut self, text: Option<&'a [u8]>) -> Self {
        match text {
            Some(text) => {
                assert_eq!(text.last(), Some(&0));
                self.values.push(Value::Raw(&text[..text.len() - 1]));
                self.word(text.as_ptr() as u64);
            }
            None => {
                self.values.push(Value::Nil);
                self.word(0);
            }
        }
        self
    }

    /// A wide string by its characters and, for the record, in UTF-8.
    fn wide_string(mut self, wide: &'a [u32], text: &'a str) -> Self {
        assert_eq!(wide.last(), Some(&0));
        self.values.push(Value::Raw(text.as_bytes()));
        self.word(wide.as_ptr() as u64);
        self
    }

    fn errno(mut self, number: i32) -> Self {
        self.values.push(match number {
            0.. => Value::Uint(number as u64),
            _ => Value::Int(number as i64),
        });
        self
    }

    /// What the C library writes; none if it reports an error.
    fn snprintf(&self, format: &[u8], errno: i32) -> Option<Vec<u8>> {
        let format = CString::new(format).unwrap();
        let mut buffer = vec![0u8; 24_000];
        assert!(self.floats.len() <= 8 && self.stack.len() <= 12);
        let r = |i| self.registers.get(i).copied().unwrap_or(0);
        let s = |i| self.stack.get(i).copied().unwrap_or(0);
        let f = |i| self.floats.get(i).copied().unwrap_or(0.0);
        // SAFETY: the buffer is as long as told, the format ends with a NUL, and each
        // directive finds its argument, of its type, where the ABI puts it: integers
        // and pointers in the three registers and then on the stack, doubles in
        // vector registers, long doubles on the stack. Pointers are null or lead to
        // terminated strings that `self` borrows.
        let length = unsafe {
            *libc::__errno_location() = errno;
            libc::snprintf(
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                format.as_ptr(),
                r(0),
                r(1),
                r(2),
                s(0),
                s(1),
                s(2),
                s(3),
                s(4),
                s(5),
                s(6),
                s(7),
                s(8),
                s(9),
                s(10),
                s(11),
                f(0),
                f(1),
                f(2),
                f(3),
                f(4),
                f(5),
                f(6),
                f(7),
            )
        };
        let length = usize::try_from(length).ok()?;
        assert!(length < buffer.len(), "{format:?} needs {length} bytes");
        buffer.truncate(length);
        Some(buffer)
    }

    fn render(&self, format: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        CompiledFormat::new(format).render(&self.values, &mut out);
        out
    }

    /// Compares both; false if the C library reports an error.
    fn compare(&self, format: &[u8]) -> bool {
        self.compare_with(format, format, 0)
    }

    fn compare_with(&self, format: &[u8], c_format: &[u8], errno: i32) -> bool {
        let Some(expected) = self.snprintf(c_format, errno) else {
            return false;
        };
        let text = self.render(format);
        assert!(
            text == expected,
            "{} of {:x?}\n ours: {}\nglibc: {}",
            format.escape_ascii(),
            self.values,
            text.escape_ascii(),
            expected.escape_ascii()
        );
        true
    }
}

/// Every set of the flags that change a text, and two that do not.
fn flag_sets() -> Vec<String> {
    let mut sets: Vec<String> = (0..32)
        .map(|set| {
            let flags = "-+ #0".chars().enumerate();
            flags
                .filter(|(i, _)| set >> i & 1 == 1)
                .map(|(_, c)| c)
                .collect()
        })
        .collect();
    sets.extend(["'".into(), "I0".into()]);
    sets
}

/// Widths and precisions as they are written, with the arguments of their `*`s.
fn layouts() -> Vec<(String, Vec<i64>)> {
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
        (".5", None),
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

/// Renders and compares every flag set × layout of a conversion over `values`, and
/// returns how many that were.
fn grid<'a, V: Copy>(
    conversion: &str,
    c_conversion: &str,
    values: &[V],
    push: impl Fn(Args<'a>, V) -> Args<'a>,
) -> usize {
    let mut cases = 0;
    for flags in flag_sets() {
        for (layout, stars) in layouts() {
            let format = format!("<%{flags}{layout}{conversion}>");
            let c_format = format!("<%{flags}{layout}{c_conversion}>");
            for value in values {
                let args = stars.iter().fold(Args::default(), |args, n| args.int(*n));
                let args = push(args, *value);
                assert!(
                    args.compare_with(format.as_bytes(), c_format.as_bytes(), 0),
                    "{c_format}"
                );
                cases += 1;
            }
        }
    }
    cases
}

const INTEGERS: [i64; 19] = [
    0,
    1,
    -1,
    7,
    8,
    -42,
    127,
    128,
    255,
    256,
    -128,
    32_767,
    65_535,
    -32_769,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    i64::MAX,
    i64::MIN,
];

#[test]
fn integers_of_every_length_in_every_layout() {
    let mut cases = 0;
    for conversion in ["d", "i", "u", "x", "X", "o", "b", "B"] {
        // C callers pass an int for these; it is that which is logged.
        for (length, c_length) in [
            ("", ""),
            ("hh", "hh"),
            ("h", "h"),
            ("w8", "hh"),
            ("w16", "h"),
            ("w32", ""),
        ] {
            let ints = INTEGERS.map(|n| n as i32);
            let conversions = (
                format!("{length}{conversion}"),
                format!("{c_length}{conversion}"),
            );
            cases += grid(&conversions.0, &conversions.1, &ints[..], |args, n| {
                args.int(n.into())
            });
            cases += grid(
                &conversions.0,
                &conversions.1,
                &[u32::MAX, 1 << 31],
                |args, n| args.uint(n.into()),
            );
        }
        for length in [
            "l", "ll", "q", "L", "j", "z", "Z", "t", "w64", "wf16", "wf32", "wf64",
        ] {
            let c_length = if length.starts_with('w') { "l" } else { length };
            let conversions = (
                format!("{length}{conversion}"),
                format!("{c_length}{conversion}"),
            );
            let (few, layouts) = match length {
                "l" => (&INTEGERS[..], true),
                _ => (&INTEGERS[14..], false),
            };
            if layouts {
                cases += grid(&conversions.0, &conversions.1, few, Args::int);
                cases += grid(&conversions.0, &conversions.1, &[u64::MAX], Args::uint);
            } else {
                for n in few {
                    for layout in ["", "#", "+", "030", "-30.20"] {
                        let format = format!("%{layout}{}", conversions.0);
                        let c_format = format!("%{layout}{}", conversions.1);
                        let args = Args::default().int(*n);
                        assert!(args.compare_with(format.as_bytes(), c_format.as_bytes(), 0));
                        cases += 1;
                    }
                }
            }
        }
    }
    assert!(cases > 1_000_000, "{cases}");
}

/// Doubles at which formatters go wrong.
fn doubles() -> Vec<f64> {
    let mut doubles = vec![
        0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        0.25,
        0.125,
        2.675,
        9.5,
        9.995,
        99.95,
        999_999.5,
        99_999.95,
        0.999_999_5,
        0.999_999_51,
        9.999_999_5,
        0.000_999_999_96,
        9_999_995.0,
        0.000_123_456_5,
        0.000_099_999_95,
        1e5,
        1e6,
        1e15,
        1e16,
        1e17,
        1e22,
        1e23,
        123_456_789.123_456_79,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE / 2.0,
        5e-324,
        f64::EPSILON,
        2f64.powi(53) + 2.0,
        1.0 / 3.0,
        std::f64::consts::PI,
        1.999_999_999_999_999_8,
        f64::INFINITY,
        f64::NAN,
    ];
    doubles.extend(doubles.clone().into_iter().map(|d| -d));
    doubles
}

#[test]
fn doubles_in_every_layout() {
    let doubles = doubles();
    let mut cases = 0;
    for conversion in ["f", "e", "g", "a"] {
        cases += grid(conversion, conversion, &doubles, Args::double);
    }
    for conversion in ["F", "E", "G", "A", "lf", "le", "lG", "la"] {
        cases += grid(conversion, conversion, &doubles[28..36], Args::double);
    }
    assert!(cases > 400_000, "{cases}");
}

#[test]
fn doubles_to_the_last_digit() {
    for conversion in ["f", "e", "g"] {
        for precision in [17, 44, 100, 400, 767, 1074, 1100, 4096] {
            for value in doubles() {
                let format = format!("%.{precision}{conversion}|%#.{precision}{conversion}");
                let args = Args::default().double(value).double(value);
                assert!(args.compare(format.as_bytes()));
            }
        }
    }
}

/// x87 numbers by mantissa and exponent: edges, and what no operation gives.
fn long_doubles() -> Vec<[u8; 10]> {
    let top = 1 << 63;
    let mantissas = [
        top,
        top | 1,
        u64::MAX,
        u64::MAX - 1,
        top | 1 << 62,
        0xc90f_daa2_2168_c235, // pi
        0x8888_8888_8888_8888,
        0xff7f_ffff_ffff_ffff,
        0xf800_0000_0000_0000,
        0xfc00_0000_0000_0000,
        0xa000_0000_0000_0000, // 1.25, 2.5: halves
    ];
    let exponents = [
        1, 2, 100, 16000, 16369, 16379, 16380, 16382, 16383, 16384, 16385, 16386, 16400, 16446,
        16447, 16500, 30000, 32766,
    ];
    let mut numbers = vec![(0, 0), (1, 0), (top >> 1, 0), (top - 1, 0)];
    numbers.extend([
        (top, 0x7fff),
        (top | 1 << 62, 0x7fff),
        (top | 1, 0x7fff),
        (0, 0x7fff),
        (5, 0x7fff),
    ]);
    numbers.extend([(0, 5), (1, 16383), (top - 1, 16384)]); // unnormals
    for mantissa in mantissas {
        numbers.extend(exponents.map(|exponent| (mantissa, exponent)));
    }
    let mut bytes = Vec::new();
    for (mantissa, exponent) in numbers {
        bytes.push(x87(mantissa, exponent));
        bytes.push(x87(mantissa, exponent | 0x8000));
    }
    bytes
}

fn x87(mantissa: u64, head: u16) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&mantissa.to_le_bytes());
    bytes[8..].copy_from_slice(&head.to_le_bytes());
    bytes
}

#[test]
fn long_doubles_in_every_layout() {
    let numbers = long_doubles();
    let mut cases = 0;
    for conversion in ["Lf", "Le", "Lg", "La"] {
        for number in &numbers {
            for layout in [
                "", "#", "+.0", "#.0", ".1", ".3", "030.17", "-30.20", ".40", " .64", ".14", ".15",
            ] {
                let format = format!("<%{layout}{conversion}>");
                assert!(
                    Args::default()
                        .long_double(number)
                        .compare(format.as_bytes())
                );
                cases += 1;
            }
        }
        // Every layout, over few numbers: the code behind is that of doubles.
        let few: Vec<_> = numbers.iter().step_by(number_step(&numbers)).collect();
        cases += grid(conversion, conversion, &few, Args::long_double);
    }
    for conversion in ["LF", "LE", "LG", "LA", "llf", "qg"] {
        for number in &numbers {
            let format = format!("%{conversion} %.5{conversion}");
            let args = Args::default().long_double(number).long_double(number);
            assert!(args.compare(format.as_bytes()));
            cases += 1;
        }
    }
    assert!(cases > 40_000, "{cases}");
}

fn number_step<T>(numbers: &[T]) -> usize {
    numbers.len() / 12
}

#[test]
fn long_doubles_to_the_last_digit() {
    for number in [
        x87(1, 0),
        x87(u64::MAX, 1),
        x87(u64::MAX, 32766),
        x87(u64::MAX, 16383),
    ] {
        for format in ["%.4096Lf", "%.4096Le", "%.4096Lg", "%#.4096Lg", "%.100La"] {
            assert!(
                Args::default()
                    .long_double(&number)
                    .compare(format.as_bytes())
            );
        }
    }
}

unsafe extern "C" {
    /// Takes a buffer, its size, a format and a `_Float128`; returns the length.
    fn strfromf128();
}

/// What the C library writes for a `_Float128` by its bytes.
fn strfrom(format: &str, bytes: [u8; 16]) -> Vec<u8> {
    let format = CString::new(format).unwrap();
    let mut buffer = vec![0u8; 6000];
    let length: i32;
    // SAFETY: a call by the System V ABI, which passes the number in a vector register
    // (no stable type of Rust goes there whole). The buffer is as long as told, the
    // format has one of the forms that strfrom takes, and __m128i is any 16 bytes.
    unsafe {
        std::arch::asm!(
            "call {strfrom}",
            strfrom = sym strfromf128,
            in("rdi") buffer.as_mut_ptr(),
            in("rsi") buffer.len(),
            in("rdx") format.as_ptr(),
            in("xmm0") std::mem::transmute::<[u8; 16], __m128i>(bytes),
            lateout("eax") length,
            clobber_abi("C"),
        );
    }
    buffer.truncate(length as usize);
    buffer
}

#[test]
fn binary128_numbers_equal_those_of_strfromf128() {
    let top = 1u128 << 112;
    let fractions = [
        0,
        1,
        top - 1,
        top >> 1,
        top >> 2,
        (top >> 1) + 1,
        (top >> 1) - 1,
        0x921f_b544_42d1_8469_898c_c517_01b8,
    ];
    let exponents = [
        0u128, 1, 2, 100, 16000, 16370, 16382, 16383, 16384, 16385, 16500, 30000, 32766, 32767,
    ];
    let mut random = Random(7);
    let mut numbers: Vec<u128> = (0..200)
        .map(|_| (random.next() as u128) << 64 | random.next() as u128)
        .collect();
    for fraction in fractions {
        numbers.extend(exponents.map(|exponent| exponent << 112 | fraction));
    }
    for number in numbers {
        for sign in [0, 1 << 127] {
            let bytes = (number | sign).to_le_bytes();
            for conversion in ["f", "e", "g", "a", "F", "E", "G", "A"] {
                for precision in ["", ".0", ".1", ".3", ".17", ".27", ".28", ".40"] {
                    let expected = strfrom(&format!("%{precision}{conversion}"), bytes);
                    let mut text = Vec::new();
                    CompiledFormat::new(format!("%{precision}L{conversion}").as_bytes())
                        .render(&[Value::Raw(&bytes)], &mut text);
                    assert_eq!(
                        text.escape_ascii().to_string(),
                        expected.escape_ascii().to_string(),
                        "%{precision}{conversion} of {number:032x}"
                    );
                }
            }
        }
    }
}

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
    // SAFETY: the name is terminated. The locale is set for the whole process, and
    // C.UTF-8 differs from C in nothing that the other tests of this file print.
    let locale = unsafe { libc::setlocale(libc::LC_CTYPE, c"C.UTF-8".as_ptr()) };
    assert!(!locale.is_null(), "this system has no locale C.UTF-8");
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

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A number of any size.
    fn word(&mut self) -> u64 {
        let word = self.next();
        word >> self.below(64)
    }

    fn double(&mut self) -> f64 {
        match self.below(5) {
            0 => f64::from_bits(self.next()),
            1 => self.word() as f64 / self.of(&[1.0, 2.0, 8.0, 10.0, 1000.0, 1e6]),
            2 => -(self.word() as f64) / 64.0,
            3 => format!("{}.{}", self.below(1000), self.below(100_000))
                .parse()
                .unwrap(),
            _ => f64::from_bits(self.next() >> 1 & !0 << self.below(52)),
        }
    }
}

const TEXTS: [&[u8]; 6] = [
    b"\0",
    b"x\0",
    b"hello\0",
    b"\xff\xc3\0",
    b"a longer text\0",
    b"%s\0",
];

/// A format that is being made up, and how it names its arguments.
struct RandomFormat {
    text: String,
    positional: bool,
    passed: usize,
}

impl RandomFormat {
    /// The number of the next argument to be passed, if this format has numbers.
    fn next_number(&mut self) -> String {
        self.passed += 1;
        match self.positional {
            true => format!("{}$", self.passed),
            false => String::new(),
        }
    }
}

/// Appends a random directive and its argument.
fn random_directive<'a>(
    random: &mut Random,
    format: &mut RandomFormat,
    mut args: Args<'a>,
    long: &'a [u8; 10],
    errno: i32,
) -> Args<'a> {
    let mut flags = String::new();
    while random.one_in(3) {
        flags.push(random.of(&['-', '+', ' ', '#', '0', '0', '\'', 'I']));
    }
    match random.below(6) {
        0 => flags.push_str(&random.below(40).to_string()),
        1 => {
            flags.push_str(&format!("*{}", format.next_number()));
            let width = random.below(60) as i64 - 30;
            if width < 0 {
                flags.retain(|flag| flag != '0');
            }
            args = args.int(width);
        }
        _ => {}
    }
    match random.below(6) {
        0 => {
            let most = random.of(&[3, 20, 50]);
            flags.push_str(&format!(".{}", random.below(most)));
        }
        1 => {
            flags.push_str(&format!(".*{}", format.next_number()));
            args = args.int(random.below(40) as i64 - 5);
        }
        2 => flags.push('.'),
        _ => {}
    }
    let mut conversion = String::new();
    match random.below(10) {
        0..4 => {
            let length = random.of(&["", "", "hh", "h", "l", "ll", "j", "z", "t"]);
            conversion.push_str(length);
            conversion.push(random.of(&['d', 'i', 'u', 'x', 'X', 'o', 'b', 'B']));
            let word = random.word() as i64 * random.of(&[1, 1, -1]);
            args = match length {
                "" | "hh" | "h" => args.int((word as i32).into()),
                _ => args.int(word),
            };
        }
        4..7 => {
            conversion.push(random.of(&['f', 'e', 'g', 'a', 'F', 'E', 'G', 'A']));
            args = args.double(random.double());
        }
        7 => {
            conversion.push('L');
            conversion.push(random.of(&['f', 'e', 'g', 'a', 'F', 'E', 'G', 'A']));
            args = args.long_double(long);
        }
        8 => {
            conversion.push('s');
            args = args.string(if random.one_in(9) {
                None
            } else {
                Some(random.of(&TEXTS))
            });
        }
        _ => match random.below(5) {
            0 => {
                conversion.push('c');
                args = args.int(random.below(256) as i64);
            }
            1 => {
                conversion.push('p');
                args = args.uint(random.word());
            }
            2 if !format.positional => {
                format.text.push_str(&format!("%{flags}m"));
                return args.errno(errno);
            }
            2 | 3 => {
                format.text.push_str(&format!("%{flags}%"));
                return args;
            }
            _ => {
                let letter = random.of(&['y', 'k', '!', '&', 'r', 'T', '_']);
                format.text.push_str(&format!("%{flags}{letter}"));
                return args;
            }
        },
    }
    let number = format.next_number();
    format
        .text
        .push_str(&format!("%{number}{flags}{conversion}"));
    args
}

#[test]
fn random_formats_with_random_arguments() {
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    let count = if slow { 1_000_000 } else { 100_000 };
    let mut random = Random(20_240_229);
    for _ in 0..count {
        let mut long = x87(random.next() | 1 << 63, random.next() as u16);
        if long[8..] == [0, 0] || !random.one_in(8) {
            // Mostly numbers near 1, whose text is short.
            long[8..].copy_from_slice(&(16383 - 40 + random.below(90) as u16).to_le_bytes());
        }
        let errno = random.below(140) as i32;
        let mut format = RandomFormat {
            text: String::new(),
            positional: random.one_in(4),
            passed: 0,
        };
        let mut args = Args::default();
        for _ in 0..=random.below(3) {
            let text = random.of(&["", " ", "x=", "; ", "%%", "\u{e9}"]);
            format.text.push_str(text);
            args = random_directive(&mut random, &mut format, args, &long, errno);
        }
        if format.passed > 0 && format.positional && random.one_in(3) {
            format.text.push_str("%m");
            args = args.errno(errno);
        }
        let format = format.text.as_bytes();
        assert!(
            args.compare_with(format, format, errno),
            "{}",
            format.escape_ascii()
        );
    }
}
