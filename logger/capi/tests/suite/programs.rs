//! Programs in C and C++, from the call to the file.

use crate::compilers::{Language, cpp_toolchains, source, toolchains};
use crate::decode::{DATA, Message, PREAMBLE, Value, messages, records};
use crate::installed::{build, log_by, log_of};
use logdef_wire::site::flags::{SKIPPED, SPAN_ID};
use std::collections::HashSet;
use std::ffi::OsString;

/// The line of a source on which a text stands.
fn line_of(file: &str, text: &str) -> i128 {
    let source = std::fs::read_to_string(source(file)).unwrap();
    let at = source.lines().position(|line| line.contains(text));
    at.unwrap_or_else(|| panic!("{file} has no {text}")) as i128 + 1
}

fn int(int: i128) -> Value {
    Value::Int(int)
}

/// What `program.c` logs: level, format, arguments, calls skipped, and whether
/// there is a backtrace.
fn expected() -> Vec<(i128, &'static str, Vec<Value>, i128, bool)> {
    let text = Value::text;
    let long_double = |value: f64| Value::Raw(long_double(value));
    let (debug, info, warn, error, fatal) = (0x20, 0x30, 0x40, 0x50, 0x60);
    let mut expected = vec![
        (
            info,
            "accepted %s:%d in %.3f ms",
            vec![text("localhost"), int(8080), Value::Float(2.5)],
            0,
            false,
        ),
        (error, "no arguments", vec![], 0, false),
        (debug, "%s", vec![text("text that changes")], 0, false),
        (
            info,
            "%.4s %s %p",
            vec![text("xxxx"), Value::Nil, int(0)],
            0,
            false,
        ),
        (
            info,
            "%Lf %c %ls",
            vec![long_double(1.5), int(i128::from(b'c')), text("wäide")],
            0,
            false,
        ),
        (info, "with a backtrace", vec![], 0, true),
        (fatal, "with a backtrace by its level", vec![], 0, true),
    ];
    for (i, skipped) in [(0, 0), (3, 2), (6, 2)] {
        expected.push((info, "every third: %d", vec![int(i)], skipped, false));
    }
    expected.extend([
        (warn, "once: %d", vec![int(0)], 0, false),
        (info, "seldom: %d", vec![int(0)], 0, false),
        (
            warn,
            "a wrapper's %d %s %Lf",
            vec![int(1), text("two"), long_double(3.0)],
            0,
            false,
        ),
        (info, "built at run time %d", vec![int(4)], 0, false),
        (warn, "not filtered", vec![], 0, false),
    ]);
    expected
}

/// The bytes of a `long double`, little-endian, of a number without many digits.
fn long_double(value: f64) -> Vec<u8> {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) as u16 & 0x7ff) + (16383 - 1023);
    let fraction = bits << 12;
    if cfg!(target_arch = "x86_64") {
        let mantissa = 1 << 63 | fraction >> 1;
        return [&mantissa.to_le_bytes()[..], &exponent.to_le_bytes()].concat();
    }
    let bits = u128::from(exponent) << 112 | u128::from(fraction) << 48;
    bits.to_le_bytes().to_vec()
}

#[test]
fn a_program_logs_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    for toolchain in toolchains() {
        for (language, flags) in [
            (
                Language::C,
                ["-std=c11", "-O0", "-xc", "-Wno-format-nonliteral"],
            ),
            (
                Language::C,
                ["-std=c17", "-O2", "-xc", "-Wno-format-nonliteral"],
            ),
            (
                Language::Cpp,
                ["-std=c++17", "-O0", "-xc++", "-Wno-format-nonliteral"],
            ),
            (
                Language::Cpp,
                ["-std=c++20", "-O2", "-xc++", "-Wno-format-nonliteral"],
            ),
        ] {
            let flags = [&flags[..], &["-D_GNU_SOURCE"]].concat();
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            build(compiler, &flags, &[source("program.c")], &program);
            for sink in [MAPPED, APPEND] {
                let logged = messages(&log_by(&program, &[sink]));
                assert!(logged.iter().all(|message| message.dropped == 0));
                let (early, logged) = logged.split_first().unwrap();
                assert_eq!(early.format, "before the log is open");
                let found: Vec<_> = logged.iter().map(summary).collect();
                assert_eq!(found, expected(), "{toolchain} {flags:?} {sink}");
                check_places(logged);
            }
        }
    }
}

