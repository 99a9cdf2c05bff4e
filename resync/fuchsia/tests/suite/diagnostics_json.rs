//! Diagnostics JSON: the published examples, what is read beside them, and the schema.

use logdef_fuchsia::diagnostics::{
    DataSource, InspectData, InspectName, LogError, LogsData, LogsPayload, Node, Origin, Property,
    SCHEMA,
};
use logdef_fuchsia::legacy::{Packet, PacketWriter};
use logdef_fuchsia::structured::{Profile, Record, RecordWriter, Severity, Value};
use proptest::prelude::*;

fn conforms(text: &str) -> bool {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let object = serde_json::from_str(text).unwrap();
    jsonschema::validator_for(&schema)
        .unwrap()
        .is_valid(&object)
}

/// Writes `data` as exactly `text`, which reads back as `data` and satisfies the schema.
#[track_caller]
fn assert_logs(data: &LogsData, text: &str) {
    assert_eq!(serde_json::to_string(data).unwrap(), text);
    assert_eq!(&serde_json::from_str::<LogsData>(text).unwrap(), data);
    assert!(conforms(text));
}

#[track_caller]
fn assert_inspect(data: &InspectData, text: &str) {
    assert_eq!(serde_json::to_string(data).unwrap(), text);
    assert_eq!(&serde_json::from_str::<InspectData>(text).unwrap(), data);
    assert!(conforms(text));
}

