//! Directives: a filter's text, by which a program, its environment and `logdef ctl` say
//! from which level calls at a place are on. Knows no call sites.

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

impl<'t> Directive<'t> {
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
