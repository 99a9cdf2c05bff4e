//! Structured records byte for byte: each type in both directions, and the verdict of both readers on
//! every malformed case. The bytes are written by hand from the format's text.

use logdef_fuchsia::structured::{
    DecodeError, EncodeError, Field, Profile, Record, RecordWriter, Rule, Severity, Value,
};

/// Bytes from hexadecimal text; a `;` starts a comment.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .lines()
        .map(|line| line.split(';').next().unwrap())
        .flat_map(|line| line.bytes().filter(|byte| !byte.is_ascii_whitespace()))
        .collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn encode(timestamp: i64, severity: Severity, arguments: &[(&str, Value<'_>)]) -> Vec<u8> {
    let mut buffer = [0xaa; 512];
    let mut writer = RecordWriter::new(&mut buffer, timestamp, severity).unwrap();
    for (name, value) in arguments {
        writer.argument(name, value.clone()).unwrap();
    }
    writer.finish().to_vec()
}

#[track_caller]
fn assert_both_directions(
    bytes: &str,
    timestamp: i64,
    severity: Severity,
    arguments: &[(&str, Value<'_>)],
) {
    let bytes = hex(bytes);
    assert_eq!(encode(timestamp, severity, arguments), bytes);
    for profile in [Profile::Strict, Profile::Lenient] {
        let mut padded = bytes.clone();
        padded.extend([1, 2, 3]);
        let (record, rest) = Record::parse(&padded, profile).unwrap();
        assert_eq!(rest, [1, 2, 3]);
        assert_eq!(record.timestamp(), timestamp);
        assert_eq!(record.severity(), severity);
        let read: Vec<_> = record
            .arguments()
            .map(|argument| (argument.name, argument.value))
            .collect();
        assert_eq!(read, arguments);
    }
}

#[test]
fn a_record_without_arguments() {
    assert_both_directions(
        "29 00 00 00 00 00 00 30 ; type 9, 2 words, INFO
         48 00 00 00 00 00 00 00 ; 72 ns",
        72,
        Severity::INFO,
        &[],
    );
}

#[test]
fn a_negative_timestamp_and_an_unnamed_severity() {
    assert_both_directions(
        "29 00 00 00 00 00 00 2e
         ff ff ff ff ff ff ff ff",
        -1,
        Severity(0x2e),
        &[],
    );
}

#[test]
fn a_signed_argument() {
    assert_both_directions(
        "59 00 00 00 00 00 00 20 ; 5 words, DEBUG
         01 00 00 00 00 00 00 00
         33 00 03 80 00 00 00 00 ; signed, 3 words, 3-byte name
         61 72 67 00 00 00 00 00 ; arg
         e9 ff ff ff ff ff ff ff ; -23",
        1,
        Severity::DEBUG,
        &[("arg", Value::SignedInt(-23))],
    );
}

#[test]
fn an_unsigned_argument_whose_name_fills_its_word() {
    assert_both_directions(
        "59 00 00 00 00 00 00 10
         01 00 00 00 00 00 00 00
         34 00 08 80 00 00 00 00
         6c 61 6e 67 75 61 67 65 ; language
         ff ff ff ff ff ff ff ff",
        1,
        Severity::TRACE,
        &[("language", Value::UnsignedInt(u64::MAX))],
    );
}

#[test]
fn a_floating_argument_and_a_name_of_two_words() {
    assert_both_directions(
        "69 00 00 00 00 00 00 60
         01 00 00 00 00 00 00 00
         45 00 09 80 00 00 00 00
         6c 61 6e 67 75 61 67 65 ; languages
         73 00 00 00 00 00 00 00
         00 00 00 00 00 00 00 80 ; -0.0",
        1,
        Severity::FATAL,
        &[("languages", Value::Floating(-0.0))],
    );
}

#[test]
fn a_text_argument() {
    assert_both_directions(
        "59 00 00 00 00 00 00 40
         01 00 00 00 00 00 00 00
         36 00 07 80 04 80 00 00 ; text, 3 words, 7-byte name, 4-byte value
         6d 65 73 73 61 67 65 00 ; message
         68 c3 a9 00 00 00 00 00 ; h, e with acute, NUL that counts",
        1,
        Severity::WARN,
        &[("message", Value::from("h\u{e9}\0"))],
    );
}

#[test]
fn an_empty_text_has_reference_zero_and_no_words() {
    assert_both_directions(
        "49 00 00 00 00 00 00 50
         01 00 00 00 00 00 00 00
         26 00 03 80 00 00 00 00
         74 61 67 00 00 00 00 00",
        1,
        Severity::ERROR,
        &[("tag", Value::from(""))],
    );
}

#[test]
fn booleans_live_in_the_header() {
    assert_both_directions(
        "69 00 00 00 00 00 00 30
         01 00 00 00 00 00 00 00
         29 00 01 80 01 00 00 00 ; true
         79 00 00 00 00 00 00 00
         29 00 01 80 00 00 00 00 ; false
         6e 00 00 00 00 00 00 00",
        1,
        Severity::INFO,
        &[("y", Value::Boolean(true)), ("n", Value::Boolean(false))],
    );
}

#[test]
fn the_bits_of_a_double_travel_unchanged() {
    for bits in [f64::NAN.to_bits() | 0x1234, f64::NEG_INFINITY.to_bits(), 1] {
        let bytes = encode(1, Severity::INFO, &[("f", f64::from_bits(bits).into())]);
        let (record, _) = Record::parse(&bytes, Profile::Strict).unwrap();
        match record.arguments().next().unwrap().value {
            Value::Floating(value) => assert_eq!(value.to_bits(), bits),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_writer_refuses_what_a_strict_reader_would_and_keeps_the_record() {
    let mut buffer = vec![0; 40_000];
    let mut writer = RecordWriter::new(&mut buffer, 1, Severity::INFO).unwrap();
    assert_eq!(writer.argument("", 1_u64), Err(EncodeError::EmptyName));
    let long = "n".repeat(257);
    assert_eq!(
        writer.argument(&long, 1_u64),
        Err(EncodeError::NameTooLong(257))
    );
    let text = "t".repeat(32_768);
    assert_eq!(
        writer.argument("t", text.as_str()),
        Err(EncodeError::TextTooLong(32_768))
    );
    // 16 + 8 + 8 + 32 728 is the longest record; one byte more of text takes a word more.
    assert_eq!(
        writer.argument("t", &text[..32_729]),
        Err(EncodeError::RecordTooLong(4096))
    );
    writer.argument("t", &text[..32_728]).unwrap();
    assert_eq!(
        writer.argument("b", true),
        Err(EncodeError::RecordTooLong(4097))
    );
    let bytes = writer.finish();
    assert_eq!(bytes.len(), 32_760);
    assert_eq!(bytes[..2], [0xf9, 0xff]);
    Record::parse(bytes, Profile::Strict).unwrap();
}

#[test]
fn the_writer_takes_fifteen_arguments_and_names_of_256_bytes() {
    let mut buffer = vec![0; 8192];
    let mut writer = RecordWriter::new(&mut buffer, 1, Severity::INFO).unwrap();
    for _ in 0..15 {
        writer.argument(&"n".repeat(256), true).unwrap();
    }
    assert_eq!(
        writer.argument("n", true),
        Err(EncodeError::TooManyArguments)
    );
    Record::parse(writer.finish(), Profile::Strict).unwrap();
}

#[test]
fn a_buffer_that_is_too_small_is_an_error_and_not_a_short_record() {
    assert_eq!(
        RecordWriter::new(&mut [0; 15], 1, Severity::INFO).unwrap_err(),
        EncodeError::BufferTooSmall(16)
    );
    let mut buffer = [0; 39];
    let mut writer = RecordWriter::new(&mut buffer, 1, Severity::INFO).unwrap();
    assert_eq!(
        writer.argument("a", 1_u64),
        Err(EncodeError::BufferTooSmall(40))
    );
    writer.argument("a", true).unwrap();
    assert_eq!(writer.finish().len(), 32);
}

#[test]
fn an_unfinished_record_is_not_of_type_nine() {
    let mut buffer = hex("29 00 00 00 00 00 00 30 48 00 00 00 00 00 00 00");
    RecordWriter::new(&mut buffer, 1, Severity::INFO).unwrap();
    assert_eq!(buffer[..8], [0; 8]);
}

/// One test per malformed case: the bytes, then what each reader says.
macro_rules! malformed {
    ($($name:ident: $bytes:expr, strict $strict:expr, lenient $lenient:expr;)*) => {
        $(#[test]
        fn $name() {
            let bytes = hex($bytes);
            let verdict = |profile| {
                Record::parse(&bytes, profile).map(|(record, _)| {
                    let arguments = record.arguments();
                    arguments.map(|a| format!("{}={:?}", a.name, a.value)).collect::<Vec<_>>()
                })
            };
            let strict: Result<&[&str], DecodeError> = $strict;
            let lenient: Result<&[&str], DecodeError> = $lenient;
            assert_eq!(verdict(Profile::Strict), strict.map(strings), "strict");
            assert_eq!(verdict(Profile::Lenient), lenient.map(strings), "lenient");
        })*
    };
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn at<T>(field: Field, offset: usize, rule: Rule) -> Result<T, DecodeError> {
    Err(DecodeError {
        field,
        offset,
        rule,
    })
}

malformed! {
    fewer_than_eight_bytes_have_no_header:
        "29 00 00 00 00 00 00",
        strict at(Field::RecordHeader, 0, Rule::Truncated(7)),
        lenient at(Field::RecordHeader, 0, Rule::Truncated(7));

    another_record_type_is_not_a_log_record:
        "28 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00",
        strict at(Field::RecordHeader, 0, Rule::NotALogRecord(8)),
        lenient at(Field::RecordHeader, 0, Rule::NotALogRecord(8));

    fewer_than_sixteen_bytes_have_no_timestamp:
        "29 00 00 00 00 00 00 30  01 00 00 00 00 00 00",
        strict at(Field::Timestamp, 8, Rule::Truncated(7)),
        lenient at(Field::Timestamp, 8, Rule::Truncated(7));

    a_size_of_zero_words_is_too_small:
        "09 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00",
        strict at(Field::RecordHeader, 0, Rule::SizeTooSmall(0)),
        lenient at(Field::RecordHeader, 0, Rule::SizeTooSmall(0));

    a_size_of_one_word_is_too_small:
        "19 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00",
        strict at(Field::RecordHeader, 0, Rule::SizeTooSmall(1)),
        lenient at(Field::RecordHeader, 0, Rule::SizeTooSmall(1));

    a_size_beyond_the_input_is_refused:
        "39 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00  00 00 00 00 00 00 00",
        strict at(Field::RecordHeader, 0, Rule::SizeBeyondInput(3)),
        lenient at(Field::RecordHeader, 0, Rule::SizeBeyondInput(3));

    reserved_bits_of_the_record_are_for_strict_readers:
        "29 00 01 00 00 00 80 30  01 00 00 00 00 00 00 00",
        strict at(Field::RecordHeader, 0, Rule::ReservedBits(0x0080_0000_0001_0000)),
        lenient Ok(&[]);

    an_argument_type_above_nine_does_not_exist:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         2a 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::InvalidType(10)),
        lenient at(Field::ArgumentHeader, 16, Rule::InvalidType(10));

    a_reserved_name_reference_is_refused:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         29 00 01 00 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::ReservedStringReference(1)),
        lenient at(Field::ArgumentHeader, 16, Rule::ReservedStringReference(1));

    a_name_beyond_the_record_is_refused:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         29 00 09 80 00 00 00 00  61 61 61 61 61 61 61 61  61 00 00 00 00 00 00 00",
        strict at(Field::Name, 24, Rule::TextBeyondRecord(9)),
        lenient at(Field::Name, 24, Rule::TextBeyondRecord(9));

    a_name_that_is_not_utf8_is_refused:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         29 00 02 80 00 00 00 00  c3 28 00 00 00 00 00 00",
        strict at(Field::Name, 24, Rule::NotUtf8),
        lenient at(Field::Name, 24, Rule::NotUtf8);

    a_null_argument_reads_as_unsigned_one_in_compat:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         20 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::UnsupportedType(0)),
        lenient Ok(&["a=UnsignedInt(1)"]);

    a_32_bit_signed_argument_is_not_of_logs:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         21 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::UnsupportedType(1)),
        lenient at(Field::ArgumentHeader, 16, Rule::UnsupportedType(1));

    a_32_bit_unsigned_argument_is_not_of_logs:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         22 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::UnsupportedType(2)),
        lenient at(Field::ArgumentHeader, 16, Rule::UnsupportedType(2));

    a_pointer_argument_is_not_of_logs:
        "59 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         37 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::UnsupportedType(7)),
        lenient at(Field::ArgumentHeader, 16, Rule::UnsupportedType(7));

    a_koid_argument_is_not_of_logs:
        "59 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         38 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::UnsupportedType(8)),
        lenient at(Field::ArgumentHeader, 16, Rule::UnsupportedType(8));

    a_signed_argument_without_a_value_is_cut:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         33 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::Value, 32, Rule::Truncated(0)),
        lenient at(Field::Value, 32, Rule::Truncated(0));

    an_unsigned_argument_without_a_value_is_cut:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         34 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::Value, 32, Rule::Truncated(0)),
        lenient at(Field::Value, 32, Rule::Truncated(0));

    a_floating_argument_without_a_value_is_cut:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         35 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::Value, 32, Rule::Truncated(0)),
        lenient at(Field::Value, 32, Rule::Truncated(0));

    a_reserved_value_reference_is_refused:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         26 00 01 80 ff 7f 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::ReservedStringReference(0x7fff)),
        lenient at(Field::ArgumentHeader, 16, Rule::ReservedStringReference(0x7fff));

    a_value_beyond_the_record_is_refused:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         26 00 01 80 01 80 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::Value, 32, Rule::TextBeyondRecord(1)),
        lenient at(Field::Value, 32, Rule::TextBeyondRecord(1));

    a_value_that_is_not_utf8_is_refused:
        "59 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         36 00 01 80 02 80 00 00  61 00 00 00 00 00 00 00  c3 28 00 00 00 00 00 00",
        strict at(Field::Value, 32, Rule::NotUtf8),
        lenient at(Field::Value, 32, Rule::NotUtf8);

    the_first_message_may_be_damaged_text_in_compat:
        "59 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         36 00 07 80 02 80 00 00  6d 65 73 73 61 67 65 00  c3 28 00 00 00 00 00 00",
        strict at(Field::Value, 32, Rule::NotUtf8),
        lenient Ok(&["message=Text(\"\u{fffd}(\")"]);

    the_second_message_may_not_whatever_the_first_was:
        "79 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         29 00 07 80 00 00 00 00  6d 65 73 73 61 67 65 00
         36 00 07 80 02 80 00 00  6d 65 73 73 61 67 65 00  c3 28 00 00 00 00 00 00",
        strict at(Field::Value, 48, Rule::NotUtf8),
        lenient at(Field::Value, 48, Rule::NotUtf8);

    an_empty_text_in_line_is_for_compat_readers:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         26 00 01 80 00 80 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::InlineEmptyText),
        lenient Ok(&["a=Text(\"\")"]);

    an_empty_name_is_for_compat_readers:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         24 00 00 00 00 00 00 00  07 00 00 00 00 00 00 00",
        strict at(Field::Name, 24, Rule::EmptyName),
        lenient Ok(&["=UnsignedInt(7)"]);

    a_lying_argument_size_is_for_compat_readers:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         f9 ff 01 80 00 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::WrongArgumentSize { stated: 4095, actual: 2 }),
        lenient Ok(&["a=Boolean(false)"]);

    unused_bits_of_a_number_are_for_compat_readers:
        "59 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         34 00 01 80 00 00 00 01  61 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::ReservedBits(0x0100_0000_0000_0000)),
        lenient Ok(&["a=UnsignedInt(2)"]);

    unused_bits_of_a_text_are_for_compat_readers:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         26 00 01 80 00 00 01 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::ReservedBits(0x0001_0000_0000_0000)),
        lenient Ok(&["a=Text(\"\")"]);

    unused_bits_of_a_boolean_are_for_compat_readers:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         29 00 01 80 02 00 00 00  61 00 00 00 00 00 00 00",
        strict at(Field::ArgumentHeader, 16, Rule::ReservedBits(0x0000_0002_0000_0000)),
        lenient Ok(&["a=Boolean(false)"]);

    padding_of_a_name_is_for_compat_readers:
        "49 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         29 00 01 80 01 00 00 00  61 00 00 00 00 00 00 01",
        strict at(Field::Name, 24, Rule::Padding),
        lenient Ok(&["a=Boolean(true)"]);

    padding_of_a_value_is_for_compat_readers:
        "59 00 00 00 00 00 00 30  01 00 00 00 00 00 00 00
         36 00 01 80 01 80 00 00  61 00 00 00 00 00 00 00  62 01 00 00 00 00 00 00",
        strict at(Field::Value, 32, Rule::Padding),
        lenient Ok(&["a=Text(\"b\")"]);
}

