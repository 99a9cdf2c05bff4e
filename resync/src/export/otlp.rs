//! OpenTelemetry's log data in its JSON form, as its collector's file receiver
//! reads it: a `LogsData` message on each line.
//!
//! | of the data | in the log record |
//! |---|---|
//! | time | `timeUnixNano` |
//! | severity | `severityNumber` 1, 5, 9, 13, 17 or 21, and `severityText` |
//! | message | `body` |
//! | moniker, process | `service.name` and `process.pid` of the resource |
//! | thread, file, line | attributes `thread.id`, `code.file.path`, `code.line.number` |
//! | keys, with `module` and `target` | attributes under their names |
//! | raw severity, drop count, tags | attributes `logdef.raw_severity`, `logdef.dropped_logs`, `logdef.tags` |
//!
//! A record without a time or a level has no such field. The time of one from before 1970 is the
//! attribute `logdef.timestamp`: the field has no sign.
//!
//! 64-bit integers are strings, as protobuf's JSON has them; an unsigned number
//! that no signed one can be becomes a text.

use super::attributes::{self, Attribute};
use super::diagnostics::{is_timed, recorded};
use super::json::Json;
use logdef_fuchsia::diagnostics::{LogsData, Property};
use logdef_fuchsia::structured::Severity;
use std::io;

/// Records of one line, at most.
const LINE: usize = 64;

/// Writes lines; records that follow each other and are of one process share one.
#[derive(Debug)]
pub struct Exporter<W> {
    out: W,
    /// The process of the records in `line`.
    moniker: String,
    pid: Option<u64>,
    /// A line without its end, and the records in it.
    line: Json,
    records: usize,
}

impl<W: io::Write> Exporter<W> {
    /// Writes nothing yet: a line begins with its first record.
    pub fn new(out: W) -> Self {
        Exporter {
            out,
            moniker: String::new(),
            pid: None,
            line: Json::default(),
            records: 0,
        }
    }

    /// Adds a record to the line, which ends at another process or component, or when it is full.
    pub fn write(&mut self, data: &LogsData) -> io::Result<()> {
        let is_other = self.moniker != data.moniker || self.pid != data.metadata.pid;
        if self.records >= LINE || is_other {
            self.flush()?;
        }
        if self.records == 0 {
            self.moniker.clone_from(&data.moniker);
            self.pid = data.metadata.pid;
            begin(data, &mut self.line);
        } else {
            self.line.raw(",");
        }
        record(data, &mut self.line);
        self.records += 1;
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        self.line.raw("]}]}]}\n");
        self.out.write_all(&self.line.0)?;
        self.line.0.clear();
        self.records = 0;
        Ok(())
    }
}

