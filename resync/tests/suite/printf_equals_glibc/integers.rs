//! `%d`, `%u` and their like, with every length modifier.

use super::args::Args;
use super::grid::grid;

const CONVERSIONS: [&str; 8] = ["d", "i", "u", "x", "X", "o", "b", "B"];

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
    for conversion in CONVERSIONS {
        // C callers pass an int for these; it is that which is logged.
        for length in ["", "hh", "h"] {
            let conversion = format!("{length}{conversion}");
            let ints = INTEGERS.map(|n| n as i32);
            let unsigned = [u32::MAX, 1 << 31];
            cases += grid(&conversion, &conversion, &ints, |args, n| {
                args.int(n.into())
            });
            cases += grid(&conversion, &conversion, &unsigned, |args, n| {
                args.uint(n.into())
            });
        }
        let conversion = format!("l{conversion}");
        cases += grid(&conversion, &conversion, &INTEGERS, Args::int);
        cases += grid(&conversion, &conversion, &[u64::MAX], Args::uint);
    }
    assert!(cases > 800_000, "{cases}");
}

#[test]
fn every_length_modifier_is_as_wide_as_its_type() {
    for conversion in CONVERSIONS {
        for (length, c_length) in [
            ("ll", "ll"),
            ("q", "q"),
            ("L", "L"),
            ("j", "j"),
            ("z", "z"),
            ("Z", "Z"),
            ("t", "t"),
            ("w8", "hh"),
            ("w16", "h"),
            ("w32", ""),
            ("w64", "l"),
            ("wf8", "hh"),
            ("wf16", "l"),
            ("wf32", "l"),
            ("wf64", "l"),
        ] {
            for n in INTEGERS {
                for layout in ["", "#", "+", "030", "-30.20"] {
                    let format = format!("%{layout}{length}{conversion}");
                    let c_format = format!("%{layout}{c_length}{conversion}");
                    let args = Args::default();
                    let args = match length {
                        "w8" | "w16" | "w32" | "wf8" => args.int((n as i32).into()),
                        _ => args.int(n),
                    };
                    assert!(args.compare_with(format.as_bytes(), c_format.as_bytes(), 0));
                }
            }
        }
    }
}
