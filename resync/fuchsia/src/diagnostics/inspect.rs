//! Inspect data: what a component shows of its state, as a tree.

use serde::{Deserialize, Deserializer, Serialize};

use super::data::null_is_default;
use super::logs::Message;
use super::{Data, DataSource, Node, VERSION};

/// One inspect tree in an answer.
pub type InspectData = Data<InspectMetadata, InspectPayload>;

impl InspectData {
    /// The tree `root`, sorted, as it was at `timestamp`.
    pub fn new(moniker: impl Into<String>, timestamp: i64, mut root: Node) -> Self {
        root.sort();
        Self {
            data_source: DataSource::Inspect,
            metadata: InspectMetadata {
                errors: Vec::new(),
                name: InspectName::default(),
                component_url: None,
                timestamp,
                escrowed: false,
            },
            moniker: moniker.into(),
            payload: Some(InspectPayload { root }),
            version: VERSION,
        }
    }
}

/// The metadata of an inspect tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectMetadata {
    /// What went wrong while fetching it.
    #[serde(
        default,
        deserialize_with = "messages",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub errors: Vec<String>,
    /// What the tree is called.
    #[serde(flatten)]
    pub name: InspectName,
    /// Where the component was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_url: Option<String>,
    /// Nanoseconds on the clock of the service.
    pub timestamp: i64,
    /// The component left the tree behind for another to serve.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub escrowed: bool,
}

/// What an inspect tree is called: the key is `name` or `filename`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InspectName {
    /// The name it was published under.
    Name(String),
    /// The file it was read from.
    Filename(String),
}

impl Default for InspectName {
    fn default() -> Self {
        Self::Name("root".to_owned())
    }
}

/// The tree of values that a component exposes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InspectPayload {
    /// The root of the tree; JSON has it under `root`.
    pub root: Node,
}

fn messages<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let messages: Vec<Message> = null_is_default(deserializer)?;
    Ok(messages.into_iter().map(|Message(text)| text).collect())
}
