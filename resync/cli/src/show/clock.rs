//! Times of records as text. What the next record is likely to share is kept.

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use logdef_resync::RunInfo;
use std::io::Write;

/// How times look in text for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum TimeForm {
    /// In the time zone of this machine, of TZ or of --zone
    Local,
    /// In UTC
    Utc,
    /// Since the previous record
    Delta,
    /// Seconds of the machine's monotonic clock, as in the kernel's messages
    Mono,
}

const SECOND: u64 = 1_000_000_000;

/// Writes times in one form.
pub struct Clock {
    form: TimeForm,
    zone: TimeZone,
    /// The last second that was written, and its text.
    second: Option<u64>,
    text: Vec<u8>,
    /// The time that the next one is relative to.
    before: Option<u64>,
}

impl Clock {
    /// Civil times are those of a zone, or of UTC where the form is that.
    pub fn new(form: TimeForm, zone: TimeZone) -> Clock {
        let zone = match form {
            TimeForm::Utc => TimeZone::UTC,
            _ => zone,
        };
        Clock {
            form,
            zone,
            second: None,
            text: Vec::new(),
            before: None,
        }
    }

    /// Appends a time of a run: microseconds of civil time, or the distance from
    /// the time before, or the machine's own monotonic time.
    pub fn push(&mut self, time: Option<u64>, run: Option<&RunInfo>, out: &mut Vec<u8>) {
        let Some(time) = time else {
            let nothing: &[u8] = match self.form {
                TimeForm::Delta => b"            ?",
                TimeForm::Mono => b"             ?",
                TimeForm::Utc => b"                    no time",
                TimeForm::Local => b"                   no time",
            };
            return out.extend_from_slice(nothing);
        };
        match self.form {
            TimeForm::Local | TimeForm::Utc => self.push_civil(time, out),
            TimeForm::Delta => {
                // A clock can be set back.
                let before = self.before.replace(time).unwrap_or(time);
                let sign = if time < before { '-' } else { '+' };
                let delta = time.abs_diff(before);
                let _ = write!(out, "{sign}{:5}", delta / SECOND);
                push_micros(delta % SECOND, out);
            }
            TimeForm::Mono => match run.and_then(|run| run.realtime.zip(run.monotonic)) {
                Some((realtime, monotonic)) => {
                    let time = i128::from(time) - i128::from(realtime) + i128::from(monotonic);
                    let sign = if time < 0 { "-" } else { "" };
                    let time = u64::try_from(time.unsigned_abs()).unwrap_or(u64::MAX);
                    let _ = write!(out, "{sign}{:7}", time / SECOND);
                    push_micros(time % SECOND, out);
                }
                None => out.extend_from_slice(b"             ?"),
            },
        }
    }

    /// Appends a time that no other is relative to: as civil time where times are.
    pub fn push_point(&mut self, time: u64, out: &mut Vec<u8>) {
        match self.form {
            TimeForm::Local | TimeForm::Utc => self.push_civil(time, out),
            TimeForm::Delta | TimeForm::Mono => push_rfc3339(time, out),
        }
    }

    fn push_civil(&mut self, time: u64, out: &mut Vec<u8>) {
        let second = time / SECOND;
        if self.second != Some(second) {
            self.second = Some(second);
            self.text.clear();
            let _ = match Timestamp::from_second(second as i64) {
                Ok(time) => {
                    let civil = time.to_zoned(self.zone.clone());
                    write!(self.text, "{}", civil.strftime("%Y-%m-%d %H:%M:%S"))
                }
                // A number no calendar reaches is shown as it stands.
                Err(_) => write!(self.text, "@{second}"),
            };
        }
        out.extend_from_slice(&self.text);
        push_micros(time % SECOND, out);
        if self.form == TimeForm::Utc {
            out.push(b'Z');
        }
    }
}

/// Appends a time as RFC 3339 in UTC, to the nanosecond.
pub fn push_rfc3339(time: u64, out: &mut Vec<u8>) {
    let _ = match Timestamp::from_nanosecond(time.into()) {
        Ok(time) => write!(out, "{time:.9}"),
        Err(_) => write!(out, "@{}.{:09}", time / SECOND, time % SECOND),
    };
}

fn push_micros(nanos: u64, out: &mut Vec<u8>) {
    let mut digits = *b".000000";
    let mut micros = nanos / 1000;
    for digit in digits[1..].iter_mut().rev() {
        *digit = b'0' + (micros % 10) as u8;
        micros /= 10;
    }
    out.extend_from_slice(&digits);
}

/// A length of time in a unit that suits it, with three decimals.
pub fn push_duration(nanos: u64, out: &mut Vec<u8>) {
    let (unit, name) = match nanos {
        0..1_000 => return drop(write!(out, "{nanos} ns")),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let (whole, rest) = (nanos / unit, nanos % unit / (unit / 1000));
    let _ = write!(out, "{whole}.{rest:03} {name}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(form: TimeForm, times: &[u64]) -> Vec<String> {
        let run = RunInfo {
            realtime: Some(100 * SECOND),
            monotonic: Some(7 * SECOND),
            ..RunInfo::default()
        };
        let mut clock = Clock::new(form, TimeZone::UTC);
        let show = |time: &u64| {
            let mut out = Vec::new();
            clock.push(Some(*time), Some(&run), &mut out);
            String::from_utf8(out).unwrap()
        };
        times.iter().map(show).collect()
    }

    #[test]
    fn each_form_prints_the_time_its_way() {
        let times = [100 * SECOND, 101 * SECOND + 500_000, 101 * SECOND];
        assert_eq!(
            shown(TimeForm::Utc, &times[..2]),
            ["1970-01-01 00:01:40.000000Z", "1970-01-01 00:01:41.000500Z"]
        );
        assert_eq!(
            shown(TimeForm::Delta, &times),
            ["+    0.000000", "+    1.000500", "-    0.000500"]
        );
        assert_eq!(
            shown(TimeForm::Mono, &times[..2]),
            ["      7.000000", "      8.000500"]
        );
    }

    #[test]
    fn no_number_is_too_large() {
        assert_eq!(
            shown(TimeForm::Utc, &[u64::MAX]),
            ["2554-07-21 23:34:33.709551Z"]
        );
        let mut out = Vec::new();
        push_rfc3339(SECOND + 5, &mut out);
        assert_eq!(out, b"1970-01-01T00:00:01.000000005Z");
    }
}
