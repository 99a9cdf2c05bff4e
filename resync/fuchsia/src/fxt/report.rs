//! What one does with a whole trace: [`dump`] shows every record, [`stat`] counts
//! them, [`check`] says what is wrong with them. Each reads a stream to its end,
//! whatever is in it, and writes as it goes.

use std::io;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::gap::{Gap, GapReason};
use super::layer::Raw;
use super::reader::{Item, Reader};
use super::record::{Metadata, Profiler, Record, Scheduling};
use super::render::{Format, Line, write_gap, write_json};
use super::strict::{NotZero, Strict};
use super::tracker::Tracker;
use super::warning::{Tally, Warning};

/// Counts of what is in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Bytes of the trace that were read.
    pub bytes: u64,
    /// Records of all types.
    pub records: u64,
    /// Records by type and subtype.
    pub kinds: Tally,
    /// How many providers wrote records.
    pub providers: u64,
    /// How many warnings of each kind there are.
    pub warnings: Tally,
    /// How many gaps there are of each reason.
    pub gaps: Tally,
    /// Bytes of all gaps together.
    pub gap_bytes: u64,
}

impl Stat {
    fn gap(&mut self, gap: &Gap) -> io::Result<()> {
        if gap.reason == GapReason::BigEndian {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                gap.reason.to_string(),
            ));
        }
        self.gaps.add(gap_name(gap.reason));
        self.gap_bytes += gap.len;
        self.bytes += gap.len;
        Ok(())
    }

    fn warnings(&mut self, warnings: &[Warning]) {
        for warning in warnings {
            self.warnings.add(warning.kind.name());
        }
    }
}

fn gap_name(reason: GapReason) -> &'static str {
    match reason {
        GapReason::ZeroSize => "record size is zero",
        GapReason::BeyondEnd { .. } => "record reaches beyond the end",
        GapReason::Malformed(_) => "malformed record",
        GapReason::Swallows { .. } => "record claims those after it",
        GapReason::LeadsNowhere { .. } => "record leads nowhere",
        GapReason::TooLarge { .. } => "record too large",
        GapReason::Truncated { .. } => "truncated tail",
        GapReason::BigEndian => "big-endian trace",
    }
}

/// Subtypes are counted apart.
fn record_name(record: &Record<Raw<'_>>) -> (usize, &'static str) {
    match record {
        Record::Metadata(Metadata::Magic) => (0, "magic"),
        Record::Metadata(Metadata::ProviderInfo { .. }) => (1, "provider info"),
        Record::Metadata(Metadata::ProviderSection { .. }) => (2, "provider section"),
        Record::Metadata(Metadata::ProviderEvent { .. }) => (3, "provider event"),
        Record::Initialization(_) => (4, "initialization"),
        Record::String(_) => (5, "string"),
        Record::Thread(_) => (6, "thread"),
        Record::Event(event) => match event.kind.name() {
            Some(name) => (7 + usize::from(event.kind.number()), name),
            None => (18, "unknown event"),
        },
        Record::Blob(_) => (19, "blob"),
        Record::UserspaceObject(_) => (20, "userspace object"),
        Record::KernelObject(_) => (21, "kernel object"),
        Record::Scheduling(Scheduling::ContextSwitch { .. }) => (22, "context switch"),
        Record::Scheduling(Scheduling::ThreadWakeup { .. }) => (23, "thread wakeup"),
        Record::Scheduling(Scheduling::LegacyContextSwitch { .. }) => (24, "legacy context switch"),
        Record::Log(_) => (25, "log"),
        Record::Profiler(Profiler::Module { .. }) => (26, "module"),
        Record::Profiler(Profiler::Mapping { .. }) => (27, "mapping"),
        Record::Profiler(Profiler::Backtrace { .. }) => (28, "backtrace"),
        Record::LargeBlob(_) => (29, "large blob"),
        Record::Unknown(_) => (30, "unknown"),
    }
}

/// Counts the records, warnings and gaps of `input`.
///
/// # Errors
///
/// Those of `input`, and a big-endian trace.
pub fn count(mut input: Reader<impl io::Read>) -> io::Result<Stat> {
    let mut stat = Stat::default();
    // By number, as a map would cost more than reading does.
    let mut kinds = [("", 0_u64); 31];
    let mut tracker = Tracker::without_names();
    input.for_each(|item| match item {
        Item::Gap(gap) => stat.gap(&gap),
        Item::Record(found) => {
            stat.bytes += found.bytes.len() as u64;
            stat.records += 1;
            let (slot, name) = record_name(&found.record);
            kinds[slot] = (name, kinds[slot].1 + 1);
            stat.warnings(tracker.track(&found));
            Ok(())
        }
    })?;
    for (name, count) in kinds.into_iter().filter(|kind| kind.1 > 0) {
        stat.kinds.set(name, count);
    }
    stat.providers = tracker.named_providers();
    Ok(stat)
}