fn record(severity: Severity, arguments: &[(&str, Value<'_>)]) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut writer = RecordWriter::new(&mut buffer, 72, severity).unwrap();
    for (name, value) in arguments {
        writer.argument(name, value.clone()).unwrap();
    }
    writer.finish().to_vec()
}

fn from_record(bytes: &[u8], origin: &Origin<'_>) -> LogsData {
    let (record, _) = Record::parse(bytes, Profile::Lenient).unwrap();
    LogsData::from_record(&record, origin)
}

const COMPONENT: Origin<'_> = Origin {
    moniker: "fake-test-env/test-component",
    component_url: Some("url"),
    pid: None,
    rolled_out: 0,
};

#[test]
fn a_record_that_says_nothing() {
    let mut data = LogsData::new("moniker", 0, Severity::INFO);
    data.metadata.component_url = Some("url".into());
    assert_logs(
        &data,
        r#"{"data_source":"Logs","metadata":{"component_url":"url","timestamp":0,"severity":"INFO","tags":[]},"moniker":"moniker","payload":{"root":{"message":{}}},"version":1}"#,
    );
}

#[test]
fn a_record_that_says_all() {
    let mut data = LogsData::new("moniker", 0, Severity::INFO);
    let metadata = &mut data.metadata;
    metadata.component_url = Some("url".into());
    metadata.set_error(LogError::DroppedLogs { count: 2 });
    metadata.tags = vec!["You're".into(), "IT!".into()];
    (metadata.pid, metadata.tid) = (Some(1001), Some(200));
    (metadata.file, metadata.line) = (Some("test file.cc".into()), Some(420));
    data.payload = Some(LogsPayload {
        message: Some("app".into()),
        keys: vec![("key".into(), Property::Text("value".into()))],
    });
    assert_logs(
        &data,
        r#"{"data_source":"Logs","metadata":{"errors":[{"dropped_logs":{"count":2}}],"component_url":"url","timestamp":0,"severity":"INFO","tags":["You're","IT!"],"pid":1001,"tid":200,"file":"test file.cc","line":420},"moniker":"moniker","payload":{"root":{"keys":{"key":"value"},"message":{"value":"app"}}},"version":1}"#,
    );
}

#[test]
fn an_inspect_tree_and_one_that_could_not_be_read() {
    let mut root = Node::default();
    root.properties
        .push(("x".into(), Property::Text("foo".into())));
    let mut data = InspectData::new("a/b/c/d", 123_456, root);
    data.metadata.name = InspectName::Filename("test_file_plz_ignore.inspect".into());
    data.metadata.component_url = Some("url".into());
    assert_inspect(
        &data,
        r#"{"data_source":"Inspect","metadata":{"filename":"test_file_plz_ignore.inspect","component_url":"url","timestamp":123456},"moniker":"a/b/c/d","payload":{"root":{"x":"foo"}},"version":1}"#,
    );
    data.metadata.errors.push("too much fun being had.".into());
    data.payload = None;
    assert_inspect(
        &data,
        r#"{"data_source":"Inspect","metadata":{"errors":["too much fun being had."],"filename":"test_file_plz_ignore.inspect","component_url":"url","timestamp":123456},"moniker":"a/b/c/d","payload":null,"version":1}"#,
    );
}

fn structured_example() -> Vec<(&'static str, Value<'static>)> {
    vec![
        ("arg1", Value::SignedInt(-23)),
        ("arg2", Value::Boolean(true)),
        ("pid", Value::UnsignedInt(43)),
        ("tid", Value::UnsignedInt(912)),
        ("num_dropped", Value::UnsignedInt(2)),
        ("tag", "tag".into()),
        ("message", "msg".into()),
        ("file", "some_file.cc".into()),
        ("line", Value::UnsignedInt(420)),
    ]
}

#[test]
fn a_structured_record_with_named_and_raw_severity() {
    let data = from_record(&record(Severity::ERROR, &structured_example()), &COMPONENT);
    let text = r#"{"data_source":"Logs","metadata":{"errors":[{"dropped_logs":{"count":2}}],"component_url":"url","timestamp":72,"severity":"ERROR","tags":["tag"],"pid":43,"tid":912,"file":"some_file.cc","line":420},"moniker":"fake-test-env/test-component","payload":{"root":{"keys":{"arg1":-23,"arg2":true},"message":{"value":"msg"}}},"version":1}"#;
    assert_logs(&data, text);

    let data = from_record(&record(Severity(0x2e), &structured_example()), &COMPONENT);
    let raw = text.replace(r#""ERROR""#, r#""INFO","raw_severity":46"#);
    assert_logs(&data, &raw);
    assert_eq!(data.metadata.recorded_severity(), Severity(0x2e));
}

#[test]
fn known_names_of_other_types_are_keys_and_repeats_count_as_the_rules_say() {
    let bytes = record(
        Severity::INFO,
        &[
            ("pid", Value::SignedInt(1)),
            ("tid", Value::UnsignedInt(1)),
            ("tid", Value::UnsignedInt(2)),
            ("tag", "b".into()),
            ("tag", "a".into()),
            ("num_dropped", Value::UnsignedInt(7)),
            ("num_dropped", Value::UnsignedInt(0)),
            ("message", Value::Boolean(true)),
            ("b", Value::UnsignedInt(1)),
            ("b", Value::UnsignedInt(2)),
        ],
    );
    let data = from_record(&bytes, &COMPONENT);
    assert_eq!(data.metadata.pid, None);
    assert_eq!(data.metadata.tid, Some(2));
    assert_eq!(data.metadata.tags, ["b", "a"]);
    assert_eq!(data.metadata.errors, [LogError::DroppedLogs { count: 7 }]);
    let text = serde_json::to_string(&data.payload).unwrap();
    assert_eq!(
        text,
        r#"{"root":{"keys":{"b":1,"b#2":2,"message":true,"pid":1},"message":{}}}"#
    );
}

#[test]
fn the_drop_count_of_cpp_writers_is_one() {
    let bytes = record(Severity::INFO, &[("dropped_logs", Value::UnsignedInt(3))]);
    let data = from_record(&bytes, &COMPONENT);
    assert_eq!(data.metadata.errors, [LogError::DroppedLogs { count: 3 }]);
    assert!(data.payload.unwrap().keys.is_empty());
}

#[test]
fn the_verified_process_is_believed_and_the_claim_kept() {
    let origin = Origin {
        pid: Some(7),
        rolled_out: 4,
        ..COMPONENT
    };
    let data = from_record(&record(Severity::INFO, &structured_example()), &origin);
    assert_eq!(data.metadata.pid, Some(7));
    assert_eq!(
        data.metadata.errors,
        [
            LogError::RolledOutLogs { count: 4 },
            LogError::DroppedLogs { count: 2 }
        ]
    );
    let keys = data.payload.unwrap().keys;
    assert_eq!(keys[2], ("pid".into(), Property::UnsignedInt(43)));

    let honest = Origin {
        pid: Some(43),
        ..COMPONENT
    };
    let data = from_record(&record(Severity::INFO, &structured_example()), &honest);
    assert_eq!(data.payload.unwrap().keys.len(), 2);
}

#[test]
fn a_legacy_packet_becomes_the_same_data() {
    let mut buffer = [0; 200];
    let mut writer = PacketWriter::new(&mut buffer, 43, 912, 72, Severity::ERROR, 9).unwrap();
    writer.tag("tag").unwrap();
    let packet = Packet::parse(writer.finish("msg").unwrap()).unwrap();
    assert_logs(
        &LogsData::from_packet(&packet, 2, &COMPONENT),
        r#"{"data_source":"Logs","metadata":{"errors":[{"dropped_logs":{"count":2}}],"component_url":"url","timestamp":72,"severity":"ERROR","tags":["tag"],"pid":43,"tid":912},"moniker":"fake-test-env/test-component","payload":{"root":{"message":{"value":"msg"}}},"version":1}"#,
    );
}

#[test]
fn data_goes_back_into_a_record() {
    let data = from_record(&record(Severity(0x2e), &structured_example()), &COMPONENT);
    let mut buffer = [0; 4096];
    let bytes = data.to_record(&mut buffer).unwrap().to_vec();
    assert!(Record::parse(&bytes, Profile::Strict).is_ok());
    assert_eq!(from_record(&bytes, &COMPONENT), data);
}

#[test]
fn the_spelling_of_the_schema_page_is_read() {
    let logs: LogsData = serde_json::from_str(
        r#"{
            "data_source": "LOGS",
            "moniker": "core/foo",
            "metadata": {
                "errors": [{"dropped_logs": {"count": 3}}, {"other": "bare"},
                           {"failed_to_parse_record": "text"}],
                "component_url": "fuchsia-pkg://...",
                "timestamp": 12345,
                "severity": "Info",
                "tags": ["foo"],
                "pid": 123, "tid": 456, "file": "lib.rs", "line": 5
            },
            "payload": {"message": {"value": "my log"}, "keys": {"foo": 3, "bar": "baz"}}
        }"#,
    )
    .unwrap();
    assert_eq!(logs.data_source, DataSource::Logs);
    assert_eq!(logs.version, 0);
    assert_eq!(logs.metadata.severity, Severity::INFO);
    assert_eq!(
        logs.metadata.errors[1],
        LogError::Other {
            message: "bare".into()
        }
    );
    assert_eq!(
        logs.metadata.errors[2],
        LogError::ParseRecord("text".into())
    );
    let payload = logs.payload.unwrap();
    assert_eq!(payload.message.as_deref(), Some("my log"));
    assert_eq!(payload.keys.len(), 2);

    let inspect: InspectData = serde_json::from_str(
        r#"{"data_source":"INSPECT","moniker":"core/foo","payload":{"root":{"foo":{},"bar":3}},
            "metadata":{"errors":[{"message":"..."}],"timestamp":1,"filename":"x.inspect"}}"#,
    )
    .unwrap();
    assert_eq!(inspect.metadata.errors, ["..."]);
    assert_eq!(inspect.data_source, DataSource::Inspect);
}

