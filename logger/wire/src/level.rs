//! The severity of a record. An open set: numbers between the named ones are
//! legal and sort where they stand.

use core::fmt;
use core::str::FromStr;

/// The severity of a record; a higher number is more severe. The named numbers are those of
/// Fuchsia's structured logs.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Level(pub u8);

impl Level {
    /// Steps of an algorithm.
    pub const TRACE: Level = Level(0x10);
    /// For the people who wrote the program.
    pub const DEBUG: Level = Level(0x20);
    /// For the people who run it.
    pub const INFO: Level = Level(0x30);
    /// Unexpected, and coped with.
    pub const WARN: Level = Level(0x40);
    /// Something asked for was not done.
    pub const ERROR: Level = Level(0x50);
    /// The program cannot continue.
    pub const FATAL: Level = Level(0x60);

    /// The named levels with their names, ascending.
    pub const NAMED: [(Level, &'static str); 6] = [
        (Level::TRACE, "TRACE"),
        (Level::DEBUG, "DEBUG"),
        (Level::INFO, "INFO"),
        (Level::WARN, "WARN"),
        (Level::ERROR, "ERROR"),
        (Level::FATAL, "FATAL"),
    ];

    /// The name of a named level.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMED
            .iter()
            .find(|(level, _)| *level == self)
            .map(|(_, name)| *name)
    }

    /// The level of a name in any case (`warning` is also WARN), of a name and the distance from
    /// it (`INFO+1`), or of a number as C writes it (`48`, `0x30`).
    pub fn parse(text: &str) -> Option<Level> {
        if text.eq_ignore_ascii_case("warning") {
            return Some(Level::WARN);
        }
        if let Some(level) = Self::parse_name(text) {
            return Some(level);
        }
        if let Some(at) = text.rfind(['+', '-'])
            && let Some(Level(level)) = Self::parse_name(&text[..at])
        {
            let distance = text[at + 1..].parse().ok()?;
            return match text.as_bytes()[at] {
                b'+' => level.checked_add(distance).map(Level),
                _ => level.checked_sub(distance).map(Level),
            };
        }
        match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(hex) => u8::from_str_radix(hex, 16).ok().map(Level),
            None => text.parse().ok().map(Level),
        }
    }

    fn parse_name(text: &str) -> Option<Level> {
        let named = Self::NAMED
            .iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(text));
        named.map(|(level, _)| *level)
    }
}

/// As [`Level::parse`].
impl FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Level, LevelError> {
        Level::parse(text).ok_or(LevelError(()))
    }
}

/// A text that is no level.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LevelError(());

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither trace, debug, info, warn, error or fatal nor a number up to 255")
    }
}

impl core::error::Error for LevelError {}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name, or for a number between names the name below it and the
/// distance: `INFO+1`.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = Self::NAMED.iter().rev().find(|(level, _)| level <= self);
        match below {
            Some((level, name)) if level == self => f.pad(name),
            Some((level, name)) => write!(f, "{name}+{}", self.0 - level.0),
            None => write!(f, "TRACE-{}", Level::TRACE.0 - self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_level_parses_as_it_is_shown() {
        for number in 0..=u8::MAX {
            let level = Level(number);
            assert_eq!(Level::parse(&level.to_string()), Some(level));
        }
        for text in ["INFO+208", "TRACE-17", "INFO+", "LOUD+1", "INFO+1+1"] {
            assert_eq!(Level::parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_and_numbers_parse() {
        assert_eq!(Level::parse("warn"), Some(Level::WARN));
        assert_eq!(Level::parse("Warning"), Some(Level::WARN));
        assert_eq!(Level::parse("0x30"), Some(Level::INFO));
        assert_eq!(Level::parse("49"), Some(Level(49)));
        assert_eq!(Level::parse("loud"), None);
        assert_eq!("warn".parse(), Ok(Level::WARN));
        assert_eq!("loud".parse::<Level>(), Err(LevelError(())));
    }

    #[test]
    fn levels_between_names_say_where_they_stand() {
        assert_eq!(Level(0x31).to_string(), "INFO+1");
        assert_eq!(Level(0x0f).to_string(), "TRACE-1");
        assert_eq!(Level(0xff).to_string(), "FATAL+159");
        assert_eq!(Level::ERROR.to_string(), "ERROR");
    }
}
