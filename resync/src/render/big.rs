//! Whole numbers of any size, and just enough arithmetic to write a binary
//! floating point number in decimal exactly. The largest that occur have some 30
//! thousand bits.

use std::cmp::Ordering;

use super::decimal::{push_decimal, push_decimal_of};

/// Limbs of 64 bits, least first, the last one not 0.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Big(Vec<u64>);

impl Big {
    /// `mantissa` · 2^`twos` · 10^`tens`, rounded to a whole number, halves to the
    /// even one.
    pub fn scaled(mantissa: u128, twos: i32, tens: i32) -> Self {
        let twos = twos + tens;
        let mut numerator = Self::from(mantissa);
        let mut denominator = Self::from(1);
        if tens >= 0 {
            numerator.multiply_by_power_of_5(tens.unsigned_abs())
        } else {
            denominator.multiply_by_power_of_5(tens.unsigned_abs())
        }
        if twos >= 0 {
            numerator.shift_left(twos.unsigned_abs())
        } else {
            denominator.shift_left(twos.unsigned_abs())
        }
        let (mut quotient, mut rest) = numerator.divided_by(&denominator);
        rest.shift_left(1);
        match rest.cmp(&denominator) {
            Ordering::Greater => quotient.increment(),
            Ordering::Equal if quotient.is_odd() => quotient.increment(),
            _ => {}
        }
        quotient
    }

    /// Appends the number in decimal, at least one digit.
    pub fn push_decimal(mut self, out: &mut Vec<u8>) {
        const CHUNK: u64 = 10u64.pow(19);
        let mut chunks = Vec::new();
        while self.0.len() > 1 {
            chunks.push(self.divide_by_limb(CHUNK));
        }
        // One limb may still hold twenty digits, which is as good as nineteen.
        push_decimal(out, self.0.first().copied().unwrap_or(0));
        for chunk in chunks.into_iter().rev() {
            push_decimal_of(out, chunk, 19);
        }
    }

    fn is_odd(&self) -> bool {
        self.0.first().is_some_and(|limb| limb & 1 == 1)
    }

    fn increment(&mut self) {
        for limb in &mut self.0 {
            let (sum, overflow) = limb.overflowing_add(1);
            *limb = sum;
            if !overflow {
                return;
            }
        }
        self.0.push(1);
    }

    fn multiply_by_power_of_5(&mut self, mut exponent: u32) {
        const MOST: u32 = 27; // 5^27 < 2^64 < 5^28
        while exponent > 0 {
            let step = exponent.min(MOST);
            self.multiply_by_limb(5u64.pow(step));
            exponent -= step;
        }
    }

    fn multiply_by_limb(&mut self, factor: u64) {
        let mut carry = 0;
        for limb in &mut self.0 {
            let product = *limb as u128 * factor as u128 + carry as u128;
            *limb = product as u64;
            carry = (product >> 64) as u64;
        }
        if carry != 0 {
            self.0.push(carry);
        }
    }

    /// Divides in place and returns the rest.
    fn divide_by_limb(&mut self, divisor: u64) -> u64 {
        let mut rest = 0;
        for limb in self.0.iter_mut().rev() {
            let dividend = (rest as u128) << 64 | *limb as u128;
            *limb = (dividend / divisor as u128) as u64;
            rest = (dividend % divisor as u128) as u64;
        }
        self.trim();
        rest
    }

    fn shift_left(&mut self, bits: u32) {
        if self.0.is_empty() {
            return;
        }
        let (limbs, bits) = ((bits / 64) as usize, bits % 64);
        if bits > 0 {
            let mut carry = 0;
            for limb in &mut self.0 {
                let shifted = *limb << bits | carry;
                carry = *limb >> (64 - bits);
                *limb = shifted;
            }
            if carry != 0 {
                self.0.push(carry);
            }
        }
        self.0.splice(0..0, std::iter::repeat_n(0, limbs));
    }

    fn shift_right_within_limb(&mut self, bits: u32) {
        if bits > 0 {
            let mut carry = 0;
            for limb in self.0.iter_mut().rev() {
                let shifted = *limb >> bits | carry;
                carry = *limb << (64 - bits);
                *limb = shifted;
            }
            self.trim();
        }
    }

