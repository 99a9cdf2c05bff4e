//! What a store got, decoded by what the definitions of its protocol say.

use crate::stores::{Request, Store};
use prost::Message as _;
use serde_json::Value;
use std::collections::BTreeMap;

/// The messages of `opentelemetry/proto/{collector/logs,logs,resource,common}/v1`.
pub mod otlp {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Request {
        #[prost(message, repeated, tag = "1")]
        pub resource_logs: Vec<ResourceLogs>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ResourceLogs {
        #[prost(message, optional, tag = "1")]
        pub resource: Option<Resource>,
        #[prost(message, repeated, tag = "2")]
        pub scope_logs: Vec<ScopeLogs>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Resource {
        #[prost(message, repeated, tag = "1")]
        pub attributes: Vec<KeyValue>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ScopeLogs {
        #[prost(message, optional, tag = "1")]
        pub scope: Option<Scope>,
        #[prost(message, repeated, tag = "2")]
        pub log_records: Vec<LogRecord>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Scope {
        #[prost(string, tag = "1")]
        pub name: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct LogRecord {
        #[prost(fixed64, tag = "1")]
        pub time_unix_nano: u64,
        #[prost(int32, tag = "2")]
        pub severity_number: i32,
        #[prost(string, tag = "3")]
        pub severity_text: String,
        #[prost(message, optional, tag = "5")]
        pub body: Option<AnyValue>,
        #[prost(message, repeated, tag = "6")]
        pub attributes: Vec<KeyValue>,
        #[prost(uint32, tag = "7")]
        pub dropped_attributes_count: u32,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct KeyValue {
        #[prost(string, tag = "1")]
        pub key: String,
        #[prost(message, optional, tag = "2")]
        pub value: Option<AnyValue>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct AnyValue {
        #[prost(oneof = "Any", tags = "1, 2, 3, 4, 5")]
        pub any: Option<Any>,
    }
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Any {
        #[prost(string, tag = "1")]
        Text(String),
        #[prost(bool, tag = "2")]
        Bool(bool),
        #[prost(int64, tag = "3")]
        Int(i64),
        #[prost(double, tag = "4")]
        Double(f64),
        #[prost(message, tag = "5")]
        Array(ArrayValue),
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ArrayValue {
        #[prost(message, repeated, tag = "1")]
        pub values: Vec<AnyValue>,
    }
    /// `ExportLogsServiceResponse` with its `ExportLogsPartialSuccess`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Response {
        #[prost(message, optional, tag = "1")]
        pub partial_success: Option<PartialSuccess>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct PartialSuccess {
        #[prost(int64, tag = "1")]
        pub rejected_log_records: i64,
        #[prost(string, tag = "2")]
        pub error_message: String,
    }
}

/// A record as a store has it, from either protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Got {
    pub time: u64,
    pub level: String,
    pub text: String,
    pub service: String,
    pub attributes: BTreeMap<String, String>,
}

impl Got {
    /// Its key, or what a note or loss has in its place.
    pub fn key(&self) -> String {
        let part = |name: &str| {
            let found = self.attributes.get(&format!("logdef.{name}"));
            found.or(self.attributes.get(&format!("logdef_{name}")))
        };
        let key = ["run", "thread", "sequence"].map(part);
        match (key, part("note"), part("loss")) {
            ([Some(run), Some(thread), Some(sequence)], ..) => format!("{run}/{thread}/{sequence}"),
            (_, Some(note), _) => format!("note {note}"),
            (_, _, Some(loss)) => format!("loss {loss}"),
            _ => panic!("no key: {self:?}"),
        }
    }

    pub fn is_record(&self) -> bool {
        !self.key().contains(' ')
    }
}

fn text_of(value: Option<&otlp::AnyValue>) -> String {
    match value.and_then(|value| value.any.as_ref()) {
        Some(otlp::Any::Text(text)) => text.clone(),
        Some(otlp::Any::Bool(it)) => it.to_string(),
        Some(otlp::Any::Int(number)) => number.to_string(),
        Some(otlp::Any::Double(number)) => number.to_string(),
        Some(otlp::Any::Array(array)) => {
            let texts: Vec<_> = array
                .values
                .iter()
                .map(|value| text_of(Some(value)))
                .collect();
            texts.join(",")
        }
        None => panic!("no value"),
    }
}

fn named(attributes: &[otlp::KeyValue]) -> BTreeMap<String, String> {
    let named: BTreeMap<_, _> = attributes
        .iter()
        .map(|it| (it.key.clone(), text_of(it.value.as_ref())))
        .collect();
    assert_eq!(
        named.len(),
        attributes.len(),
        "a name twice: {attributes:?}"
    );
    named
}

/// The records of a request.
fn decoded(request: &Request) -> Vec<Got> {
    match request.header("content-type") {
        Some("application/x-protobuf") => {
            assert_eq!(request.line, "POST /v1/logs HTTP/1.1");
            of_otlp(&request.body)
        }
        Some("application/json") => {
            assert_eq!(request.line, "POST /loki/api/v1/push HTTP/1.1");
            of_loki(&request.body)
        }
        other => panic!("{other:?}"),
    }
}

fn of_otlp(body: &[u8]) -> Vec<Got> {
    let request = otlp::Request::decode(body).unwrap();
    // No byte is there that the definitions do not name.
    assert_eq!(request.encoded_len(), body.len());
    let mut all = Vec::new();
    for logs in request.resource_logs {
        let resource = named(&logs.resource.unwrap().attributes);
        for scope in logs.scope_logs {
            assert_eq!(scope.scope.unwrap().name, "logdef");
            all.extend(scope.log_records.into_iter().map(|record| {
                let mut attributes = named(&record.attributes);
                attributes.extend(resource.clone());
                let level = record.severity_text.to_lowercase();
                let numbers = ["", "trace", "debug", "info", "warn", "error", "fatal"];
                let number = (record.severity_number as usize).div_ceil(4);
                assert_eq!(numbers[number], level);
                Got {
                    time: record.time_unix_nano,
                    level,
                    text: text_of(record.body.as_ref()),
                    service: attributes.remove("service.name").unwrap(),
                    attributes,
                }
            }));
        }
    }
    all
}

fn of_loki(body: &[u8]) -> Vec<Got> {
    let request: Value = serde_json::from_slice(body).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all = Vec::new();
    for stream in request["streams"].as_array().unwrap() {
        let mut last = 0;
        for value in stream["values"].as_array().unwrap() {
            let time = text(&value[0]).parse().unwrap();
            assert!(time >= last, "a stream out of order");
            last = time;
            let attributes = value[2].as_object().unwrap().iter();
            all.push(Got {
                time,
                level: text(&stream["stream"]["level"]),
                text: text(&value[1]),
                service: text(&stream["stream"]["service_name"]),
                attributes: attributes
                    .map(|(name, value)| (name.clone(), text(value)))
                    .collect(),
            });
        }
    }
    all
}

pub fn got(store: &Store) -> Vec<Got> {
    store.taken().iter().flat_map(decoded).collect()
}

/// Keys of records, as the store has them.
pub fn keys(got: &[Got]) -> Vec<String> {
    got.iter()
        .filter(|it| it.is_record())
        .map(Got::key)
        .collect()
}
