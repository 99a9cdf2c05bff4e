//! The same of both kinds of `long double`.

use std::arch::x86_64::__m128i;
use std::ffi::CString;

use logdef_resync::render::CompiledFormat;
use logdef_wire::Value;

use super::args::Args;
use super::grid::grid;
use super::random::Random;

/// x87 numbers by mantissa and exponent: edges, and what no operation gives.
fn long_doubles() -> Vec<[u8; 10]> {
    let top = 1 << 63;
    let mantissas = [
        top,
        top | 1,
        u64::MAX,
        u64::MAX - 1,
        top | 1 << 62,
        0xc90f_daa2_2168_c235, // pi
        0x8888_8888_8888_8888,
        0xff7f_ffff_ffff_ffff,
        0xf800_0000_0000_0000,
        0xfc00_0000_0000_0000,
        0xa000_0000_0000_0000, // 1.25, 2.5: halves
    ];
    let exponents = [
        1, 2, 100, 16000, 16369, 16379, 16380, 16382, 16383, 16384, 16385, 16386, 16400, 16446,
        16447, 16500, 30000, 32766,
    ];
    let mut numbers = vec![(0, 0), (1, 0), (top >> 1, 0), (top - 1, 0)];
    numbers.extend([
        (top, 0x7fff),
        (top | 1 << 62, 0x7fff),
        (top | 1, 0x7fff),
        (0, 0x7fff),
        (5, 0x7fff),
    ]);
    numbers.extend([(0, 5), (1, 16383), (top - 1, 16384)]); // unnormals
    for mantissa in mantissas {
        numbers.extend(exponents.map(|exponent| (mantissa, exponent)));
    }
    let mut bytes = Vec::new();
    for (mantissa, exponent) in numbers {
        bytes.push(x87(mantissa, exponent));
        bytes.push(x87(mantissa, exponent | 0x8000));
    }
    bytes
}

pub fn x87(mantissa: u64, head: u16) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&mantissa.to_le_bytes());
    bytes[8..].copy_from_slice(&head.to_le_bytes());
    bytes
}

#[test]
fn long_doubles_in_every_layout() {
    let numbers = long_doubles();
    let mut cases = 0;
    for conversion in ["Lf", "Le", "Lg", "La"] {
        for number in &numbers {
            for layout in [
                "", "#", "+.0", "#.0", ".1", ".3", "030.17", "-30.20", ".40", " .64", ".14", ".15",
            ] {
                let format = format!("<%{layout}{conversion}>");
                assert!(
                    Args::default()
                        .long_double(number)
                        .compare(format.as_bytes())
                );
                cases += 1;
            }
        }
        // Every layout, over few numbers: the code after is that of doubles.
        let few: Vec<_> = numbers.iter().step_by(number_step(&numbers)).collect();
        cases += grid(conversion, conversion, &few, Args::long_double);
    }
    for conversion in ["LF", "LE", "LG", "LA", "llf", "qg"] {
        for number in &numbers {
            let format = format!("%{conversion} %.5{conversion}");
            let args = Args::default().long_double(number).long_double(number);
            assert!(args.compare(format.as_bytes()));
            cases += 1;
        }
    }
    assert!(cases > 40_000, "{cases}");
}

fn number_step<T>(numbers: &[T]) -> usize {
    numbers.len() / 12
}

#[test]
fn long_doubles_to_the_last_digit() {
    for number in [
        x87(1, 0),
        x87(u64::MAX, 1),
        x87(u64::MAX, 32766),
        x87(u64::MAX, 16383),
    ] {
        for format in ["%.4096Lf", "%.4096Le", "%.4096Lg", "%#.4096Lg", "%.100La"] {
            assert!(
                Args::default()
                    .long_double(&number)
                    .compare(format.as_bytes())
            );
        }
    }
}

unsafe extern "C" {
    /// Takes a buffer, its size, a format and a `_Float128`; returns the length.
    fn strfromf128();
}

/// What the C library writes for a `_Float128` by its bytes.
fn strfrom(format: &str, bytes: [u8; 16]) -> Vec<u8> {
    let format = CString::new(format).unwrap();
    let mut buffer = vec![0u8; 6000];
    let length: i32;
    // SAFETY: a call by the System V ABI, which passes the number in a vector register
    // (no stable type of Rust goes there whole). The buffer is as long as the length passed, the
    // format has one of the forms that strfrom takes, and __m128i is any 16 bytes.
    unsafe {
        std::arch::asm!(
            "call {strfrom}",
            strfrom = sym strfromf128,
            in("rdi") buffer.as_mut_ptr(),
            in("rsi") buffer.len(),
            in("rdx") format.as_ptr(),
            in("xmm0") std::mem::transmute::<[u8; 16], __m128i>(bytes),
            lateout("eax") length,
            clobber_abi("C"),
        );
    }
    buffer.truncate(length as usize);
    buffer
}

#[test]
fn binary128_numbers_equal_those_of_strfromf128() {
    let top = 1u128 << 112;
    let fractions = [
        0,
        1,
        top - 1,
        top >> 1,
        top >> 2,
        (top >> 1) + 1,
        (top >> 1) - 1,
        0x921f_b544_42d1_8469_898c_c517_01b8,
    ];
    let exponents = [
        0u128, 1, 2, 100, 16000, 16370, 16382, 16383, 16384, 16385, 16500, 30000, 32766, 32767,
    ];
    let mut random = Random(7);
    let mut numbers: Vec<u128> = (0..200)
        .map(|_| (random.next() as u128) << 64 | random.next() as u128)
        .collect();
    for fraction in fractions {
        numbers.extend(exponents.map(|exponent| exponent << 112 | fraction));
    }
    for number in numbers {
        for sign in [0, 1 << 127] {
            let bytes = (number | sign).to_le_bytes();
            for conversion in ["f", "e", "g", "a", "F", "E", "G", "A"] {
                for precision in ["", ".0", ".1", ".3", ".17", ".27", ".28", ".40"] {
                    let expected = strfrom(&format!("%{precision}{conversion}"), bytes);
                    let mut text = Vec::new();
                    CompiledFormat::new(format!("%{precision}L{conversion}").as_bytes())
                        .render(&[Value::Raw(&bytes)], &mut text);
                    assert_eq!(
                        text.escape_ascii().to_string(),
                        expected.escape_ascii().to_string(),
                        "%{precision}{conversion} of {number:032x}"
                    );
                }
            }
        }
    }
}
