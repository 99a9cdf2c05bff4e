//! The value is the value: an integer of Rust prints as itself under every integer
//! conversion, whatever its width, to the observer and in the text that the reader
//! makes of the file. Expected is what `format!` prints.

use logdef::{Level, Observed, Observer, logdef};
use std::fmt::{Binary, Display, LowerHex, Octal, UpperHex};
use std::sync::Mutex;

mod shown;

struct Told(Mutex<Vec<String>>);

static TOLD: Told = Told(Mutex::new(Vec::new()));

impl Observer for Told {
    fn observe(&self, record: &Observed<'_>) {
        let message = String::from_utf8(record.message().to_vec()).unwrap();
        self.0.lock().unwrap().push(message);
    }
}

/// What is printed with a sign, and without one.
fn expected<T, U>(value: T, unsigned: U) -> String
where
    T: Display,
    U: Display + LowerHex + UpperHex + Octal + Binary,
{
    let signed = value.to_string();
    let plus = match signed.strip_prefix('-') {
        Some(_) => signed.clone(),
        None => format!("+{signed}"),
    };
    let octal = match format!("{unsigned:o}") {
        zero if zero == "0" => zero,
        octal => format!("0{octal}"),
    };
    let hexadecimal = match format!("{unsigned:#x}") {
        zero if zero == "0x0" => "0".to_owned(),
        hexadecimal => hexadecimal,
    };
    format!(
        "{signed} {signed} {signed} {signed} {signed} {signed} {plus} {signed:>24} {signed:<5}| \
         {unsigned} {unsigned} {unsigned} {unsigned:x} {unsigned:X} {unsigned:o} {unsigned:b} \
         {unsigned:x} {unsigned:x} {hexadecimal} {octal}"
    )
}

macro_rules! log_all {
    ($messages:ident: $($type:ty as $unsigned:ty),*) => {$({
        let edges = [
            0,
            1,
            <$type>::MAX,
            <$type>::MIN,
            <$type>::MAX - 1,
            <$type>::MAX / 2,
            <$type>::MAX / 2 + 1,
            <$type>::MIN / 2,
            (0 as $type).wrapping_sub(1),
        ];
        let widths = [7, 8, 15, 16, 31, 32, 63].map(|bits| (1u128 << bits) as $type);
        let around = widths.iter().flat_map(|edge| {
            [edge.wrapping_sub(1), *edge, edge.wrapping_add(1), edge.wrapping_neg()]
        });
        for v in edges.into_iter().chain(around).chain([3_000_000_000_u64 as $type]) {
            logdef!(
                Info,
                "%d %i %ld %hhd %hd %jd %+d %24d %-5d| %u %hhu %zu %x %X %o %b %hhx %lx %#x %#o",
                v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v
            );
            $messages.push(expected(v, v as $unsigned));
        }
    })*};
}

#[test]
fn integers_print_as_themselves_to_the_observer_and_to_the_reader() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    logdef::set_observer(Some((Level::INFO, &TOLD)));
    let mut messages = Vec::new();
    log_all!(messages: i8 as u8, i16 as u16, i32 as u32, i64 as u64, isize as usize);
    log_all!(messages: u8 as u8, u16 as u16, u32 as u32, u64 as u64, usize as usize);
    logdef::set_observer(None);
    assert_eq!(*TOLD.0.lock().unwrap(), messages);

    assert_eq!(shown::messages(&path), messages);
    // The worst of it, spelled out.
    for text in ["3000000000", "18446744073709551615", "-9223372036854775808"] {
        assert!(
            messages.iter().any(|message| message.starts_with(text)),
            "{text}"
        );
    }
}
