//! Random formats.

use super::args::Args;
use super::long_doubles::x87;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A number of any size.
    fn word(&mut self) -> u64 {
        let word = self.next();
        word >> self.below(64)
    }

    fn double(&mut self) -> f64 {
        match self.below(5) {
            0 => f64::from_bits(self.next()),
            1 => self.word() as f64 / self.of(&[1.0, 2.0, 8.0, 10.0, 1000.0, 1e6]),
            2 => -(self.word() as f64) / 64.0,
            3 => format!("{}.{}", self.below(1000), self.below(100_000))
                .parse()
                .unwrap(),
            _ => f64::from_bits(self.next() >> 1 & !0 << self.below(52)),
        }
    }
}

const TEXTS: [&[u8]; 6] = [
    b"\0",
    b"x\0",
    b"hello\0",
    b"\xff\xc3\0",
    b"a longer text\0",
    b"%s\0",
];

/// A format that is being made up, and how it names its arguments.
struct RandomFormat {
    text: String,
    positional: bool,
    passed: usize,
}

impl RandomFormat {
    /// The number of the next argument to be passed, if this format has numbers.
    fn next_number(&mut self) -> String {
        self.passed += 1;
        if self.positional {
            format!("{}$", self.passed)
        } else {
            String::new()
        }
    }
}

/// Appends a random directive and its argument.
fn random_directive<'a>(
    random: &mut Random,
    format: &mut RandomFormat,
    mut args: Args<'a>,
    long: &'a [u8; 10],
    errno: i32,
) -> Args<'a> {
    let mut flags = String::new();
    while random.one_in(3) {
        flags.push(random.of(&['-', '+', ' ', '#', '0', '0', '\'', 'I']));
    }
    match random.below(6) {
        0 => flags.push_str(&random.below(40).to_string()),
        1 => {
            flags.push_str(&format!("*{}", format.next_number()));
            let width = random.below(60) as i64 - 30;
            if width < 0 {
                flags.retain(|flag| flag != '0');
            }
            args = args.int(width);
        }
        _ => {}
    }
    match random.below(6) {
        0 => {
            let most = random.of(&[3, 20, 50]);
            flags.push_str(&format!(".{}", random.below(most)));
        }
        1 => {
            flags.push_str(&format!(".*{}", format.next_number()));
            args = args.int(random.below(40) as i64 - 5);
        }
        2 => flags.push('.'),
        _ => {}
    }
    let mut conversion = String::new();
    match random.below(10) {
        0..4 => {
            let length = random.of(&["", "", "hh", "h", "l", "ll", "j", "z", "t"]);
            conversion.push_str(length);
            conversion.push(random.of(&['d', 'i', 'u', 'x', 'X', 'o', 'b', 'B']));
            let word = random.word() as i64 * random.of(&[1, 1, -1]);
            args = match length {
                "" | "hh" | "h" => args.int((word as i32).into()),
                _ => args.int(word),
            };
        }
        4..7 => {
            conversion.push(random.of(&['f', 'e', 'g', 'a', 'F', 'E', 'G', 'A']));
            args = args.double(random.double());
        }
        7 => {
            conversion.push('L');
            conversion.push(random.of(&['f', 'e', 'g', 'a', 'F', 'E', 'G', 'A']));
            args = args.long_double(long);
        }
        8 => {
            conversion.push('s');
            args = args.string(if random.one_in(9) {
                None
            } else {
                Some(random.of(&TEXTS))
            });
        }
        _ => match random.below(5) {
            0 => {
                conversion.push('c');
                args = args.int(random.below(256) as i64);
            }
            1 => {
                conversion.push('p');
                args = args.uint(random.word());
            }
            2 if !format.positional => {
                format.text.push_str(&format!("%{flags}m"));
                return args.errno(errno);
            }
            2 | 3 => {
                format.text.push_str(&format!("%{flags}%"));
                return args;
            }
            _ => {
                let letter = random.of(&['y', 'k', '!', '&', 'r', 'T', '_']);
                format.text.push_str(&format!("%{flags}{letter}"));
                return args;
            }
        },
    }
    let number = format.next_number();
    format
        .text
        .push_str(&format!("%{number}{flags}{conversion}"));
    args
}

#[test]
fn random_formats_with_random_arguments() {
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    let count = if slow { 1_000_000 } else { 100_000 };
    let mut random = Random(20_240_229);
    for _ in 0..count {
        let mut long = x87(random.next() | 1 << 63, random.next() as u16);
        if long[8..] == [0, 0] || !random.one_in(8) {
            // Mostly numbers near 1, whose text is short.
            long[8..].copy_from_slice(&(16383 - 40 + random.below(90) as u16).to_le_bytes());
        }
        let errno = random.below(140) as i32;
        let mut format = RandomFormat {
            text: String::new(),
            positional: random.one_in(4),
            passed: 0,
        };
        let mut args = Args::default();
        for _ in 0..=random.below(3) {
            let text = random.of(&["", " ", "x=", "; ", "%%", "\u{e9}"]);
            format.text.push_str(text);
            args = random_directive(&mut random, &mut format, args, &long, errno);
        }
        if format.passed > 0 && format.positional && random.one_in(3) {
            format.text.push_str("%m");
            args = args.errno(errno);
        }
        let format = format.text.as_bytes();
        assert!(
            args.compare_with(format, format, errno),
            "{}",
            format.escape_ascii()
        );
    }
}
