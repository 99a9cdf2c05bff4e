//! Structured records at random: round trips, a slow encoder as the oracle, every bit flipped, every
//! length cut, and bytes that were never a record.

use std::borrow::Cow;

use logdef_fuchsia::structured::{Profile, Record, RecordWriter, Rule, Severity, Value};
use proptest::prelude::*;

/// The encoding by its text, one bit string per field, nothing shared with the encoder under test.
fn slow_encode(timestamp: i64, severity: u8, arguments: &[(String, Value<'_>)]) -> Vec<u8> {
    fn field(bits: &mut String, value: u64, width: usize) {
        for bit in 0..width {
            bits.push(if value >> bit & 1 == 1 { '1' } else { '0' });
        }
    }
    fn text(bits: &mut String, text: &str) {
        for byte in text.bytes() {
            field(bits, u64::from(byte), 8);
        }
        while !bits.len().is_multiple_of(64) {
            bits.push('0');
        }
    }
    fn reference(text: &str) -> u64 {
        match text.len() as u64 {
            0 => 0,
            length => (1 << 15) + length,
        }
    }

    let mut body = String::new();
    for (name, value) in arguments {
        let mut tail = String::new();
        text(&mut tail, name);
        let (kind, varies) = match value {
            Value::SignedInt(number) => {
                field(&mut tail, *number as u64, 64);
                (3, 0)
            }
            Value::UnsignedInt(number) => {
                field(&mut tail, *number, 64);
                (4, 0)
            }
            Value::Floating(number) => {
                field(&mut tail, number.to_bits(), 64);
                (5, 0)
            }
            Value::Text(value) => {
                text(&mut tail, value);
                (6, reference(value))
            }
            Value::Boolean(value) => (9, u64::from(*value)),
        };
        field(&mut body, kind, 4);
        field(&mut body, 1 + tail.len() as u64 / 64, 12);
        field(&mut body, reference(name), 16);
        field(&mut body, varies, 32);
        body.push_str(&tail);
    }
    let mut bits = String::new();
    field(&mut bits, 9, 4);
    field(&mut bits, 2 + body.len() as u64 / 64, 12);
    field(&mut bits, 0, 40);
    field(&mut bits, u64::from(severity), 8);
    field(&mut bits, timestamp as u64, 64);
    bits.push_str(&body);
    let bits: Vec<char> = bits.chars().collect();
    bits.chunks(8)
        .map(|byte| {
            byte.iter()
                .rev()
                .fold(0, |sum, bit| sum * 2 + u8::from(*bit == '1'))
        })
        .collect()
}

fn encode(record: &Record<'_>) -> Vec<u8> {
    let mut buffer = vec![0xaa; record.as_bytes().len()];
    let mut writer = RecordWriter::new(&mut buffer, record.timestamp(), record.severity()).unwrap();
    for argument in record.arguments() {
        writer.argument(argument.name, argument.value).unwrap();
    }
    writer.finish().to_vec()
}

/// What holds for any bytes at all.
fn assert_sound(bytes: &[u8]) {
    let strict = Record::parse(bytes, Profile::Strict);
    let lenient = Record::parse(bytes, Profile::Lenient);
    if let Ok((record, rest)) = strict {
        assert_eq!(record.as_bytes().len() + rest.len(), bytes.len());
        assert_eq!(encode(&record), record.as_bytes(), "strict is canonical");
        let (other, _) = lenient.expect("lenient accepts what strict accepts");
        assert_eq!(
            format!("{:?}", record.arguments().collect::<Vec<_>>()),
            format!("{:?}", other.arguments().collect::<Vec<_>>())
        );
    }
    if let Ok((record, _)) = lenient {
        let words = record.as_bytes().len() / 8;
        assert!(record.arguments().count() <= words);
    }
}

fn of_all_types() -> Vec<u8> {
    let mut buffer = [0; 512];
    let mut writer = RecordWriter::new(&mut buffer, -72, Severity::WARN).unwrap();
    writer
        .argument("message", "all of it, \u{fc}ber alles")
        .unwrap();
    writer.argument("signed", -5_i64).unwrap();
    writer.argument("unsigned", 5_u64).unwrap();
    writer.argument("floating", 2.5).unwrap();
    writer.argument("empty", "").unwrap();
    writer.argument("yes", true).unwrap();
    writer.argument("no", false).unwrap();
    writer.finish().to_vec()
}

#[test]
fn every_single_bit_flip_is_refused_or_is_another_canonical_record() {
    let bytes = of_all_types();
    let mut refused = 0;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_sound(&flipped);
        match Record::parse(&flipped, Profile::Strict) {
            // A flip of the record size may cut the record at an argument; otherwise what strict accepts
            // must show the flip, since the encoding is canonical.
            Ok((record, _)) => assert_eq!(encode(&record), record.as_bytes()),
            Err(_) => refused += 1,
        }
    }
    // Headers and padding alone are more than a third of this record.
    assert!(refused > bytes.len() * 8 / 3, "{refused} flips refused");
}

#[test]
fn every_truncation_is_refused_with_the_missing_size() {
    let bytes = of_all_types();
    for length in 0..bytes.len() {
        for profile in [Profile::Strict, Profile::Lenient] {
            let error = Record::parse(&bytes[..length], profile).unwrap_err();
            match length {
                0..8 => assert_eq!(error.rule, Rule::Truncated(length)),
                8..16 => assert_eq!(error.rule, Rule::Truncated(length - 8)),
                _ => assert_eq!(error.rule, Rule::SizeBeyondInput(bytes.len() / 8)),
            }
        }
    }
}

#[test]
fn a_record_cut_with_its_size_set_right_never_panics() {
    let bytes = of_all_types();
    for words in 2..bytes.len() / 8 {
        let mut cut = bytes[..words * 8].to_vec();
        cut[0] = 9 | (words as u8) << 4;
        cut[1] = (words >> 4) as u8;
        assert_sound(&cut);
    }
}

fn value() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        any::<i64>().prop_map(Value::SignedInt),
        any::<u64>().prop_map(Value::UnsignedInt),
        any::<f64>().prop_map(Value::Floating),
        any::<String>().prop_map(|text| Value::Text(Cow::Owned(text))),
        any::<bool>().prop_map(Value::Boolean),
    ]
}

