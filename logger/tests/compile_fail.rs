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
        &["a `{float}` does not fit 'd' of the format", "%d %i %u"],
    ),
    (
        "text_for_integer",
        r#"logdef!(Info, "%s is %lu", "x", "two");"#,
        &["a `&str` does not fit 'u' of the format"],
    ),
    (
        "integer_for_float",
        r#"logdef!(Info, "%.3f", 7i64);"#,
        &["a `i64` does not fit 'f' of the format"],
    ),
    (
        "integer_for_text",
        r#"logdef!(Info, "%s", 7u8);"#,
        &["a `u8` does not fit 's' of the format"],
    ),
    (
        "wide_integer_for_integer",
        r#"logdef!(Info, "%d", u128::MAX);"#,
        &[
            "a `u128` does not fit 'd' of the format",
            "logdef::display(&value)",
        ],
    ),
    (
        "number_that_may_be_missing",
        r#"logdef!(Info, "%d", Some(3));"#,
        &["a `Option<{integer}>` does not fit 'd' of the format"],
    ),
    (
        "guarded_text",
        r#"let m = std::sync::Mutex::new(String::new()); logdef!(Info, "%s", m.lock().unwrap());"#,
        &[
            "does not fit 's' of the format",
            "write `{}` or `{:?}` in the format",
        ],
    ),
    (
        "name_without_a_value",
        r#"logdef!(Info, "x", x);"#,
        &[
            "more arguments are passed than the format takes",
            "`name = value`",
        ],
    ),
    (
        "own_type_for_text",
        r#"struct Own; logdef!(Info, "%d %s", 1, Own);"#,
        &["a `Own` does not fit 's' of the format"],
    ),
    (
        "text_for_pointer",
        r#"logdef!(Info, "%p", "text");"#,
        &["a `&str` does not fit 'p' of the format"],
    ),
    (
        "long_for_width",
        r#"logdef!(Info, "%*d", 5u64, 1);"#,
        &["a `u64` does not fit '*' of the format"],
    ),
    (
        "size_for_width",
        r#"logdef!(Info, "%*d", 5usize, 1);"#,
        &["a `usize` does not fit '*' of the format"],
    ),
    (
        "size_for_braces_width",
        r#"let width = 5usize; logdef!(Info, "{:width$}", 1);"#,
        &[],
    ),
    (
        "bool_for_character",
        r#"logdef!(Info, "%c", true);"#,
        &["a `bool` does not fit 'c' of the format"],
    ),
    (
        "numbered",
        r#"logdef!(Info, "%2$s %1$d", "one", "two");"#,
        &["a `&str` does not fit 'd' of the format"],
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
        &["in a format with `{}`, a brace that is text is written twice"],
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
        &["`Own` doesn't implement `std::fmt::Display`"],
    ),
    (
        "own_type_for_debug",
        r#"struct Own; logdef!(Info, "{x} {:?}", Own);"#,
        &["`Own` doesn't implement `Debug`", "#[derive(Debug)]"],
    ),
    (
        "own_type_for_key",
        r#"struct Own; logdef!(Info, "text", key = Own);"#,
        &["`Own` doesn't implement `std::fmt::Display`"],
    ),
    (
        "float_for_bits",
        r#"logdef!(Info, "{:x}", 1.5);"#,
        &["a `{float}` does not fit 'x' of the format"],
    ),
    (
        "text_in_two_ways",
        r#"let s = "x"; logdef!(Info, "{s} {s:?}");"#,
        &[
            "a `&str` does not fit 'M' of the format",
            "pass others once for each way",
        ],
    ),
    (
        "text_for_braces_width",
        r#"logdef!(Info, "{:1$}", 1, "x");"#,
        &["a `&str` does not fit '$' of the format"],
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
        &[
            "the format must be a literal: pass text that the program makes as an argument: `\"{}\", text`",
        ],
    ),
    (
        "target_with_nul",
        r#"logdef!(target: "a\0b", Info, "x");"#,
        &["the target has a NUL inside"],
    ),
    (
        "target_not_a_literal",
        r#"let target = "net"; logdef!(target: target, Info, "x");"#,
        &["the target must be a literal: filters match it before the call is made"],
    ),
    (
        "text_without_a_size",
        r#"logdef!(Info, "%s", *"text");"#,
        &[],
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
        &["a `Own` does not fit 'd' of the format"],
    ),
    (
        "level",
        r#"logdef!(Loud, "x");"#,
        &["`Loud` is not a level: write Trace, Debug, Info, Warn, Error or Fatal"],
    ),
    (
        "level_in_small_letters",
        r#"logdef!(info, "x");"#,
        &["`info` is not a level: write Trace, Debug, Info, Warn, Error or Fatal"],
    ),
    (
        "level_as_a_variable",
        r#"let level = logdef::Level::INFO; logdef!(level, "x");"#,
        &["a level that is known when the program runs is for `logdef_at!`"],
    ),
    (
        "level_as_a_path",
        r#"logdef!(logdef::Level::INFO, "x");"#,
        &["is not a level: write Trace, Debug, Info, Warn, Error or Fatal"],
    ),
    (
        "no_level",
        r#"logdef!("listening at {x}");"#,
        &["the level is missing: `Info, \"listening at {x}\"`"],
    ),
    (
        "no_format",
        "logdef!(Info);",
        &["a format is missing: `Info, \"text {}\", value`"],
    ),
    (
        "format_made_by_a_macro",
        r#"logdef!(Info, concat!("a", "b"));"#,
        &["the format must be a literal"],
    ),
    (
        "fields_of_tracing",
        r#"logdef!(Info, "x", ?x);"#,
        &["write `{:?}` or `{}` in the format, or `name = debug(&value)`"],
    ),
    (
        "pairs_of_log",
        r#"logdef!(Info, "x"; n = 1);"#,
        &["a comma must stand after the format, and before each argument"],
    ),
    (
        "field_in_braces",
        r#"let p = (1, 2); logdef!(Info, "at {p.0}");"#,
        &[
            "`{p.0}` is not a placeholder",
            "pass another expression as an argument: `{}`",
        ],
    ),
    (
        "call_in_braces",
        r#"logdef!(Info, "{x} of {x.max(3)}");"#,
        &["`{x.max(3)}` is not a placeholder"],
    ),
    (
        "unknown_form",
        r#"logdef!(Info, "{:y}", 1);"#,
        &["`{:y}` is not a placeholder"],
    ),
    (
        "place_out_of_range",
        r#"logdef!(Info, "{2}", 1);"#,
        &["the format takes more arguments than are passed"],
    ),
    (
        "argument_of_no_use",
        r#"logdef!(Info, "{0}", 1, 2);"#,
        &["more arguments are passed than the format takes"],
    ),
    (
        "name_in_quotation_marks",
        r#"logdef!(Info, "x", "key" = 1);"#,
        &["a name is one word without quotation marks: `name = value`"],
    ),
    (
        "name_with_a_point",
        r#"logdef!(Info, "x", http.status = 1);"#,
        &["a name is one word without quotation marks: `name = value`"],
    ),
    (
        "keyword_as_a_name",
        r#"logdef!(Info, "x", type = 1);"#,
        &["write a keyword that is a name as `r#type`"],
    ),
    (
        "any_type_for_text",
        r#"fn log<T: AsRef<str>>(t: T) { logdef!(Info, "%s", t); }"#,
        &[
            "a `T` does not fit 's' of the format",
            "logdef::Argument<'s'>",
        ],
    ),
    (
        "any_type_for_display",
        r#"fn log<T>(t: T) { logdef!(Info, "{t}"); }"#,
        &[
            "`T` doesn't implement `std::fmt::Display`",
            "T: std::fmt::Display",
        ],
    ),
    (
        "format_of_a_span",
        "logdef::logdef_span!(Info, x);",
        &["the format must be a literal"],
    ),
];

/// What no error shows: places inside of the package.
const PRIVATE: &[&str] = &["__private", "logdef::call", "$format", "$arg", "macros.rs"];

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
        // The call stands at column 5, what it passes behind that.
        let whole = about.iter().find(|error| {
            let place = error.lines().find(|line| line.contains("--> "));
            error.starts_with("error[E0277]") && place.is_some_and(|place| place.ends_with(":5:5"))
        });
        assert_eq!(whole, None, "{name}: the compiler points at no argument");
        for private in PRIVATE {
            let shown = about.iter().find(|error| error.contains(private));
            assert_eq!(shown, None, "{name}: {private}");
        }
        for word in *words {
            assert!(
                about.iter().any(|error| error.contains(word)),
                "{name}: {calls}: no \"{word}\" in\n{}",
                about.join("\n\n")
            );
        }
    }
}
