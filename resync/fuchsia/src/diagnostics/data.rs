//! The top level that all data share: where it comes from, and three sections.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The version written in each object.
pub const VERSION: u64 = 1;

/// One object of a diagnostics answer, with metadata `M` and payload `P` of its data source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data<M, P> {
    /// Which service produced it.
    #[serde(default)]
    pub data_source: DataSource,
    /// The metadata, by the kind of data.
    pub metadata: M,
    /// Which component it is about.
    pub moniker: String,
    /// The data itself; `null` when there is none.
    #[serde(default = "none")]
    pub payload: Option<P>,
    /// 1, or 0 when it was missing on input.
    #[serde(default)]
    pub version: u64,
}

fn none<P>() -> Option<P> {
    None
}

/// Which service produced the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum DataSource {
    /// Inspect: trees of values about the state of components.
    Inspect,
    /// The log: one record for each piece of data.
    Logs,
    /// Written by older services.
    LifecycleEvent,
    /// The data does not name a service.
    #[default]
    Unknown,
}

impl<'de> Deserialize<'de> for DataSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = DataSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one of Logs, Inspect, LifecycleEvent, Unknown")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<DataSource, E> {
                match text.to_ascii_lowercase().as_str() {
                    "inspect" => Ok(DataSource::Inspect),
                    "logs" => Ok(DataSource::Logs),
                    "lifecycleevent" => Ok(DataSource::LifecycleEvent),
                    "unknown" => Ok(DataSource::Unknown),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_str(Name)
    }
}

/// Reads `null` as the default: absent options were once written so.
pub(super) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