/// More cases when asked for: `LOGDEF_SLOW=1`.
fn cases(quick: u32) -> ProptestConfig {
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if slow { quick * 100 } else { quick })
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn random_records_match_the_slow_encoder_and_come_back(
        timestamp: i64,
        severity: u8,
        arguments in prop::collection::vec((".{1,40}", value()), 0..=15),
    ) {
        let expected = slow_encode(timestamp, severity, &arguments);
        let mut buffer = vec![0xaa; expected.len()];
        let mut writer = RecordWriter::new(&mut buffer, timestamp, Severity(severity)).unwrap();
        for (name, value) in &arguments {
            writer.argument(name, value.clone()).unwrap();
        }
        let bytes = writer.finish();
        prop_assert_eq!(bytes, &expected);
        let (record, rest) = Record::parse(bytes, Profile::Strict).unwrap();
        prop_assert!(rest.is_empty());
        let read: Vec<_> = record.arguments().map(|a| (a.name.to_owned(), a.value)).collect();
        prop_assert_eq!(read, arguments);
        assert_sound(bytes);
    }

    #[test]
    fn random_words_behind_a_good_header_are_judged_without_panic(
        mut words in prop::collection::vec(argument_word(), 2..40),
    ) {
        words[0] = 9 | (words.len() as u64) << 4;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_sound(&bytes);
    }

    #[test]
    fn random_bytes_are_judged_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_sound(&bytes);
    }
}

/// Words that often look like the header of an argument.
fn argument_word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0..11_u64, 0..8_u64, 0..20_u64, 0..20_u64).prop_map(|(kind, words, name, value)| {
            kind | words << 4 | (0x8000 | name) << 16 | (0x8000 | value) << 32
        }),
        Just(u64::from_le_bytes(*b"message\0")),
    ]
}