/// Sinks as `logdef.h` numbers them.
pub const MAPPED: &str = "1";
pub const APPEND: &str = "2";

fn summary(message: &Message) -> (i128, &str, Vec<Value>, i128, bool) {
    let skipped = match &message.keys[..] {
        [] => 0,
        [(key, count)] if *key == Value::text(SKIPPED) => count.int(),
        other => panic!("{other:?}"),
    };
    (
        message.level,
        &message.format,
        message.args.clone(),
        skipped,
        !message.backtrace.is_empty(),
    )
}

fn check_places(logged: &[Message]) {
    for message in logged {
        assert!(message.file.ends_with("tests/c/program.c"), "{message:?}");
        let text = match &*message.format {
            "built at run time %d" => "logdef_vlog(level",
            "%s" => "\"%s\", text",
            format => format,
        };
        assert_eq!(message.line, line_of("program.c", text), "{message:?}");
    }
}

#[test]
fn spans_and_counters_are_marked_as_such() {
    const KINDS: [(i128, &str, i128); 7] = [
        (1, "load %s", -1),
        (3, "queue depth %d", -1),
        (2, "%d rows", -1),
        (1, "GET %s", 0xfeed_face_cafe),
        (2, "status %d", 0xfeed_face_cafe),
        (1, "number nought", 0),
        (3, "disk: read %d, written %.1f", -1),
    ];
    const SCOPES: [(i128, &str, i128); 8] = [
        (1, "level %d", -1),
        (1, "level %d", -1),
        (2, "", -1),
        (2, "", -1),
        (1, "generic %d", -1),
        (2, "", -1),
        (1, "of a level", -1),
        (2, "", -1),
    ];
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("spans");
    for toolchain in toolchains() {
        for (language, flags, scopes) in [
            (Language::C, ["-std=c11", "-O0", "-xc"], &[][..]),
            (Language::C, ["-std=c17", "-O2", "-xc"], &[]),
            (Language::Cpp, ["-std=c++11", "-O0", "-xc++"], &SCOPES),
            (Language::Cpp, ["-std=c++20", "-O2", "-xc++"], &SCOPES),
        ] {
            let flags = [&flags[..], &["-pthread"]].concat();
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            build(compiler, &flags, &[source("spans.c")], &program);
            for sink in [MAPPED, APPEND] {
                let logged = messages(&log_by(&program, &[sink]));
                let found: Vec<_> = logged.iter().map(kind).collect();
                let expected = [&KINDS[..], scopes].concat();
                let mut sorted = [found.clone(), expected.clone()];
                // The other thread's record stands in a chunk of its own.
                sorted.iter_mut().for_each(|list| list.sort());
                assert_eq!(sorted[0], sorted[1], "{toolchain} {flags:?} {sink}");
                if let Some(at) = logged.iter().position(|m| m.format == "of a level") {
                    // The variable has changed meanwhile.
                    let levels = [at, at + 1].map(|at| (logged[at].kind, logged[at].level));
                    assert_eq!(levels, [(1, 0x40), (2, 0x40)], "{toolchain} {flags:?}");
                }
            }
        }
    }
}

/// Kind, format, and the span's number, -1 if it has none.
fn kind(message: &Message) -> (i128, &str, i128) {
    let span = match &message.keys[..] {
        [] => -1,
        [(key, id)] if *key == Value::text(SPAN_ID) => id.int(),
        other => panic!("{other:?}"),
    };
    (message.kind, &message.format, span)
}

