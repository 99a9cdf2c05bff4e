//! Every form of the conversion table through C, C++ and a `va_list`: the same
//! arguments must give the same objects.

use crate::compilers::{Language, toolchains};
use crate::decode::{Value, messages};
use crate::installed::{build, log_of};
use logdef_wire::printf::{CType, Class, Conversion, TABLE};
use std::fmt::Write as _;

/// A call: its format, its argument in C, and what must be logged.
struct Call {
    format: String,
    argument: String,
    logged: Value,
}

/// The values that are tried for a type: as C writes them, and as logged.
fn values(c_type: CType, class: Class) -> Vec<(String, Value)> {
    let signed = |bits: u32| {
        let min = -(1i128 << (bits - 1));
        vec![min, -1, 1, -min - 1]
    };
    let unsigned = |bits: u32| vec![0, 128, (1i128 << bits) - 1];
    let numbers = match c_type {
        CType::Int if class == Class::Char => vec![0, 65, 127, 255],
        CType::Int => signed(32),
        CType::Unsigned | CType::Uint32 | CType::WideInt => unsigned(32),
        CType::Int32 => signed(32),
        CType::Long
        | CType::LongLong
        | CType::IntMax
        | CType::SignedSize
        | CType::Ptrdiff
        | CType::Int64
        | CType::IntFast16
        | CType::IntFast32
        | CType::IntFast64 => signed(64),
        CType::UnsignedLong
        | CType::UnsignedLongLong
        | CType::UintMax
        | CType::Size
        | CType::UnsignedPtrdiff
        | CType::Uint64
        | CType::UintFast16
        | CType::UintFast32
        | CType::UintFast64 => unsigned(64),
        CType::Double => {
            return [
                0.0,
                -0.0,
                1.5,
                f64::MIN_POSITIVE / 8.0,
                f64::MAX,
                f64::INFINITY,
            ]
            .into_iter()
            .map(|value| {
                let bits = value.to_bits();
                (format!("bits_to_double({bits}u)"), Value::Float(value))
            })
            .collect();
        }
        CType::LongDouble => {
            return vec![("LDBL_MAX".to_owned(), Value::Raw(long_double_max()))];
        }
        CType::CharPointer => {
            return vec![
                ("\"text\"".to_owned(), Value::text("text")),
                ("\"\\377\\376\"".to_owned(), Value::Raw(vec![0xff, 0xfe])),
                ("(char *)0".to_owned(), Value::Nil),
            ];
        }
        CType::WideCharPointer => {
            return vec![
                ("L\"w\\u00e4ide\"".to_owned(), Value::text("wäide")),
                ("(wchar_t *)0".to_owned(), Value::Nil),
            ];
        }
        CType::VoidPointer if class == Class::Written => {
            return vec![("(int *)0".to_owned(), Value::Nil)];
        }
        CType::VoidPointer => {
            return vec![
                ("(void *)0".to_owned(), Value::Int(0)),
                ("(void *)-1L".to_owned(), Value::Int(u64::MAX.into())),
            ];
        }
        CType::None => return vec![(String::new(), Value::Int(libc_erange()))],
    };
    let spelling = match c_type {
        CType::UnsignedPtrdiff => "size_t",
        other => other.spelling(),
    };
    numbers
        .into_iter()
        .map(|number| {
            let bits = number as u64;
            (format!("({spelling}){bits}u"), Value::Int(number))
        })
        .collect()
}

fn libc_erange() -> i128 {
    34
}

/// `LDBL_MAX`, little-endian.
fn long_double_max() -> Vec<u8> {
    if cfg!(target_arch = "x86_64") {
        vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x7f]
    } else {
        ((0x7ffe_u128 << 112) | ((1 << 112) - 1))
            .to_le_bytes()
            .to_vec()
    }
}

fn calls() -> Vec<Call> {
    let mut calls = Vec::new();
    for row in TABLE {
        if row.conversion == Conversion::PERCENT {
            continue;
        }
        for form in row.forms {
            let format = format!("%{}{}", form.length.spelling(), row.conversion.0 as char);
            for (argument, logged) in values(form.c_type, form.class) {
                let argument = match &*argument {
                    "" => String::new(),
                    argument => format!(", {argument}"),
                };
                calls.push(Call {
                    format: format.clone(),
                    argument,
                    logged,
                });
            }
        }
    }
    calls
}

fn program(calls: &[Call]) -> String {
    let mut text = String::from(
        "#include <logdef.h>\n#include <errno.h>\n#include <float.h>\n#include <string.h>\n\
         #include <sys/types.h>\n\
         static double bits_to_double(uint64_t bits)\n\
         { double value; memcpy(&value, &bits, sizeof value); return value; }\n\
         int main(int argc, char **argv) {\n\
         if (argc != 2 || logdef_open(argv[1]) != 0) return 2;\n",
    );
    for Call {
        format, argument, ..
    } in calls
    {
        writeln!(
            text,
            "errno = ERANGE; LOGDEF(INFO, \"{format}\"{argument});\n\
             errno = ERANGE; logdef_log(LOGDEF_INFO, \"{format}\"{argument});\n\
             if (errno != ERANGE) return 3;"
        )
        .unwrap();
    }
    text.push_str("(void)bits_to_double; return 0; }\n");
    text
}

#[test]
fn every_form_of_the_table_is_captured_alike_in_c_cpp_and_va_lists() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("conversions.c");
    let binary = directory.path().join("conversions");
    let calls = calls();
    assert!(calls.len() > 500, "{}", calls.len());
    std::fs::write(&file, program(&calls)).unwrap();
    for toolchain in toolchains() {
        for (language, flags) in [
            (Language::C, ["-O0", "-xc", "-std=gnu11", "-w"]),
            (Language::Cpp, ["-O0", "-xc++", "-std=gnu++17", "-w"]),
        ] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            let sources = std::slice::from_ref(&file);
            build(compiler, &flags, sources, &binary);
            let logged = messages(&log_of(&binary));
            assert_eq!(logged.len(), 2 * calls.len());
            for (pair, call) in logged.chunks(2).zip(&calls) {
                for (message, way) in pair.iter().zip(["LOGDEF", "va_list"]) {
                    let Call {
                        format, argument, ..
                    } = call;
                    let said = format!("{toolchain} {language:?} {way}: {format}{argument}");
                    assert_eq!(message.format, *format, "{said}");
                    // -0.0 is not 0.0, bit for bit.
                    let bits = |value: &Value| match value {
                        Value::Float(float) => Value::Int(float.to_bits().into()),
                        other => other.clone(),
                    };
                    let args: Vec<Value> = message.args.iter().map(bits).collect();
                    assert_eq!(args, [bits(&call.logged)], "{said}");
                }
            }
        }
    }
}
