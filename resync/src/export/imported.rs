//! Parts of diagnostics data that a log has no place of its own for. The importer keeps them as keys of
//! these names, and the exporter makes the parts again, so that an answer comes back as it was.

use logdef_fuchsia::diagnostics::{LogError, LogsData, Property};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    ComponentUrl,
    RolledOut,
    ParseRecord,
    Other,
    /// A time before 1970, as a log has none.
    Timestamp,
    /// There is no message.
    NoMessage,
    /// There is no payload.
    NoPayload,
}

impl Part {
    const ALL: [Part; 7] = [
        Part::ComponentUrl,
        Part::RolledOut,
        Part::ParseRecord,
        Part::Other,
        Part::Timestamp,
        Part::NoMessage,
        Part::NoPayload,
    ];

    /// The name of the key.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Part::ComponentUrl => "diagnostics.component_url",
            Part::RolledOut => "diagnostics.rolled_out_logs",
            Part::ParseRecord => "diagnostics.parse_record",
            Part::Other => "diagnostics.other",
            Part::Timestamp => "diagnostics.timestamp",
            Part::NoMessage => "diagnostics.no_message",
            Part::NoPayload => "diagnostics.no_payload",
        }
    }

    /// The part that a key of this name keeps.
    pub(crate) fn of(name: &str) -> Option<Part> {
        name.starts_with("diagnostics.")
            .then(|| Part::ALL.into_iter().find(|part| part.name() == name))?
    }

    /// Makes the part again. True if it is the time.
    pub(super) fn restore(self, property: Property, data: &mut LogsData) -> bool {
        let metadata = &mut data.metadata;
        match (self, property) {
            (Part::ComponentUrl, url) => metadata.component_url = Some(url.to_string()),
            (Part::RolledOut, count) => {
                if let Some(count) = unsigned(&count) {
                    metadata.set_error(LogError::RolledOutLogs { count });
                }
            }
            (Part::ParseRecord, why) => {
                metadata.set_error(LogError::ParseRecord(why.to_string()));
            }
            (Part::Other, why) => {
                let message = why.to_string();
                metadata.set_error(LogError::Other { message });
            }
            (Part::Timestamp, Property::SignedInt(time)) => {
                metadata.timestamp = time;
                return true;
            }
            (Part::Timestamp, _) => {}
            (Part::NoMessage, _) => {
                if let Some(payload) = &mut data.payload {
                    payload.message = None;
                }
            }
            (Part::NoPayload, _) => data.payload = None,
        }
        false
    }
}

fn unsigned(property: &Property) -> Option<u64> {
    match property {
        Property::SignedInt(value) => (*value).try_into().ok(),
        Property::UnsignedInt(value) => Some(*value),
        _ => None,
    }
}
