//! Key-values of C and C++ programs, from the macro to the file.

use crate::compilers::{Language, source, toolchains};
use crate::decode::{DATA, STRING_LOGDEF, Value, records};
use crate::installed::{build, log_of};
use logdef_wire::Description;
use std::collections::HashMap;
use std::path::Path;

/// What the records of a log say: the format, and each value with its name.
fn logged(log: &Path) -> Vec<String> {
    let mut formats = HashMap::new();
    let mut logged = Vec::new();
    for record in records(log) {
        let int = |field| record.field(field).unwrap().int();
        if record.tag == STRING_LOGDEF {
            let raw = |field| record.field(field).map_or(&[][..], Value::raw).to_vec();
            formats.insert(int(1), (raw(2), raw(4)));
        }
        if record.tag != DATA {
            continue;
        }
        let (format, description) = &formats[&int(4)];
        let Some(Value::Array(args)) = record.field(9) else {
            panic!("no arguments");
        };
        let description = Description::of_format(description, format);
        let mut said = String::from_utf8_lossy(format).into_owned();
        for (index, value) in args.iter().enumerate() {
            let name = description.name(index).unwrap_or_default();
            said += &format!(" {}={}", String::from_utf8_lossy(name), shown(value));
        }
        logged.push(said);
    }
    logged
}

fn shown(value: &Value) -> String {
    match value {
        Value::Raw(bytes) => bytes.escape_ascii().to_string(),
        Value::Int(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

const IN_BOTH: &[&str] = &[
    "accepted host=example.org port=8080 on=Bool(true) ms=Float(2.5) float=Float(1.5)",
    "alone none=Nil",
    r"bytes raw=Array([Int(13), Raw([0, 1, 104, 105, 255])]) pointer=0 least=-1 most=18446744073709551615 short=-2",
    "%d =0 a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=10 k=11 l=12 m=13 n=14 o=15 p=16",
    "%m after %*d s: %m =2 =3 =5 =2 host=example.org",
];

const IN_CPP: &[&str] = &[
    r"%s|%.1f =a string with \x00 in it =Float(1.5) text=a string with \x00 in it temporary=a string with \x00 in it! on=Bool(true)",
    r"in a template value=a string with \x00 in it",
    "in a template value=7",
    "in a template value=an array",
];

#[test]
fn keys_and_typed_values_reach_the_log_whatever_the_text_prints() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("key_values");
    for toolchain in toolchains() {
        for (language, flags) in [
            (Language::C, ["-std=c11", "-O0", "-xc"]),
            (Language::C, ["-std=c17", "-O2", "-xc"]),
            (Language::Cpp, ["-std=c++11", "-O0", "-xc++"]),
            (Language::Cpp, ["-std=c++17", "-O2", "-xc++"]),
            (Language::Cpp, ["-std=c++20", "-O2", "-xc++"]),
        ] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            build(compiler, &flags, &[source("key_values.c")], &program);
            let mut expected = IN_BOTH.to_vec();
            if language == Language::Cpp {
                expected.extend(IN_CPP);
            }
            assert_eq!(logged(&log_of(&program)), expected, "{toolchain} {flags:?}");
        }
    }
}