#[test]
fn every_call_of_c_and_cpp_reaches_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("everything");
    let mut counts = HashSet::new();
    let models: &[&[&str]] = &[
        &["-O0"],
        &["-O2"],
        #[cfg(target_arch = "x86_64")]
        &["-O1", "-mcmodel=large"],
    ];
    for toolchain in cpp_toolchains() {
        for flags in models {
            let c: Vec<_> = ["everything.c", "calls.c"]
                .into_iter()
                .map(|file| {
                    let object = directory.path().join(file).with_extension("o");
                    let mut arguments: Vec<OsString> = flags.iter().map(OsString::from).collect();
                    arguments.extend(["-c".into(), source(file).into()]);
                    arguments.extend(["-o".into(), object.clone().into()]);
                    crate::compilers::compile_clean(toolchain.cc, arguments);
                    object
                })
                .collect();
            let sources = [c, vec![source("calls.cc"), source("other.cc")]].concat();
            let flags = [flags, &["-std=c++17"][..]].concat();
            build(toolchain.cxx, &flags, &sources, &program);
            let logged = messages(&log_of(&program));
            let formats: HashSet<&str> = logged.iter().map(|m| &*m.format).collect();
            for format in [
                "lambda %d %d",
                "closure %d",
                "method of a class template",
                "constructor %d",
                "inline %d %d",
                "shared header %d",
                "vlog %hhd %lu %Lf %s",
                "template %d, every second",
            ] {
                assert!(formats.contains(format), "{toolchain} {flags:?}: {format}");
            }
            assert!(!formats.contains("never reached %d"));
            // That of the object that is constructed before `main` too.
            assert!(logged.iter().all(|message| message.dropped == 0));
            // One that is logged every 100 ms comes once more where the machine is busy.
            let is_counted = |message: &&Message| message.format != "seldom %s %d";
            counts.insert(logged.iter().filter(is_counted).count());
        }
    }
    assert!(counts.len() < 2, "{counts:?}");
}

/// The first call of a function came back to the one that logs it, without end.
#[test]
fn a_program_whose_functions_log_themselves_logs_none_of_the_headers() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("profiled");
    for toolchain in toolchains() {
        for (language, standard) in [(Language::C, "-xc"), (Language::Cpp, "-xc++")] {
            for level in ["-O0", "-O1"] {
                let flags = [level, "-finstrument-functions", standard];
                let Some(compiler) = toolchain.compiler(language) else {
                    continue;
                };
                build(compiler, &flags, &[source("profiled.c")], &program);
                let logged = messages(&log_of(&program));
                let spans = logged.iter().filter(|message| message.kind == 1);
                let case = format!("{toolchain} {flags:?}");
                assert_eq!((spans.count(), logged.len()), (3, 10), "{case}");
            }
        }
    }
}

/// A library that logs from inline functions, templates and static objects is
/// loaded and unloaded; its records have its own image, not the program's.
#[test]
fn a_plugin_logs_and_goes() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("plugin.so");
    let host = directory.path().join("host");
    for toolchain in cpp_toolchains() {
        for level in ["-O0", "-O2"] {
            let flags = [level, "-std=c++11", "-shared", "-fPIC"];
            build(toolchain.cxx, &flags, &[source("plugin.cc")], &plugin);
            let name = format!("-DPLUGIN=\"{}\"", plugin.display());
            build(toolchain.cc, &[level, &name], &[source("host.c")], &host);
            let log = log_of(&host);
            let round = |i: i128| {
                [
                    ("plugin's constructor", vec![]),
                    ("plugin's inline %d", vec![int(i)]),
                    ("plugin's template %d", vec![int(0)]),
                    ("plugin %d", vec![int(i)]),
                    ("plugin's destructor", vec![]),
                ]
            };
            let mut expected = vec![("host", vec![])];
            expected.extend((0..3).flat_map(round));
            expected.push(("host again", vec![]));
            let logged = messages(&log);
            let found: Vec<_> = logged
                .iter()
                .map(|message| (&*message.format, message.args.clone()))
                .collect();
            assert_eq!(found, expected, "{toolchain} {level}");
            let magic = |of_plugin: bool| -> HashSet<i128> {
                let messages = logged.iter();
                messages
                    .filter(|message| message.format.starts_with("plugin") == of_plugin)
                    .map(|message| message.magic)
                    .collect()
            };
            assert_eq!((magic(true).len(), magic(false).len()), (1, 1));
            assert_ne!(magic(true), magic(false));
            let preambles: HashSet<Vec<u8>> = records(&log)
                .iter()
                .filter(|record| record.tag == PREAMBLE)
                .map(|record| record.field(1).unwrap().raw().to_vec())
                .collect();
            assert_eq!(preambles.len(), 2);
            assert!(records(&log).iter().any(|record| record.tag == DATA));
        }
    }
}
