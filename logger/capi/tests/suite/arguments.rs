//! Levels that are variables, bytes, and strings that are objects of C++.

use crate::compilers::{Language, source, toolchains};
use crate::decode::{Message, Value, messages};
use crate::installed::{build, log_of};

/// What `arguments.c` logs in both languages: level, format and arguments.
fn expected() -> Vec<(i128, &'static str, Vec<Value>)> {
    let blob = Value::Array(vec![Value::Int(13), Value::Raw(b"\0\x01hi\xff".to_vec())]);
    vec![
        (
            0x40,
            "level %d %s",
            vec![Value::Int(1), Value::text("text")],
        ),
        (0x20, "no arguments", vec![]),
        (0x40, "of a variable %d", vec![Value::Int(2)]),
        (0x30, "with keys", vec![Value::Int(3)]),
        (0x30, "once %d", vec![Value::Int(4)]),
        (0x30, "%s: %p", vec![Value::text("bytes"), blob]),
        (0x30, "%p", vec![Value::Nil]),
    ]
}

/// What it logs in C++ alone.
fn expected_of_objects() -> Vec<(i128, &'static str, Vec<Value>)> {
    let text = Value::text;
    let whole = "a string with \0 in it";
    let in_template = |value: &str| (0x30, "in a template: %s", vec![text(value)]);
    vec![
        (0x30, "number %d", vec![Value::Int(7)]),
        (
            0x30,
            "%s|%.4s|%.*s",
            vec![text(whole), text("a st"), Value::Int(1), text("v")],
        ),
        (
            0x30,
            "%d %s %5.1f %ld %c %p %%",
            vec![
                Value::Int(1),
                text(""),
                Value::Float(1.5),
                Value::Int(5),
                Value::Int(i128::from(b'c')),
                Value::Int(0),
            ],
        ),
        (0x30, "temporary %s", vec![text(&format!("{whole}!"))]),
        in_template(whole),
        in_template("an array"),
        in_template("vvv"),
        in_template("string"),
        in_template(""),
        (0x30, "once %s", vec![text("vvv")]),
        (0x30, "span %s", vec![text("vvv")]),
        (0x30, "", vec![]),
        (0x40, "at %s", vec![text(whole)]),
        (0x30, "in context", vec![]),
    ]
}

#[test]
fn objects_bytes_and_variable_levels_reach_the_log_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("arguments");
    for toolchain in toolchains() {
        for (language, flags) in [
            (Language::C, ["-std=c11", "-O0", "-xc"]),
            (Language::C, ["-std=c17", "-O2", "-xc"]),
            (Language::Cpp, ["-std=c++11", "-O0", "-xc++"]),
            (Language::Cpp, ["-std=c++14", "-O1", "-xc++"]),
            (Language::Cpp, ["-std=c++17", "-O2", "-xc++"]),
            (Language::Cpp, ["-std=c++20", "-O2", "-xc++"]),
        ] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            build(compiler, &flags, &[source("arguments.c")], &program);
            let logged = messages(&log_of(&program));
            let found: Vec<_> = logged.iter().map(summary).collect();
            let mut expected = expected();
            if language == Language::Cpp {
                expected.extend(expected_of_objects());
            }
            assert_eq!(found, expected, "{toolchain} {flags:?}");
        }
    }
}

fn summary(message: &Message) -> (i128, &str, Vec<Value>) {
    (message.level, &message.format, message.args.clone())
}
