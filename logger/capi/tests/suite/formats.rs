//! Calls of C++20 with the formats of `std::format`, from the macro to the file.

use crate::compilers::{
    Toolchain, WARNINGS, compile, compile_clean, cpp_toolchains, package, slow, source,
};
use crate::decode::{DATA, STRING_LOGDEF, Value, records};
use crate::installed::{build, log_of};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

/// What the records of a log say: description, template and values.
fn logged(log: &Path) -> Vec<String> {
    let mut formats = HashMap::new();
    let mut logged = Vec::new();
    for record in records(log) {
        let int = |field| record.field(field).unwrap().int();
        if record.tag == STRING_LOGDEF && record.field(5).is_some() {
            let text = |field| record.field(field).unwrap().raw().escape_ascii();
            assert_eq!(record.field(2), None);
            formats.insert(int(1), format!("{} {}", text(4), text(5)));
        }
        if record.tag != DATA {
            continue;
        }
        let args = match record.field(9) {
            Some(Value::Array(args)) => &args[..],
            _ => &[],
        };
        let args = args.iter().map(shown).collect::<Vec<_>>();
        let format = formats.get(&int(4)).map_or("(printf)", String::as_str);
        logged.push(format!("{format} <- {}", args.join(" ")));
    }
    logged
}

fn shown(value: &Value) -> String {
    match value {
        Value::Raw(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        other => format!("{other:?}"),
    }
}

const EXPECTED: &[&str] = &[
    "f no arguments {{}} 100% <- ",
    r#"f accepted {}:{} in {:.3f} ms <- "example.org" 443 2.5"#,
    r#"f:host,,code {host} {1:>8} <- "example.org" 443 200"#,
    r#"f:host accepted <- "example.org""#,
    r#"f {} {} {} {} <- Bool(true) "c" "\0" -1"#,
    "f {:h} {:.1} {:e} {:{}h} <- 1.5 1.5 1.5 1.5 5",
    "f {:p} {:>20p} {:p} {} <- 0 0 0 Nil",
    r#"f {} {} {} {} <- "buffer" "vvv" "org" "example.org!""#,
    "f {} {} <- -5 Array([Int(12), Int(68719476736), Int(0)])",
    "f {} {} {} <- 18446744073709551615 -1 5",
    "f {} <- Array([Int(13), Raw([104, 0, 105])])",
    "f in a template: {} <- 1",
    r#"f in a template: {} <- "example.org""#,
    r#"f in a template: {} <- "an array""#,
    "f inline {} <- 3",
    "f lambda {} <- 443",
];

#[test]
fn typed_values_reach_the_log_behind_a_template() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("formats");
    for toolchain in cpp_toolchains() {
        for level in ["-O0", "-O2"] {
            let flags = ["-std=c++20", level];
            build(toolchain.cxx, &flags, &[source("formats.cc")], &program);
            assert_eq!(logged(&log_of(&program)), EXPECTED, "{toolchain} {level}");
        }
    }
}

const TYPES_EXPECTED: &[&str] = &[
    r#"f {} {:>6} {} <- "red" "green" "9""#,
    r#"f {} {} {} {} <- 1 "none" "secret" "1000""#,
    r#"f {} {} {} <- "least" "away" 40"#,
    r#"f:x,y,why to x={0} y={1:h} why={2} <- 1 2.5 "because""#,
    r#"f:x,y,why x={0} y={1:h} why={2} to {3:>{4}} <- 1 2.5 "because" "right" 6"#,
    r#"f:,x,y,why {4:04} to x={1} y={2:h} why={3} by {0} <- 5 1 2.5 "because" 6"#,
    r#"f:to.x,to.y,to.why,by {by} to x={0} y={1:h} why={2} <- 1 2.5 "because" 7"#,
    r#"f:to.x,to.y,to.why moved <- 1 2.5 "because""#,
    r#"f:x,y,why moved <- 1 2.5 "because""#,
    r#"f:name,peer,color,at,is_open,dump name={0} peer={1} color={2} at={3:p} is_open={4} dump={5} <- "s" "example.org:443" "blue" 0 Bool(true) Array([Int(13), Raw([115])])"#,
    r#"f {:>12} {} <- "a:1" "a.long.exampl...""#,
    r#"f {} {} <- "***" 1.25"#,
    r#"f:,key {} {:>12} <- "Streamed(1)" "Streamed(2)""#,
    r#"f:x,y,why once x={0} y={1:h} why={2} <- 1 2.5 "because""#,
    "f every {} <- 0",
    "f every {} <- 2",
    "f first {} <- 0",
    r#"f:x,y,why at most x={0} y={1:h} why={2} <- 1 2.5 "because""#,
    "f bt {} <- 1",
    "f pool: used {}, free {} <- 1 2",
    "f begin {} <- 1",
    "f end {} <- 2",
    "f span {} <- 1",
    "(printf) <- ",
    "f async {} <- 1",
    "f end {} <- 1",
    r#"(printf) <- "blue" "18446744073709551615" "Streamed(3)""#,
    r#"(printf) <- "-12""#,
];