/// A line up to its first record.
fn begin(data: &LogsData, json: &mut Json) {
    json.raw(r#"{"resourceLogs":[{"resource":{"attributes":["#);
    let mut attributes = Attributes::new(json);
    attributes.text("service.name", &data.moniker);
    if let Some(pid) = data.metadata.pid {
        attributes.integer("process.pid", pid);
    }
    json.raw(r#"]},"scopeLogs":[{"scope":{"name":"logdef"},"logRecords":["#);
}

fn record(data: &LogsData, json: &mut Json) {
    json.raw("{");
    if let (true, Ok(time)) = (is_timed(data), u64::try_from(data.metadata.timestamp)) {
        json.raw(r#""timeUnixNano":""#);
        json.display(time);
        json.raw(r#"","#);
    }
    if let Some(severity) = recorded(data) {
        json.raw(r#""severityNumber":"#);
        json.display(number(severity));
        json.raw(r#","severityText":""#);
        json.raw(severity.name());
        json.raw(r#"","#);
    }
    let payload = data.payload.as_ref();
    let message = payload.and_then(|payload| payload.message.as_deref());
    json.raw(r#""body":"#);
    json.any_text(message.unwrap_or(""));
    json.raw(r#","attributes":["#);
    attributes(data, &mut Attributes::new(json));
    json.raw("]}");
}

fn attributes(data: &LogsData, to: &mut Attributes<'_>) {
    attributes::each(data, |name, value| {
        let json = to.begin(name);
        match value {
            Attribute::Int(value) => json.any(&Property::SignedInt(value)),
            Attribute::Uint(value) => json.any_integer(value),
            Attribute::Text(value) => json.any_text(value),
            Attribute::Texts(values) => json.array(values, |value, json| json.any_text(value)),
            Attribute::Property(value) => json.any(value),
        }
        json.raw("}");
    });
}

/// The number that OpenTelemetry gives a severity.
pub(super) fn number(severity: Severity) -> u8 {
    match severity {
        Severity::TRACE => 1,
        Severity::DEBUG => 5,
        Severity::INFO => 9,
        Severity::WARN => 13,
        Severity::ERROR => 17,
        _ => 21,
    }
}

/// A list of names and values.
struct Attributes<'j> {
    json: &'j mut Json,
    is_first: bool,
}

impl<'j> Attributes<'j> {
    fn new(json: &'j mut Json) -> Self {
        Attributes {
            json,
            is_first: true,
        }
    }

    /// An attribute up to its value.
    fn begin(&mut self, name: &str) -> &mut Json {
        if !std::mem::take(&mut self.is_first) {
            self.json.raw(",");
        }
        self.json.raw(r#"{"key":"#);
        self.json.quoted(name);
        self.json.raw(r#","value":"#);
        self.json
    }

    fn text(&mut self, name: &str, value: &str) {
        let json = self.begin(name);
        json.any_text(value);
        json.raw("}");
    }

    fn integer(&mut self, name: &str, value: u64) {
        let json = self.begin(name);
        json.any_integer(value);
        json.raw("}");
    }
}

/// OpenTelemetry's values.
impl Json {
    /// An `AnyValue` that is a text.
    fn any_text(&mut self, text: &str) {
        self.raw(r#"{"stringValue":"#);
        self.quoted(text);
        self.raw("}");
    }

    /// An `AnyValue` that is an integer, if a signed one can be it.
    fn any_integer(&mut self, value: u64) {
        let name = match i64::try_from(value) {
            Ok(_) => r#"{"intValue":""#,
            Err(_) => r#"{"stringValue":""#,
        };
        self.raw(name);
        self.display(value);
        self.raw(r#""}"#);
    }

    /// Any `AnyValue`.
    fn any(&mut self, property: &Property) {
        match property {
            Property::SignedInt(value) => {
                self.raw(r#"{"intValue":""#);
                self.display(value);
                self.raw(r#""}"#);
            }
            Property::UnsignedInt(value) => self.any_integer(*value),
            Property::Double(value) => {
                self.raw(r#"{"doubleValue":"#);
                self.double(*value);
                self.raw("}");
            }
            Property::Boolean(value) => {
                self.raw(r#"{"boolValue":"#);
                self.display(value);
                self.raw("}");
            }
            Property::Text(value) => self.any_text(value),
            Property::Bytes(_) => self.any_text(&property.to_string()),
            Property::Array(values) => self.array(values, |value, json| json.any(value)),
        }
    }

    /// Numbers that JSON does not have are strings in protobuf's.
    fn double(&mut self, value: f64) {
        match value {
            value if value.is_finite() => {
                let _ = serde_json::to_writer(&mut self.0, &value);
            }
            value if value.is_nan() => self.raw(r#""NaN""#),
            f64::INFINITY => self.raw(r#""Infinity""#),
            _ => self.raw(r#""-Infinity""#),
        }
    }

    /// An `AnyValue` that is an array.
    fn array<T>(&mut self, values: &[T], each: impl Fn(&T, &mut Json)) {
        self.raw(r#"{"arrayValue":{"values":["#);
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.raw(",");
            }
            each(value, self);
        }
        self.raw("]}}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_fuchsia::diagnostics::{LogError, LogsPayload};
    use serde_json::{Value, json};

    fn data() -> LogsData {
        let mut data = LogsData::new("web", 72, Severity(0x2e));
        data.metadata.pid = Some(7);
        data.metadata.tags.push("web".into());
        data.metadata.set_error(LogError::DroppedLogs { count: 2 });
        data.payload = Some(LogsPayload {
            message: Some("hello".into()),
            keys: vec![
                ("signed".into(), Property::SignedInt(-5)),
                ("large".into(), Property::UnsignedInt(u64::MAX)),
                ("nan".into(), Property::Double(f64::NAN)),
                ("half".into(), Property::Double(0.5)),
                ("yes".into(), Property::Boolean(true)),
            ],
        });
        data
    }

    #[test]
    fn a_record_has_all_that_the_data_has() {
        let mut exporter = Exporter::new(Vec::new());
        exporter.write(&data()).unwrap();
        let line = exporter.finish().unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        let expected = json!({"resourceLogs": [{
            "resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": "web"}},
                {"key": "process.pid", "value": {"intValue": "7"}},
            ]},
            "scopeLogs": [{"scope": {"name": "logdef"}, "logRecords": [{
                "timeUnixNano": "72",
                "severityNumber": 9,
                "severityText": "INFO",
                "body": {"stringValue": "hello"},
                "attributes": [
                    {"key": "logdef.raw_severity", "value": {"intValue": "46"}},
                    {"key": "logdef.dropped_logs", "value": {"intValue": "2"}},
                    {"key": "logdef.tags", "value": {"arrayValue": {"values": [{"stringValue": "web"}]}}},
                    {"key": "signed", "value": {"intValue": "-5"}},
                    {"key": "large", "value": {"stringValue": "18446744073709551615"}},
                    {"key": "nan", "value": {"doubleValue": "NaN"}},
                    {"key": "half", "value": {"doubleValue": 0.5}},
                    {"key": "yes", "value": {"boolValue": true}},
                ],
            }]}],
        }]});
        assert_eq!(line, expected);
    }

    #[test]
    fn lines_hold_records_of_one_resource_and_not_too_many() {
        let mut exporter = Exporter::new(Vec::new());
        for index in 0..LINE + 3 {
            let mut data = data();
            data.moniker = (if index > LINE { "other" } else { "web" }).into();
            exporter.write(&data).unwrap();
        }
        let out = exporter.finish().unwrap();
        let lines = str::from_utf8(&out).unwrap().lines();
        let counts: Vec<_> = lines
            .map(|line| line.matches("timeUnixNano").count())
            .collect();
        assert_eq!(counts, [LINE, 1, 2]);
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let mut data = data();
        data.metadata.severity = Severity::TRACE;
        data.metadata.raw_severity = Some(0);
        let payload = data.payload.as_mut().unwrap();
        payload
            .keys
            .push(("time".into(), Property::Text("unknown".into())));
        let mut exporter = Exporter::new(Vec::new());
        exporter.write(&data).unwrap();
        let line = exporter.finish().unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        let record = &line["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
        for name in ["timeUnixNano", "severityNumber", "severityText"] {
            assert!(record.get(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_time_before_1970_is_an_attribute_and_never_0() {
        for time in [-1, i64::MIN] {
            let mut data = data();
            data.metadata.timestamp = time;
            let mut exporter = Exporter::new(Vec::new());
            exporter.write(&data).unwrap();
            let line = exporter.finish().unwrap();
            let line: Value = serde_json::from_slice(&line).unwrap();
            let record = &line["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
            assert!(record.get("timeUnixNano").is_none());
            let expected =
                json!({"key": "logdef.timestamp", "value": {"intValue": time.to_string()}});
            assert_eq!(record["attributes"][0], expected);
        }
    }

    #[test]
    fn numbers_are_those_of_opentelemetry() {
        assert_eq!(Severity::NAMED.map(number), [1, 5, 9, 13, 17, 21]);
    }
}
