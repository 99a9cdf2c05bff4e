//! Level and filter that were asked for from outside, in force for a time or until they are
//! asked for again. Read by calls that decide whether they are on: no lock, no allocation.

use crate::filter::{Filter, FilterText};
use logdef_wire::Level;
use logdef_wire::control::{MOST_FILTER, Request, Wanted};

/// A change of level or filter, as one request wants it. Never freed: a call may be reading it.
pub(crate) struct Change {
    kind: Kind,
    text: [u8; MOST_FILTER],
    text_len: usize,
    /// When it ends, by the monotonic clock and by the wall clock; `None` for not of itself.
    pub ends: Option<Ends>,
    /// User and process that asked, by their ids.
    pub user: u32,
    pub pid: u32,
}

/// One instant, by two clocks, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub monotonic: u64,
    pub realtime: u64,
}

#[derive(Clone, Copy)]
enum Kind {
    Level(Level),
    Filter,
}

impl Change {
    /// The change that a request wants; `None` if it wants what the program set. Fails with
    /// the directive that cannot be parsed.
    pub fn of<'r>(request: &Request<'r>, ends: Option<Ends>) -> Result<Option<Change>, &'r [u8]> {
        let (kind, filter): (_, &[u8]) = match request.wanted {
            Wanted::Program => return Ok(None),
            Wanted::Level(level) => (Kind::Level(level), b""),
            Wanted::Filter(filter) => (Kind::Filter, filter),
        };
        let written = core::str::from_utf8(filter).map_err(|_| filter)?;
        FilterText::parse(written).map_err(str::as_bytes)?;
        let mut text = [0; MOST_FILTER];
        text[..filter.len()].copy_from_slice(filter);
        Ok(Some(Change {
            kind,
            text,
            text_len: filter.len(),
            ends,
            user: request.user,
            pid: request.pid,
        }))
    }

    /// The filter, if that is what was asked for.
    pub fn filter(&self) -> Option<FilterText<'_>> {
        match self.kind {
            Kind::Filter => FilterText::parse(self.text()).ok(),
            Kind::Level(_) => None,
        }
    }

    /// The filter as text, as `set_filter` takes it.
    pub fn text(&self) -> &str {
        core::str::from_utf8(&self.text[..self.text_len]).unwrap_or_default()
    }

    /// The level, if that is what was asked for.
    pub fn level(&self) -> Option<Level> {
        match self.kind {
            Kind::Level(level) => Some(level),
            Kind::Filter => None,
        }
    }

    /// The level from which calls at this place are on; `None` if the change does not say.
    /// A level is that of all places which the program's filter does not name.
    pub fn said(
        &self,
        program: Option<&Filter>,
        file: &[u8],
        line: u32,
        module: Option<&[u8]>,
    ) -> Option<Level> {
        match self.kind {
            Kind::Level(level) => {
                let named = program.and_then(|filter| filter.level_of_place(file, line, module));
                Some(named.unwrap_or(level))
            }
            Kind::Filter => self.filter()?.level(file, line, module),
        }
    }

    /// The lowest level from which any call is on, if those that nothing names are on from
    /// `unmentioned`.
    pub fn lowest_level(&self, program: Option<&Filter>, unmentioned: Level) -> Level {
        match self.kind {
            Kind::Level(level) => program
                .and_then(Filter::lowest_of_places)
                .map_or(level, |lowest| level.min(lowest)),
            Kind::Filter => self
                .filter()
                .map_or(unmentioned, |filter| filter.lowest_level(unmentioned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(wanted: Wanted<'_>) -> Result<Option<Change>, &[u8]> {
        let request = Request {
            wanted,
            ..Request::default()
        };
        Change::of(&request, None)
    }

    #[test]
    fn a_level_is_that_of_the_places_that_no_directive_names() {
        let program = Filter::parse("warn,net=off").unwrap();
        let level = change(Wanted::Level(Level::DEBUG)).ok().flatten().unwrap();
        let said = |module: &[u8]| level.said(Some(&program), b"a.rs", 1, Some(module));
        assert_eq!(said(b"main"), Some(Level::DEBUG));
        assert_eq!(said(b"net"), Some(Level(u8::MAX)));
        assert_eq!(
            level.lowest_level(Some(&program), Level::FATAL),
            Level::DEBUG
        );
    }

    #[test]
    fn a_filter_takes_the_place_of_the_programs() {
        let program = Filter::parse("off,net=trace").unwrap();
        let filter = change(Wanted::Filter(b"a.rs=info")).ok().flatten().unwrap();
        let said = |file: &[u8]| filter.said(Some(&program), file, 1, Some(b"net"));
        assert_eq!((said(b"a.rs"), said(b"b.rs")), (Some(Level::INFO), None));
        assert_eq!(
            filter.lowest_level(Some(&program), Level::WARN),
            Level::INFO
        );
    }

    #[test]
    fn what_is_no_filter_changes_nothing() {
        assert_eq!(
            change(Wanted::Filter(b"info,net=loud")).err(),
            Some(&b"net=loud"[..])
        );
        assert_eq!(
            change(Wanted::Filter(b"\xff=info")).err(),
            Some(&b"\xff=info"[..])
        );
        assert!(change(Wanted::Program).is_ok_and(|change| change.is_none()));
    }
}