    /// Quotient and rest, by Knuth's algorithm D (TAOCP vol. 2, 4.3.1).
    ///
    /// `divisor` is not 0.
    fn divided_by(mut self, divisor: &Self) -> (Self, Self) {
        if self < *divisor {
            return (Self(Vec::new()), self);
        }
        if let [limb] = divisor.0[..] {
            let rest = self.divide_by_limb(limb);
            return (self, Self::from(rest as u128));
        }
        // D1: normalize, so that the divisor's first bit is set.
        let shift = divisor.0[divisor.0.len() - 1].leading_zeros();
        let mut divisor = divisor.clone();
        divisor.shift_left(shift);
        self.shift_left(shift);
        let n = divisor.0.len();
        let m = self.0.len() - n;
        self.0.push(0);
        let (top, second) = (divisor.0[n - 1] as u128, divisor.0[n - 2] as u128);
        let mut quotient = vec![0; m + 1];
        for j in (0..=m).rev() {
            // D3: guess a limb of the quotient, one or two too large at most.
            let high = (self.0[j + n] as u128) << 64 | self.0[j + n - 1] as u128;
            let (mut guess, mut rest) = (high / top, high % top);
            while guess >> 64 != 0 || guess * second > (rest << 64 | self.0[j + n - 2] as u128) {
                guess -= 1;
                rest += top;
                if rest >> 64 != 0 {
                    break;
                }
            }
            // D4 to D6: subtract; if that was one too many, add back.
            let mut guess = guess as u64;
            if subtract_product(&mut self.0[j..=j + n], &divisor.0, guess) {
                guess -= 1;
                add(&mut self.0[j..=j + n], &divisor.0);
            }
            quotient[j] = guess;
        }
        self.trim();
        self.shift_right_within_limb(shift);
        let mut quotient = Self(quotient);
        quotient.trim();
        (quotient, self)
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl From<u128> for Big {
    fn from(value: u128) -> Self {
        let mut big = Self(vec![value as u64, (value >> 64) as u64]);
        big.trim();
        big
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `limbs -= factors · factor`; whether that went below 0. `limbs` is one longer.
fn subtract_product(limbs: &mut [u64], factors: &[u64], factor: u64) -> bool {
    let mut carry = 0u128;
    let mut borrow = false;
    let products = factors.iter().map(|f| {
        let product = *f as u128 * factor as u128 + carry;
        carry = product >> 64;
        product as u64
    });
    let mut limbs = limbs.iter_mut();
    for (product, limb) in products.zip(&mut limbs) {
        borrow = subtract(limb, product, borrow);
    }
    limbs.fold(borrow, |borrow, limb| subtract(limb, carry as u64, borrow))
}

fn subtract(limb: &mut u64, amount: u64, borrow: bool) -> bool {
    let (difference, first) = limb.overflowing_sub(amount);
    let (difference, second) = difference.overflowing_sub(borrow as u64);
    *limb = difference;
    first || second
}

/// `limbs += summands`, dropping the last carry. `limbs` is one longer.
fn add(limbs: &mut [u64], summands: &[u64]) {
    let mut carry = false;
    for (limb, summand) in limbs.iter_mut().zip(summands.iter().chain(&[0])) {
        let (sum, first) = limb.overflowing_add(*summand);
        let (sum, second) = sum.overflowing_add(carry as u64);
        *limb = sum;
        carry = first || second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(big: Big) -> String {
        let mut out = Vec::new();
        big.push_decimal(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn halves_go_to_the_even_neighbour() {
        for (mantissa, rounded) in [(1, "0"), (3, "2"), (5, "2"), (7, "4"), (9, "4")] {
            assert_eq!(decimal(Big::scaled(mantissa, -1, 0)), rounded);
        }
        assert_eq!(decimal(Big::scaled(25, 0, -1)), "2");
        assert_eq!(decimal(Big::scaled(35, 0, -1)), "4");
        assert_eq!(decimal(Big::scaled(26, 0, -1)), "3");
    }

    #[test]
    fn powers_of_ten_are_a_one_and_zeros() {
        for tens in [0, 1, 18, 19, 20, 38, 39, 40, 500, 4999] {
            let digits = decimal(Big::scaled(1, 0, tens));
            assert_eq!(digits, format!("1{}", "0".repeat(tens as usize)));
        }
    }

    #[test]
    fn divisions_are_undone_by_multiplication() {
        // Limbs of all ones and of single bits are what makes the guess of
        // algorithm D go wrong.
        const LIMBS: [u64; 6] = [0, 1, 2, 1 << 63, u64::MAX - 1, u64::MAX];
        let mut cases = 0;
        for n in 0..6usize.pow(6) {
            let limb = |i: u32| LIMBS[n / 6usize.pow(i) % 6];
            let divisor = big(&[limb(0), limb(1), limb(2)]);
            let quotient = big(&[limb(3), limb(4)]);
            let rest = big(&[limb(5), limb(0)]);
            if rest < divisor {
                let dividend = product_plus(&quotient, &divisor, &rest);
                assert_eq!(dividend.divided_by(&divisor), (quotient, rest));
                cases += 1;
            }
        }
        assert!(cases > 10_000);
    }

    fn big(limbs: &[u64]) -> Big {
        let mut big = Big(limbs.to_vec());
        big.trim();
        big
    }

    fn product_plus(a: &Big, b: &Big, c: &Big) -> Big {
        let mut sum = Big(c.0.clone());
        sum.0.resize(8, 0);
        for (i, limb) in a.0.iter().enumerate() {
            let mut part = b.clone();
            part.multiply_by_limb(*limb);
            part.trim();
            part.shift_left(64 * i as u32);
            part.0.resize(8, 0);
            add(&mut sum.0, &part.0);
        }
        sum.trim();
        sum
    }
}
