//! `%f`, `%e`, `%g` and `%a` of doubles.

use super::args::Args;
use super::grid::grid;

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
        0.007_812_5,
        0.023_437_5,
        5.007_812_5,
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