#[test]
fn nulls_and_obsolete_keys_of_older_services_are_read() {
    let data: LogsData = serde_json::from_str(
        r#"{"metadata":{"errors":null,"component_url":null,"timestamp":1,"severity":"warning","tags":null,
            "pid":null,"dropped":3,"size_bytes":9},"moniker":"m","payload":null}"#,
    )
    .unwrap();
    assert_eq!(data.data_source, DataSource::Unknown);
    assert_eq!(data.metadata.severity, Severity::WARN);
    assert_eq!(data.payload, None);
    assert!(data.metadata.errors.is_empty() && data.metadata.tags.is_empty());
}

#[test]
fn errors_are_one_of_a_kind_and_never_of_zero() {
    let mut data = LogsData::new("m", 1, Severity::INFO);
    data.metadata.set_error(LogError::DroppedLogs { count: 0 });
    assert!(data.metadata.errors.is_empty());
    data.metadata.set_error(LogError::DroppedLogs { count: 1 });
    data.metadata.set_error(LogError::ParseRecord("why".into()));
    data.metadata.set_error(LogError::DroppedLogs { count: 2 });
    assert_eq!(
        serde_json::to_string(&data.metadata.errors).unwrap(),
        r#"[{"dropped_logs":{"count":2}},{"parse_record":"why"}]"#
    );
    data.drop_payload();
    assert_logs(
        &data,
        r#"{"data_source":"Logs","metadata":{"errors":[{"other":{"message":"Schema failed to fit component budget."}}],"timestamp":1,"severity":"INFO","tags":[]},"moniker":"m","payload":null,"version":1}"#,
    );
}

