//! No frame has a frame header inside, whatever is logged: not in a string, a
//! number, nor where one ends and the next begins. What had to be masked comes back
//! as it was. `LOGDEF_SLOW=1` tries many more random calls.

use logdef::logdef;
use logdef_wire::{Record, Value, frame};

/// The header's pattern, looked for byte by byte.
fn headers(bytes: &[u8]) -> usize {
    let mut found = 0;
    for at in 0..bytes.len() {
        let Some(window) = bytes.get(at..at + 8) else {
            break;
        };
        let raw = window[7] >> 5 == 0b101 || window[7] == 0xda || window[7] == 0xdb;
        found += usize::from(window[..2] == [0xc1, 0xce] && window[6] == 0xc1 && raw);
    }
    found
}

/// An argument, as logged.
#[derive(Clone, Debug, PartialEq)]
enum Arg {
    Int(u64),
    Float(u64),
    Text(Vec<u8>),
}

impl Arg {
    fn of(value: Value<'_>) -> Arg {
        match value {
            Value::Uint(value) => Arg::Int(value),
            Value::Int(value) => Arg::Int(value as u64),
            Value::Float(value) => Arg::Float(value.to_bits()),
            Value::Raw(bytes) => Arg::Text(bytes.to_vec()),
            other => panic!("{other:?}"),
        }
    }
}

/// Checks each frame of a log, and gives the arguments of its data records and how
/// many of them were masked.
fn read(log: &[u8]) -> (Vec<Vec<Arg>>, usize) {
    let (mut calls, mut masked) = (Vec::new(), 0);
    let mut rest = log;
    while !rest.is_empty() {
        let frame = frame::decode(rest).unwrap();
        // The frame's own header and no other. Over the end of a frame, a checksum
        // may by chance complete one, which is why readers go from frame to frame.
        assert_eq!(headers(&rest[..frame.len]), 1, "{:x?}", &rest[..frame.len]);
        rest = &rest[frame.len..];
        let mut room = vec![0; frame.body.len()];
        let mut body = frame.body;
        if let Record::Masked(record) = Record::decode(body).unwrap() {
            body = record.unmask(&mut room).unwrap();
            assert!(headers(body) > 0, "masked for nothing: {body:x?}");
            masked += 1;
        }
        if let Record::Data(data) = Record::decode(body).unwrap() {
            calls.push(data.args.unwrap().iter().map(Arg::of).collect());
        }
    }
    (calls, masked)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A byte that headers are made of, most often.
    fn byte(&mut self) -> u8 {
        const BYTES: [u8; 10] = [0xc1, 0xc1, 0xc1, 0xce, 0xce, 0xa0, 0xbf, 0xda, 0xdb, 0x00];
        match self.below(16) {
            0 => self.next() as u8,
            _ => BYTES[self.below(10) as usize],
        }
    }

    fn word(&mut self) -> u64 {
        u64::from_be_bytes([(); 8].map(|()| self.byte()))
    }

    fn text(&mut self) -> Vec<u8> {
        let len = match self.below(8) {
            0 => self.below(400),
            _ => self.below(40),
        };
        (0..len).map(|_| self.byte()).collect()
    }
}

#[test]
fn no_frame_has_a_header_inside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let options = logdef::options().sink(logdef::Sink::Append);
    options.open(&path).unwrap();
    let slow = std::env::var_os("LOGDEF_SLOW").is_some_and(|value| value == "1");
    let mut calls: Vec<Vec<Arg>> = Vec::new();
    let mut log = |before: &[u8], int: u64, double: u64, after: &[u8]| {
        let float = f64::from_bits(double);
        logdef!(Info, "%s%lu%s%f%s", before, int, after, float, before);
        let text = |bytes: &[u8]| Arg::Text(bytes.to_vec());
        calls.push(vec![
            text(before),
            Arg::Int(int),
            text(after),
            Arg::Float(double),
            text(before),
        ]);
    };

    // The pattern, and what is one byte off it, at every offset of strings of every
    // length of the head.
    let patterns: Vec<[u8; 8]> = [0x9f, 0xa0, 0xbf, 0xc0, 0xd9, 0xda, 0xdb, 0xdc]
        .map(|raw| [0xc1, 0xce, 1, 2, 3, 4, 0xc1, raw])
        .into_iter()
        .chain([
            [0xc1, 0xce, 0xc1, 0xce, 0xc1, 0xce, 0xc1, 0xa5],
            [0xc1, 0xcd, 1, 2, 3, 4, 0xc1, 0xa5],
            [0xc1, 0xce, 1, 2, 3, 4, 0xc2, 0xa5],
        ])
        .collect();
    for pattern in &patterns {
        for len in [8, 9, 23, 31, 32, 33, 64, 300] {
            for offset in 0..=(len - 8).min(40) {
                let mut text = vec![b'.'; len];
                text[offset..offset + 8].copy_from_slice(pattern);
                log(&text, 0, 0, b"");
                let end = len - 8 - offset;
                text.fill(0xc1);
                text[end..end + 8].copy_from_slice(pattern);
                log(b"", 7, 0, &text);
            }
        }
        // In an integer, in a double, in both.
        let word = u64::from_be_bytes(*pattern);
        log(b"", word, 0, b"");
        log(b"", 0, word, b"");
        log(b"", word, word, b"");
        // Over every seam: begun by a string or a number, ended by its neighbour. The
        // neighbour's own head may stand for bytes of the pattern that are free.
        for cut in 1..8 {
            let (front, back) = pattern.split_at(cut);
            for taken in 0..=back.len().min(3) {
                let back = &back[taken..];
                let ends_in_front = u64::MAX << (8 * cut) | word >> (8 * (8 - cut));
                log(front, 0x0102_0304_c1a5, 0, back);
                log(front, word << (8 * cut), word << (8 * cut), back);
                log(b"", ends_in_front, 0, back);
                log(back, 0, ends_in_front, b"");
            }
        }
    }
    let exhaustive = read(&std::fs::read(&path).unwrap());
    assert!(exhaustive.1 > 1000, "{} were masked", exhaustive.1);

    let mut random = Random(5);
    for _ in 0..if slow { 1_000_000 } else { 20_000 } {
        let (before, after) = (random.text(), random.text());
        let (int, double) = (random.word() >> (8 * random.below(8)), random.word());
        log(&before, int, double, &after);
    }
    let (logged, masked) = read(&std::fs::read(&path).unwrap());
    assert_eq!(logged.len(), calls.len());
    for (logged, call) in logged.iter().zip(&calls) {
        assert_eq!(logged, call);
    }
    println!("{} calls, {masked} masked", calls.len());
    assert!(masked > exhaustive.1);
}
