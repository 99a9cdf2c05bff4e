//! The severity byte: six named values, every other value kept as it came.

use std::fmt;
use std::str::FromStr;

/// How bad it is, as the raw byte of the record.
///
/// Only six values have names; the rest are legal and belong to the *bucket* of the next named value
/// above them.
///
/// ```
/// use logdef_fuchsia::structured::Severity;
///
/// assert_eq!(Severity(0x2e).bucket(), Severity::INFO);
/// assert_eq!(Severity(0x2e).raw(), Some(0x2e));
/// assert_eq!(Severity::INFO.raw(), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Severity(pub u8);

impl Severity {
    /// 0x10
    pub const TRACE: Self = Self(0x10);
    /// 0x20
    pub const DEBUG: Self = Self(0x20);
    /// 0x30
    pub const INFO: Self = Self(0x30);
    /// 0x40
    pub const WARN: Self = Self(0x40);
    /// 0x50
    pub const ERROR: Self = Self(0x50);
    /// 0x60
    pub const FATAL: Self = Self(0x60);

    /// The named severities, mildest first.
    pub const NAMED: [Self; 6] = [
        Self::TRACE,
        Self::DEBUG,
        Self::INFO,
        Self::WARN,
        Self::ERROR,
        Self::FATAL,
    ];

    /// The severity of a signed field: negative numbers count as 0, large ones as 255.
    pub fn from_signed(value: i32) -> Self {
        Self(value.clamp(0, 255) as u8)
    }

    /// The named severity this one counts as: itself or the next above, and FATAL at the top.
    pub fn bucket(self) -> Self {
        Self::NAMED
            .into_iter()
            .find(|named| self <= *named)
            .unwrap_or(Self::FATAL)
    }

    /// The byte, unless it is the byte of a named severity.
    pub fn raw(self) -> Option<u8> {
        (self.bucket() != self).then_some(self.0)
    }

    /// The upper-case name of the bucket.
    pub fn name(self) -> &'static str {
        match self.bucket() {
            Self::TRACE => "TRACE",
            Self::DEBUG => "DEBUG",
            Self::INFO => "INFO",
            Self::WARN => "WARN",
            Self::ERROR => "ERROR",
            _ => "FATAL",
        }
    }
}

impl fmt::Debug for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.raw() {
            None => f.write_str(self.name()),
            Some(raw) => write!(f, "{}({raw:#04x})", self.name()),
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSeverity;

impl fmt::Display for UnknownSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of trace, debug, info, warn, error, fatal")
    }
}

impl std::error::Error for UnknownSeverity {}

impl FromStr for Severity {
    type Err = UnknownSeverity;

    /// Reads a name in any letter case; `warning` is WARN.
    fn from_str(text: &str) -> Result<Self, UnknownSeverity> {
        if text.eq_ignore_ascii_case("warning") {
            return Ok(Self::WARN);
        }
        Self::NAMED
            .into_iter()
            .find(|named| text.eq_ignore_ascii_case(named.name()))
            .ok_or(UnknownSeverity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_falls_into_the_bucket_of_the_table() {
        for byte in 0..=255 {
            let expected = match byte {
                0x00..=0x10 => Severity::TRACE,
                0x11..=0x20 => Severity::DEBUG,
                0x21..=0x30 => Severity::INFO,
                0x31..=0x40 => Severity::WARN,
                0x41..=0x50 => Severity::ERROR,
                0x51..=0xff => Severity::FATAL,
            };
            assert_eq!(Severity(byte).bucket(), expected, "{byte:#x}");
            let named = Severity::NAMED.contains(&Severity(byte));
            assert_eq!(Severity(byte).raw(), (!named).then_some(byte));
        }
    }

    #[test]
    fn signed_numbers_are_clamped() {
        assert_eq!(Severity::from_signed(-1).bucket(), Severity::TRACE);
        assert_eq!(Severity::from_signed(i32::MAX), Severity(255));
        assert_eq!(Severity::from_signed(0x30), Severity::INFO);
    }

    #[test]
    fn names_are_read_in_any_case() {
        for named in Severity::NAMED {
            assert_eq!(named.name().parse(), Ok(named));
            assert_eq!(named.name().to_lowercase().parse(), Ok(named));
        }
        assert_eq!("Warning".parse(), Ok(Severity::WARN));
        assert_eq!("warn ".parse::<Severity>(), Err(UnknownSeverity));
    }
}
