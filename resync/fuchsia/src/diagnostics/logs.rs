//! Log data: metadata, errors and payload of one record.

use std::collections::{HashMap, HashSet};

use serde::de;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::data::null_is_default;
use super::node::Node;
use super::{Data, DataSource, Property, VERSION};
use crate::structured::Severity;

/// One log record in an answer.
pub type LogsData = Data<LogsMetadata, LogsPayload>;

impl LogsData {
    /// A record of `severity` and nothing else.
    pub fn new(moniker: impl Into<String>, timestamp: i64, severity: Severity) -> Self {
        Self {
            data_source: DataSource::Logs,
            metadata: LogsMetadata {
                errors: Vec::new(),
                component_url: None,
                timestamp,
                severity: severity.bucket(),
                raw_severity: severity.raw(),
                tags: Vec::new(),
                pid: None,
                tid: None,
                file: None,
                line: None,
            },
            moniker: moniker.into(),
            payload: Some(LogsPayload::default()),
            version: VERSION,
        }
    }

    /// Takes the payload away because it is larger than the answer may be, and says so.
    pub fn drop_payload(&mut self) {
        self.payload = None;
        self.metadata.errors = vec![LogError::Other {
            message: "Schema failed to fit component budget.".to_owned(),
        }];
    }
}

/// The metadata of a log record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogsMetadata {
    /// What went wrong on its way here; at most one of each kind.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub errors: Vec<LogError>,
    /// Where the component was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_url: Option<String>,
    /// Nanoseconds on the clock of the stream.
    pub timestamp: i64,
    /// The severity, one of the named ones.
    #[serde(with = "severity_name")]
    pub severity: Severity,
    /// The severity byte, if it is not one of the named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_severity: Option<u8>,
    /// The tags in the order they were written; written even if there are none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tags: Vec<String>,
    /// The number of the process, as its machine has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The number of the thread, as its machine has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    /// The source file that logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl LogsMetadata {
    /// The severity byte as it was recorded.
    pub fn recorded_severity(&self) -> Severity {
        self.raw_severity.map_or(self.severity, Severity)
    }

    /// Adds an error, in place of one of the same kind; a count of 0 is no error.
    pub fn set_error(&mut self, error: LogError) {
        let same_kind =
            |other: &LogError| std::mem::discriminant(other) == std::mem::discriminant(&error);
        if matches!(error.count(), Some(0)) {
            return;
        }
        match self.errors.iter().position(same_kind) {
            Some(index) => self.errors[index] = error,
            None => self.errors.push(error),
        }
    }
}

/// What went wrong with a record, or with those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogError {
    /// The writer could not send some records before this one.
    DroppedLogs {
        /// The number of records that were not sent.
        count: u64,
    },
    /// The service dropped some records for newer ones before they were read.
    RolledOutLogs {
        /// The number of records that were dropped for newer ones.
        count: u64,
    },
    /// The record could not be read.
    ParseRecord(String),
    /// An error of another kind, in words.
    Other {
        /// The service's description of it.
        message: String,
    },
}

impl LogError {
    /// The count of those errors that have one.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::DroppedLogs { count } | Self::RolledOutLogs { count } => Some(*count),
            Self::ParseRecord(_) | Self::Other { .. } => None,
        }
    }
}

impl<'de> Deserialize<'de> for LogError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Spelling {
            DroppedLogs {
                count: u64,
            },
            RolledOutLogs {
                count: u64,
            },
            #[serde(alias = "failed_to_parse_record")]
            ParseRecord(String),
            Other(Message),
        }
        Ok(match Spelling::deserialize(deserializer)? {
            Spelling::DroppedLogs { count } => Self::DroppedLogs { count },
            Spelling::RolledOutLogs { count } => Self::RolledOutLogs { count },
            Spelling::ParseRecord(text) => Self::ParseRecord(text),
            Spelling::Other(Message(message)) => Self::Other { message },
        })
    }
}

/// A message, bare or in an object of its own.
pub(super) struct Message(pub(super) String);

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Bare(String),
            Object { message: String },
        }
        let (Spelling::Bare(message) | Spelling::Object { message }) =
            Spelling::deserialize(deserializer)?;
        Ok(Self(message))
    }
}

mod severity_name {
    use super::{Deserialize, Deserializer, Serializer, Severity, de};

    pub fn serialize<S: Serializer>(severity: &Severity, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(severity.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Severity, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse()
            .map_err(|error| de::Error::custom(format_args!("severity {text:?} is {error}")))
    }
}

/// What a record says.
///
/// In JSON, under `root`: `keys` if there are any, and `message`, empty if there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogsPayload {
    /// The formatted message; `None` if the record has none.
    pub message: Option<String>,
    /// The arguments that are not metadata; names may repeat.
    pub keys: Vec<(String, Property)>,
}

impl Serialize for LogsPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut payload = serializer.serialize_map(Some(1))?;
        payload.serialize_entry("root", &Root(self))?;
        payload.end()
    }
}

struct Root<'a>(&'a LogsPayload);

impl Serialize for Root<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(payload) = self;
        let mut root = serializer.serialize_map(None)?;
        if !payload.keys.is_empty() {
            root.serialize_entry("keys", &Keys(&payload.keys))?;
        }
        let value = payload.message.as_ref().map(|message| ("value", message));
        root.serialize_entry("message", &Pairs(value.as_slice()))?;
        root.end()
    }
}

/// An object of these names and values, in this order. Of JSON objects most readers keep one value for each
/// name: the second of a name `a` is called `a#2`, or with the next number that is free.
struct Keys<'a>(&'a [(String, Property)]);

impl Serialize for Keys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nearly all records have a few keys, none of them twice.
        let is_new = |(at, (name, _)): (usize, &(String, Property))| {
            !self.0[..at].iter().any(|(other, _)| other == name)
        };
        if self.0.len() <= 16 && self.0.iter().enumerate().all(is_new) {
            return Pairs(self.0).serialize(serializer);
        }
        let taken: HashSet<&str> = self.0.iter().map(|(name, _)| &**name).collect();
        if taken.len() == self.0.len() {
            return Pairs(self.0).serialize(serializer);
        }
        let mut seen = HashSet::new();
        let mut counts = HashMap::new();
        let mut keys = serializer.serialize_map(Some(self.0.len()))?;
        for (name, property) in self.0 {
            if seen.insert(name) {
                keys.serialize_entry(name, property)?;
                continue;
            }
            let count = counts.entry(name).or_insert(1_u64);
            let other = loop {
                *count += 1;
                let other = format!("{name}#{count}");
                if !taken.contains(&*other) {
                    break other;
                }
            };
            keys.serialize_entry(&other, property)?;
        }
        keys.end()
    }
}

/// An object of these names and values, in this order.
struct Pairs<'a, N, T>(&'a [(N, T)]);

impl<N: Serialize, T: Serialize> Serialize for Pairs<'_, N, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for LogsPayload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut node = Node::deserialize(deserializer)?;
        if let Some(index) = node.children.iter().position(|(name, _)| name == "root") {
            node = node.children.swap_remove(index).1;
        }
        let mut payload = Self::default();
        for (name, child) in node.children {
            match name.as_str() {
                "keys" => payload.keys.extend(child.properties),
                "message" => payload.message = child.properties.into_iter().find_map(text_value),
                _ => {}
            }
        }
        Ok(payload)
    }
}

fn text_value((name, property): (String, Property)) -> Option<String> {
    match property {
        Property::Text(text) if name == "value" => Some(text),
        // Text that looks like bytes is still the message.
        bytes @ Property::Bytes(_) if name == "value" => Some(bytes.to_string()),
        _ => None,
    }
}
