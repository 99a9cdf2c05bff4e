//! What is said about whole traces: dump, stat and check, as text and as JSON lines.

use crate::common::trace;
use logdef_fuchsia::fxt::{Checked, Format, Reader, check, count, dump, stat};

fn text(report: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    report(&mut out);
    String::from_utf8(out).unwrap()
}

fn dumped(bytes: &[u8], format: Format) -> String {
    text(|out| {
        dump(Reader::new(bytes), out, format).unwrap();
    })
}

fn checked(bytes: &[u8]) -> (Vec<String>, Checked) {
    let mut checked = None;
    let lines = text(|out| checked = check(Reader::new(bytes), out, Format::Text).ok());
    let lines = lines.lines().map(str::to_owned).collect();
    (lines, checked.unwrap())
}

#[test]
fn a_dump_has_a_line_for_each_record() {
    let (bytes, starts) = trace();
    let dump = dumped(&bytes, Format::Text);
    assert_eq!(dump.lines().count(), starts.len() - 1);
    for line in [
        "         0  0  magic",
        "         8  1  provider info id=1 name=\"first provider\"",
        "       176  1  counter time=1700000000.001000003 process=4660 thread=22136 \
         category=\"category\" name=\"a name\" id=77 {\"key\": -5}",
        "      1168  1  unknown record_type=11 header=0x3b \
         body=16:7369787465656e206279746573206f66  # unknown record type: type 11",
        "      1896  1  backtrace time=1700000000.028000084 process=4660 thread=22137 \
         thread_name=\"spelled out\" frames=[0x7f0000001000 0x7f0000002010]",
        "      2024  1  log time=1700000000.030000090 process=4660 thread=22137 \
         thread_name=\"spelled out\" message=\"the last\"",
    ] {
        assert!(dump.lines().any(|l| l == line), "{line}\n{dump}");
    }
}

#[test]
fn a_dump_as_json_is_an_object_on_each_line() {
    let (bytes, starts) = trace();
    let dump = dumped(&bytes, Format::Json);
    let lines: Vec<serde_json::Value> = dump
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), starts.len() - 1);
    for (line, pair) in lines.iter().zip(starts.windows(2)) {
        assert_eq!(line["offset"], pair[0]);
        assert_eq!(line["size"], pair[1] - pair[0]);
    }
    let counter = lines.iter().find(|line| line["type"] == "counter").unwrap();
    assert_eq!(
        *counter,
        serde_json::json!({
            "offset": 176, "size": 48, "type": "counter", "provider": 1,
            "time_ns": 1_700_000_000_001_000_003_u64, "ticks": 1_700_000_000_001_000_003_u64,
            "process": 0x1234, "thread": 0x5678,
            "category": "category", "name": "a name", "id": 77,
            "args": [{"name": "key", "type": "i32", "value": -5}],
        })
    );
    let blob = lines.iter().find(|line| line["type"] == "blob").unwrap();
    assert_eq!(blob["blob_type"], "perfetto");
    assert_eq!(blob["data"].as_str().unwrap().len(), 2 * 41);
}

#[test]
fn gaps_and_warnings_appear_in_every_form() {
    let (bytes, starts) = trace();
    let torn = &bytes[..starts[20] + 9];
    let text = dumped(torn, Format::Text);
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        format!(
            "{:>10}  gap of 9 bytes: the input ends {} bytes before the record does",
            starts[20],
            starts[21] - starts[20] - 9
        )
    );
    let json = dumped(torn, Format::Json);
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "gap");
    assert_eq!(last["offset"], starts[20]);
    let (lines, checked) = checked(torn);
    assert!(lines[lines.len() - 1].starts_with("gap: 9 bytes at"));
    assert!(!checked.is_clean());
}

