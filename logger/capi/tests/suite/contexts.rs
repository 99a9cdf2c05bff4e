//! Contexts of C and C++ programs, from the macro to the file.

use crate::compilers::{Language, source, toolchains};
use crate::decode::{CONTEXT_LOGDEF, Value, records};
use crate::installed::{build, log_by};
use crate::programs::{APPEND, MAPPED};
use std::collections::HashMap;
use std::path::Path;

/// What the records of a log say: format, and the keys of its contexts as `key=value`.
/// A context must have been defined before it is named.
fn logged(log: &Path) -> Vec<(String, String)> {
    let (mut strings, mut contexts) = (HashMap::new(), HashMap::new());
    let mut logged = Vec::new();
    for record in records(log) {
        let int = |field| record.field(field).map(Value::int);
        match record.tag {
            crate::decode::STRING_LOGDEF => {
                let text = String::from_utf8(record.field(2).unwrap().raw().to_vec());
                strings.insert(int(1), text.unwrap());
            }
            CONTEXT_LOGDEF => {
                let keys = record.field(3).cloned();
                contexts.insert((int(0), int(1)), (int(2), keys));
            }
            crate::decode::DATA => {
                let mut words = pairs(record.field(15));
                let mut next = int(16);
                while let Some(id) = next {
                    let (parent, keys) = &contexts[&(int(5), Some(id))];
                    words.extend(pairs(keys.as_ref()));
                    next = *parent;
                }
                logged.push((strings[&int(4)].clone(), words.join(" ")));
            }
            _ => {}
        }
    }
    logged
}

fn pairs(keys: Option<&Value>) -> Vec<String> {
    let Some(Value::Map(pairs)) = keys else {
        return Vec::new();
    };
    let pair = |(key, value): &(Value, Value)| {
        let value = match value {
            Value::Raw(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Int(value) => value.to_string(),
            other => format!("{other:?}"),
        };
        format!("{}={value}", String::from_utf8_lossy(key.raw()))
    };
    pairs.iter().map(pair).collect()
}

#[test]
fn records_have_the_keys_of_the_contexts_that_their_calls_are_made_in() {
    const ANN: &str = "user=ann shard=7 rate=Float(1.5) on=Bool(true) nothing=Nil";
    let bob = format!("user=bob {ANN}");
    let expected = [
        ("before the log is open", "phase=early"),
        ("in a function", ANN),
        ("inside", ANN),
        ("inside again", ANN),
        ("limited", &bob),
        ("nested", &bob),
        ("no longer served", ""),
        ("no longer served", ""),
        ("not yet served", ""),
        ("not yet served", ""),
        ("outside", ""),
        ("outside", ""),
        ("outside", ""),
        ("outside", ""),
        ("returns late", "early=0"),
        ("served by %d", "peer=localhost id=-3"),
        ("served by %d", "peer=localhost id=-3"),
        ("with a backtrace", &bob),
    ];
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("context");
    for toolchain in toolchains() {
        for (language, flags) in [
            (Language::C, ["-std=c11", "-O0", "-xc"]),
            (Language::C, ["-std=c17", "-O2", "-xc"]),
            (Language::Cpp, ["-std=c++11", "-O0", "-xc++"]),
            (Language::Cpp, ["-std=c++20", "-O2", "-xc++"]),
        ] {
            let flags = [&flags[..], &["-pthread", "-D_GNU_SOURCE"]].concat();
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            build(compiler, &flags, &[source("context.c")], &program);
            for sink in [MAPPED, APPEND] {
                let mut logged = logged(&log_by(&program, &[sink]));
                logged.sort();
                let (many, mut few): (Vec<_>, Vec<_>) = logged
                    .into_iter()
                    .partition(|(format, _)| format == "many %d");
                assert_eq!(many.len(), 20_000);
                assert!(many.iter().all(|(_, keys)| keys == "peer=localhost id=-3"));
                for format in ["with a long key", "in the child"] {
                    let at = few.iter().position(|(found, _)| found == format).unwrap();
                    let (_, keys) = few.remove(at);
                    let cut = keys.starts_with("long=xxxxxxx") && keys.ends_with("x…[cut] after=1");
                    assert!(cut && (200..480).contains(&keys.len()), "{keys}");
                }
                let few = few.iter().map(|(format, keys)| (&format[..], &keys[..]));
                assert_eq!(
                    few.collect::<Vec<_>>(),
                    expected,
                    "{toolchain} {flags:?} {sink}"
                );
            }
        }
    }
}

/// The program died: the log call followed what stood on the stack where the context had been.
#[test]
fn a_context_whose_block_was_left_by_a_jump_or_the_threads_end_does_no_harm() {
    let expected = [
        ("before the jump", "jump=0"),
        ("before the jump", "jump=1"),
        ("before the jump", "jump=2"),
        ("after the jumps", ""),
        ("entered again", "entered=1"),
        ("before the end", "thread=one"),
        ("at the end of the thread", ""),
    ];
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("left");
    for toolchain in toolchains() {
        for level in ["-O0", "-O2"] {
            let flags = ["-std=c11", level, "-pthread", "-D_GNU_SOURCE"];
            build(toolchain.cc, &flags, &[source("left.c")], &program);
            for sink in [MAPPED, APPEND] {
                let logged = logged(&log_by(&program, &[sink]));
                let logged: Vec<_> = logged.iter().map(|(f, k)| (&f[..], &k[..])).collect();
                assert_eq!(logged, expected, "{toolchain} {level} {sink}");
            }
        }
    }
}