#[test]
fn a_name_of_257_bytes_is_for_compat_readers() {
    let mut bytes = hex("49 02 00 00 00 00 00 30 ; 36 words: 2 + 1 + 33
         01 00 00 00 00 00 00 00
         29 02 01 81 00 00 00 00 ; 34 words, a name of 257 bytes");
    bytes.extend([b'n'; 257]);
    bytes.extend([0; 7]);
    let strict = Record::parse(&bytes, Profile::Strict).map(|_| ());
    assert_eq!(strict, at(Field::Name, 24, Rule::NameTooLong(257)));
    let (record, _) = Record::parse(&bytes, Profile::Lenient).unwrap();
    assert_eq!(record.arguments().next().unwrap().name.len(), 257);
}

#[test]
fn a_sixteenth_argument_is_for_compat_readers() {
    let mut bytes = hex("29 02 00 00 00 00 00 30  01 00 00 00 00 00 00 00"); // 34 words
    for _ in 0..16 {
        bytes.extend(hex("29 00 01 80 00 00 00 00  61 00 00 00 00 00 00 00"));
    }
    let strict = Record::parse(&bytes, Profile::Strict).map(|_| ());
    assert_eq!(
        strict,
        at(Field::ArgumentHeader, 256, Rule::TooManyArguments)
    );
    let (record, _) = Record::parse(&bytes, Profile::Lenient).unwrap();
    assert_eq!(record.arguments().count(), 16);
}

#[test]
fn repeated_names_are_legal() {
    let arguments = [
        ("tag", "a".into()),
        ("tag", "b".into()),
        ("tag", 3_u64.into()),
    ];
    let bytes = encode(1, Severity::INFO, &arguments);
    let (record, _) = Record::parse(&bytes, Profile::Strict).unwrap();
    assert_eq!(record.arguments().count(), 3);
}
