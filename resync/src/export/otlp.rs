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
//! | keys | attributes under their names |
//! | raw severity, drop count, tags | attributes `logdef.raw_severity`, `logdef.dropped_logs`, `logdef.tags` |
//!
//! 64-bit integers are strings, as protobuf's JSON has them; an unsigned number
//! that no signed one can be becomes a text.

use super::diagnostics::recorded;
use logdef_fuchsia::diagnostics::{LogsData, Property};
use logdef_fuchsia::structured::Severity;
use serde_json::{Value, json};
use std::io;

/// Records of one line, at most.
const LINE: usize = 64;

/// Writes lines; records that follow each other and are of one process share one.
#[derive(Debug)]
pub struct Exporter<W> {
    out: W,
    resource: Value,
    records: Vec<Value>,
}

impl<W: io::Write> Exporter<W> {
    /// Begins with nothing.
    pub fn new(out: W) -> Self {
        Exporter {
            out,
            resource: Value::Null,
            records: Vec::new(),
        }
    }

    /// Adds a record.
    pub fn write(&mut self, data: &LogsData) -> io::Result<()> {
        let resource = resource(data);
        if self.records.len() >= LINE || self.resource != resource {
            self.flush()?;
            self.resource = resource;
        }
        self.records.push(record(data));
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let records = std::mem::take(&mut self.records);
        let line = json!({"resourceLogs": [{
            "resource": self.resource.take(),
            "scopeLogs": [{"scope": {"name": "logdef"}, "logRecords": records}],
        }]});
        writeln!(self.out, "{line}")
    }
}

fn resource(data: &LogsData) -> Value {
    let mut attributes = vec![attribute("service.name", text(&data.moniker))];
    if let Some(pid) = data.metadata.pid {
        attributes.push(attribute("process.pid", integer(pid)));
    }
    json!({ "attributes": attributes })
}

fn record(data: &LogsData) -> Value {
    let metadata = &data.metadata;
    let severity = recorded(data);
    let mut attributes = Vec::new();
    let mut add = |name: &str, value: Option<Value>| {
        attributes.extend(value.map(|value| attribute(name, value)));
    };
    add("thread.id", metadata.tid.map(integer));
    add("code.file.path", metadata.file.as_deref().map(text));
    add("code.line.number", metadata.line.map(integer));
    let raw = metadata.raw_severity.map(u64::from);
    add("logdef.raw_severity", raw.map(integer));
    for error in &metadata.errors {
        add("logdef.dropped_logs", error.count().map(integer));
    }
    if !metadata.tags.is_empty() {
        let tags: Vec<_> = metadata.tags.iter().map(|tag| text(tag)).collect();
        add("logdef.tags", Some(array(tags)));
    }
    let payload = data.payload.as_ref();
    for (name, property) in payload.map_or(&[][..], |payload| &payload.keys) {
        add(name, Some(value(property)));
    }
    let message = payload.and_then(|payload| payload.message.as_deref());
    json!({
        "timeUnixNano": metadata.timestamp.max(0).to_string(),
        "severityNumber": number(severity),
        "severityText": severity.name(),
        "body": text(message.unwrap_or("")),
        "attributes": attributes,
    })
}

/// The number that OpenTelemetry gives a severity.
fn number(severity: Severity) -> u8 {
    match severity {
        Severity::TRACE => 1,
        Severity::DEBUG => 5,
        Severity::INFO => 9,
        Severity::WARN => 13,
        Severity::ERROR => 17,
        _ => 21,
    }
}

fn attribute(name: &str, value: Value) -> Value {
    json!({"key": name, "value": value})
}

fn text(text: &str) -> Value {
    json!({ "stringValue": text })
}

fn array(values: Vec<Value>) -> Value {
    json!({"arrayValue": {"values": values}})
}

fn integer(value: u64) -> Value {
    let kind = if i64::try_from(value).is_ok() {
        "intValue"
    } else {
        "stringValue"
    };
    json!({ kind: value.to_string() })
}

fn value(property: &Property) -> Value {
    match property {
        Property::SignedInt(value) => json!({"intValue": value.to_string()}),
        Property::UnsignedInt(value) => integer(*value),
        Property::Double(value) if value.is_finite() => json!({ "doubleValue": value }),
        // Numbers that JSON does not have are strings in protobuf's.
        Property::Double(value) if value.is_nan() => json!({"doubleValue": "NaN"}),
        Property::Double(value) if *value > 0.0 => json!({"doubleValue": "Infinity"}),
        Property::Double(_) => json!({"doubleValue": "-Infinity"}),
        Property::Boolean(value) => json!({ "boolValue": value }),
        Property::Text(value) => text(value),
        Property::Bytes(_) => text(&property.to_string()),
        Property::Array(values) => array(values.iter().map(value).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_fuchsia::diagnostics::{LogError, LogsPayload};

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
    fn numbers_are_those_of_opentelemetry() {
        assert_eq!(Severity::NAMED.map(number), [1, 5, 9, 13, 17, 21]);
    }
}
