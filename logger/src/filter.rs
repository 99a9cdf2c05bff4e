//! A filter: a level for the process, for modules and for single call sites, as text
//! and as an answer. Knows nothing of sites and of where the filter is kept.

use core::fmt;
use logdef_wire::Level;

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

/// A level that no record has.
const OFF: Level = Level(u8::MAX);

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
        for directive in text.split(',').map(str::trim).filter(|d| !d.is_empty()) {
            let error = || FilterError {
                directive: directive.to_string(),
            };
            let level = |text: &str| match text.trim() {
                off if off.eq_ignore_ascii_case("off") => Some(OFF),
                on if on.eq_ignore_ascii_case("on") => Some(Level(0)),
                name => Level::parse(name),
            };
            let Some((place, text)) = directive.split_once('=') else {
                filter.default = Some(level(directive).ok_or_else(error)?);
                continue;
            };
            let level = level(text).ok_or_else(error)?;
            let place = place.trim();
            let (place, line) = match place.rsplit_once(':') {
                Some((file, line)) if !file.ends_with(':') => {
                    (file, Some(line.parse().map_err(|_| error())?))
                }
                _ => (place, None),
            };
            if place.is_empty() {
                return Err(error());
            }
            filter.directives.push(Directive {
                place: place.to_string(),
                line,
                level,
            });
        }
        Ok(filter)
    }

    /// The level from which a site is on; `None` if the filter does not say.
    pub(crate) fn level(&self, file: &[u8], line: u32, module: Option<&[u8]>) -> Option<Level> {
        let fitting = self
            .directives
            .iter()
            .filter(|directive| directive.fits(file, line, module));
        // The longest place; of equals the last, which `max_by_key` takes.
        let best = fitting.max_by_key(|d| (d.line.is_some(), d.place.len()));
        best.map(|d| d.level).or(self.default)
    }

    /// The lowest level from which any site is on, if those that the filter does not
    /// mention are on from `unmentioned`.
    pub(crate) fn lowest_level(&self, unmentioned: Level) -> Level {
        let places = self.directives.iter().map(|directive| directive.level);
        places.fold(self.default.unwrap_or(unmentioned), Level::min)
    }
}

/// As directives, which [`Filter::parse`] reads.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if let Some(level) = self.default {
            f.write_str(&spelled(level))?;
            comma = ",";
        }
        for directive in &self.directives {
            write!(f, "{comma}{}", directive.place)?;
            if let Some(line) = directive.line {
                write!(f, ":{line}")?;
            }
            write!(f, "={}", spelled(directive.level))?;
            comma = ",";
        }
        Ok(())
    }
}

/// A level as `parse` reads it.
fn spelled(level: Level) -> String {
    match level.name() {
        _ if level == OFF => "off".to_string(),
        Some(name) => name.to_ascii_lowercase(),
        None => level.0.to_string(),
    }
}

impl Directive {
    fn fits(&self, file: &[u8], line: u32, module: Option<&[u8]>) -> bool {
        let place = self.place.as_bytes();
        match self.line {
            Some(at) => at == line && ends_with_path(file, place),
            None => {
                ends_with_path(file, place) || module.is_some_and(|module| is_below(module, place))
            }
        }
    }
}

/// Whether `place` is the last parts of the path `file`.
fn ends_with_path(file: &[u8], place: &[u8]) -> bool {
    file.strip_suffix(place)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
}

/// Whether `module` is `place` or below it.
fn is_below(module: &[u8], place: &[u8]) -> bool {
    module
        .strip_prefix(place)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"::") || rest.starts_with(b"."))
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
    fn a_filter_is_printed_as_it_is_read() {
        for text in ["", "info", "off,net=on,a b=48,x/y.c:7=off", "net::tcp=0"] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(Filter::parse(&filter.to_string()).as_ref(), Ok(&filter));
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
