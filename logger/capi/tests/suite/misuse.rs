//! Wrong calls, and what the compilers say to them, at the caller's line.

use crate::compilers::{Language, compile, toolchains};

/// Statements that are wrong, each with a word of what every compiler says.
const WRONG: &[(&str, &str)] = &[
    (r#"LOGDEF(INFO, "%d", 1.5);"#, "int"),
    (r#"LOGDEF(INFO, "%s", 1);"#, "char"),
    (r#"LOGDEF(INFO, "%f", 1);"#, "double"),
    (r#"LOGDEF(INFO, "%ld", 1);"#, "long"),
    (r#"LOGDEF(INFO, "%d %d", 1);"#, ""),
    (r#"LOGDEF(INFO, "%d", 1, 2);"#, ""),
    (r#"LOGDEF(INFO, "%y", 1);"#, ""),
    (r#"LOGDEF_BT(INFO, "%s", 1);"#, "char"),
    (r#"LOGDEF_ONCE(INFO, "%s", 1);"#, "char"),
    (r#"LOGDEF_EVERY_N(3, INFO, "%s", 1);"#, "char"),
    (r#"LOGDEF_FIRST_N(3, INFO, "%s", 1);"#, "char"),
    (r#"LOGDEF_AT_MOST_EVERY(3, INFO, "%s", 1);"#, "char"),
    (r#"logdef_log(LOGDEF_INFO, "%s", 1);"#, "char"),
    // The format must be a literal.
    (
        r#"LOGDEF(INFO, text);"#,
        "the format is not a string literal: write",
    ),
    (
        r#"LOGDEF_ONCE(INFO, number ? "a" : "b");"#,
        "the format is not a string literal: write",
    ),
    // A constant level must be in range, and be named right.
    (r#"LOGDEF(256, "text");"#, "a level is from 1 to 255"),
    (r#"LOGDEF(0, "text");"#, "a level is from 1 to 255"),
    // What is no level may be a variable of the program's: the compiler says that it knows none.
    (r#"LOGDEF(INFOO, "text");"#, "INFOO"),
    // But for those of other loggers, in all forms.
    (
        r#"LOGDEF(WARNING, "text %d", number);"#,
        "write WARN for WARNING",
    ),
    (
        r#"LOGDEF_ONCE(NOTICE, "text %d", number);"#,
        "INFO for NOTICE",
    ),
    (r#"LOGDEF_KV(ERR, "text", "key", 1);"#, "ERROR for ERR"),
    // And the priorities of syslog, which are numbers.
    (
        r#"LOGDEF(LOG_ERR, "text %d", number);"#,
        "INFO for LOG_INFO",
    ),
    // Key-values are pairs of a literal and a value that has a type in the log.
    (r#"LOGDEF_KV(INFO, "%d", "key", 1);"#, ""),
    (r#"LOGDEF_KV(INFO, ("%s", number), "key", 1);"#, "char"),
    (
        r#"LOGDEF_KV(INFO, "text", "key");"#,
        "logdef_each_key_is_followed_by_its_value",
    ),
    (
        r#"LOGDEF_KV(INFO, "text", text, 1);"#,
        "a key is a string literal",
    ),
    (
        r#"LOGDEF_KV(INFO, "text", "", 1);"#,
        "a key is a string literal that is not empty",
    ),
    (
        r#"LOGDEF_KV(INFO, "text", "key", 1.5L);"#,
        "a value is a number, a string, a pointer",
    ),
    (
        r#"LOGDEF_KV(INFO, text, "key", 1);"#,
        "the format is not a string literal: write",
    ),
    // What cannot be logged.
    (r#"LOGDEF(INFO, "%d", structure);"#, ""),
    (
        r#"LOGDEF(INFO, "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33);"#,
        "at",
    ),
];

/// Statements that are right, for the frame around the wrong ones; and a name of syslog's that a
/// program uses for a level.
const RIGHT: &str = r#"LOGDEF(INFO, "%d %s", number, text);
#undef LOG_INFO
enum { LOG_INFO = LOGDEF_INFO };
LOGDEF(LOG_INFO, "%d %s", number, text);"#;

fn program(statement: &str) -> String {
    format!(
        "#include <logdef.h>\n\
         #include <syslog.h>\n\
         struct structure {{ int a, b; }};\n\
         void wrong(int number, const char *text, struct structure structure);\n\
         void wrong(int number, const char *text, struct structure structure) {{\n\
         (void)number; (void)text; (void)structure;\n\
         {statement}\n\
         }}\n"
    )
}

/// Compilers look at a level in several places. The first error says what to write.
const MOST_ERRORS: usize = 5;

/// The line of the statement in [`program`].
const LINE: usize = 7;

#[test]
fn a_wrong_call_is_reported_at_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.c");
    for toolchain in toolchains() {
        for (language, flag) in [(Language::C, "-xc"), (Language::Cpp, "-xc++")] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            let try_out = |statement: &str| {
                std::fs::write(&file, program(statement)).unwrap();
                let arguments = [
                    flag.as_ref(),
                    "-Wall".as_ref(),
                    "-Werror".as_ref(),
                    "-fsyntax-only".as_ref(),
                    file.as_os_str(),
                ];
                let output = compile(compiler, arguments);
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                (output.status.success(), said)
            };
            let (accepted, said) = try_out(RIGHT);
            assert!(accepted, "{toolchain} {flag}: {said}");
            for (statement, word) in WRONG {
                let (accepted, said) = try_out(statement);
                assert!(!accepted, "{toolchain} {flag} accepts {statement}");
                assert!(
                    said.contains(&format!("wrong.c:{LINE}:")) && said.contains(word),
                    "{toolchain} {flag} says of {statement}:\n{said}"
                );
                let mut errors = said.lines().filter(|line| line.contains("error: "));
                let first = errors.next().unwrap_or_default();
                assert!(
                    first.contains(word),
                    "{toolchain} {flag} begins with {first:?} of {statement}"
                );
                // More is said about what is no constant, and about half a pair.
                let few = errors.count() < MOST_ERRORS;
                assert!(
                    few || word.contains("literal") || word.contains("logdef_each"),
                    "{toolchain} {flag} says too much of {statement}:\n{said}"
                );
            }
        }
    }
}

/// Where the header is installed, compilers take it for a system header, in which
/// they keep warnings to themselves.
#[test]
fn a_wrong_call_is_reported_though_the_header_is_the_systems() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.c");
    std::fs::write(&file, program(WRONG[1].0)).unwrap();
    let header = crate::compilers::package().join("include/logdef.h");
    std::fs::create_dir(directory.path().join("system")).unwrap();
    std::fs::copy(header, directory.path().join("system/logdef.h")).unwrap();
    for toolchain in toolchains() {
        for (language, flag) in [(Language::C, "-xc"), (Language::Cpp, "-xc++")] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            let output = std::process::Command::new(compiler)
                .args([flag, "-Wall", "-fsyntax-only", "-isystem"])
                .arg(directory.path().join("system"))
                .arg(&file)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let place = format!("wrong.c:{LINE}:");
            assert!(
                said.contains(&place) && said.contains("warning"),
                "{toolchain}: {said}"
            );
        }
    }
}
