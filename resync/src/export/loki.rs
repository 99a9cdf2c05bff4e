//! Requests to Loki's `/loki/api/v1/push`, in its JSON.
//!
//! | of the record | in the request |
//! |---|---|
//! | service, level | the labels `service_name` and `level` of its stream: few, since each stream costs Loki memory |
//! | time | that of the entry; a stream's entries are in its order |
//! | message | the line |
//! | all else | structured metadata: OpenTelemetry's names with `_` for what is no letter or digit, as Loki itself makes them of OpenTelemetry's records |
//!
//! Loki bounds lines, and names and bytes of metadata. What passes its usual bounds is cut with `…` or left out,
//! and counted in `logdef_cut_bytes` and `logdef_left_out`.

use super::attributes::{self, Attribute, Names};
use super::diagnostics::recorded;
use super::entry::Entry;
use super::json::Json;
use super::text::cut;
use logdef_fuchsia::diagnostics::LogsData;
use std::collections::BTreeMap;

/// Bytes of the longest line: Loki's `max_line_size` is 256 KB.
const LINE: usize = 250_000;
/// Bytes of the metadata of a record: Loki's `max_structured_metadata_size` is 64 KB.
const METADATA: usize = 60_000;
/// Bytes of a value in it.
const VALUE: usize = 16_000;

/// Names of services that become labels; those beyond are one stream, so that no log makes streams without
/// bounds.
#[derive(Clone, Debug, Default)]
pub struct Services(Vec<String>);

/// How many.
const SERVICES: usize = 64;
/// The label of all others.
const OTHERS: &str = "logdef-others";

impl Services {
    fn label<'s>(&mut self, name: &'s str) -> &'s str {
        if !self.0.iter().any(|known| known == name) {
            if self.0.len() >= SERVICES {
                return OTHERS;
            }
            self.0.push(name.to_owned());
        }
        name
    }
}

