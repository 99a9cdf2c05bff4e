//! Decimal digits, up to sixteen bytes of text at a time in a register. Most of a
//! record's text is made here.

/// A piece of text that fits a register.
///
/// Its functions are inlined wherever they are called: a word handed over in memory
/// costs more than it takes to make one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    /// The text, its first byte lowest.
    pub bytes: u128,
    /// How many bytes of it count.
    pub length: usize,
}

impl Word {
    /// How many bytes a word has room for.
    pub const SIZE: usize = 16;

    /// Text of at most [`Word::SIZE`] bytes.
    #[inline(always)]
    pub fn of(text: &[u8]) -> Self {
        debug_assert!(text.len() <= Self::SIZE);
        let length = text.len();
        // Two words that overlap in the middle have the same bytes there.
        let bytes = if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            first as u128 | (last as u128) << (8 * (length - 8))
        } else if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            first as u128 | (last as u128) << (8 * (length - 4))
        } else {
            text.iter()
                .rev()
                .fold(0, |bytes, byte| bytes << 8 | *byte as u128)
        };
        Self { bytes, length }
    }

    /// A number in decimal; none if it has more than 15 digits.
    #[inline(always)]
    pub fn decimal(value: u64) -> Option<Self> {
        if value < BLOCK {
            return Some(Self::short(value as u32));
        }
        if value >= 1_000_000_000_000_000 {
            return None;
        }
        let digits = eight_digits((value % BLOCK) as u32);
        Some(Self::short((value / BLOCK) as u32).then(digits, 8))
    }

    /// A number below zero in decimal; none if it has more than 15 digits.
    #[inline(always)]
    pub fn negative(value: i64) -> Option<Self> {
        debug_assert!(value < 0);
        Some(Self::decimal(value.unsigned_abs())?.signed(true))
    }

    /// A number with six digits after the point; none if it has more than 8 before.
    #[inline(always)]
    pub fn fixed(whole: u64, millionths: u32) -> Option<Self> {
        let (upper, lower) = (millionths / 10_000, millionths % 10_000);
        let digits = pair(upper) | pair(lower / 100) << 16 | pair(lower % 100) << 32;
        (whole < BLOCK).then(|| Self::short(whole as u32).then(digits << 8 | b'.' as u64, 7))
    }

    /// The same after a minus sign, if it is to have one. A word of 16 bytes must not.
    #[inline(always)]
    pub fn signed(self, negative: bool) -> Self {
        if negative {
            Self {
                bytes: self.bytes << 8 | b'-' as u128,
                length: self.length + 1,
            }
        } else {
            self
        }
    }

    #[inline(always)]
    fn short(value: u32) -> Self {
        if value < 100 {
            let is_long = value >= 10;
            return Self {
                bytes: (pair(value) >> if is_long { 0 } else { 8 }) as u128,
                length: 1 + is_long as usize,
            };
        }
        let digits = eight_digits(value);
        let zeros = (digits ^ ZEROS).trailing_zeros() / 8;
        Self {
            bytes: (digits >> (8 * zeros)) as u128,
            length: 8 - zeros as usize,
        }
    }

    #[inline(always)]
    fn then(self, bytes: u64, length: usize) -> Self {
        Self {
            bytes: self.bytes | (bytes as u128) << (8 * self.length),
            length: self.length + length,
        }
    }
}

/// Appends a number in decimal, of any size.
pub(super) fn push_wide(out: &mut Vec<u8>, value: u128) {
    match u64::try_from(value) {
        Ok(value) => push_decimal(out, value),
        Err(_) => out.extend_from_slice(value.to_string().as_bytes()),
    }
}

/// Appends `value` in decimal.
pub(super) fn push_decimal(out: &mut Vec<u8>, value: u64) {
    match Word::decimal(value) {
        Some(word) => push(out, word.bytes.to_le_bytes(), word.length),
        None => {
            push_decimal(out, value / BLOCK);
            push(out, eight_digits((value % BLOCK) as u32).to_le_bytes(), 8);
        }
    }
}

/// Appends `value` in decimal, with zeros before it to `digits` digits. More it
/// must not have.
pub(super) fn push_decimal_of(out: &mut Vec<u8>, value: u64, digits: usize) {
    if digits > 8 {
        push_decimal_of(out, value / BLOCK, digits - 8);
    }
    let count = digits.min(8);
    let text = eight_digits((value % BLOCK) as u32) >> (8 * (8 - count) as u32);
    push(out, text.to_le_bytes(), count);
}

/// Appends the first `count` bytes of a block: one store where a slice of any
/// length would be a call of `memcpy`.
fn push<const N: usize>(out: &mut Vec<u8>, block: [u8; N], count: usize) {
    let end = out.len() + count;
    out.extend_from_slice(&block);
    out.truncate(end);
}

/// What a number of eight digits is less than.
const BLOCK: u64 = 100_000_000;

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// The eight digits of a number below 10^8, the first one in the lowest byte.
#[inline(always)]
fn eight_digits(value: u32) -> u64 {
    let (upper, lower) = (value / 10_000, value % 10_000);
    let upper = pair(upper / 100) | pair(upper % 100) << 16;
    let lower = pair(lower / 100) | pair(lower % 100) << 16;
    upper | lower << 32
}

/// The two digits of a number below 100, the first one in the lower byte.
#[inline(always)]
fn pair(value: u32) -> u64 {
    // The table is longer than it has to be, so that no index needs a check.
    PAIRS[value as usize & 127] as u64
}

const PAIRS: [u16; 128] = {
    let mut pairs = [0; 128];
    let mut n = 0;
    while n < 100 {
        pairs[n] = u16::from_le_bytes([b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]);
        n += 1;
    }
    pairs
};

/// The whole part of `twos` · log₁₀ 2, rounded down; at worst one less.
pub(super) fn floor_of_log10_of_power_of_2(twos: i32) -> i32 {
    // log₁₀ 2 = 0.301029995663981…, taken a little nearer to minus infinity.
    let log = if twos < 0 {
        3_010_299_957
    } else {
        3_010_299_956
    };
    (twos as i64 * log).div_euclid(10_000_000_000) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_those_of_every_number() {
        let step = match std::env::var_os("LOGDEF_SLOW") {
            Some(_) => 1,
            None => 97,
        };
        for n in (0..100_000_000u32).step_by(step) {
            let digits = eight_digits(n).to_le_bytes();
            let value = digits
                .iter()
                .fold(0, |value, digit| value * 10 + (digit - b'0') as u32);
            assert_eq!(value, n);
        }
    }

    #[test]
    fn decimals_equal_those_of_the_standard_library() {
        let mut value = 1u64;
        for _ in 0..2000 {
            for v in [value, value - 1, value >> (value % 64)] {
                let mut out = Vec::new();
                push_decimal(&mut out, v);
                assert_eq!(out, v.to_string().as_bytes());
                out.clear();
                push_decimal_of(&mut out, v, 20);
                assert_eq!(out, format!("{v:020}").as_bytes());
            }
            value = value.wrapping_mul(6364136223846793005).wrapping_add(1);
        }
    }
}