#[test]
fn the_schema_refuses_what_is_not_in_it() {
    let good = r#"{"data_source":"Logs","metadata":{"timestamp":0,"severity":"INFO","tags":[]},"moniker":"m","payload":{"root":{"message":{}}},"version":1}"#;
    assert!(conforms(good));
    for (from, to) in [
        (r#""INFO""#, r#""Info""#),
        (r#""Logs""#, r#""Inspect""#),
        (r#","tags":[]"#, ""),
        (r#""tags":[]"#, r#""tags":[],"errors":[]"#),
        (
            r#""tags":[]"#,
            r#""tags":[],"errors":[{"dropped_logs":{"count":0}}]"#,
        ),
        (r#""tags":[]"#, r#""tags":[],"raw_severity":48"#),
        (r#""tags":[]"#, r#""tags":[],"pid":-1"#),
        (r#"{"root":{"message":{}}}"#, r#"{"message":{}}"#),
        (r#""message":{}"#, r#""message":{},"keys":{}"#),
        (r#""version":1"#, r#""version":0"#),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        assert!(!conforms(&bad), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn the_json_of_any_record_conforms_and_reads_back(
        severity: u8,
        keys in prop::collection::vec((".{1,20}", prop_oneof![
            any::<i64>().prop_map(Value::SignedInt),
            any::<u64>().prop_map(Value::UnsignedInt),
            proptest::num::f64::ANY.prop_map(Value::Floating),
            any::<bool>().prop_map(Value::Boolean),
            ".*".prop_map(|text| Value::Text(text.into())),
        ]), 0..6),
        names in prop::collection::vec(prop::sample::select(vec![
            "pid", "tid", "tag", "num_dropped", "file", "line", "message",
        ]), 0..5),
    ) {
        let mut buffer = vec![0; 16_384];
        let mut writer = RecordWriter::new(&mut buffer, -3, Severity(severity)).unwrap();
        for (name, value) in &keys {
            writer.argument(name, value.clone()).unwrap();
        }
        for name in names {
            writer.argument(name, 5_u64).unwrap();
            writer.argument(name, "text").unwrap();
        }
        let data = from_record(writer.finish(), &COMPONENT);
        let text = serde_json::to_string(&data).unwrap();
        prop_assert!(conforms(&text), "{}", text);
        let read: LogsData = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}

#[test]
fn keys_that_repeat_keep_all_their_values() {
    let mut data = LogsData::new("core/foo", 5, Severity::INFO);
    let key = |name: &str, value| (name.to_owned(), Property::SignedInt(value));
    let payload = data.payload.as_mut().unwrap();
    payload.keys = vec![
        key("a", 1),
        key("a", 2),
        key("a#2", 3),
        key("a", 4),
        key("b", 5),
    ];
    let json = serde_json::to_value(&data).unwrap();
    let expected = serde_json::json!({"a": 1, "a#3": 2, "a#2": 3, "a#4": 4, "b": 5});
    assert_eq!(json["payload"]["root"]["keys"], expected);
}
