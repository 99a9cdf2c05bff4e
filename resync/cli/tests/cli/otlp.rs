//! `export --to otlp-json`, read and written again by what the definitions of OpenTelemetry's `LogsData` say
//! alone: nothing is unknown to them, and the same bytes come out.

use crate::fixture::*;
use logdef_wire::msgpack::{Array, Encoder, Map};
use logdef_wire::record::{Data, Glance, StringLogdef};
use logdef_wire::{Level, Record, Sequence, Svma, ThreadNumber};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LogsData {
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ResourceLogs {
    resource: Resource,
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    attributes: Vec<KeyValue>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ScopeLogs {
    scope: Scope,
    log_records: Vec<LogRecord>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Scope {
    name: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LogRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_unix_nano: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    severity_number: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    severity_text: Option<String>,
    body: AnyValue,
    attributes: Vec<KeyValue>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KeyValue {
    key: String,
    value: AnyValue,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
enum AnyValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "boolValue")]
    Bool(bool),
    /// 64-bit integers are strings in protobuf's JSON.
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "doubleValue")]
    Float(Double),
    #[serde(rename = "arrayValue")]
    Array { values: Vec<AnyValue> },
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
enum Double {
    Finite(f64),
    Other(String),
}

/// A record with every type of value, and with what a call site says of itself.
fn log() -> Log {
    let mut log = example();
    log.record(&Record::StringLogdef(StringLogdef {
        magic: Some(MAGIC),
        address: Some(Svma(0x3000)),
        template: Some(b"{a} {b}"),
        description: Some(b"b:a,b\tapp::net\tdns"),
        run: Some(RUN),
        ..StringLogdef::default()
    }));
    let mut args = [0; 64];
    let mut args = Encoder::new(&mut args);
    args.uint(u64::MAX).unwrap();
    args.float(0.1).unwrap();
    let mut keys = [0; 128];
    let mut keys = Encoder::new(&mut keys);
    for (name, value) in [
        ("nan", f64::NAN),
        ("low", f64::NEG_INFINITY),
        ("tiny", 5e-324),
    ] {
        keys.raw(name.as_bytes()).unwrap();
        keys.float(value).unwrap();
    }
    keys.raw(b"yes").unwrap();
    keys.bool(true).unwrap();
    keys.raw(b"min").unwrap();
    keys.int(i64::MIN).unwrap();
    keys.raw(b"target").unwrap();
    keys.raw("\"quoted\" \\ \n \u{1b} ä 𝄞".as_bytes()).unwrap();
    log.record(&Record::Data(Data {
        front: Glance {
            magic: Some(MAGIC),
            format: Some(Svma(0x3000)),
            level: Some(Level::FATAL),
            run: Some(RUN),
            sequence: Some(Sequence::new(ThreadNumber(5), 0)),
            time: Some(EPOCH + 20 * SECOND),
            ..Glance::default()
        },
        args: Array::from_objects(2, args.written()).ok(),
        keys: Map::from_objects(6, keys.written()).ok(),
        ..Data::default()
    }));
    log
}

#[test]
fn opentelemetry_reads_each_byte_and_would_write_the_same() {
    let out = on(&log(), "export --to otlp-json -o - {}").out;
    let mut records = Vec::new();
    for line in out.lines() {
        let data: LogsData = serde_json::from_str(line).expect(line);
        assert_eq!(serde_json::to_string(&data).unwrap(), line);
        for resource in data.resource_logs {
            assert_eq!(resource.resource.attributes[0].key, "service.name");
            records.extend(
                resource
                    .scope_logs
                    .into_iter()
                    .flat_map(|of| of.log_records),
            );
        }
    }
    assert_eq!(records.len(), 11);
    for record in &records {
        let is_number = |text: &String| text.parse::<u64>().is_ok();
        assert!(record.time_unix_nano.as_ref().is_some_and(is_number));
        for attribute in &record.attributes {
            if let AnyValue::Int(number) = &attribute.value {
                number.parse::<i64>().unwrap();
            }
        }
    }
    let last = records.last().unwrap();
    assert_eq!(
        (last.severity_number, last.severity_text.as_deref()),
        (Some(21), Some("FATAL"))
    );
    let value = |name: &str| {
        let mut found = last.attributes.iter().filter(|of| of.key == name);
        let value = &found.next().expect(name).value;
        assert!(found.next().is_none(), "{name} twice");
        value
    };
    let text = |text: &str| AnyValue::Text(text.to_owned());
    // No signed integer can be it.
    assert_eq!(value("a"), &text("18446744073709551615"));
    assert_eq!(value("b"), &AnyValue::Float(Double::Finite(0.1)));
    assert_eq!(value("tiny"), &AnyValue::Float(Double::Finite(5e-324)));
    assert_eq!(
        value("nan"),
        &AnyValue::Float(Double::Other("NaN".to_owned()))
    );
    assert_eq!(
        value("low"),
        &AnyValue::Float(Double::Other("-Infinity".to_owned()))
    );
    assert_eq!(value("yes"), &AnyValue::Bool(true));
    assert_eq!(value("min"), &AnyValue::Int(i64::MIN.to_string()));
    assert_eq!(value("module"), &text("app::net"));
    // The program's own key comes first.
    assert_eq!(value("target"), &text("\"quoted\" \\ \n \u{1b} ä 𝄞"));
    assert_eq!(value("target#"), &text("dns"));
}

#[test]
fn module_and_target_of_a_site_stand_in_every_form() {
    let log = log();
    let csv = on(&log, "view -o csv {}").out;
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with(",standing,module,target")
    );
    assert!(csv.ends_with(",app::net,dns\r\n"), "{csv}");
    let logfmt = on(&log, "view -o logfmt {}").out;
    assert!(
        logfmt.ends_with(" module=app::net target=dns\n"),
        "{logfmt}"
    );
    assert!(logfmt.contains(" keys.target="), "{logfmt}");
    let journal = on(&log, "export --to journald -o - {}").out;
    assert!(journal.contains("\nLOGDEF_MODULE=app::net\n"), "{journal}");
    let diagnostics = on(&log, "export --to diagnostics-json -o - {}").out;
    assert!(
        diagnostics.contains(r#""module":"app::net","target#":"dns""#),
        "{diagnostics}"
    );
}
