//! What OpenTelemetry calls the parts of a record beside its time, severity and message: one list for its
//! forms, and for stores that take its names over. Knows no encoding.

use super::diagnostics::{is_timed, recorded};
use logdef_fuchsia::diagnostics::{LogsData, Property};

/// The most attributes of a record, where a store bounds them.
pub(super) const MOST: usize = 128;

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attribute<'d> {
    Int(i64),
    Uint(u64),
    Text(&'d str),
    Texts(&'d [String]),
    Property(&'d Property),
}

/// Gives the attributes of a record with their names. Names may repeat: keys are the program's.
pub(super) fn each<'d>(data: &'d LogsData, mut with: impl FnMut(&'d str, Attribute<'d>)) {
    let metadata = &data.metadata;
    if is_timed(data) && metadata.timestamp < 0 {
        with("logdef.timestamp", Attribute::Int(metadata.timestamp));
    }
    if let Some(tid) = metadata.tid {
        with("thread.id", Attribute::Uint(tid));
    }
    if let Some(file) = &metadata.file {
        with("code.file.path", Attribute::Text(file));
    }
    if let Some(line) = metadata.line {
        with("code.line.number", Attribute::Uint(line));
    }
    if let (Some(raw), Some(_)) = (metadata.raw_severity, recorded(data)) {
        with("logdef.raw_severity", Attribute::Uint(raw.into()));
    }
    for error in &metadata.errors {
        if let Some(count) = error.count() {
            with("logdef.dropped_logs", Attribute::Uint(count));
        }
    }
    if !metadata.tags.is_empty() {
        with("logdef.tags", Attribute::Texts(&metadata.tags));
    }
    let payload = data.payload.as_ref();
    for (name, property) in payload.map_or(&[][..], |payload| &payload.keys) {
        with(name, Attribute::Property(property));
    }
}

/// Names that a record has already.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// Begins a record.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// How many it has.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A name that the record does not have yet: with `mark` after it as often as it takes. `None` if
    /// it has [`MOST`].
    pub(super) fn unused(&mut self, name: &str, mark: char) -> Option<&str> {
        if self.0.len() >= MOST {
            return None;
        }
        let mut name = name.to_owned();
        while self.0.contains(&name) {
            name.push(mark);
        }
        self.0.push(name);
        self.0.last().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_comes_again_is_another() {
        let mut names = Names::default();
        let given: Vec<_> = ["a", "b", "a", "a", "a#"]
            .map(|name| names.unused(name, '#').unwrap().to_owned())
            .into();
        assert_eq!(given, ["a", "b", "a#", "a##", "a###"]);
        names.clear();
        assert_eq!(
            (0..MOST + 9)
                .filter_map(|_| names.unused("x", '#').map(drop))
                .count(),
            MOST
        );
    }
}
