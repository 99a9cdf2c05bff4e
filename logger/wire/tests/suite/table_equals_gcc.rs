//! The C types of the conversion table are those that a C compiler asks for, and the
//! compiler refuses the next wider or narrower type: `gcc -Wformat` checks a call of
//! `printf` per form.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use logdef_wire::printf::{CType, Class, Form, Length, Row, TABLE};

/// Forms that gcc 12 does not know: C23's newest.
fn is_too_new(row: &Row, form: &Form) -> bool {
    matches!(row.conversion.0, b'b' | b'B') || form.length.spelling().starts_with('w')
}

/// Modifiers that the table has from glibc alone; `-Wformat` goes by the standard.
fn is_of_glibc_alone(form: &Form) -> bool {
    matches!(
        (form.class, form.length),
        (Class::LongDouble, Length::LongLong | Length::Quad)
            | (Class::WideChar, Length::Long)
            | (Class::WideStr, Length::Long)
            | (Class::Int | Class::Written, Length::LongDouble)
    )
}

fn forms() -> Vec<(u8, &'static Form)> {
    let rows = TABLE.iter();
    rows.flat_map(|row| {
        let forms = row.forms.iter();
        let forms = forms.filter(|form| !is_too_new(row, form) && !is_of_glibc_alone(form));
        forms.map(|form| (row.conversion.0, form))
    })
    .collect()
}

/// What gcc says about these calls, one per line of the program.
fn gcc(calls: impl Iterator<Item = (u8, &'static Form, String)>) -> (usize, String) {
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <sys/types.h>\n#include <wchar.h>\nvoid f(void) {\n",
    );
    let mut count = 0;
    for (letter, form, arg) in calls {
        let (length, letter) = (form.length.spelling(), char::from(letter));
        writeln!(program, "printf(\"%{length}{letter}\\n\"{arg});").unwrap();
        count += 1;
    }
    program.push_str("}\n");
    let mut gcc = Command::new("gcc")
        .args([
            "-std=gnu17",
            "-Wall",
            "-Wformat",
            "-fsyntax-only",
            "-x",
            "c",
            "-",
        ])
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gcc, which this test asks about printf, does not run");
    gcc.stdin
        .take()
        .unwrap()
        .write_all(program.as_bytes())
        .unwrap();
    let output = gcc.wait_with_output().unwrap();
    assert!(output.status.success());
    (count, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_type_of_every_form_is_the_one_gcc_expects() {
    let calls = forms().into_iter().map(|(letter, form)| {
        let arg = match (form.class, form.c_type) {
            (_, CType::None) => String::new(),
            // gcc wants the pointer's own type; the table has any pointer.
            (Class::Written, _) => format!(", ({}*)1", written(form.length)),
            // The width of ptrdiff_t and size_t, for which C has no such name.
            (_, CType::UnsignedPtrdiff) => ", (size_t)0".into(),
            (_, c_type) => format!(", ({})0", c_type.spelling()),
        };
        (letter, form, arg)
    });
    let (count, complaints) = gcc(calls);
    assert_eq!(complaints, "");
    assert!(count > 60, "{count}");
}

#[test]
fn another_type_is_refused_for_every_form() {
    let calls = forms()
        .into_iter()
        .filter(|(_, form)| form.c_type != CType::None);
    let calls = calls.map(|(letter, form)| {
        let arg = match form.class {
            Class::Int if form.c_type.spelling().ends_with("int") => ", 0L",
            Class::Char | Class::WideChar => ", 0L",
            Class::Int => ", 0",
            Class::Float => ", 0.0L",
            Class::LongDouble => ", 0.0",
            Class::Str => ", L\"\"",
            Class::WideStr => ", \"\"",
            _ => ", 0.0",
        };
        (letter, form, arg.to_string())
    });
    let (count, complaints) = gcc(calls);
    assert_eq!(
        complaints.matches("warning:").count(),
        count,
        "{complaints}"
    );
}

fn written(length: Length) -> &'static str {
    match length {
        Length::None => "int",
        Length::Char => "signed char",
        Length::Short => "short",
        Length::Long => "long",
        Length::IntMax => "intmax_t",
        Length::Size | Length::OldSize => "ssize_t",
        Length::Ptrdiff => "ptrdiff_t",
        _ => "long long",
    }
}
