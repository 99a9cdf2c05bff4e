//! OpenTelemetry's `ExportLogsServiceRequest` in protobuf, as collectors take it over HTTP, and what they
//! answer. A record says there what it says in [JSON](super::otlp), and its key and machine. Numbers of
//! fields are those of `opentelemetry/proto` (collector, logs, resource and common, version 1).
//!
//! A record has 128 attributes at most; the rest is counted in `dropped_attributes_count`.

use super::attributes::{self, Attribute, Names};
use super::diagnostics::{is_timed, recorded};
use super::entry::Entry;
use super::otlp::number;
use super::protobuf::{Message, Value, fields};
use logdef_fuchsia::diagnostics::{LogsData, Property};

/// `ExportLogsServiceRequest`, `ResourceLogs` and `ScopeLogs`.
mod request {
    pub const RESOURCE_LOGS: u32 = 1;
    pub const RESOURCE: u32 = 1;
    pub const SCOPE_LOGS: u32 = 2;
    pub const SCOPE: u32 = 1;
    pub const LOG_RECORDS: u32 = 2;
    /// Of `Resource`.
    pub const ATTRIBUTES: u32 = 1;
    /// Of `InstrumentationScope`.
    pub const NAME: u32 = 1;
}

/// `LogRecord`.
mod record {
    pub const TIME: u32 = 1;
    pub const SEVERITY_NUMBER: u32 = 2;
    pub const SEVERITY_TEXT: u32 = 3;
    pub const BODY: u32 = 5;
    pub const ATTRIBUTES: u32 = 6;
    pub const DROPPED_ATTRIBUTES: u32 = 7;
}

/// `KeyValue`, `AnyValue` and `ArrayValue`.
mod value {
    pub const KEY: u32 = 1;
    pub const VALUE: u32 = 2;
    pub const STRING: u32 = 1;
    pub const BOOL: u32 = 2;
    pub const INT: u32 = 3;
    pub const DOUBLE: u32 = 4;
    pub const ARRAY: u32 = 5;
    pub const VALUES: u32 = 1;
}

/// Appends a request with these records; those that follow each other and are of one process share a resource.
///
/// ```
/// use logdef_fuchsia::{diagnostics::LogsData, structured::Severity};
/// use logdef_resync::export::{entry::Entry, otlp_request};
///
/// let entry = Entry::new(LogsData::new("web", 72_000, Severity::WARN));
/// let mut request = Vec::new();
/// otlp_request::encode(&[entry], None, &mut request);
/// assert!(request.windows(3).any(|bytes| bytes == b"web"));
/// ```
pub fn encode(entries: &[Entry], service: Option<&str>, out: &mut Vec<u8>) {
    let mut request = Message(out);
    let mut names = Names::default();
    for of_one in entries.chunk_by(is_of_same_resource) {
        request.message(request::RESOURCE_LOGS, |logs| {
            logs.message(request::RESOURCE, |to| resource(&of_one[0], service, to));
            logs.message(request::SCOPE_LOGS, |logs| {
                logs.message(request::SCOPE, |it| it.bytes(request::NAME, b"logdef"));
                for entry in of_one {
                    logs.message(request::LOG_RECORDS, |to| {
                        record(&entry.data, &mut names, to)
                    });
                }
            });
        });
    }
}

fn is_of_same_resource(one: &Entry, other: &Entry) -> bool {
    one.data.moniker == other.data.moniker
        && one.data.metadata.pid == other.data.metadata.pid
        && one.host == other.host
}

fn resource(entry: &Entry, service: Option<&str>, to: &mut Message<'_>) {
    let service = Attribute::Text(service.unwrap_or(&entry.data.moniker));
    attribute(request::ATTRIBUTES, "service.name", service, to);
    if let Some(pid) = entry.data.metadata.pid {
        attribute(request::ATTRIBUTES, "process.pid", Attribute::Uint(pid), to);
    }
    if let Some(host) = &entry.host {
        attribute(request::ATTRIBUTES, "host.name", Attribute::Text(host), to);
    }
}

