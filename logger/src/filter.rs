//! A filter: a level for the process, for modules and for single call sites, as text
//! and as an answer. Knows nothing of sites and of where the filter is kept.

use core::fmt;
use core::str::FromStr;
use logdef_wire::{Directive as Written, Level, directives, level_at};

/// Levels by place, as `LOGDEF` in the environment and
/// [`set_filter`](crate::set_filter) write them:
/// `info,net=debug,db/wal.c:120=trace`.
///
/// A place is the name of a module (`net` also means what is below it,
/// `net::tcp`), a file (its path's last parts), or a file and a line. The
/// longest place that fits wins; `off` as a level silences.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Filter {
    default: Option<Level>,
    directives: Vec<Directive>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Directive {
    place: String,
    line: Option<u32>,
    level: Level,
}

const OFF: Level = Written::OFF;

/// The directive of a filter that could not be parsed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FilterError {
    directive: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is neither a level nor place=level with one of off, trace, debug, info, warn, error, fatal",
            self.directive
        )
    }
}

impl std::error::Error for FilterError {}

impl Filter {
    /// Parses directives separated by commas. Later ones win over earlier ones
    /// of the same place.
    ///
    /// Signal safety: not async-signal-safe.
    ///
    /// # Errors
    ///
    /// If a directive is neither a level nor a place, `=` and a level.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        let mut filter = Filter::default();
        for written in directives(text) {
            let written = written.map_err(|directive| FilterError {
                directive: directive.to_string(),
            })?;
            match written.place {
                None => filter.default = Some(written.level),
                Some(place) => filter.directives.push(Directive {
                    place: place.to_string(),
                    line: written.line,
                    level: written.level,
                }),
            }
        }
        Ok(filter)
    }

    /// The level from which a site is on; `None` if the filter does not say.
    pub(crate) fn level(&self, file: &[u8], line: u32, module: Option<&[u8]>) -> Option<Level> {
        self.level_of_place(file, line, module).or(self.default)
    }

    /// The same by the directives that name a place.
    pub(crate) fn level_of_place(
        &self,
        file: &[u8],
        line: u32,
        module: Option<&[u8]>,
    ) -> Option<Level> {
        let written = self.directives.iter().map(Directive::written);
        level_at(written, file, line, module)
    }

    /// The lowest level of a directive that names a place.
    pub(crate) fn lowest_of_places(&self) -> Option<Level> {
        self.directives
            .iter()
            .map(|directive| directive.level)
            .min()
    }

    /// The lowest level from which any site is on, if those that the filter does not
    /// mention are on from `unmentioned`.
    pub(crate) fn lowest_level(&self, unmentioned: Level) -> Level {
        let places = self.directives.iter().map(|directive| directive.level);
        places.fold(self.default.unwrap_or(unmentioned), Level::min)
    }
}

/// A filter as text, for code that must not allocate. What no directive can be made of
/// is passed over: [`FilterText::parse`] has found nothing of that kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterText<'t>(&'t str);

impl<'t> FilterText<'t> {
    /// Checks a text; the error is the directive that is wrong.
    pub fn parse(text: &'t str) -> Result<FilterText<'t>, &'t str> {
        match directives(text).find_map(Result::err) {
            Some(wrong) => Err(wrong),
            None => Ok(FilterText(text)),
        }
    }

    /// See [`Filter::level`].
    pub fn level(self, file: &[u8], line: u32, module: Option<&[u8]>) -> Option<Level> {
        level_at(directives(self.0).flatten(), file, line, module)
    }

    /// See [`Filter::lowest_level`].
    pub fn lowest_level(self, unmentioned: Level) -> Level {
        let all = || directives(self.0).flatten();
        let default = all().filter(|written| written.place.is_none()).last();
        let default = default.map_or(unmentioned, |written| written.level);
        let places = all().filter(|written| written.place.is_some());
        places
            .map(|written| written.level)
            .fold(default, Level::min)
    }
}

/// As [`Filter::parse`].
impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Filter, FilterError> {
        Filter::parse(text)
    }
}

