//! What a reader asks for.

use logdef_fuchsia::diagnostics::LogsData;
use logdef_fuchsia::structured::Severity;
use serde::{Deserialize, Serialize};

/// One request, a line of JSON: `{"mode":"snapshot"}`. All keys may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Stored records, new ones, or both.
    pub mode: Mode,
    /// Logs, or the state of the service as inspect data (always a snapshot).
    pub data: Kind,
    /// Records of the component with this moniker only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moniker: Option<String>,
    /// Only this severity or worse, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Only records with all of these tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Which records in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Those that are there; then the answer ends.
    #[default]
    Snapshot,
    /// Those that are there and those that come.
    SnapshotThenSubscribe,
    /// Records that arrive from now on.
    Subscribe,
}

/// Which data a query asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Log records.
    #[default]
    Logs,
    /// The state of the service.
    Inspect,
}

/// A request that was understood.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    moniker: Option<String>,
    severity: Severity,
    tags: Vec<String>,
}

impl Filter {
    /// What `request` filters by; an error if it names no severity.
    pub(super) fn of(request: &Request) -> Result<Self, String> {
        let severity = match &request.severity {
            None => Severity(0),
            Some(name) => name
                .parse()
                .map_err(|error| format!("severity {name:?} is {error}"))?,
        };
        Ok(Self {
            moniker: request.moniker.clone(),
            severity,
            tags: request.tags.clone(),
        })
    }

    pub(super) fn admits(&self, data: &LogsData) -> bool {
        self.moniker
            .as_ref()
            .is_none_or(|moniker| *moniker == data.moniker)
            && data.metadata.severity >= self.severity
            && self.tags.iter().all(|tag| data.metadata.tags.contains(tag))
    }
}
