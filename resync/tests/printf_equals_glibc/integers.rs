//! `%d`, `%u` and their like, with every length modifier.

use crate::args::Args;
use crate::grid::grid;

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
