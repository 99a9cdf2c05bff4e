//! Log data as a line for people.

use std::fmt;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{LogError, LogsData};

/// A line of text for one record, without a line end and without colour:
///
/// ```text
/// [00012.345678][123][456][moniker][foo,bar] INFO: [some_file.cc(420)] some message test=value [dropped=5]
/// ```
///
/// Control characters are shown as they are: escape them before a terminal sees them.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    data: &'a LogsData,
    clock: Clock,
    full_moniker: bool,
    ids: bool,
}

/// How the time of a record is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Seconds on the clock of the stream; before its start counts as 0.
    #[default]
    Stream,
    /// UTC: the clock of the stream started this long after 1970.
    Wall(SignedDuration),
}

impl<'a> Text<'a> {
    /// The line of `data` with stream time, process and thread, and the whole moniker.
    pub fn new(data: &'a LogsData) -> Self {
        Self {
            data,
            clock: Clock::default(),
            full_moniker: true,
            ids: true,
        }
    }

    /// Shows the time by this clock.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Shows the whole moniker, or only its last segment.
    pub fn full_moniker(self, full_moniker: bool) -> Self {
        Self {
            full_moniker,
            ..self
        }
    }

    /// Shows process and thread, or not.
    pub fn ids(self, ids: bool) -> Self {
        Self { ids, ..self }
    }

    fn time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.data.metadata.timestamp;
        if let Clock::Wall(start) = self.clock
            && let Some(since_1970) = start.checked_add(SignedDuration::from_nanos(nanos))
            && let Ok(time) = Timestamp::from_duration(since_1970)
        {
            let time = time.to_zoned(TimeZone::UTC);
            return write!(f, "[{}]", time.strftime("%Y-%m-%d %H:%M:%S.%3f"));
        }
        let micros = nanos.max(0) / 1000;
        write!(f, "[{:05}.{:06}]", micros / 1_000_000, micros % 1_000_000)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metadata = &self.data.metadata;
        self.time(f)?;
        if self.ids {
            for id in [metadata.pid, metadata.tid] {
                match id {
                    Some(id) => write!(f, "[{id}]")?,
                    None => f.write_str("[]")?,
                }
            }
        }
        let moniker = match self.data.moniker.as_str() {
            "" => "<root>",
            moniker if self.full_moniker => moniker,
            moniker => moniker.rsplit('/').next().unwrap_or(moniker),
        };
        write!(f, "[{moniker}]")?;
        let mut tags = metadata.tags.iter().filter(|tag| *tag != moniker);
        if let Some(first) = tags.next() {
            write!(f, "[{first}")?;
            for tag in tags {
                write!(f, ",{tag}")?;
            }
            f.write_str("]")?;
        }
        write!(f, " {}:", metadata.severity)?;
        match (&metadata.file, metadata.line) {
            (Some(file), Some(line)) => write!(f, " [{file}({line})]")?,
            (Some(file), None) => write!(f, " [{file}]")?,
            (None, _) => {}
        }
        let payload = self.data.payload.as_ref();
        match payload.and_then(|payload| payload.message.as_deref()) {
            // What a message has after a NUL is not for people.
            Some(message) => write!(f, " {}", message.split('\0').next().unwrap_or_default())?,
            None => f.write_str(" <missing message>")?,
        }
        for (name, value) in payload.iter().flat_map(|payload| &payload.keys) {
            write!(f, " {name}={value}")?;
        }
        for error in &metadata.errors {
            if let LogError::DroppedLogs { count } = error {
                write!(f, " [dropped={count}]")?;
            }
        }
        for error in &metadata.errors {
            if let LogError::RolledOutLogs { count } = error {
                write!(f, " [rolled={count}]")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Property;
    use crate::structured::Severity;

    fn data() -> LogsData {
        let mut data = LogsData::new("core/moniker", 12_345_678_999, Severity::INFO);
        data.metadata.pid = Some(123);
        data.metadata.tid = Some(456);
        data.metadata.tags = ["foo", "bar"].map(String::from).to_vec();
        data.metadata.file = Some("some_file.cc".into());
        data.metadata.line = Some(420);
        data.metadata
            .set_error(LogError::RolledOutLogs { count: 10 });
        data.metadata.set_error(LogError::DroppedLogs { count: 5 });
        let payload = data.payload.as_mut().unwrap();
        payload.message = Some("some message\0hidden".into());
        payload.keys = vec![
            ("test".into(), Property::Text("property".into())),
            ("value".into(), Property::SignedInt(-1)),
        ];
        data
    }

    #[test]
    fn everything_is_on_the_line() {
        assert_eq!(
            Text::new(&data()).to_string(),
            "[00012.345678][123][456][core/moniker][foo,bar] INFO: [some_file.cc(420)] some message \
             test=property value=-1 [dropped=5] [rolled=10]"
        );
    }

    #[test]
    fn what_is_missing_leaves_its_place_or_none() {
        let mut data = LogsData::new("", -1, Severity(0x2e));
        data.metadata.line = Some(3);
        data.metadata.tags = vec!["<root>".into()];
        assert_eq!(
            Text::new(&data).to_string(),
            "[00000.000000][][][<root>] INFO: <missing message>"
        );
    }

    #[test]
    fn a_tag_equal_to_the_shown_moniker_is_not_repeated() {
        let mut data = data();
        data.metadata.tags = vec!["moniker".into(), "foo".into()];
        let text = Text::new(&data).full_moniker(false).ids(false).to_string();
        assert!(
            text.starts_with("[00012.345678][moniker][foo] INFO:"),
            "{text}"
        );
    }

    #[test]
    fn wall_time_counts_from_the_start_of_the_clock() {
        let data = data();
        let clock = Clock::Wall(SignedDuration::from_secs(86_400));
        let text = Text::new(&data).clock(clock).to_string();
        assert!(text.starts_with("[1970-01-02 00:00:12.345]"), "{text}");
    }
}