/// Counts as [`count`] does and writes the counts to `out`.
///
/// # Errors
///
/// Those of `input` and `out`, and a big-endian trace.
pub fn stat(
    input: Reader<impl io::Read>,
    mut out: impl io::Write,
    format: Format,
) -> io::Result<Stat> {
    let stat = count(input)?;
    match format {
        Format::Json => write_json(&mut out, &stat)?,
        Format::Text => {
            writeln!(out, "{:>12}  bytes", stat.bytes)?;
            writeln!(out, "{:>12}  providers", stat.providers)?;
            writeln!(out, "{:>12}  records", stat.records)?;
            for (name, count) in stat.kinds.iter() {
                writeln!(out, "{count:>12}    {name}")?;
            }
            writeln!(out, "{:>12}  warnings", stat.warnings.total())?;
            for (name, count) in stat.warnings.iter() {
                writeln!(out, "{count:>12}    {name}")?;
            }
            let (gaps, bytes) = (stat.gaps.total(), stat.gap_bytes);
            writeln!(out, "{gaps:>12}  gaps, {bytes} bytes")?;
            for (name, count) in stat.gaps.iter() {
                writeln!(out, "{count:>12}    {name}")?;
            }
        }
    }
    Ok(stat)
}

impl Serialize for Stat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("bytes", &self.bytes)?;
        map.serialize_entry("providers", &self.providers)?;
        map.serialize_entry("records", &self.records)?;
        map.serialize_entry("kinds", &self.kinds)?;
        map.serialize_entry("warnings", &self.warnings)?;
        map.serialize_entry("gaps", &self.gaps)?;
        map.serialize_entry("gap_bytes", &self.gap_bytes)?;
        map.end()
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Writes every record and gap of `input` to `out`, one line each, and returns the
/// counts.
///
/// # Errors
///
/// Those of `input` and `out`, and a big-endian trace.
pub fn dump(
    mut input: Reader<impl io::Read>,
    mut out: impl io::Write,
    format: Format,
) -> io::Result<Stat> {
    let mut stat = Stat::default();
    let mut tracker = Tracker::new();
    input.for_each(|item| match item {
        Item::Gap(gap) => {
            stat.gap(&gap)?;
            write_gap(&mut out, format, &gap)
        }
        Item::Record(found) => {
            stat.bytes += found.bytes.len() as u64;
            stat.records += 1;
            stat.kinds.add(record_name(&found.record).1);
            let warnings = tracker.track(&found).to_vec();
            stat.warnings(&warnings);
            let record = tracker.resolve(&found.record);
            let line = Line {
                offset: found.offset,
                size: found.bytes.len(),
                provider: tracker.provider(),
                record: &record,
                extra: found.extra,
                warnings: &warnings,
            };
            line.write(&mut out, format)
        }
    })?;
    stat.providers = tracker.named_providers();
    Ok(stat)
}

/// What a strict check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Counts of records, warnings and gaps.
    pub stat: Stat,
    /// Words with reserved bits or padding that should be zero and is not.
    pub not_zero: u64,
    /// Warnings about what the format does not allow.
    pub violations: u64,
}

impl Checked {
    /// Whether the trace is whole and in every point as the format wants it. Types
    /// and appended words of newer writers are.
    pub fn is_clean(&self) -> bool {
        self.not_zero == 0 && self.violations == 0 && self.stat.gaps.total() == 0
    }
}

/// Writes one line for everything that is wrong or odd about `input`, and returns the
/// counts. A clean trace gives no line.
///
/// # Errors
///
/// Those of `input` and `out`, and a big-endian trace.
pub fn check(
    mut input: Reader<impl io::Read>,
    mut out: impl io::Write,
    format: Format,
) -> io::Result<Checked> {
    let mut checked = Checked::default();
    let stat = &mut checked.stat;
    let mut tracker = Tracker::without_names();
    let mut strict = Strict::default();
    input.for_each(|item| match item {
        Item::Gap(gap) => {
            stat.gap(&gap)?;
            finding(&mut out, format, gap.offset, "gap", &gap)
        }
        Item::Record(found) => {
            stat.bytes += found.bytes.len() as u64;
            stat.records += 1;
            for NotZero { offset, bits } in strict.check(&found) {
                checked.not_zero += 1;
                let not_zero = NotZero { offset, bits };
                finding(&mut out, format, offset, "violation", &not_zero)?;
            }
            let warnings = tracker.track(&found);
            stat.warnings(warnings);
            for warning in warnings {
                let class = if warning.kind.is_legal() {
                    "note"
                } else {
                    checked.violations += 1;
                    "violation"
                };
                finding(&mut out, format, warning.offset, class, warning)?;
            }
            Ok(())
        }
    })?;
    stat.providers = tracker.named_providers();
    Ok(checked)
}

fn finding(
    out: &mut impl io::Write,
    format: Format,
    offset: u64,
    class: &str,
    what: &impl core::fmt::Display,
) -> io::Result<()> {
    struct Finding<'f>(u64, &'f str, String);
    impl Serialize for Finding<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(3))?;
            map.serialize_entry("offset", &self.0)?;
            map.serialize_entry("class", self.1)?;
            map.serialize_entry("what", &self.2)?;
            map.end()
        }
    }
    match format {
        Format::Text => writeln!(out, "{class}: {what}"),
        Format::Json => write_json(out, &Finding(offset, class, what.to_string())),
    }
}
