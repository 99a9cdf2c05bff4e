//! Directives: a filter's text, by which a program, its environment and `logdef ctl` say
//! from which level calls at a place are on. Knows places, and no call sites.

use crate::Level;

/// A directive of a filter: `place=level`, `file:line=level`, or a level alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Directive<'t> {
    /// The name of a module or the last parts of a file's path. `None` for all places that
    /// no directive names.
    pub place: Option<&'t str>,
    /// The line of the file.
    pub line: Option<u32>,
    /// The level from which calls there are on.
    pub level: Level,
}

impl Directive<'_> {
    /// A level that no record has: calls there are off.
    pub const OFF: Level = Level(u8::MAX);
}

/// The directives of a text, separated by commas: each as it is understood, or as it stands
/// there if it cannot be.
pub fn directives(text: &str) -> impl Iterator<Item = Result<Directive<'_>, &str>> {
    let directives = text.split(',').map(str::trim).filter(|d| !d.is_empty());
    directives.map(|directive| Directive::parse(directive).ok_or(directive))
}

/// The level from which calls at a place are on: that of the directive whose place is the longest of those
/// that fit; of equals the last. `None` if none of them fits.
pub fn level_at<'t>(
    directives: impl Iterator<Item = Directive<'t>>,
    file: &[u8],
    line: u32,
    module: Option<&[u8]>,
) -> Option<Level> {
    let fitting = directives.filter(|directive| directive.fits(file, line, module));
    let best = fitting.max_by_key(|it| (it.line.is_some(), it.place.map_or(0, str::len)));
    best.map(|directive| directive.level)
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

impl<'t> Directive<'t> {
    /// Whether it is for a place.
    fn fits(&self, file: &[u8], line: u32, module: Option<&[u8]>) -> bool {
        let Some(place) = self.place.map(str::as_bytes) else {
            return true;
        };
        match self.line {
            Some(at) => at == line && ends_with_path(file, place),
            None => {
                ends_with_path(file, place) || module.is_some_and(|module| is_below(module, place))
            }
        }
    }

    fn parse(directive: &'t str) -> Option<Directive<'t>> {
        let level = |text: &str| match text.trim() {
            off if off.eq_ignore_ascii_case("off") => Some(Directive::OFF),
            on if on.eq_ignore_ascii_case("on") => Some(Level(0)),
            name => Level::parse(name),
        };
        let Some((place, text)) = directive.split_once('=') else {
            return Some(Directive {
                place: None,
                line: None,
                level: level(directive)?,
            });
        };
        let level = level(text)?;
        let place = place.trim();
        let (place, line) = match place.rsplit_once(':') {
            Some((file, line)) if !file.ends_with(':') => (file, Some(line.parse().ok()?)),
            _ => (place, None),
        };
        (!place.is_empty()).then_some(Directive {
            place: Some(place),
            line,
            level,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_has_a_place_a_line_and_a_level() {
        let text = "info, net::tcp=off ,db/wal.c:120=trace,x=on,,7";
        let of = |place, line, level| Directive { place, line, level };
        let expected = [
            of(None, None, Level::INFO),
            of(Some("net::tcp"), None, Directive::OFF),
            of(Some("db/wal.c"), Some(120), Level::TRACE),
            of(Some("x"), None, Level(0)),
            of(None, None, Level(7)),
        ];
        assert!(directives(text).eq(expected.map(Ok)));
    }

    #[test]
    fn what_is_no_directive_is_returned_as_it_stands_there() {
        for bad in ["loud", "net=loud", "a.c:x=info", "=info", "a=", "a=b=info"] {
            assert_eq!(directives(bad).next(), Some(Err(bad)));
        }
    }
}
