//! Every set of flags times every width and precision.

use super::args::Args;

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
pub fn grid<'a, V: Copy>(
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