/// Appends a request with these records. `labels` are put on each stream.
pub fn encode(
    entries: &[Entry],
    labels: &[(String, String)],
    service: Option<&str>,
    services: &mut Services,
    out: &mut Vec<u8>,
) {
    let mut streams: BTreeMap<(&str, &str), Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let name = match service {
            Some(name) => name,
            None => services.label(unless_empty(&entry.data.moniker)),
        };
        let stream = streams.entry((name, level(&entry.data))).or_default();
        stream.push(entry);
    }
    let mut json = Json(std::mem::take(out));
    json.raw(r#"{"streams":["#);
    let mut names = Names::default();
    for (index, ((service, level), mut entries)) in streams.into_iter().enumerate() {
        json.raw(if index > 0 { "," } else { "" });
        json.raw(r#"{"stream":{"level":"#);
        json.quoted(level);
        json.raw(r#","service_name":"#);
        json.quoted(service);
        for (name, value) in labels {
            json.raw(",");
            json.quoted(name);
            json.raw(":");
            json.quoted(value);
        }
        json.raw(r#"},"values":["#);
        entries.sort_by_key(|entry| entry.data.metadata.timestamp);
        for (index, entry) in entries.into_iter().enumerate() {
            json.raw(if index > 0 { "," } else { "" });
            value(entry, service, &mut names, &mut json);
        }
        json.raw("]}");
    }
    json.raw("]}");
    *out = json.0;
}

/// Loki takes no empty label.
fn unless_empty(name: &str) -> &str {
    if name.is_empty() { "unknown" } else { name }
}

/// The level as Loki's own detection calls it.
fn level(data: &LogsData) -> &'static str {
    match recorded(data).map(|severity| severity.name()) {
        Some("TRACE") => "trace",
        Some("DEBUG") => "debug",
        Some("INFO") => "info",
        Some("WARN") => "warn",
        Some("ERROR") => "error",
        Some(_) => "fatal",
        None => "unknown",
    }
}

/// An entry: time, line, metadata.
fn value(entry: &Entry, service: &str, names: &mut Names, json: &mut Json) {
    let data = &entry.data;
    json.raw(r#"[""#);
    json.display(data.metadata.timestamp.max(0));
    json.raw(r#"","#);
    let payload = data.payload.as_ref();
    let message = payload.and_then(|payload| payload.message.as_deref());
    let message = message.unwrap_or("");
    let line = cut(message, LINE);
    json.quoted(&line);
    json.raw(",{");
    names.clear();
    let mut metadata = Metadata {
        json,
        names,
        room: METADATA,
        cut: message.len() - line.len().min(message.len()),
        left_out: 0,
        is_first: true,
    };
    if service == OTHERS {
        metadata.add("service", Attribute::Text(&data.moniker));
    }
    if let Some(host) = &entry.host {
        metadata.add("host.name", Attribute::Text(host));
    }
    if let Some(pid) = data.metadata.pid {
        metadata.add("process.pid", Attribute::Uint(pid));
    }
    attributes::each(data, |name, value| metadata.add(name, value));
    metadata.end();
    json.raw("}]");
}

/// Room in names and bytes for what is counted at the end.
const COUNTS: (usize, usize) = (2, 100);

/// Structured metadata as it is written.
struct Metadata<'j> {
    json: &'j mut Json,
    names: &'j mut Names,
    /// Bytes that it may yet have.
    room: usize,
    cut: usize,
    left_out: usize,
    is_first: bool,
}

impl Metadata<'_> {
    fn add(&mut self, name: &str, value: Attribute<'_>) {
        let text = text(value);
        let value = cut(&text, VALUE);
        // A mark may come after each name.
        let size = 2 * name.len() + value.len() + 2;
        let is_full = self.names.len() + COUNTS.0 >= attributes::MOST;
        if is_full || size + COUNTS.1 > self.room {
            self.left_out += 1;
            return;
        }
        if value.len() != text.len() {
            self.cut += text.len() - value.len();
        }
        self.room -= size;
        self.put(name, &value);
    }

    fn put(&mut self, name: &str, value: &str) {
        let name = plain(name);
        let Some(name) = self.names.unused(&name, '_') else {
            return;
        };
        self.json.raw(if self.is_first { "" } else { "," });
        self.is_first = false;
        self.json.quoted(name);
        self.json.raw(":");
        self.json.quoted(value);
    }

    fn end(&mut self) {
        if self.cut > 0 {
            self.put("logdef.cut_bytes", &self.cut.to_string());
        }
        if self.left_out > 0 {
            self.put("logdef.left_out", &self.left_out.to_string());
        }
    }
}

/// A name as Loki's language can say it.
fn plain(name: &str) -> String {
    let letter = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    };
    let begins_with_letter = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let before = if begins_with_letter { "" } else { "_" };
    before.chars().chain(name.chars().map(letter)).collect()
}

/// Loki takes texts alone.
fn text(value: Attribute<'_>) -> String {
    match value {
        Attribute::Int(number) => number.to_string(),
        Attribute::Uint(number) => number.to_string(),
        Attribute::Text(text) => text.to_owned(),
        Attribute::Texts(texts) => texts.join(","),
        Attribute::Property(property) => property.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_fuchsia::diagnostics::Property;
    use logdef_fuchsia::structured::Severity;
    use serde_json::{Value, json};

    fn entry(moniker: &str, time: i64, message: &str, keys: &[(&str, Property)]) -> Entry {
        let mut data = LogsData::new(moniker, time, Severity::WARN);
        data.metadata.pid = Some(7);
        let payload = data.payload.as_mut().unwrap();
        payload.message = Some(message.into());
        payload.keys = keys
            .iter()
            .map(|(name, value)| ((*name).into(), value.clone()))
            .collect();
        Entry::new(data)
    }

    fn request(entries: &[Entry]) -> Value {
        let mut out = Vec::new();
        let labels = [("cluster".to_owned(), "a\"b".to_owned())];
        encode(entries, &labels, None, &mut Services::default(), &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn streams_are_by_service_and_level_and_each_is_in_order() {
        let keys = [
            ("logdef.run", Property::Text("ab".into())),
            ("0", Property::SignedInt(-3)),
            ("a-b", Property::Double(f64::NAN)),
            ("a.b", Property::Boolean(true)),
        ];
        let mut info = entry("web", 5, "x", &[]);
        info.data.metadata.severity = Severity::INFO;
        let entries = [
            entry("web", 9, "late", &[]),
            info,
            entry("web", 8, "\u{1b}", &keys),
        ];
        let expected = json!({"streams": [
            {"stream": {"level": "info", "service_name": "web", "cluster": "a\"b"},
             "values": [["5", "x", {"process_pid": "7"}]]},
            {"stream": {"level": "warn", "service_name": "web", "cluster": "a\"b"},
             "values": [
                ["8", "\u{1b}", {"process_pid": "7", "logdef_run": "ab", "_0": "-3", "a_b": "NaN", "a_b_": "true"}],
                ["9", "late", {"process_pid": "7"}],
             ]},
        ]});
        assert_eq!(request(&entries), expected);
    }

    #[test]
    fn what_passes_lokis_bounds_is_cut_and_counted() {
        let many: Vec<_> = (0..300).map(|index| format!("k{index}")).collect();
        let mut keys: Vec<_> = many
            .iter()
            .map(|name| (&**name, Property::SignedInt(1)))
            .collect();
        keys.insert(0, ("long", Property::Text("v".repeat(1 << 20))));
        let found = request(&[entry("web", 1, &"ä".repeat(1 << 20), &keys)]);
        let value = &found["streams"][0]["values"][0];
        assert!(value[1].as_str().unwrap().len() <= LINE);
        let metadata = value[2].as_object().unwrap();
        assert!(metadata.len() <= attributes::MOST);
        let size = metadata
            .iter()
            .map(|(name, value)| name.len() + value.as_str().unwrap().len());
        assert!(size.sum::<usize>() <= METADATA);
        let number = |name: &str| metadata[name].as_str().unwrap().parse::<usize>().unwrap();
        assert_eq!(metadata.len() + number("logdef_left_out"), 301 + 1 + 2);
        assert!(number("logdef_cut_bytes") > (3 << 20) - LINE - VALUE - 10);
    }

    #[test]
    fn services_make_streams_within_bounds() {
        let entries: Vec<_> = (0..500)
            .map(|index| entry(&format!("p{index}"), 1, "x", &[]))
            .collect();
        let found = request(&entries);
        let streams = found["streams"].as_array().unwrap();
        assert_eq!(streams.len(), SERVICES + 1);
        let others = streams
            .iter()
            .find(|it| it["stream"]["service_name"] == OTHERS)
            .unwrap();
        assert_eq!(others["values"].as_array().unwrap().len(), 500 - SERVICES);
        assert_eq!(others["values"][0][2]["service"], "p64");
    }
}