fn record(data: &LogsData, names: &mut Names, to: &mut Message<'_>) {
    if let (true, Ok(time)) = (is_timed(data), u64::try_from(data.metadata.timestamp)) {
        to.fixed(record::TIME, time);
    }
    if let Some(severity) = recorded(data) {
        to.uint(record::SEVERITY_NUMBER, number(severity).into());
        to.bytes(record::SEVERITY_TEXT, severity.name().as_bytes());
    }
    let payload = data.payload.as_ref();
    let message = payload.and_then(|payload| payload.message.as_deref());
    to.message(record::BODY, |body| {
        body.bytes(value::STRING, message.unwrap_or("").as_bytes());
    });
    names.clear();
    let mut dropped = 0;
    attributes::each(data, |name, value| match names.unused(name, '#') {
        Some(name) => attribute(record::ATTRIBUTES, name, value, to),
        None => dropped += 1,
    });
    if dropped > 0 {
        to.uint(record::DROPPED_ATTRIBUTES, dropped);
    }
}

fn attribute(field: u32, name: &str, value: Attribute<'_>, to: &mut Message<'_>) {
    to.message(field, |pair| {
        pair.bytes(value::KEY, name.as_bytes());
        pair.message(value::VALUE, |to| match value {
            Attribute::Int(number) => to.int(value::INT, number),
            Attribute::Uint(number) => uint(number, to),
            Attribute::Text(text) => to.bytes(value::STRING, text.as_bytes()),
            Attribute::Texts(texts) => to.message(value::ARRAY, |array| {
                for text in texts {
                    array.message(value::VALUES, |to| to.bytes(value::STRING, text.as_bytes()));
                }
            }),
            Attribute::Property(value) => property(value, to),
        });
    });
}

/// A number that no signed one can be becomes a text.
fn uint(number: u64, to: &mut Message<'_>) {
    match i64::try_from(number) {
        Ok(number) => to.int(value::INT, number),
        Err(_) => to.bytes(value::STRING, number.to_string().as_bytes()),
    }
}

/// An `AnyValue`.
fn property(value: &Property, to: &mut Message<'_>) {
    match value {
        Property::SignedInt(number) => to.int(value::INT, *number),
        Property::UnsignedInt(number) => uint(*number, to),
        Property::Double(number) => to.double(value::DOUBLE, *number),
        Property::Boolean(it) => to.uint(value::BOOL, u64::from(*it)),
        Property::Text(text) => to.bytes(value::STRING, text.as_bytes()),
        Property::Bytes(_) => to.bytes(value::STRING, value.to_string().as_bytes()),
        Property::Array(values) => to.message(value::ARRAY, |array| {
            for value in values {
                array.message(value::VALUES, |to| property(value, to));
            }
        }),
    }
}

/// Records of a request that a collector did not take although it took the request, and why.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Rejected {
    /// How many records the collector did not take.
    pub records: u64,
    /// What the collector says; it may say something and reject none.
    pub why: String,
}

/// What an `ExportLogsServiceResponse` says of records that were not taken.
pub fn rejected(response: &[u8]) -> Rejected {
    let mut rejected = Rejected::default();
    for (field, value) in fields(response) {
        let (1, Value::Bytes(partial)) = (field, value) else {
            continue;
        };
        for field in fields(partial) {
            match field {
                // It is an int64: a negative one makes no sense.
                (1, Value::Uint(records)) if records <= i64::MAX as u64 => {
                    rejected.records = records;
                }
                (2, Value::Bytes(why)) => rejected.why = String::from_utf8_lossy(why).into(),
                _ => {}
            }
        }
    }
    rejected
}

/// Why a request was refused, in the words of the `google.rpc.Status` of the answer.
pub fn refusal(status: &[u8]) -> Option<String> {
    fields(status).find_map(|field| match field {
        (2, Value::Bytes(why)) => Some(String::from_utf8_lossy(why).into_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_many_records_were_not_taken() {
        let response = [0x0a, 0x07, 0x08, 0x85, 0x02, 0x12, 0x02, b'n', b'o'];
        let expected = Rejected {
            records: 261,
            why: "no".into(),
        };
        assert_eq!(rejected(&response), expected);
        assert_eq!(rejected(b""), Rejected::default());
        assert_eq!(rejected(b"<html>no</html>"), Rejected::default());
        let negative = [
            0x0a, 11, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1,
        ];
        assert_eq!(rejected(&negative).records, 0);
        assert_eq!(
            refusal(&[0x08, 3, 0x12, 2, b'n', b'o']).as_deref(),
            Some("no")
        );
        assert_eq!(refusal(b"no"), None);
    }
}
