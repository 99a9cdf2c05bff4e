//! What to say with every answer: that the records are complete, or what is missing, in the words of
//! `logdef check`.

use crate::knowledge::text;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

/// Whether records are missing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Verdict {
    /// What `check` says of inputs that are not clean.
    said: BTreeSet<String>,
    /// Ranges of bytes that are damaged.
    ranges: u64,
    files: BTreeSet<String>,
    /// The times that were read of logs, if not all were.
    within: Option<RangeInclusive<i64>>,
}

impl Verdict {
    /// What tables of losses say.
    pub(crate) fn of(losses: &[RecordBatch]) -> Verdict {
        let mut verdict = Verdict::default();
        for batch in losses {
            let column = |name| batch.column_by_name(name);
            let (Some(what), Some(why), Some(file)) =
                (column("what"), column("why"), column("file"))
            else {
                continue;
            };
            let bytes = column("bytes").and_then(|it| it.as_primitive_opt::<UInt64Type>());
            for row in 0..batch.num_rows() {
                match text(what, row) {
                    Some("verdict") => {
                        let said = text(why, row).unwrap_or_default();
                        if let Some(losses) = said.strip_prefix("not clean: ") {
                            verdict.said.insert(losses.to_owned());
                        }
                    }
                    Some("torn") => {}
                    _ => {
                        if bytes.is_some_and(|it| it.is_valid(row)) {
                            verdict.ranges += 1;
                            let file = text(file, row).unwrap_or_default();
                            verdict.files.insert(file.to_owned());
                        }
                    }
                }
            }
        }
        verdict
    }

    /// The same, where only these times were read of logs, and nothing is missing in them.
    pub(crate) fn within(mut self, times: RangeInclusive<i64>) -> Verdict {
        self.within = Some(times);
        self
    }

    /// Whether no record is missing, as far as can be known.
    pub fn is_complete(&self) -> bool {
        self.said.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.within {
            Some(times) if self.is_complete() => {
                return write!(
                    f,
                    "complete for times {}: of the logs, no more was read",
                    Times(times)
                );
            }
            None if self.is_complete() => return f.write_str("complete"),
            _ => {}
        }
        let said: Vec<_> = self.said.iter().map(String::as_str).collect();
        write!(f, "not complete: {}", said.join("; "))?;
        if self.ranges > 0 {
            let plural = |number: u64| if number == 1 { "" } else { "s" };
            let (ranges, files) = (self.ranges, self.files.len() as u64);
            write!(
                f,
                " ({ranges} range{} of bytes in {files} file{}: see the table losses)",
                plural(ranges),
                plural(files)
            )?;
        }
        Ok(())
    }
}

/// A range of times, in words.
struct Times<'t>(&'t RangeInclusive<i64>);

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |time: i64| Timestamp::from_nanosecond(time.into()).unwrap_or_default();
        match (*self.0.start(), *self.0.end()) {
            (i64::MIN, to) => write!(f, "up to {}", at(to)),
            (from, i64::MAX) => write!(f, "{} and later", at(from)),
            (from, to) => write!(f, "{} to {}", at(from), at(to)),
        }
    }
}
