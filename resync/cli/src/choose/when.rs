//! Points in time as people write them.

use jiff::civil::{DateTime, Time};
use jiff::{Span, Timestamp, Zoned};

/// Nanoseconds since the Unix epoch, as far as records know them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Moment(pub u64);

/// Understands RFC 3339, a date, a date and a time, a time of today, `now`,
/// `today`, `yesterday`, a distance from now (`-15m`, `-1h30m`), and seconds
/// since the epoch (`@1700000000`).
pub fn parse(text: &str) -> Result<Moment, String> {
    at(text, &Zoned::now())
}

fn at(text: &str, now: &Zoned) -> Result<Moment, String> {
    let text = text.trim();
    let moment = point(text, now).ok_or_else(|| {
        format!("{text:?} is no time: try 2026-05-01T10:30:00Z, 10:30, yesterday or -15m")
    })?;
    u64::try_from(moment.as_nanosecond())
        .map(Moment)
        .map_err(|_| format!("{text:?} is before 1970"))
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
        return Timestamp::from_second(seconds.parse().ok()?).ok();
    }
    if text.starts_with(['-', '+']) {
        let span: Span = text.parse().ok()?;
        return Some(now.checked_add(span).ok()?.timestamp());
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let civil = match text.parse::<Time>() {
        Ok(time) if text.contains(':') && !text.contains('-') => now.date().to_datetime(time),
        _ => text.parse::<DateTime>().ok()?,
    };
    Some(civil.to_zoned(now.time_zone().clone()).ok()?.timestamp())
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
    fn a_day_back_over_a_change_of_clocks_is_still_the_day_before() {
        // The day before had 23 hours.
        let now: Zoned = "2026-03-30T00:30:00+02:00[Europe/Paris]".parse().unwrap();
        let moment = at("yesterday", &now).unwrap();
        let wanted: Timestamp = "2026-03-29T00:00:00+01:00".parse().unwrap();
        assert_eq!(moment.0 as i128, wanted.as_nanosecond());
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