#[test]
fn types_of_the_program_reach_the_log_as_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("types");
    for toolchain in cpp_toolchains() {
        for flags in [
            &["-std=c++20", "-O0"][..],
            // As programs turn off what their code or their libraries cannot bear.
            &[
                "-std=c++20",
                "-O2",
                "-fno-exceptions",
                "-fno-rtti",
                "-fno-char8_t",
            ],
        ] {
            build(toolchain.cxx, flags, &[source("types.cc")], &program);
            assert_eq!(
                logged(&log_of(&program)),
                TYPES_EXPECTED,
                "{toolchain} {flags:?}"
            );
        }
    }
}

#[test]
fn the_header_of_formats_compiles_clean() {
    let modes: &[&[&str]] = &[&["-O0"], &["-O2", "-fPIC"], &["-O2", "-flto", "-fPIC"]];
    let modes = if slow() { modes } else { &modes[..2] };
    for toolchain in cpp_toolchains() {
        for mode in modes {
            let mut arguments: Vec<OsString> = vec!["-std=c++20".into()];
            arguments.extend(mode.iter().chain(WARNINGS).map(OsString::from));
            arguments.extend(["-S".into(), "-o".into(), "/dev/null".into()]);
            arguments.extend([
                "-include".into(),
                package().join("include/logdef_format.h").into(),
            ]);
            arguments.push("-Wsign-conversion".into());
            for program in ["formats.cc", "types.cc"] {
                let mut arguments = arguments.clone();
                arguments.push(source(program).into());
                compile_clean(toolchain.cxx, arguments);
            }
        }
    }
}