/// As directives, which [`Filter::parse`] reads.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if let Some(level) = self.default {
            spell(level, f)?;
            comma = ",";
        }
        for directive in &self.directives {
            write!(f, "{comma}{}", directive.place)?;
            if let Some(line) = directive.line {
                write!(f, ":{line}")?;
            }
            f.write_str("=")?;
            spell(directive.level, f)?;
            comma = ",";
        }
        Ok(())
    }
}

/// Writes a level as `parse` reads it.
pub(crate) fn spell(level: Level, to: &mut impl fmt::Write) -> fmt::Result {
    match level.name() {
        _ if level == OFF => to.write_str("off"),
        Some(name) => name
            .chars()
            .try_for_each(|letter| to.write_char(letter.to_ascii_lowercase())),
        None => write!(to, "{}", level.0),
    }
}

impl Directive {
    fn written(&self) -> Written<'_> {
        Written {
            place: Some(&self.place),
            line: self.line,
            level: self.level,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(filter: &str, file: &str, line: u32, module: &str) -> Option<Level> {
        let filter = Filter::parse(filter).unwrap();
        filter.level(file.as_bytes(), line, Some(module.as_bytes()))
    }

    #[test]
    fn the_longest_place_that_fits_wins() {
        let filter = "info,net=debug,net::tcp=warn,db/wal.c:120=trace";
        assert_eq!(level(filter, "a.rs", 1, "main"), Some(Level::INFO));
        assert_eq!(level(filter, "a.rs", 1, "net"), Some(Level::DEBUG));
        assert_eq!(level(filter, "a.rs", 1, "net::udp"), Some(Level::DEBUG));
        assert_eq!(level(filter, "a.rs", 1, "network"), Some(Level::INFO));
        assert_eq!(level(filter, "a.rs", 1, "net::tcp::ack"), Some(Level::WARN));
        assert_eq!(level(filter, "src/db/wal.c", 120, ""), Some(Level::TRACE));
        assert_eq!(level(filter, "src/xdb/wal.c", 120, ""), Some(Level::INFO));
        assert_eq!(level(filter, "src/db/wal.c", 121, ""), Some(Level::INFO));
    }

    #[test]
    fn a_filter_as_text_answers_as_one_that_was_parsed() {
        let places = [
            ("a.rs", 1, "main"),
            ("src/db/wal.c", 120, "net::tcp"),
            ("src/db/wal.c", 121, "net"),
            ("", 0, ""),
        ];
        let texts = [
            "",
            "info",
            "off,net=on",
            "net=debug,net=warn",
            "info,warn",
            "wal.c=off,wal.c:120=1",
            "net::tcp=error, db/wal.c:121=trace,",
            "debug,net=fatal",
        ];
        for text in texts {
            let (parsed, written) = (
                Filter::parse(text).unwrap(),
                FilterText::parse(text).unwrap(),
            );
            for (file, line, module) in places {
                let (file, module) = (file.as_bytes(), Some(module.as_bytes()));
                assert_eq!(
                    written.level(file, line, module),
                    parsed.level(file, line, module),
                    "{text}"
                );
            }
            for level in [Level::TRACE, Level::FATAL] {
                assert_eq!(
                    written.lowest_level(level),
                    parsed.lowest_level(level),
                    "{text}"
                );
            }
        }
        for (bad, wrong) in [
            ("info,net=loud", "net=loud"),
            ("=info", "=info"),
            ("a:b=1", "a:b=1"),
        ] {
            assert_eq!(FilterText::parse(bad).err(), Some(wrong));
            assert!(Filter::parse(bad).is_err());
        }
    }

    #[test]
    fn a_filter_is_printed_as_it_is_read() {
        for text in ["", "info", "off,net=on,a b=48,x/y.c:7=off", "net::tcp=0"] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(filter.to_string().parse().as_ref(), Ok(&filter));
        }
    }

    #[test]
    fn files_need_no_line() {
        assert_eq!(level("wal.c=off", "src/db/wal.c", 7, ""), Some(OFF));
        assert_eq!(level("wal.c=off", "src/db/mywal.c", 7, ""), None);
    }

    #[test]
    fn what_is_no_directive_is_named() {
        for bad in ["loud", "net=loud", "a.c:x=info", "=info"] {
            let error = Filter::parse(&format!("info,{bad}")).unwrap_err();
            assert!(error.to_string().contains(&format!("`{bad}`")), "{error}");
        }
    }
}
