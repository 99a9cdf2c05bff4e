//! How long does a line of text take, and how long does the C library's `snprintf`
//! take for the same one?

use std::ffi::CStr;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use logdef_resync::render::CompiledFormat;
use logdef_wire::Value;

fn ours(c: &mut Criterion, name: &str, format: &[u8], args: &[Value<'_>]) {
    let format = CompiledFormat::new(format);
    let mut out = Vec::with_capacity(1 << 16);
    c.bench_function(&format!("{name}/ours"), |b| {
        b.iter(|| {
            out.clear();
            format.render(black_box(args), &mut out);
            black_box(out.len())
        });
    });
}

macro_rules! libc {
    ($c:expr, $name:expr, $format:expr, $($arg:expr),+) => {
        let mut out = vec![0u8; 1 << 16];
        $c.bench_function(&format!("{}/snprintf", $name), |b| {
            b.iter(|| {
                // SAFETY: the buffer is as long as the length passed, the format and the strings
                // are terminated, and the arguments are of the types it names.
                unsafe {
                    libc::snprintf(
                        out.as_mut_ptr().cast(),
                        out.len(),
                        black_box($format).as_ptr(),
                        $(black_box($arg)),+
                    )
                }
            });
        });
    };
}

fn two_ints_and_a_string(c: &mut Criterion, string: &CStr) {
    let format = c"Logging int: %d, int: %d, string: %s";
    let bytes = string.to_bytes();
    let args = [Value::Uint(42), Value::Int(-123_456), Value::Raw(bytes)];
    let name = format!("two_ints_and_{}_bytes", bytes.len());
    ours(c, &name, format.to_bytes(), &args);
    libc!(c, name, format, 42, -123_456, string.as_ptr());
}

fn render(c: &mut Criterion) {
    let format = c"Logging int: %d, int: %d, double: %f";
    let args = [
        Value::Uint(42),
        Value::Int(-123_456),
        Value::Float(1_234.567_89),
    ];
    ours(c, "two_ints_and_a_double", format.to_bytes(), &args);
    libc!(
        c,
        "two_ints_and_a_double",
        format,
        42,
        -123_456,
        1_234.567_89
    );

    two_ints_and_a_string(c, c"a short string");
    two_ints_and_a_string(c, c"a string of 24 character");
    two_ints_and_a_string(c, c"a string that is as long as many paths are");

    let format = c"%08x %-12s|%10.3e|%g";
    let args = [
        Value::Uint(0xbeef),
        Value::Raw(b"name"),
        Value::Float(6.022e23),
        Value::Float(0.1),
    ];
    ours(c, "flags_and_widths", format.to_bytes(), &args);
    libc!(
        c,
        "flags_and_widths",
        format,
        0xbeef,
        c"name".as_ptr(),
        6.022e23,
        0.1
    );
}

criterion_group!(benches, render);
criterion_main!(benches);