/// Statements that are wrong, each with what every compiler says.
const WRONG: &[(&str, &str)] = &[
    (
        r#"LOGDEF_F(INFO, "{}");"#,
        "takes more arguments than are passed",
    ),
    (
        r#"LOGDEF_F(INFO, "{1}", 1);"#,
        "takes more arguments than are passed",
    ),
    (
        r#"LOGDEF_F(INFO, "{}", 1, 2);"#,
        "an argument has no placeholder: write {} for it",
    ),
    (
        r#"LOGDEF_F(INFO, "{");"#,
        "a brace that is text is written twice",
    ),
    (
        r#"LOGDEF_F(INFO, "}", 1);"#,
        "a brace that is text is written twice",
    ),
    (
        r#"LOGDEF_F(INFO, "{} {0}", 1);"#,
        "write {} everywhere or {0} everywhere",
    ),
    (
        r#"LOGDEF_F(INFO, "{0} {}", 1);"#,
        "write {} everywhere or {0} everywhere",
    ),
    (
        r#"LOGDEF_F(INFO, "{host}", 1);"#,
        "no argument has this name",
    ),
    (
        r#"LOGDEF_F(INFO, "{ }", 1);"#,
        "a placeholder is {}, {0} or {name}",
    ),
    (
        r#"LOGDEF_F(INFO, "{:>>>}", 1);"#,
        "a placeholder is {}, {0} or {name}",
    ),
    (
        r#"LOGDEF_F(INFO, "{:.f}", 1.5);"#,
        "a placeholder is {}, {0} or {name}",
    ),
    (
        r#"LOGDEF_F(INFO, "{:L}", 1);"#,
        "a log has no locale: leave L out",
    ),
    (
        r#"LOGDEF_F(INFO, "{:s}", 1);"#,
        "this type of placeholder does not print this argument",
    ),
    (
        r#"LOGDEF_F(INFO, "{:?}", text);"#,
        "this type of placeholder does not print this argument",
    ),
    (
        r#"LOGDEF_F(INFO, "{:d}", 1.5);"#,
        "this type of placeholder does not print this argument",
    ),
    (
        r#"LOGDEF_F(INFO, "{:d}", text);"#,
        "this type of placeholder does not print this argument",
    ),
    (
        r#"LOGDEF_F(INFO, "{:08}", text);"#,
        "sign, # and 0 are of numbers",
    ),
    (
        r#"LOGDEF_F(INFO, "{:+}", 'c');"#,
        "sign, # and 0 are of numbers",
    ),
    (
        r#"LOGDEF_F(INFO, "{:.3}", 1);"#,
        "a precision is of floats and strings",
    ),
    (
        r#"LOGDEF_F(INFO, "{:{}}", 1, text);"#,
        "a width or precision that is an argument is an integer",
    ),
    (
        r#"LOGDEF_F(INFO, "{}", structure);"#,
        "convert it (static_cast, .c_str())",
    ),
    (
        r#"LOGDEF_F(INFO, "{}", &structure);"#,
        "convert it (static_cast, .c_str())",
    ),
    (
        r#"LOGDEF_F(INFO, "{:d}", fields());"#,
        "this type of placeholder does not print this argument",
    ),
    (r#"LOGDEF_F(INFO, "{}", equal());"#, "no two are equal"),
    (
        r#"LOGDEF_F(INFO, "{}", nested());"#,
        "specialize logdef::argument",
    ),
    (
        r#"LOGDEF_F_EVERY_N(2, INFO, "{}", structure);"#,
        "specialize logdef::argument",
    ),
    (
        r#"LOGDEF_F_SPAN(INFO, "{}");"#,
        "takes more arguments than are passed",
    ),
    (
        r#"LOGDEF_F(INFO, "{a b}", logdef::arg<"a b">(1));"#,
        "a name is made of letters, digits and _",
    ),
    (
        r#"LOGDEF_F(INFO, "{a}", logdef::arg<"a">(1), logdef::arg<"a">(2));"#,
        "no two are equal",
    ),
    (
        r#"LOGDEF_F(INFO, text, 1);"#,
        "the format is not a string literal",
    ),
    (r#"LOGDEF_F(WARNING, "{}", 1);"#, "write WARN for WARNING"),
    (
        r#"LOGDEF_F_SPAN(WARNING, "{}", 1);"#,
        "write WARN for WARNING",
    ),
];

/// In one line: types with fields that are right, that have one name, that have fields themselves.
const TYPES: &str = r#"struct fields {}; struct equal {}; struct nested {};
namespace logdef {
template <> struct argument<::fields> { static auto fields(const ::fields &) { return logdef::fields(field<"a">(1)); } };
template <> struct argument<::equal> { static auto fields(const ::equal &) { return logdef::fields(field<"a">(1), field<"a">(2)); } };
template <> struct argument<::nested> { static auto fields(const ::nested &) { return logdef::fields(field<"a">(::fields())); } };
}"#;

/// What a compiler says of a statement, and whether it takes it.
fn compiled(toolchain: &Toolchain, file: &Path, statement: &str, standard: &str) -> (bool, String) {
    let types = TYPES.replace('\n', " ");
    let program = format!(
        "#include <logdef_format.h>\nstruct structure {{ int a; }}; {types}\n\
         void wrong(int number, const char *text, structure structure) {{\n\
         (void)number; (void)text; (void)structure;\n{statement}\n}}\n"
    );
    std::fs::write(file, program).unwrap();
    let arguments = [
        standard.as_ref(),
        "-fsyntax-only".as_ref(),
        file.as_os_str(),
    ];
    let output = compile(toolchain.cxx, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

#[test]
fn a_wrong_format_is_reported_at_its_line_by_what_to_write() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.cc");
    for toolchain in cpp_toolchains() {
        let right = r#"LOGDEF_F(INFO, "{} {:>5}", number, text);"#;
        let (accepted, said) = compiled(toolchain, &file, right, "-std=c++20");
        assert!(accepted, "{toolchain}: {said}");
        let (accepted, said) = compiled(toolchain, &file, right, "-std=c++17");
        assert!(
            !accepted && said.contains("write -std=c++20"),
            "{toolchain}: {said}"
        );
        for (statement, words) in WRONG {
            let (accepted, said) = compiled(toolchain, &file, statement, "-std=c++20");
            assert!(!accepted, "{toolchain} accepts {statement}");
            let lines = said.lines().filter(|line| line.contains("error: ")).count();
            assert!(
                said.contains("wrong.cc:5:") && said.contains(words),
                "{toolchain} says of {statement}:\n{said}"
            );
            // Compilers say more about what is no constant.
            let few = lines <= 3 || words.contains("is not a");
            assert!(
                few,
                "{toolchain} says {lines} errors of {statement}:\n{said}"
            );
        }
    }
}
