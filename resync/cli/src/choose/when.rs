//! Points in time as people write them.

use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// Nanoseconds since the Unix epoch, as far as records know them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Moment(pub u64);

/// A point in time as it was written: which one it is depends on the time zone.
#[derive(Clone, Debug)]
pub struct Written {
    text: String,
    /// When the command began: all options mean the same now.
    now: Zoned,
}

impl Written {
    /// Understands RFC 3339, a date, a date and a time, a time of today, `now`,
    /// `today`, `yesterday`, a distance from now (`-15m`, `-1h30m`), and seconds
    /// since the epoch (`@1700000000`).
    pub fn parse(text: &str) -> Result<Written, String> {
        let now = Zoned::now();
        at(text, &now)?;
        let text = text.to_owned();
        Ok(Written { text, now })
    }

    /// The moment, as people of this zone mean it.
    pub fn moment(&self, zone: &TimeZone) -> Moment {
        let now = self.now.with_time_zone(zone.clone());
        // Within a day of 1970 the zone decides whether it is a moment that records know.
        at(&self.text, &now).unwrap_or(Moment(0))
    }
}

/// Understands the name of a time zone, `UTC` and a distance from it: `+02:00`.
pub fn zone(text: &str) -> Result<TimeZone, String> {
    let zone = DateTimeParser::new().parse_time_zone(text);
    zone.map_err(|_| {
        format!(
            "{text:?} is not a time zone that this machine knows: try Europe/Berlin, UTC or +02:00"
        )
    })
}

fn at(text: &str, now: &Zoned) -> Result<Moment, String> {
    let text = text.trim();
    let moment = point(text, now).ok_or_else(|| {
        format!("{text:?} is not a time: try 2026-05-01T10:30:00Z, 10:30, yesterday or -15m")
    })?;
    match u64::try_from(moment.as_nanosecond()) {
        Ok(moment) => Ok(Moment(moment)),
        Err(_) if moment < Timestamp::UNIX_EPOCH => Err(format!("{text:?} is before 1970")),
        // After the last time that a record can have, which is in 2554.
        Err(_) => Ok(Moment(u64::MAX)),
    }
}

fn point(text: &str, now: &Zoned) -> Option<Timestamp> {
    let midnight = || now.start_of_day().ok();
    match text {
        "now" => return Some(now.timestamp()),
        "today" => return Some(midnight()?.timestamp()),
        "yesterday" => {
            let yesterday = now.checked_sub(Span::new().days(1)).ok()?;
            return Some(yesterday.start_of_day().ok()?.timestamp());
        }
        _ => {}
    }
    if let Some(seconds) = text.strip_prefix('@') {
        let seconds = seconds.parse().ok()?;
        let is_later = seconds > 0;
        return Timestamp::from_second(seconds).ok().or(last(is_later));
    }
    if text.starts_with(['-', '+']) {
        let span: Span = text.parse().ok()?;
        let moment = now.checked_add(span).ok();
        return moment.map(|it| it.timestamp()).or(last(span.is_positive()));
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    // The last days of 9999 are after the last time that is known here: with another month, it shows whether
    // the rest makes sense.
    let other = text.strip_prefix("9999-12-");
    let other = other.map(|rest| format!("9999-10-{rest}"));
    if other.is_some_and(|other| other.parse::<Timestamp>().is_ok()) {
        return last(true);
    }
    let civil = match text.parse::<Time>() {
        Ok(time) if text.contains(':') && !text.contains('-') => now.date().to_datetime(time),
        _ => text.parse::<DateTime>().ok()?,
    };
    let moment = civil.to_zoned(now.time_zone().clone()).ok();
    moment
        .map(|it| it.timestamp())
        .or(last(civil.year() == 9999))
}

/// The last time of all, for a later one.
fn last(is_later: bool) -> Option<Timestamp> {
    is_later.then_some(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> i64 {
        let now: Zoned = "2026-11-21T12:00:00+01:00[Europe/Paris]".parse().unwrap();
        let moment = at(text, &now).unwrap();
        moment.0 as i64 / 1_000_000_000 - now.timestamp().as_second()
    }

    #[test]
    fn times_are_understood_as_people_mean_them() {
        assert_eq!(seconds("now"), 0);
        assert_eq!(seconds("10:30"), -90 * 60);
        assert_eq!(seconds("10:30:15"), -90 * 60 + 15);
        assert_eq!(seconds("today"), -12 * 3600);
        assert_eq!(seconds("yesterday"), -36 * 3600);
        assert_eq!(seconds("-15m"), -15 * 60);
        assert_eq!(seconds("-1h30m"), -90 * 60);
        assert_eq!(seconds("2026-11-21T11:00:00Z"), 0);
        assert_eq!(seconds("2026-11-21T12:00:00.5+01:00"), 0);
        assert_eq!(seconds("2026-11-21 11:59"), -60);
        assert_eq!(seconds("2026-11-21"), -12 * 3600);
        assert_eq!(seconds("@1795258800"), 0);
    }

    #[test]
    fn a_time_of_day_is_that_of_the_zone() {
        let written = Written::parse("2026-11-21 10:30").unwrap();
        let in_zone = |name: &str| written.moment(&zone(name).unwrap()).0;
        let hour = 3_600_000_000_000;
        assert_eq!(in_zone("UTC") - in_zone("+02:00"), 2 * hour);
        assert_eq!(in_zone("-03:30") - in_zone("UTC"), 7 * hour / 2);
        let fixed = Written::parse("2026-11-21T11:00:00Z").unwrap();
        let in_zone = |name: &str| fixed.moment(&zone(name).unwrap());
        assert_eq!(in_zone("UTC"), in_zone("+02:00"));
        assert!(zone("Middle/Earth").is_err());
        assert!(zone("").is_err());
    }

    #[test]
    fn a_day_back_over_a_change_of_clocks_is_still_the_day_before() {
        // The day before had 23 hours.
        let now: Zoned = "2026-03-30T00:30:00+02:00[Europe/Paris]".parse().unwrap();
        let moment = at("yesterday", &now).unwrap();
        let wanted: Timestamp = "2026-03-29T00:00:00+01:00".parse().unwrap();
        assert_eq!(moment.0 as i128, wanted.as_nanosecond());
    }

    #[test]
    fn a_time_behind_all_records_is_one() {
        let now: Zoned = "2026-11-21T12:00:00+01:00[Europe/Paris]".parse().unwrap();
        for text in [
            "2554-07-23",
            "9999-12-31",
            "9999-12-31 23:59:59",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59-05:00",
            "@99999999999999",
            "+9000y",
        ] {
            assert_eq!(at(text, &now), Ok(Moment(u64::MAX)), "{text}");
        }
        for text in [
            "9999-12-32",
            "9999-12-31T25:00Z",
            "9999-13-01",
            "10000-01-01",
        ] {
            assert!(at(text, &now).is_err(), "{text}");
        }
        let before = at("1969-07-20", &now).unwrap_err();
        assert!(before.contains("is before 1970"), "{before}");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let now: Zoned = "2026-11-21T12:00:00+01:00[Europe/Paris]".parse().unwrap();
        for text in [
            "",
            "someday",
            "25:00",
            "-15x",
            "@",
            "2026-13-01",
            "1960-01-01",
            "1030",
        ] {
            assert!(at(text, &now).is_err(), "{text}");
        }
    }
}
