//! What `logdef!` refuses, and in which words: a package with one program for each
//! mistake is checked once, by `cargo check`, which sees them all.

use std::path::Path;
use std::process::Command;

/// Programs: their names, their calls, and what the compiler must say of each. None
/// of it: the program must pass.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    (
        "right",
        r#"logdef!(Info, "%d %s %f %p %c %m", 1, "two", 3.0, &raw const x, 'c');"#,
        &[],
    ),
    (
        "float_for_integer",
        r#"logdef!(Info, "%d", 1.5);"#,
        &[
            "argument 1 is a `{float}`, which does not fit its conversion 'd'",
            "%d %i %u",
        ],
    ),
    (
        "text_for_integer",
        r#"logdef!(Info, "%s is %lu", "x", "two");"#,
        &["argument 2 is a `&str`, which does not fit its conversion 'u'"],
    ),
    (
        "integer_for_float",
        r#"logdef!(Info, "%.3f", 7i64);"#,
        &["argument 1 is a `i64`, which does not fit its conversion 'f'"],
    ),
    (
        "integer_for_text",
        r#"logdef!(Info, "%s", 7u8);"#,
        &["argument 1 is a `u8`, which does not fit its conversion 's'"],
    ),
    (
        "own_type_for_text",
        r#"struct Own; logdef!(Info, "%d %s", 1, Own);"#,
        &["argument 2 is a `Own`, which does not fit its conversion 's'"],
    ),
    (
        "text_for_pointer",
        r#"logdef!(Info, "%p", "text");"#,
        &["argument 1 is a `&str`, which does not fit its conversion 'p'"],
    ),
    (
        "long_for_width",
        r#"logdef!(Info, "%*d", 5u64, 1);"#,
        &["argument 1 is a `u64`, which does not fit its conversion '*'"],
    ),
    (
        "bool_for_character",
        r#"logdef!(Info, "%c", true);"#,
        &["argument 1 is a `bool`, which does not fit its conversion 'c'"],
    ),
    (
        "numbered",
        r#"logdef!(Info, "%2$s %1$d", "one", "two");"#,
        &["argument 1 is a `&str`, which does not fit its conversion 'd'"],
    ),
    (
        "argument_that_changes_another",
        r#"let mut s = String::new(); logdef!(Info, "%s %d", s, { s.push('x'); 1 });"#,
        &["cannot borrow `s` as mutable because it is also borrowed as immutable"],
    ),
    (
        "braces",
        r#"let port = 1; logdef!(Info, "listening at {port} or {}: {:?} {b:>4}", "x", Some(1), b = true);"#,
        &[],
    ),
    (
        "text_with_braces",
        r#"logdef!(Info, "{\"port\": %d} { }", 1); logdef!(Info, "{ } {\"a\": 1}"); logdef!(Info, "{{}}");
        logdef!(Info, "{{{}}} is 50% done, 100%", 1);"#,
        &[],
    ),
    (
        "braces_beside_conversions",
        r#"logdef!(Info, "%d of {}", 1, 2);"#,
        &["the format has both `{}`, which is Rust's, and `%d`, which is printf's"],
    ),
    (
        "named_braces_beside_percents",
        r#"logdef!(Info, "{x} is 100%%");"#,
        &["the format has both `{x}`, which is Rust's, and `%%`, which is printf's"],
    ),
    (
        "lone_brace",
        r#"logdef!(Info, "{\"x\": {x}}");"#,
        &["beside `{}` a brace that is text is written twice"],
    ),
    (
        "nothing_to_capture",
        r#"logdef!(Info, "{y}");"#,
        &["cannot find value `y` in this scope"],
    ),
    (
        "braces_too_few",
        r#"logdef!(Info, "{} {}", 1);"#,
        &["the format takes more arguments than are passed"],
    ),
    (
        "braces_too_many",
        r#"logdef!(Info, "{}", 1, 2);"#,
        &["more arguments are passed than the format takes"],
    ),
    (
        "own_type_for_display",
        r#"struct Own; logdef!(Info, "{x} {}", Own);"#,
        &[
            "argument 1 is a `Own`, which `{}` does not print",
            "logdef::Loggable",
        ],
    ),
    (
        "own_type_for_debug",
        r#"struct Own; logdef!(Info, "{x} {:?}", Own);"#,
        &[
            "argument 1 is a `Own`, which `{:?}` does not print",
            "#[derive(Debug)]",
        ],
    ),
    (
        "own_type_for_key",
        r#"struct Own; logdef!(Info, "text", key = Own);"#,
        &["argument 1 is a `Own`, which `{}` does not print"],
    ),
    (
        "float_for_bits",
        r#"logdef!(Info, "{:x}", 1.5);"#,
        &["argument 1 is a `{float}`, which does not fit its placeholders"],
    ),
    (
        "text_in_two_ways",
        r#"let s = "x"; logdef!(Info, "{s} {s:?}");"#,
        &[
            "which does not fit its placeholders",
            "pass others once for each way",
        ],
    ),
    (
        "text_for_braces_width",
        r#"logdef!(Info, "{:1$}", 1, "x");"#,
        &["argument 2 is a `&str`, which does not fit its placeholders"],
    ),
    (
        "too_few",
        r#"logdef!(Info, "%d %d", 1);"#,
        &["the format takes more arguments than are passed"],
    ),
    (
        "too_many",
        r#"logdef!(Info, "%d", 1, 2);"#,
        &["more arguments are passed than the format takes"],
    ),
    (
        "unknown",
        r#"logdef!(Info, "%y", 1);"#,
        &["format has an unknown conversion"],
    ),
    (
        "lone_percent",
        r#"logdef!(Info, "100%");"#,
        &["a lone % is written %%"],
    ),
    (
        "nul",
        r#"logdef!(Info, "a\0b");"#,
        &["format has a NUL inside"],
    ),
    (
        "length",
        r#"logdef!(Info, "%hs", "x");"#,
        &["format has a length modifier that its conversion does not take"],
    ),
    (
        "mixed",
        r#"logdef!(Info, "%1$d %d", 1, 2);"#,
        &["format mixes numbered (%1$d) and unnumbered (%d) arguments"],
    ),
    (
        "not_a_literal",
        r#"let format = "x"; logdef!(Info, format);"#,
        &["no rules expected `format`", "$format:literal"],
    ),
    (
        "target_with_nul",
        r#"logdef!(target: "a\0b", Info, "x");"#,
        &["the target has a NUL inside"],
    ),
    (
        "target_not_a_literal",
        r#"let target = "net"; logdef!(target: target, Info, "x");"#,
        &["expected a literal"],
    ),
    (
        "text_without_a_size",
        r#"logdef!(Info, "%s", *"text");"#,
        &["the size for values of type `str` cannot be known"],
    ),
    (
        "fields_alone",
        r#"struct Own;
        impl logdef::Fields for Own {
            fn fields(&self, log: &mut dyn FnMut(&[logdef::Field<'_>])) { log(&[]); }
        }"#,
        &["the trait bound `Own: Loggable` is not satisfied"],
    ),
    (
        "fields_as_a_number",
        r#"struct Own; logdef!(Info, "%d", Own);"#,
        &["argument 1 is a `Own`, which does not fit its conversion 'd'"],
    ),
    (
        "level",
        r#"logdef!(Loud, "x");"#,
        &["cannot find value `Loud`"],
    ),
];

#[test]
fn mistakes_are_refused_by_cargo_check_in_readable_words() {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    let programs = package.join("src/bin");
    let _ = std::fs::remove_dir_all(&programs);
    std::fs::create_dir_all(&programs).unwrap();
    let manifest = format!(
        "[package]\nname = \"mistakes\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\nlogdef.path = {:?}\n[workspace]\n",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    std::fs::copy(lock, package.join("Cargo.lock")).unwrap();
    for (name, calls, _) in PROGRAMS {
        let source = format!(
            "use logdef::logdef;\n#[allow(unused)]\nfn main() {{\n    let x = 1u8;\n    {calls}\n}}\n"
        );
        std::fs::write(programs.join(format!("{name}.rs")), source).unwrap();
    }
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--quiet",
            "--offline",
            "--keep-going",
            "--target-dir",
        ])
        .arg(package.join("target"))
        .env("CARGO_TERM_COLOR", "never")
        .env_remove("CARGO_BUILD_TARGET")
        .current_dir(&package)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    for (name, calls, words) in PROGRAMS {
        let refused = said.contains(&format!("could not compile `mistakes` (bin \"{name}\")"));
        assert_eq!(refused, !words.is_empty(), "{name}: {calls}\n{said}");
        // Each error and each warning of the compiler is a block of its own.
        let place = format!("src/bin/{name}.rs:");
        let about: Vec<_> = said
            .split("\n\n")
            .filter(|error| error.contains(&place))
            .collect();
        for word in *words {
            assert!(
                about.iter().any(|error| error.contains(word)),
                "{name}: {calls}: no \"{word}\" in\n{}",
                about.join("\n\n")
            );
        }
    }
}