#[test]
fn text_from_a_trace_cannot_reach_the_terminal_unescaped() {
    use logdef_fuchsia::fxt::{Thread, Writer};
    let mut trace = Writer::new(Vec::new()).unwrap();
    let evil = "\x1b[2J\nnext \"line\" \u{202e}";
    trace.log(0, Thread::new(1, 1), evil).unwrap();
    let bytes = trace.finish().unwrap();
    let dump = dumped(&bytes, Format::Text);
    let line = dump.lines().last().unwrap();
    assert!(
        line.ends_with(r#"message="\u{1b}[2J\nnext \"line\" \u{202e}""#),
        "{line}"
    );
}

#[test]
fn counts_add_up() {
    let (bytes, starts) = trace();
    let stat_of = count(Reader::new(&bytes[..])).unwrap();
    assert_eq!(stat_of.bytes, bytes.len() as u64);
    assert_eq!(stat_of.records, starts.len() as u64 - 1);
    assert_eq!(stat_of.kinds.total(), stat_of.records);
    assert_eq!(stat_of.kinds.count("log"), 3);
    assert_eq!(stat_of.providers, 2);
    assert_eq!(stat_of.warnings.total(), 4);
    assert_eq!(stat_of.gaps.total(), 0);
    // A dump counts the same.
    assert_eq!(
        dump(Reader::new(&bytes[..]), std::io::sink(), Format::Text).unwrap(),
        stat_of
    );
    let text = text(|out| {
        stat(Reader::new(&bytes[..]), out, Format::Text).unwrap();
    });
    assert!(text.contains("        2048  bytes\n"), "{text}");
    assert!(text.contains("           3    log\n"), "{text}");
    let torn = count(Reader::new(&bytes[..bytes.len() - 1])).unwrap();
    assert_eq!(torn.bytes, bytes.len() as u64 - 1);
    assert_eq!(torn.gaps.count("truncated tail"), 1);
    assert_eq!(torn.gap_bytes, 23);
}

#[test]
fn a_clean_trace_passes_the_strict_check_with_notes_only() {
    let (bytes, _) = trace();
    let (lines, checked) = checked(&bytes);
    assert!(checked.is_clean());
    assert_eq!(
        lines,
        [
            "note: record at 768: unknown event type: 12",
            "note: record at 848: unknown argument type: 13",
            "note: record at 1104: provider buffer full, records may be missing: provider 1",
            "note: record at 1168: unknown record type: type 11",
        ]
    );
}

#[test]
fn every_reserved_bit_and_padding_byte_is_reported_by_place() {
    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
    let magic = 0x0016_5478_4604_0010;
    for (word, bits, place) in [
        // Header, reserved bits, what the check says of them.
        (
            0x0000_0000_0001_0033_u64,
            0xffff_ffff_ff00_0000,
            "[24 .. 63]",
        ), // thread
        (
            0x0000_0001_0001_0022,
            0xffff_8000_8000_0000,
            "[31] [47 .. 63]",
        ), // string
        (0x0000_0000_0000_0021, 0xffff_ffff_ffff_0000, "[16 .. 63]"), // initialization
        (0x0000_0000_0012_0010, 0xfff0_0000_0000_0000, "[52 .. 63]"), // provider section
        (0x0000_0000_0013_0010, 0xff00_0000_0000_0000, "[56 .. 63]"), // provider event
        (0x0010_0000_0011_0020, 0xf000_0000_0000_0000, "[60 .. 63]"), // provider info
        (
            0x0000_0001_0000_0025,
            0xff00_8000_0000_0000,
            "[47] [56 .. 63]",
        ), // blob
        (0x0000_0000_0001_0027, 0xffff_f000_0000_0000, "[44 .. 63]"), // kernel object
        (0x0000_0000_0001_0026, 0xffff_f000_0000_0000, "[44 .. 63]"), // userspace object
        (0x1000_0000_0000_0048, 0x0fff_ff00_0000_0000, "[40 .. 59]"), // context switch
        (0x2000_0000_0000_0038, 0x0fff_fff0_0000_0000, "[36 .. 59]"), // thread wakeup
        (
            0x0000_0001_0001_0039,
            0xffff_ff00_8000_0000,
            "[31] [40 .. 63]",
        ), // log
        (0x0000_0000_0010_002a, 0xf000_0000_0000_0000, "[60 .. 63]"), // module
        (0x0000_0000_0011_005a, 0xffff_8000_0000_0000, "[47 .. 63]"), // mapping
        (0x0000_0000_0012_002a, 0xffff_fff0_0000_0000, "[36 .. 63]"), // backtrace
        (0x0000_0100_0000_003f, 0xffff_f000_0000_0000, "[44 .. 63]"), // large blob
    ] {
        let size = (word >> 4 & 0xfff) as usize;
        let mut bytes = words(&[magic, word]);
        bytes.resize(8 + size * 8, 0);
        // A name, text or number of one byte where there is one; a tick rate.
        if size == 2 || size == 3 && word & 15 == 9 {
            let at = bytes.len() - 8;
            bytes[at] = b'x';
        }
        let violations = |bytes: &[u8]| {
            let lines = checked(bytes).0;
            lines
                .into_iter()
                .filter(|line| line.contains("not zero"))
                .collect::<Vec<_>>()
        };
        assert_eq!(violations(&bytes), [""; 0], "{word:#x}");
        let set = (word | bits).to_le_bytes();
        bytes[8..16].copy_from_slice(&set);
        assert_eq!(
            violations(&bytes),
            [format!(
                "violation: word at 8: reserved bits or padding not zero: {place}"
            )],
            "{word:#x}"
        );
    }
    // Padding after a string of one byte; and the bits of a Boolean.
    let bytes = words(&[
        magic,
        0x0000_0001_0001_0022,
        0x0100_0000_0000_0078,
        0x0000_0000_0110_0044,
        5,
        0xffff_ffff_0001_0019,
        0,
    ]);
    let (lines, checked) = checked(&bytes);
    assert_eq!(checked.not_zero, 2);
    assert!(
        lines[0].ends_with("word at 16: reserved bits or padding not zero: [56]"),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.ends_with("word at 40: reserved bits or padding not zero: [33 .. 63]")),
        "{lines:?}"
    );
}
