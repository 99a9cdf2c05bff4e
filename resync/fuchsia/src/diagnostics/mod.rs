//! The JSON in which a diagnostics service answers: logs and inspect data, written and read.
//!
//! The shape is that of the Fuchsia "Diagnostics schema" page; where the page and the services in the
//! field spell a thing differently, we write what services write and read both:
//!
//! | | written | also read |
//! |---|---|---|
//! | `data_source` | `"Logs"`, `"Inspect"` | any letter case |
//! | `severity` | `"INFO"` | any letter case, `"warning"` |
//! | payload of logs | `{"root":{"keys":{..},"message":{..}}}` | without `root` |
//! | errors of inspect data | strings | objects with `message` |
//! | an absent option | no key | `null` |
//!
//! Keys are written in the order of the fields. 64-bit integers are JSON numbers and pass 2^53, so a
//! consumer that reads them as doubles loses digits.
//!
//! ```
//! use logdef_fuchsia::diagnostics::{LogsData, Origin};
//! use logdef_fuchsia::structured::{Profile, Record, RecordWriter, Severity};
//!
//! let mut buffer = [0; 256];
//! let mut writer = RecordWriter::new(&mut buffer, 72, Severity::INFO)?;
//! writer.argument("message", "listening")?;
//! writer.argument("port", 8080_u64)?;
//! let (record, _) = Record::parse(writer.finish(), Profile::Strict)?;
//!
//! let origin = Origin { moniker: "web", ..Origin::default() };
//! assert_eq!(
//!     serde_json::to_string(&LogsData::from_record(&record, &origin))?,
//!     r#"{"data_source":"Logs","metadata":{"timestamp":72,"severity":"INFO","tags":[]},"moniker":"web","#.to_owned()
//!         + r#""payload":{"root":{"keys":{"port":8080},"message":{"value":"listening"}}},"version":1}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod convert;
mod data;
mod inspect;
mod logs;
mod node;
mod property;
mod text;

pub use batch::{BATCH_ENTRIES, Batches, MAX_ARRAY_BYTES};
pub use convert::Origin;
pub use data::{Data, DataSource, VERSION};
pub use inspect::{InspectData, InspectMetadata, InspectName, InspectPayload};
pub use logs::{LogError, LogsData, LogsMetadata, LogsPayload};
pub use node::Node;
pub use property::Property;
pub use text::{Clock, Text};

/// The JSON schema that everything written here satisfies.
pub const SCHEMA: &str = include_str!("../../schema/diagnostics.schema.json");
